// batch_statements.hpp: the statements by which a batch is carried out quickly, all or nothing; and
// those with care, which say which of what they were given they have done, by its place from 1.
#pragma once

#include <cstdint>
#include <string_view>

#include "jobs/store.hpp"

namespace muster {

// As a number, as tables have it.
constexpr std::int64_t number_of(JobState state) {
  return static_cast<std::int64_t>(state);
}

// Its text alone, and with go_on() in front, as a column more whose parameters follow the others:
// one statement less for the server.
struct QuickStatement {
  std::string_view alone;
  std::string_view going_on;
};

inline constexpr QuickStatement kEnqueue{
    .alone = "SELECT muster.enqueue($1, $2, $3, $4, $5, $6, $7, $8, $9), pg_current_xact_id()",
    .going_on =
        "SELECT muster.go_on($10, $11, $12),"
        " muster.enqueue($1, $2, $3, $4, $5, $6, $7, $8, $9), pg_current_xact_id()"};

// One new job, and go_on(): no array, and no function whose statements are compiled and run apart.
// Nothing comes back if the node was given up. Who takes numbers for many waits until all who take
// one so have committed, and the other way round only while he takes them.
inline constexpr std::string_view kEnqueueOne = R"(
WITH me AS (
  UPDATE muster.node SET beat = clock_timestamp(), batch = $2, running = $3,
    xid = pg_current_xact_id()
  WHERE number = $1 AND NOT dead AND batch < $2
  RETURNING pg_advisory_xact_lock_shared(120338223588723) AS locked),
new AS MATERIALIZED (SELECT nextval('muster.job_seq') AS seq FROM me),
job AS (
  INSERT INTO muster.job(seq, pool, turn, enqueued_at, run_at, priority, id, key, event)
  SELECT seq, $4, $5, $6, $7, $8, $9, $10, $11 FROM new),
put AS (
  INSERT INTO muster.waiting(seq, pool, turn, at, priority, key)
  SELECT seq, $4, $5, $7, $8, $10 FROM new)
SELECT seq, pg_current_xact_id() FROM new)";

inline constexpr QuickStatement kComplete{
    .alone = "SELECT muster.complete($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    .going_on =
        "SELECT muster.go_on($10, $11, $12),"
        " muster.complete($1, $2, $3, $4, $5, $6, $7, $8, $9)"};

inline constexpr std::string_view kInsertNew = R"(
WITH added AS (
  INSERT INTO muster.job(seq, pool, turn, enqueued_at, run_at, priority, id, key, event)
  SELECT first.seq + place - 1, pool, turn, enqueued_at, at, priority, id, key, event
  FROM (SELECT muster.reserve(cardinality($6::text[])) AS seq OFFSET 0) AS first,
    unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
    $6::text[], $7::text[], $8::text[]) WITH ORDINALITY
    AS new(pool, turn, enqueued_at, at, priority, id, key, event, place) ORDER BY place
  ON CONFLICT (pool, id) DO NOTHING RETURNING seq, pool, turn, run_at, priority, id, key),
put AS (
  INSERT INTO muster.waiting(seq, pool, turn, at, priority, key)
  SELECT seq, pool, turn, run_at, priority, key FROM added)
SELECT seq, pool, id, pg_current_xact_id() FROM added)";

inline constexpr std::string_view kCompleteThose = R"(
WITH gone AS (
  DELETE FROM muster.waiting USING unnest($4::bigint[], $5::bigint[], $6::bigint[]) WITH ORDINALITY
    AS new(seq, pool, number, place)
  WHERE waiting.seq = new.seq RETURNING new.place, new.seq, new.pool, new.number),
counted AS (
  UPDATE muster.instance SET processed = processed + sums.jobs
  FROM (SELECT pool, number, count(*) AS jobs FROM gone GROUP BY pool, number) AS sums
  WHERE instance.pool = sums.pool AND instance.number = sums.number),
told AS (
  INSERT INTO muster.completed(node, batch, at, first, last, seqs)
  SELECT $1, $2, $3, min(seq), max(seq), array_agg(seq) FROM gone HAVING count(*) > 0)
