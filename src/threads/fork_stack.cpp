// fork_stack.cpp: offering forks, taking them, and waiting for those that were taken.
#include <memory>
#include <new>
#include <utility>

#include <muster/sync/backoff.hpp>
#include <muster/sync/fence.hpp>
#include <muster/sync/futex.hpp>
#include <muster/threads/fork_stack.hpp>

namespace muster {
namespace {

// Forks that can be on offer before the deque grows. Few are: one is offered when one is wanted.
#ifdef MUSTER_ATOMICS
constexpr std::size_t kFirstOffers = 2;  // explored: every cell is a location to keep track of
#else
constexpr std::size_t kFirstOffers = 64;
#endif

// Only its owner writes a counter.
void count(Atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(relaxed) + 1, relaxed);  // relaxed: a count
}

}  // namespace

constinit thread_local ForkStack* current_fork_stack = nullptr;

ForkStack::ForkStack(Roster& roster)
    : places_(new Fork*[kCapacity]),  // not touched before it is needed
      roster_(roster),
      offers_(kFirstOffers) {
  next_ = split_ = places_.get();
  limit_ = next_ + kCapacity;
}

ForkStack::~ForkStack() = default;

void ForkStack::offer_oldest() noexcept {
  Fork& fork = **split_;
  std::construct_at(&fork.offer);
  // Before the offer, so that whoever takes it can ask for the next one. relaxed: goes with it.
  wanted_.store(false, relaxed);
  try {
    owner_.push(&fork);
  } catch (const std::bad_alloc&) {
    std::destroy_at(&fork.offer);
    wanted_.store(true, relaxed);  // relaxed: only the owner acts on it
    return;                        // it stays private
  }
  ++split_;
  count(counters_.offered);
  roster_.notify();  // begins with a full fence: also between the offer and the look below
  // Who waits for what we are running may help with this fork, which stems from that: we have taken
  // it with an empty stack.
  if (running_ != nullptr) wake_waiter(*running_);
}

bool ForkStack::take_back() noexcept {
  split_ = next_;
  // One less is on offer, perhaps none. If nobody asks, the next fork goes to whoever sleeps.
  wanted_.store(true, relaxed);  // relaxed: only the owner acts on it
  Fork& fork = **next_;
  if (!owner_.pop()) return false;
  std::destroy_at(&fork.offer);
  return true;
}

// Whatever is on offer; or, if `awaited` is given, which `victim` has taken, only what stems from
// it. All that its taker offers does, until it is done.
ForkStack::Taking ForkStack::take_from(ForkStack& victim, const Fork* awaited) noexcept {
  const Steal<Fork*> loot = victim.offers_.thief().steal_if([awaited] {
    // relaxed: whoever sees an offer that was made after the fork was done sees that it is.
    return awaited == nullptr || awaited->offer.state.load(relaxed) != Fork::Offer::done;
  });
  if (loot.outcome == StealOutcome::lost_race) {
    count(counters_.lost);
  } else if (loot.outcome == StealOutcome::empty || victim.offered_approx() == 0) {
    // relaxed: a request; looking first keeps the line shared.
    if (!victim.wanted_.load(relaxed)) victim.wanted_.store(true, relaxed);
  }
  if (loot.outcome == StealOutcome::taken) count(counters_.taken);
  return {loot.outcome, loot.item};
}

void ForkStack::run_taken(Fork& fork) noexcept {
  Fork* const outer = std::exchange(running_, &fork);
  // sync(taker): pairs with the load in help(). This stack may be younger than the one it helps.
  fork.offer.taker.store(this, release);
  try {
    fork.run(fork);
  } catch (...) {
    fork.offer.error = std::current_exception();
  }
  running_ = outer;
  // The frame of `fork` may be gone after the exchange; a wake of what stands there then is a wake
  // for no reason.
  Atomic<std::uint32_t>& state = fork.offer.state;
  // sync(fork-done): pairs with the load in wait().
  if (state.exchange(Fork::Offer::done, release) == Fork::Offer::waiter_asleep) {
    futex_wake_one(state);
  }
}

void ForkStack::wait(Fork& fork) {
  // sync(fork-done): what the fork did is visible from here on.
  while (fork.offer.state.load(acquire) != Fork::Offer::done) help_or_sleep(fork);
  const std::exception_ptr error = std::move(fork.offer.error);
  std::destroy_at(&fork.offer);
  if (error != nullptr) std::rethrow_exception(error);
}

// Tries to help for a while, then sleeps until the fork is done or its taker has offered something.
void ForkStack::help_or_sleep(Fork& fork) {
  for (Backoff backoff; !backoff.exhausted(); backoff.pause()) {
    // relaxed: wait() looks again.
    if (fork.offer.state.load(relaxed) == Fork::Offer::done || help(fork)) return;
  }
  std::uint32_t seen = Fork::Offer::pending;
  // relaxed: wait() looks again.
  fork.offer.state.compare_exchange_strong(seen, Fork::Offer::waiter_asleep, relaxed, relaxed);
  if (seen == Fork::Offer::done) return;
  // sync(counted-out): pairs with the fence in notify(), which offer_oldest() calls. Without it we
  // could miss the offer while the taker misses that we sleep.
  full_fence_after_rmw();
  if (help(fork)) return;
  futex_wait(fork.offer.state, Fork::Offer::waiter_asleep, std::nullopt);
}

bool ForkStack::help(Fork& fork) {
  ForkStack* const taker = fork.offer.taker.load(acquire);  // sync(taker): pairs with run_taken()
  if (taker == nullptr || stack_is_deep()) return false;
  const Taking taking = take_from(*taker, &fork);
  if (taking.outcome != StealOutcome::taken) return false;
  count(counters_.helped);
  run_taken(*taking.fork);
  return true;
}

void ForkStack::wake_waiter(Fork& fork) noexcept {
  std::uint32_t seen = Fork::Offer::waiter_asleep;
  // relaxed: the offer was published before; the waiter looks for it with acquire.
  if (fork.offer.state.compare_exchange_strong(seen, Fork::Offer::pending, relaxed, relaxed)) {
    futex_wake_one(fork.offer.state);
  }
}

bool ForkStack::stack_is_deep() const noexcept {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < stack_floor_;
}

}  // namespace muster
