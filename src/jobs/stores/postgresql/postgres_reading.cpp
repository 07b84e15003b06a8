// postgres_reading.cpp: what is asked without changing anything, and what is let go of.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "jobs/stores/postgresql/cursor.hpp"
#include "jobs/stores/postgresql/postgres_store.hpp"
#include "jobs/stores/store_time.hpp"

namespace muster {
namespace {

// What has ended before $1 in one of the states $3, up to $2 of it; how many that were.
constexpr std::string_view kRemoveEnded = R"(
WITH old AS (
  DELETE FROM muster.ended WHERE seq IN (
    SELECT seq FROM muster.ended WHERE state = ANY($3) AND emptied IN (false, true) AND at < $1
    LIMIT $2 FOR UPDATE SKIP LOCKED)
  RETURNING seq),
jobs AS (DELETE FROM muster.job USING old WHERE job.seq = old.seq),
notes AS (DELETE FROM muster.note USING old WHERE note.seq = old.seq),
failures AS (DELETE FROM muster.failure USING old WHERE failure.seq = old.seq)
SELECT count(*) FROM old)";

// The same, but not what ended before $4: that is removed anyhow. A dead letter (2) is cancelled.
constexpr std::string_view kEmptyEnded = R"(
WITH old AS (
  UPDATE muster.ended SET emptied = true, state = CASE state WHEN 2 THEN 3 ELSE state END
  WHERE seq IN (
    SELECT seq FROM muster.ended WHERE state = ANY($3) AND NOT emptied AND at < $1
    AND at >= $4 LIMIT $2 FOR UPDATE SKIP LOCKED)
  RETURNING seq),
jobs AS (UPDATE muster.job SET event = NULL FROM old WHERE job.seq = old.seq),
notes AS (DELETE FROM muster.note USING old WHERE note.seq = old.seq),
failures AS (DELETE FROM muster.failure USING old WHERE failure.seq = old.seq)
SELECT count(*) FROM old)";

// As many batches as together have $2 jobs.
constexpr std::string_view kRemoveCompleted = R"(
WITH due AS (
  SELECT number, seqs FROM muster.completed WHERE emptied IN (false, true) AND at < $1
  ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED),
sums AS (
  SELECT number, sum(cardinality(seqs)) OVER (ORDER BY number) - cardinality(seqs) AS before
  FROM due),
old AS (
  DELETE FROM muster.completed USING sums WHERE completed.number = sums.number AND before < $2
  RETURNING seqs),
each AS MATERIALIZED (SELECT unnest(seqs) AS seq FROM old),
jobs AS (DELETE FROM muster.job USING each WHERE job.seq = each.seq)
SELECT count(*) FROM each)";

constexpr std::string_view kEmptyCompleted = R"(
WITH due AS (
  SELECT number, seqs FROM muster.completed WHERE NOT emptied AND at < $1 AND at >= $3
  ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED),
sums AS (
  SELECT number, sum(cardinality(seqs)) OVER (ORDER BY number) - cardinality(seqs) AS before
  FROM due),
old AS (
  UPDATE muster.completed SET emptied = true FROM sums
  WHERE completed.number = sums.number AND before < $2 RETURNING completed.seqs),
each AS MATERIALIZED (SELECT unnest(seqs) AS seq FROM old),
jobs AS (UPDATE muster.job SET event = NULL FROM each WHERE job.seq = each.seq)
SELECT count(*) FROM each)";

}  // namespace

JobRecord PostgresStore::record_in(const Rows& rows, std::size_t row) {
  return {.seq = rows.integer(row, 0),
          .id = std::string(rows.text(row, 6)),
          .key = rows.optional_text(row, 7),
          .turn = static_cast<std::uint32_t>(rows.integer(row, 3)),
          .priority = static_cast<std::int16_t>(rows.integer(row, 1)),
          .attempts = static_cast<unsigned>(rows.integer(row, 2)),
          .enqueued_at = as_time(rows.integer(row, 4)),
          .at = as_time(rows.integer(row, 5))};
}