SELECT place FROM gone)";

// What is left of the attempt before goes, too.
inline constexpr std::string_view kEndThose = R"(
WITH gone AS (
  DELETE FROM muster.waiting USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],
    $5::bigint[], $6::bigint[], $7::text[], $8::text[]) WITH ORDINALITY
    AS new(seq, state, attempts, at, instances_pool, number, result, log, place)
  WHERE waiting.seq = new.seq RETURNING new.*, waiting.pool),
told AS (
  INSERT INTO muster.ended(seq, pool, at, attempts, state)
  SELECT seq, pool, at, attempts, state FROM gone),
counted AS (
  UPDATE muster.instance SET processed = processed + sums.jobs
  FROM (SELECT instances_pool, number, count(*) AS jobs FROM gone
    GROUP BY instances_pool, number) AS sums
  WHERE instance.pool = sums.instances_pool AND instance.number = sums.number),
noted AS (
  INSERT INTO muster.note SELECT seq, result, log FROM gone WHERE result IS NOT NULL
    OR log IS NOT NULL
  ON CONFLICT (seq) DO UPDATE SET result = excluded.result, log = excluded.log),
dropped AS (
  DELETE FROM muster.note USING gone
  WHERE note.seq = gone.seq AND gone.result IS NULL AND gone.log IS NULL)
SELECT place FROM gone)";

inline constexpr std::string_view kRetryThose = R"(
WITH again AS (
  UPDATE muster.waiting SET attempts = new.attempts, at = new.at
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) WITH ORDINALITY
    AS new(seq, attempts, at, log, place)
  WHERE waiting.seq = new.seq RETURNING new.*),
noted AS (
  INSERT INTO muster.note SELECT seq, NULL, log FROM again WHERE log IS NOT NULL
  ON CONFLICT (seq) DO UPDATE SET result = excluded.result, log = excluded.log),
dropped AS (DELETE FROM muster.note USING again WHERE note.seq = again.seq AND again.log IS NULL)
SELECT place FROM again)";

inline constexpr std::string_view kCancelThose = R"(
WITH gone AS (
  DELETE FROM muster.waiting USING unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY
    AS new(seq, at, place)
  WHERE waiting.seq = new.seq RETURNING new.*, pool, attempts),
told AS (
  INSERT INTO muster.ended(seq, pool, at, attempts, state)
  SELECT seq, pool, at, attempts, 3 FROM gone)
SELECT place FROM gone)";

inline constexpr std::string_view kDiscardThose = R"(
UPDATE muster.ended SET state = 3, at = new.at
FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS new(seq, at, place)
WHERE ended.seq = new.seq AND ended.state = 2 RETURNING place)";

// It is new to those who look for such.
inline constexpr std::string_view kReplayThose = R"(
WITH gone AS (
  DELETE FROM muster.ended USING unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY
    AS new(seq, at, place)
  WHERE ended.seq = new.seq AND ended.state = 2 RETURNING new.*),
put AS (
  INSERT INTO muster.waiting(seq, pool, turn, at, priority, key)
  SELECT seq, pool, turn, at, priority, key FROM gone JOIN muster.job USING(seq)),
forgiven AS (DELETE FROM muster.failure USING gone WHERE failure.seq = gone.seq),
unnoted AS (DELETE FROM muster.note USING gone WHERE note.seq = gone.seq)
SELECT place FROM gone)";

// Of jobs that were over long enough when their ids are used again.
inline constexpr std::string_view kMakeRoom = R"(
DELETE FROM muster.job USING unnest($1::bigint[], $2::text[], $3::bigint[])
  AS new(pool, id, before)
WHERE job.pool = new.pool AND job.id = new.id COLLATE "C" AND job.enqueued_at < new.before
  AND NOT EXISTS (SELECT FROM muster.waiting WHERE waiting.seq = job.seq)
  AND NOT EXISTS (SELECT FROM muster.ended WHERE ended.seq = job.seq AND state = 2))";

}  // namespace muster
