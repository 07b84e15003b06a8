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

// What is held by nobody who lives.
inline constexpr std::string_view kFree =
    "UPDATE muster.instance SET node = NULL, suspect = true, current_job = NULL, started_at = NULL,"
    " pending = 0 WHERE node IS NOT NULL"
    " AND node NOT IN (SELECT number FROM muster.node WHERE NOT dead)";

}  // namespace muster
