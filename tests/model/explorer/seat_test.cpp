// seat_test.cpp: the shipped seat and sleepers of a process pool under every small schedule and
// every allowed read. The steps themselves are mutated in the Promela model, bell.pml; here it is
// the memory orders.
#include "processes/seat.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/sync/executor.hpp>

#include "processes/bell.hpp"
#include "support/explorer/mutations.hpp"

namespace muster::explore {
namespace {

constexpr std::size_t kWorkers = 2;

// A future that is settled when its result was collected. Who waits for it takes the seat, if it
// is given one.
class Awaited final : public FutureStateBase {
 public:
  explicit Awaited(Seat* seat) : FutureStateBase(0), seat_(seat) {}
  ~Awaited() override = default;
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

  void give() { settle(); }
  void attend(const FutureStateBase& goal, Time deadline) noexcept override {
    if (seat_ != nullptr) seat_->attend({*this, goal}, deadline);
  }

 private:
  void run() noexcept override {}
  void drop_task() noexcept override {}

  Seat* const seat_;
};

enum class Waits { in_the_seat, elsewhere };
enum class Naps { never, always };  // of the clerk, if it has help

// A pool: results are flags, published and looked at with the orders of a ring and no more. There
// is no spinning, and nobody wakes because of the time.
class Pool final : public Seat::Results {
 public:
  Pool(const std::vector<Waits>& waiters, Naps naps)
      : seat_(sleepers_, *this,
              {.idle = {},
               .longest_sleep = Duration::max(),
               .often = naps == Naps::always ? Duration::max() : Duration::zero(),
               .nap = Duration(1),
               .long_nap = Duration(1)}),
        waiting_(static_cast<int>(waiters.size())) {
    for (const Waits waits : waiters) {
      futures_.push_back(std::make_unique<Awaited>(waits == Waits::in_the_seat ? &seat_ : nullptr));
    }
  }

  void hand_in(std::size_t worker) {
    rings_[worker].fetch_or(1, release);
    sleepers_.wake(1);
  }
  void settle_from_outside(std::size_t future) {
    futures_[future]->give();
    sleepers_.wake(1);
  }
  void settle_and_wake_all(std::size_t future) {
    futures_[future]->give();
    sleepers_.wake_all();
  }
  void wait_for(std::size_t future) {
    futures_[future]->wait(std::nullopt);
    if (waiting_.fetch_sub(1, acq_rel) > 1) return;
    {
      const MutexLock lock(mutex_);
      stops_.store(1, relaxed);  // relaxed: under the mutex
    }
    sleepers_.wake_all();
  }
  void be_clerk() {
    for (;;) {
      const SharedSleepers::Ticket ticket = seat_.clerk_ticket();
      {
        const MutexLock lock(mutex_);
        if (stops_.load(relaxed) != 0) return;  // relaxed: under the mutex
      }
      seat_.serve_as_clerk(ticket);
    }
  }

  [[nodiscard]] bool has_results() const override {
    // relaxed: as a racy emptiness test.
    return rings_[0].load(relaxed) != 0 || rings_[1].load(relaxed) != 0;
  }
  [[nodiscard]] bool has_results_approx() const override { return has_results(); }
  std::size_t collect() override {
    std::size_t found = 0;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      if (rings_[i].load(acquire) == 0) continue;
      rings_[i].store(0, relaxed);  // relaxed: one result a worker
      futures_[i]->give();
      ++found;
    }
    return found;
  }

 private:
  std::array<ParticipantRecord, 2> listeners_;
  Atomic<std::uint64_t> bitmap_ = 0;
  const SharedSleepers sleepers_{
      SharedSleepers::Parts{.bitmap = &bitmap_, .participants = listeners_.data(), .count = 2}};
  Seat seat_;
  std::array<Atomic<std::uint32_t>, kWorkers> rings_;
  std::vector<std::unique_ptr<Awaited>> futures_;
  Atomic<int> waiting_;
  Mutex mutex_;
  Atomic<int> stops_ = 0;
};

// A future for each waiter; each is settled by one of `others`. Ends if all waiters return and the
// clerk can be stopped; else somebody sleeps for ever.
Scenario scenario(const std::string& name, const std::vector<Waits>& waiters,
                  const std::vector<std::function<void(Pool&)>>& others, const Limits& limits,
                  Naps naps = Naps::never) {
  const auto setup = [=](Program& program) {
    auto pool = std::make_shared<Pool>(waiters, naps);
    for (const auto& other : others) program.thread([=] { other(*pool); });
    for (std::size_t i = 0; i < waiters.size(); ++i) program.thread([=] { pool->wait_for(i); });
    program.thread([=] { pool->be_clerk(); });
    program.at_end([=] { require(!pool->has_results(), "no result is left"); });
  };
  return {.name = name, .setup = setup, .limits = limits};
}

constexpr Waits kSeat = Waits::in_the_seat;
constexpr Waits kElsewhere = Waits::elsewhere;

std::function<void(Pool&)> worker(std::size_t index) {
  return [=](Pool& pool) { pool.hand_in(index); };
}

std::vector<Scenario> one_waits() {
  const auto canceller = [](Pool& pool) { pool.settle_from_outside(0); };
  const auto waker = [](Pool& pool) { pool.settle_and_wake_all(0); };
  return {
      scenario("one waits", {kSeat}, {worker(0)}, {2, 1}),
      scenario("the clerk collects", {kElsewhere}, {worker(0)}, {2, 1}),
      scenario("settled from outside", {kSeat}, {canceller}, {2, 1}),
      scenario("settled, and all are woken", {kSeat}, {waker}, {2, 1}),
  };
}

std::vector<Scenario> the_clerk_naps() {
  return {
      scenario("one waits, the clerk naps", {kSeat}, {worker(0)}, {2, 0}, Naps::always),
      scenario("one waits elsewhere, the clerk naps", {kSeat, kElsewhere}, {worker(0), worker(1)},
               {1, 0}, Naps::always),
  };
}

std::vector<Scenario> two_wait() {
  const std::vector<std::function<void(Pool&)>> workers = {worker(0), worker(1)};
  return {
      scenario("one has the seat", {kSeat, kElsewhere}, workers, {1, 0}),
      scenario("two want the seat", {kSeat, kSeat}, workers, {1, 0}),
  };
}

TEST(SeatModel, NoResultIsLeftBehindAndEverybodyReturns) {
  expect_all_hold(one_waits());
  expect_all_hold(two_wait());
  expect_all_hold(the_clerk_naps());
}

TEST(SeatModel, EveryOrderOfSleepersIsNeeded) {
  const std::string reason =
      "keeps the load of the epoch in front of the bit; only a machine that delays a load past a "
      "later store could break it, which the explorer does not show. bell.pml does: EPOCH_LATE";
  expect_weakenings_caught(one_waits(), "shared_sleepers.cpp",
                           {{"fetch_or(bit, release)", Weakening::drop_release, reason},
                            {"fetch_and(~bit, acquire)", Weakening::drop_acquire, reason}});
}

}  // namespace
}  // namespace muster::explore