std::vector<std::pair<JobSeq, AttemptError>> PostgresStore::errors_of(
    const std::vector<std::int64_t>& seqs) {
  const Rows rows = reader_.ask(
      "SELECT seq, attempt, kind, at, what FROM muster.failure WHERE seq = ANY($1)"
      " ORDER BY seq, attempt",
      Parameters().add(seqs));
  std::vector<std::pair<JobSeq, AttemptError>> errors;
  errors.reserve(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    errors.emplace_back(rows.integer(row, 0),
                        AttemptError{.attempt = static_cast<unsigned>(rows.integer(row, 1)),
                                     .kind = static_cast<FailureKind>(rows.integer(row, 2)),
                                     .what = std::string(rows.text(row, 4)),
                                     .failed_at = as_time(rows.integer(row, 3))});
  }
  return errors;
}

// However long that takes, the others know that we live.
void PostgresStore::load_waiting(PoolNumber pool, const EachJob& each) {
  const MutexLock lock(scanning_);
  Cursor cursor(scanner_, {"SELECT seq, priority, attempts, turn, at, key, xid FROM muster.waiting"
                           " WHERE pool = $1 ORDER BY seq",
                           Parameters().add(pool)});
  for (Rows rows = cursor.next(); rows.size() > 0; rows = cursor.next()) {
    for (std::size_t row = 0; row < rows.size(); ++row) each(waiting_in(rows, row));
    renew_lease();
  }
}

// Columns 0 to 6 of a row.
JobRecord PostgresStore::waiting_in(const Rows& rows, std::size_t row) {
  return {.seq = rows.integer(row, 0),
          .key = rows.optional_text(row, 5),
          .turn = static_cast<std::uint32_t>(rows.integer(row, 3)),
          .priority = static_cast<std::int16_t>(rows.integer(row, 1)),
          .attempts = static_cast<unsigned>(rows.integer(row, 2)),
          .at = as_time(rows.integer(row, 4)),
          .version = static_cast<std::uint64_t>(rows.integer(row, 6))};
}

std::vector<JobBody> PostgresStore::read(std::span<const JobSeq> seqs, std::size_t small) {
  if (seqs.empty()) return {};
  std::unordered_map<JobSeq, JobBody> found;
  {
    const MutexLock lock(reading_);
    const Rows rows = reader_.ask(
        "SELECT seq, id, enqueued_at, coalesce(event, ''), key FROM muster.job"
        " WHERE seq = ANY($1::bigint[]) AND (seq = $2 OR octet_length(event) <= $3"
        " OR event IS NULL)",
        Parameters()
            .add(std::vector<std::int64_t>(seqs.begin(), seqs.end()))
            .add(seqs.front())
            .add(static_cast<std::int64_t>(small)));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      found[rows.integer(row, 0)] = {.seq = rows.integer(row, 0),
                                     .id = std::string(rows.text(row, 1)),
                                     .enqueued_at = as_time(rows.integer(row, 2)),
                                     .event = std::string(rows.text(row, 3)),
                                     .key = rows.optional_text(row, 4)};
    }
  }
  std::vector<JobBody> bodies;
  for (const JobSeq seq : seqs) {
    const auto body = found.find(seq);
    if (body != found.end()) bodies.push_back(std::move(body->second));
  }
  return bodies;
}

std::optional<JobRecord> PostgresStore::find(PoolNumber pool, std::string_view id) {
  const MutexLock lock(reading_);
  const Rows rows = reader_.ask(
      "SELECT seq, priority, attempts, turn, enqueued_at, coalesce(at, enqueued_at), id, key, state"
      " FROM muster.jobs WHERE pool = $1 AND id = $2 COLLATE \"C\"",
      Parameters().add(pool).add(id));
  if (rows.size() == 0) return std::nullopt;
  JobRecord record = record_in(rows, 0);
  record.state = static_cast<JobState>(rows.integer(0, 8));
  return record;
}

Store::Remains PostgresStore::remains(JobSeq seq) {
  const MutexLock lock(reading_);
  const Rows rows =
      reader_.ask("SELECT result, log FROM muster.note WHERE seq = $1", Parameters().add(seq));
  if (rows.size() == 0) return {};
  return {.result = rows.optional_text(0, 0), .log = rows.optional_text(0, 1)};
}

std::optional<std::int64_t> PostgresStore::recall(std::string_view name) {
  const MutexLock lock(reading_);
  const Rows rows =
      reader_.ask("SELECT number FROM muster.memo WHERE name = $1", Parameters().add(name));
  return rows.size() == 0 ? std::nullopt : std::optional(rows.integer(0, 0));
}

