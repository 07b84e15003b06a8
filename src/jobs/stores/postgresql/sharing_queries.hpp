// sharing_queries.hpp: statements by which nodes find out who has died, and words they call.
#pragma once

#include <string_view>

namespace muster {

// Behind a node's number in a notice: what nodes hold or may run has changed.
inline constexpr const char* kNodesChanged = "!";

// Of all whose lease is over: what they ran has failed. One that is in the middle of a transaction
// is left to the next time: nobody waits for it.
inline constexpr std::string_view kBury = R"(
WITH lost AS (
  UPDATE muster.node SET dead = true WHERE number IN (
    SELECT number FROM muster.node
    WHERE NOT dead AND pools <> '{}' AND beat + lease_ms * interval '1 ms' < clock_timestamp()
    FOR UPDATE SKIP LOCKED)
  RETURNING running)
INSERT INTO muster.interrupted(seq)
SELECT seq FROM lost, unnest(lost.running) AS run(seq) JOIN muster.waiting USING(seq)
ON CONFLICT DO NOTHING)";

// Nodes that run a pool have the same concurrency, or keys would belong to two instances at a time.
// Whoever changes it has locked the pool's row before, so that two do not find out at the same
// time; and a node that is silent counts until it is buried, since it might go on.
inline constexpr std::string_view kLockPool =
    "SELECT FROM muster.pool WHERE number = $1 FOR UPDATE";
inline constexpr std::string_view kChangeConcurrency =
    "UPDATE muster.pool SET concurrency = $2 WHERE number = $1 AND concurrency <> $2"
    " AND NOT EXISTS (SELECT FROM muster.node WHERE NOT dead AND $1 = ANY(pools))";

// What is held by nobody who lives.
inline constexpr std::string_view kFree =
    "UPDATE muster.instance SET node = NULL, suspect = true, current_job = NULL, started_at = NULL,"
    " pending = 0 WHERE node IS NOT NULL"
    " AND node NOT IN (SELECT number FROM muster.node WHERE NOT dead)";

}  // namespace muster
