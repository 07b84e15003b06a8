// sqlite_reading.cpp: the connection that reads.
#include "jobs/stores/sqlite/connections.hpp"
#include "jobs/stores/sqlite/sqlite_store.hpp"

namespace muster {
namespace {

// Of a row of `waiting` or `find`.
JobRecord record_in(const Statement& row) {
  return {.seq = row.integer(0),
          .id = row.text(6),
          .key = row.optional_text(7),
          .turn = static_cast<std::uint32_t>(row.integer(3)),
          .priority = static_cast<std::int16_t>(row.integer(1)),
          .attempts = static_cast<unsigned>(row.integer(2)),
          .enqueued_at = as_time(row.integer(4)),
          .at = as_time(row.integer(5))};
}

}  // namespace

void SqliteStore::load_waiting(PoolNumber pool, const EachJob& each) {
  const MutexLock lock(reading_);
  Statement& row = reader_->waiting;
  const Reading reading(row.bind(1, pool));
  while (row.step()) each(record_in(row));
}

std::vector<JobBody> SqliteStore::read(std::span<const JobSeq> seqs) {
  const MutexLock lock(reading_);
  std::vector<JobBody> bodies;
  bodies.reserve(seqs.size());
  reader_->begin.run();  // once for all of them
  try {
    for (const JobSeq seq : seqs) {
      Statement& row = reader_->body;
      const Reading reading(row.bind(1, seq));
      if (!row.step()) continue;
      bodies.push_back({.seq = seq,
                        .id = row.text(0),
                        .enqueued_at = as_time(row.integer(1)),
                        .event = row.text(2)});
    }
  } catch (...) {
    if (reader_->database.is_in_transaction()) reader_->end.run();
    throw;
  }
  reader_->end.run();
  return bodies;
}

std::optional<JobRecord> SqliteStore::find(PoolNumber pool, std::string_view id) {
  const MutexLock lock(reading_);
  Statement& row = reader_->find;
  const Reading reading(row.bind(1, pool).bind(2, id));
  if (!row.step()) return std::nullopt;
  JobRecord record = record_in(row);
  record.state = static_cast<JobState>(row.integer(8));
  return record;
}

std::optional<std::string> SqliteStore::result(JobSeq seq) {
  const MutexLock lock(reading_);
  Statement& row = reader_->result;
  const Reading reading(row.bind(1, seq));
  return row.step() ? row.optional_text(0) : std::nullopt;
}

std::vector<Store::FoundLetter> SqliteStore::dead_letters(PoolNumber pool, const Page& page) {
  const MutexLock lock(reading_);
  std::vector<FoundLetter> letters;
  Statement& row = reader_->dead;
  const Reading reading(
      row.bind(1, pool).bind(2, page.after).bind(3, static_cast<std::int64_t>(page.limit)));
  while (row.step()) {
    FoundLetter& found =
        letters.emplace_back(FoundLetter{.seq = row.integer(0),
                                         .letter = {.id = row.text(4),
                                                    .event = row.text(6),
                                                    .partition_key = row.optional_text(5),
                                                    .priority = static_cast<int>(row.integer(1)),
                                                    .enqueued_at = as_time(row.integer(2)),
                                                    .failed_at = as_time(row.integer(3))}});
    Statement& failure = reader_->failures;
    const Reading failures(failure.bind(1, found.seq));
    while (failure.step()) {
      found.letter.errors.push_back({.attempt = static_cast<unsigned>(failure.integer(0)),
                                     .kind = static_cast<FailureKind>(failure.integer(1)),
                                     .what = failure.text(3),
                                     .failed_at = as_time(failure.integer(2))});
    }
  }
  return letters;
}

}  // namespace muster
