// fork_stack.hpp: the second sides of one worker's joins, newest on top; others take the oldest.
//
// A fork is private to its worker at first: pushing and popping it are a few plain stores. Only
// when somebody wants work (`wanted_`) does the worker offer its oldest private fork to all,
// through a work-stealing deque. So the stack has two parts: below the split the forks were
// offered, and each may have been taken; above it nobody else knows of them.
//
//        offered, oldest first      |        private
//     [ fork ][ fork ] ............ split ......[ fork ][ fork ] next
//
// A worker whose fork was taken helps the taker meanwhile, and only with forks that stem from that
// one: it never starts unrelated work below its own frames.
//
// Thread safety: the owner's part is for one thread; take_from() may name any other stack.
// Ordering: what the joiner did before join is visible to whoever runs the fork, and what the fork
// did is visible after join.
// Design note: docs/design/fork_join.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include <muster/base/api.hpp>
#include <muster/queues/work_stealing_deque.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/threads/roster.hpp>

namespace muster {

class ForkStack;

// The second side of a join, in the frame of its caller.
struct Fork {
  // What it takes to run elsewhere. Begins its life when the fork is offered: the joins that nobody
  // takes part in pay nothing for it.
  struct Offer {
    enum State : std::uint32_t { pending, waiter_asleep, done };
    Atomic<std::uint32_t> state = pending;
    Atomic<ForkStack*> taker = nullptr;
    std::exception_ptr error = nullptr;
  };

  explicit Fork(void (*runner)(Fork&)) noexcept : run(runner) {}
  ~Fork() {}  // NOLINT: the stack ends the offer's life
  Fork(const Fork&) = delete;
  Fork& operator=(const Fork&) = delete;

  // Runs the fork and keeps its result.
  void (*const run)(Fork&);
  union {
    Offer offer;
  };
};

class MUSTER_API ForkStack {
 public:
  // `roster` is told of offers.
  explicit ForkStack(Roster& roster);
  ~ForkStack();
  ForkStack(const ForkStack&) = delete;
  ForkStack& operator=(const ForkStack&) = delete;

  // --- The owner. push and pop come in pairs, as calls do. ---

  // Forks that can wait at once; further joins run their sides one after the other.
  static constexpr std::size_t kCapacity = 65'536;
  [[nodiscard]] bool full() const noexcept { return next_ == limit_; }

  using Place = Fork**;

  // Requires: !full().
  Place push(Fork& fork) noexcept {
    const Place place = next_;
    *place = &fork;
    next_ = place + 1;
    // relaxed: a request that is seen a little later.
    if (wanted_.load(relaxed)) [[unlikely]]
      offer_oldest();
    return place;
  }

  // For loops, which could fork and have not: offers the oldest private fork if one is wanted. True
  // if one is wanted and there is none.
  [[nodiscard]] bool must_split() noexcept {
    // relaxed: a request that is seen a little later.
    if (!wanted_.load(relaxed)) [[likely]]
      return false;
    if (next_ == split_) return true;
    offer_oldest();
    return false;
  }

  // True: the fork is the caller's again, and nobody has begun it. False: somebody took it; wait().
  [[nodiscard]] bool pop(Place place) noexcept {
    next_ = place;
    return place >= split_ || take_back();
  }

  // Until the taken fork is done, helping its taker. Rethrows what the fork has thrown.
  void wait(Fork& fork);

  // --- A worker looking for something to do, on its own stack. ---

  struct Taking {
    StealOutcome outcome;
    Fork* fork;  // if taken: run_taken() it
  };

  // The oldest fork that `victim` offers; if there is none, one is asked for.
  [[nodiscard]] Taking take_from(ForkStack& victim) noexcept { return take_from(victim, nullptr); }

  // Runs a fork that was taken, and tells its joiner.
  void run_taken(Fork& fork) noexcept;

  // Racy: offered and not taken.
  [[nodiscard]] std::size_t offered_approx() noexcept { return offers_.thief().size_approx(); }

  // No worker helps others from below this address: its stack is nearly used up.
  void set_stack_floor(std::uintptr_t floor) noexcept { stack_floor_ = floor; }

  struct Counters {
    Atomic<std::uint64_t> offered = 0;
    Atomic<std::uint64_t> taken = 0;   // by this worker from others
    Atomic<std::uint64_t> helped = 0;  // of those, while waiting for a fork of its own
    Atomic<std::uint64_t> lost = 0;    // races
  };
  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

 private:
  void offer_oldest() noexcept;
  bool take_back() noexcept;
  Taking take_from(ForkStack& victim, const Fork* awaited) noexcept;
  void wake_waiter(Fork& fork) noexcept;
  void help_or_sleep(Fork& fork);
  bool help(Fork& fork);
  [[nodiscard]] bool stack_is_deep() const noexcept;

  // Owner thread only.
  Place next_;
  Place split_;
  Place limit_;
  Fork* running_ = nullptr;  // the innermost fork that this worker took from another
  std::uintptr_t stack_floor_ = 0;
  const std::unique_ptr<Fork*[]> places_;

  // Any thread. Thieves set it, the owner reads it in every join: a line that changes rarely.
  alignas(kCacheLine) Atomic<bool> wanted_ = true;
  Roster& roster_;
  WorkStealingDeque<Fork*> offers_;
  WorkStealingDeque<Fork*>::Owner owner_ = offers_.owner();
  Counters counters_;  // written by the owner
};

// The stack of the worker that runs on this thread; null outside of pools.
extern MUSTER_API constinit thread_local ForkStack* current_fork_stack
    __attribute__((tls_model("initial-exec")));

}  // namespace muster
