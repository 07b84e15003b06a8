// sqlite_reading.cpp: the connection that reads.
#include <algorithm>

#include "jobs/stores/sqlite/connections.hpp"
#include "jobs/stores/sqlite/sqlite_store.hpp"

namespace muster {
JobRecord SqliteStore::record_in(const Statement& row) {
  return {.seq = row.integer(0),
          .id = row.text(6),
          .key = row.optional_text(7),
          .turn = static_cast<std::uint32_t>(row.integer(3)),
          .priority = static_cast<std::int16_t>(row.integer(1)),
          .attempts = static_cast<unsigned>(row.integer(2)),
          .enqueued_at = as_time(row.integer(4)),
          .at = as_time(row.integer(5))};
}

std::vector<AttemptError> SqliteStore::errors_of(Reader& reader, JobSeq seq) {
  std::vector<AttemptError> errors;
  Statement& row = reader.failures;
  const Reading reading(row.bind(1, seq));
  while (row.step()) {
    errors.push_back({.attempt = static_cast<unsigned>(row.integer(0)),
                      .kind = static_cast<FailureKind>(row.integer(1)),
                      .what = row.text(3),
                      .failed_at = as_time(row.integer(2))});
  }
  return errors;
}

void SqliteStore::load_waiting(PoolNumber pool, const EachJob& each) {
  need(kAny);
  const MutexLock lock(reading_);
  Statement& row = reader_->waiting;
  const Reading reading(row.bind(1, pool));
  while (row.step()) each(record_in(row));
}

std::vector<JobBody> SqliteStore::read(std::span<const JobSeq> seqs, std::size_t small) {
  if (!seqs.empty()) need(std::ranges::max(seqs));
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it is open
  return bodies_->read(seqs, small);
}

std::optional<JobRecord> SqliteStore::find(PoolNumber pool, std::string_view id) {
  need(kAny);
  const MutexLock lock(reading_);
  Statement& row = reader_->find;
  const Reading reading(row.bind(1, pool).bind(2, id));
  if (!row.step()) return std::nullopt;
  JobRecord record = record_in(row);
  record.state = static_cast<JobState>(row.integer(8));
  return record;
}

Store::Remains SqliteStore::remains(JobSeq seq) {
  const MutexLock lock(reading_);
  Statement& row = reader_->remains;
  const Reading reading(row.bind(1, seq));
  if (!row.step()) return {};
  return {.result = row.optional_text(0), .log = row.optional_text(1)};
}

std::optional<std::int64_t> SqliteStore::recall(std::string_view name) {
  const MutexLock lock(reading_);
  Statement& row = reader_->recall;
  const Reading reading(row.bind(1, name));
  return row.step() ? std::optional(row.integer(0)) : std::nullopt;
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
                                                    .partition_key = row.optional_text(5),
                                                    .priority = static_cast<int>(row.integer(1)),
                                                    .enqueued_at = as_time(row.integer(2)),
                                                    .failed_at = as_time(row.integer(3))}});
    if (!page.with_contents) continue;
    found.letter.event = row.text(6);
    found.letter.errors = errors_of(*reader_, found.seq);
  }
  return letters;
}

}  // namespace muster
