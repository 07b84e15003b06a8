// cells.hpp: every question this suite asks, with the contenders that answer it.
//
// Groups: "enqueue" is a thousand jobs at once, "one by one" single ones from many threads.
// "execute" runs empty jobs that all wait, "start" is how soon one is run after it was enqueued.
// "waiting" compares executing with few and with many that wait, "restart" is how soon a store full
// of them is back, and "memory" what those that wait take. "steady" and "delay" are what a load
// brings that stays the same. "bytes ..." and "dead tuples" are what the samples of the others
// cost.
#pragma once

#include <string>
#include <vector>

#include "jobs/places.hpp"
#include "support/rounds.hpp"

namespace muster::bench {

inline const std::string kEnqueueGroup = "enqueue";
inline const std::string kOneByOneGroup = "one by one";
inline const std::string kExecuteGroup = "execute";
inline const std::string kStartGroup = "start";
inline const std::string kWaitingGroup = "waiting";
inline const std::string kRestartGroup = "restart";
inline const std::string kMemoryGroup = "memory";
inline const std::string kSteadyGroup = "steady";
inline const std::string kDelayGroup = "delay";
inline const std::string kEnqueueBytesGroup = "bytes per job enqueued";
inline const std::string kExecuteBytesGroup = "bytes per job executed";
inline const std::string kSteadyBytesGroup = "bytes per job of a steady load";
inline const std::string kDeadGroup = "dead tuples";

// Columns that a goal names. A column without a name of its own is called like its store.
inline const std::string kSequential = "SQLite, ids in order";
inline const std::string kRandom = "SQLite, random ids";
inline const std::string kFirstJob = ", first job";  // after the store's name

// Contenders that are no peers.
inline const std::string kMuster = "muster";
inline const std::string kRawLoop = "raw loop";
inline const std::string kCommitEach = "a commit per job";
inline const std::string kFutex = "futex ping-pong";
inline const std::string kOneCommit = "one commit";
inline const std::string kFewWaiting = "10 thousand waiting";
inline const std::string kManyWaiting = "millions waiting";

std::vector<Cell> enqueue_cells();
std::vector<Cell> one_by_one_cells();
std::vector<Cell> execute_cells();
std::vector<Cell> start_cells();
std::vector<Cell> waiting_cells();
std::vector<Cell> restart_cells();
std::vector<Cell> steady_cells();

}  // namespace muster::bench
