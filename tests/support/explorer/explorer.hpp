// explorer.hpp: runs a small concurrent program under every schedule and every read that memory
// allows.
//
//     Report report = explore({.preemptions = 3}, [](Program& program) {
//       auto queue = std::make_shared<BoundedQueue<int>>(2);
//       program.thread([=] { queue->try_push(1); });
//       program.thread([=] { if (auto item = queue->try_pop()) require(*item == 1, "what was
//       pushed"); }); program.at_end([=] { ... });
//     });
//
// The program must be made of code built with MUSTER_ATOMICS naming support/explorer/atomic.hpp.
// Its threads are fibres; before each access to shared memory the explorer decides who goes on, and
// for each load what it reads. It walks depth-first through all decisions by running the program
// again and again. Two runs that reach the same state (every thread has read the same things, hence
// all is the same) are continued only once.
//
// Bounds, each an option: switches away from a thread that could go on (preemptions), loads that
// return something old (stale_reads), steps of one run. Inside them the search is exhaustive.
//
// Thread safety: one exploration at a time per process.
// Design note: docs/design/explorer.md
#pragma once

#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace muster::explore {

inline constexpr int kUnbounded = -1;

struct Limits {
  int preemptions = 3;  // kUnbounded: as many as there are
  int stale_reads = 2;
  std::size_t steps = 500;          // more in one run is reported as a loop without end
  std::uint64_t runs = 20'000'000;  // more is reported as not exhausted
};

// An edit of the program that a good check must notice. Applies to the accesses at one line of the
// source.
enum class Weakening {
  none,
  drop_acquire,          // acquire -> relaxed, acq_rel -> release
  drop_release,          // release -> relaxed, acq_rel -> acquire
  drop_failure_acquire,  // of an exchange that fails: acquire -> relaxed
  drop_seq_cst,          // seq_cst -> acquire, release or both; a fence -> nothing
  to_relaxed,            // whatever it is -> relaxed
  drop_store,            // the store does not happen
  drop_wake,             // nobody is woken
};

struct Mutation {
  std::string file;
  unsigned line = 0;
  Weakening weakening = Weakening::none;
};

// One place in the program where shared memory is touched.
struct Site {
  std::string file;
  unsigned line = 0;
  std::string operation;  // load, store, update, failed (exchange), fence, wake
  int order = 0;          // of std::memory_order
  auto operator<=>(const Site&) const = default;
};

struct Report {
  std::string failure;       // empty: none
  std::string trail;         // the failing run, step by step
  std::uint64_t runs = 0;    // programs run
  std::uint64_t states = 0;  // distinct states branched at
  double schedules = 0;    // decisions sequences covered, also those that need no run of their own
  bool exhausted = false;  // everything inside the bounds was covered
  std::vector<Site> sites;
};

// The program under exploration, made anew for each run.
class Program {
 public:
  void thread(std::function<void()> body) { threads_.push_back(std::move(body)); }
  void at_end(std::function<void()> check) { end_ = std::move(check); }

 private:
  friend class Execution;
  std::vector<std::function<void()>> threads_;
  std::function<void()> end_;
};

Report explore(const Limits& limits, const std::function<void(Program&)>& setup,
               const Mutation& mutation = {});

// To be called by the program. A requirement that does not hold ends the exploration.
void require(bool holds, std::string_view what);

// Calls `mark` when the thread next goes on: as late as possible before its next access to shared
// memory, so that what it marks (the beginning of an operation) overlaps with as little as
// possible. `mark` returns a number for everything that it saw of other threads.
void mark_next_step(std::function<std::uint64_t()> mark);

}  // namespace muster::explore
