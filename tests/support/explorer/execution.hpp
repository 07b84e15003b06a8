// execution.hpp: the explorer's inside: fibres, decisions, and the walk through all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <boost/context/fiber.hpp>

#include "support/explorer/atomic.hpp"
#include "support/explorer/explorer.hpp"
#include "support/explorer/memory.hpp"

namespace muster::explore {

enum class Wake { one, all };

class Execution {
 public:
  Execution(const Limits& limits, const std::function<void(Program&)>& setup,
            const Mutation& mutation);
  ~Execution();

  Report explore_all();

  // What the program does; see atomic.hpp.
  std::size_t create(std::uint64_t value) { return memory_.create(current_, value); }
  void end_life(std::size_t id);
  std::uint64_t load(std::size_t id, std::memory_order order, const SourceLocation& at);
  void store(std::size_t id, std::uint64_t value, std::memory_order order,
             const SourceLocation& at);
  std::uint64_t update(std::size_t id, const std::function<std::uint64_t(std::uint64_t)>& change,
                       std::memory_order order, const SourceLocation& at);
  bool compare_exchange(std::size_t id, Exchange& exchange, const SourceLocation& at);
  void lock(std::size_t id, const SourceLocation& at);
  void fence(const SourceLocation& at);
  void pause();
  bool futex_wait(std::size_t id, std::uint32_t expected, bool may_time_out, bool& timed_out,
                  const SourceLocation& at);
  void futex_wake(std::size_t id, Wake how_many, const SourceLocation& at);
  void plain_write(const void* address);
  void plain_read(const void* address, std::uint16_t moment);
  void forget(const void* address) { memory_.forget(address); }
  std::uint16_t moment() { return memory_.moment(current_); }
  void require(bool holds, std::string_view what);
  void mark_next_step(std::function<std::uint64_t()> mark) {
    threads_[current_].mark = std::move(mark);
  }

 private:
  enum class Status { ready, paused, asleep, locked_out, done };

  struct Thread {
    boost::context::fiber fibre;   // where it goes on
    boost::context::fiber caller;  // where it came from
    Status status = Status::done;
    bool fresh = false;           // chosen to start, so its first step needs no decision
    std::uint64_t history = 0;    // of everything it has read and done
    std::uint64_t paused_at = 0;  // how much had been written when it paused
    std::size_t waits_for = 0;    // the word that it sleeps on, or a mutex
    bool may_time_out = false;
    bool woken = false;
    std::function<std::uint64_t()> mark;
  };

  // A decision on the way to the present run.
  struct Node {
    std::size_t chosen;
    std::size_t count;
    std::uint64_t key;     // of the state it was made in; 0: not remembered
    double schedules = 0;  // below it, so far
  };

  struct Step {
    std::size_t thread;
    const char* what;
    std::size_t location;
    std::uint64_t value;
    std::size_t behind;  // how many newer values the access passed over
    const char* file;
    unsigned line;
  };

  // One run.
  double run_once();
  void start_threads(Program& program);
  void switch_to_chosen();
  void resume(std::size_t thread);
  void suspend();

  // Decisions.
  bool decide();
  void before_step();
  void note_deadlock();
  [[nodiscard]] bool runnable(const Thread& thread) const;
  std::size_t choose(std::size_t count, std::uint64_t key = 0);
  std::size_t choose_read(std::size_t readable);
  bool advance(double leaf);
  [[nodiscard]] std::uint64_t state_key() const;

  // What the steps leave behind.
  Access begin(std::size_t id, std::memory_order order, const char* what, const SourceLocation& at);
  void finish(bool exists, const Step& step, std::uint64_t observed);
  void remember(std::uint64_t observed);
  std::memory_order weakened(std::memory_order order, const char* what, const SourceLocation& at);
  void note_site(std::memory_order order, const char* what, const SourceLocation& at);
  [[nodiscard]] bool mutated(const SourceLocation& at) const;
  void fail(const std::string& what);
  void leave_path(double schedules);
  [[nodiscard]] std::string trail() const;

  // Fixed at construction.
  const Limits limits_;
  const std::function<void(Program&)> setup_;
  const Mutation mutation_;

  // The walk.
  std::vector<Node> path_;
  std::size_t depth_ = 0;
  std::unordered_map<std::uint64_t, double> known_;  // schedules below a state
  std::set<Site> sites_;
  std::unordered_set<std::uint64_t> noted_;

  // The present run.
  Memory memory_;
  std::vector<Thread> threads_;  // 0 is the setup and the final check
  std::size_t current_ = 0;
  std::size_t chosen_ = 0;
  int preemptions_ = 0;
  int stale_reads_ = 0;
  std::uint64_t writes_ = 0;
  bool on_path_ = true;    // false: the rest of this run is not of interest
  bool given_up_ = false;  // a run that failed or does not end is left where it stands
  double off_path_schedules_ = 0;
  std::string failure_;
  std::vector<Step> steps_;
  std::vector<std::size_t> options_;
};

}  // namespace muster::explore