void PostgresStore::remember(std::string_view name, std::int64_t number) {
  const MutexLock lock(reading_);
  (void)reader_.ask(
      "INSERT INTO muster.memo AS old VALUES($1, $2)"
      " ON CONFLICT (name) DO UPDATE SET number = greatest(old.number, excluded.number)",
      Parameters().add(name).add(number));
}

void PostgresStore::correct(std::string_view name, std::int64_t number) {
  const MutexLock lock(reading_);
  (void)reader_.ask(
      "INSERT INTO muster.memo VALUES($1, $2)"
      " ON CONFLICT (name) DO UPDATE SET number = excluded.number",
      Parameters().add(name).add(number));
}

// As load_waiting(): a node that takes instances over looks at all of them, a page at a time.
std::vector<Store::FoundLetter> PostgresStore::dead_letters(PoolNumber pool, const Page& page) {
  renew_lease();
  const MutexLock lock(reading_);
  const Rows rows = reader_.ask(
      "SELECT seq, priority, enqueued_at, at, id, key,"
      " CASE WHEN $4::boolean THEN coalesce(event, '') ELSE '' END FROM muster.ended"
      " JOIN muster.job USING(seq) WHERE ended.pool = $1 AND seq > $2 AND state = 2"
      " ORDER BY seq LIMIT $3",
      Parameters()
          .add(pool)
          .add(page.after)
          .add(static_cast<std::int64_t>(page.limit))
          .add(std::string_view(page.with_contents ? "t" : "f")));
  std::vector<FoundLetter> letters;
  std::vector<std::int64_t> seqs;
  std::map<JobSeq, std::size_t> places;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    seqs.push_back(rows.integer(row, 0));
    places[seqs.back()] = row;
    letters.push_back({.seq = seqs.back(),
                       .letter = {.id = std::string(rows.text(row, 4)),
                                  .event = std::string(rows.text(row, 6)),
                                  .partition_key = rows.optional_text(row, 5),
                                  .priority = static_cast<int>(rows.integer(row, 1)),
                                  .enqueued_at = as_time(rows.integer(row, 2)),
                                  .failed_at = as_time(rows.integer(row, 3))}});
  }
  if (!page.with_contents) return letters;
  for (auto& [seq, error] : errors_of(seqs)) {
    letters[places.at(seq)].letter.errors.push_back(std::move(error));
  }
  return letters;
}

// What is over is found by its time, so where to go on does not matter: at what is left. Batches
// are let go of as a whole.
Store::Pruned PostgresStore::prune(const Retention& retention, WallTime now, const Page& page) {
  const std::int64_t emptied = older_than(now, retention.completed);
  const std::int64_t gone = older_than(now, std::max(retention.completed, retention.ids));
  const std::int64_t dead_emptied = older_than(now, retention.dead);
  const std::int64_t dead_gone = older_than(now, std::max(retention.dead, retention.ids));
  const std::vector<std::int64_t> dead{static_cast<std::int64_t>(JobState::dead)};
  const std::vector<std::int64_t> others{static_cast<std::int64_t>(JobState::completed),
                                         static_cast<std::int64_t>(JobState::cancelled)};
  const auto limit = static_cast<std::int64_t>(page.limit);
  const std::array<Query, 6> queries{
      Query{kRemoveEnded, Parameters().add(dead_gone).add(limit).add(dead)},
      Query{kEmptyEnded, Parameters().add(dead_emptied).add(limit).add(dead).add(dead_gone)},
      Query{kRemoveEnded, Parameters().add(gone).add(limit).add(others)},
      Query{kRemoveCompleted, Parameters().add(gone).add(limit)},
      Query{kEmptyEnded, Parameters().add(emptied).add(limit).add(others).add(gone)},
      Query{kEmptyCompleted, Parameters().add(emptied).add(limit).add(gone)}};
  Pruned pruned;
  for (const Query& query : queries) {
    const MutexLock lock(reading_);
    const std::int64_t count = reader_.run(query.sql, query.parameters).integer(0, 0);
    pruned.removed += static_cast<std::size_t>(count);
    if (count >= limit) pruned.next = page.after + 1;
  }
  return pruned;
}

}  // namespace muster
