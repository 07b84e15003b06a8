// parking_lot_stress_test.cpp: nobody sleeps while there is work, or after being told to stop.
//
// Whoever waits for a sleeper gives up before the sleeper's deadline, and that is a failure. The
// deadline itself only sees to it that the threads can be joined then.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/clock.hpp>
#include <muster/base/random.hpp>
#include <muster/queues/bounded_queue.hpp>
#include <muster/sync/parking_lot.hpp>

#include "stress/ledger.hpp"
#include "stress/stress_run.hpp"

namespace muster::testing {
namespace {

constexpr auto kRescue = 2 * Patience::kLongest;

struct Setup {
  std::uint32_t producers;
  std::uint32_t workers;
  std::uint32_t passers_by;  // workers of lower numbers that announce, withdraw and never work
};

// Producers wait for what they have sent before they send more. So the workers fall asleep all the
// time, and a lost wake is not made good by the next one.
class Round {
 public:
  explicit Round(const Setup& setup)
      : setup_(setup),
        lot_(setup.workers + setup.passers_by),
        ledger_({.producers = setup.producers, .each = 300 / setup.producers}),
        parcels_(setup.producers, std::vector<Parcel>(ledger_.size().each)),
        handled_(setup.producers) {}

  void play(Random& random) {
    SCOPED_TRACE(::testing::Message() << setup_.producers << " producers, " << setup_.workers
                                      << " workers, " << setup_.passers_by << " passers-by");
    Threads crew(random);
    for (std::size_t i = 0; i < setup_.passers_by; ++i) {
      crew.start([this, i](Random& /*own*/) { pass_by(i); });
    }
    for (std::size_t i = 0; i < setup_.workers; ++i) {
      crew.start([this, worker = setup_.passers_by + i](Random& /*own*/) { work(worker); });
    }
    {
      Threads producers(random);
      for (std::uint32_t i = 0; i < setup_.producers; ++i) {
        producers.start([this, i](Random& own) { produce(i, own); });
      }
    }
    const Time stopped = real_clock().now();
    stopping_.store(true, relaxed);
    lot_.wake_all();
    crew.join();
    EXPECT_LT(real_clock().now() - stopped, Patience::kLongest) << "somebody slept on";
    EXPECT_FALSE(slept_through_.load(relaxed)) << "work waited while workers slept";
    ledger_.expect_every_parcel_once_and_in_order();
    EXPECT_EQ(lot_.parked_approx(), 0U);
  }

 private:
  void produce(std::uint32_t producer, Random& random) {
    std::vector<Parcel>& parcels = parcels_[producer];
    for (std::uint32_t number = 0; number < parcels.size();) {
      for (std::uint64_t i = 1 + random.below(3); i > 0 && number < parcels.size(); --i) {
        parcels[number].pack(producer, number);
        Patience for_room;
        while (!queue_.try_push(&parcels[number])) {
          if (!for_room.pause()) return;
        }
        lot_.wake_one();
        ++number;
      }
      Patience for_workers;
      while (handled_[producer].load(relaxed) < number) {
        if (!for_workers.pause()) return slept_through_.store(true, relaxed);
      }
    }
  }

  bool handle_one() {
    const std::optional<const Parcel*> parcel = queue_.try_pop();
    if (!parcel) return false;
    ledger_.record(**parcel);
    handled_[(*parcel)->producer() % setup_.producers].fetch_add(1, relaxed);
    return true;
  }

  void work(std::size_t worker) {
    for (;;) {
      if (handle_one()) continue;
      const ParkingLot::Ticket ticket = lot_.announce(worker);
      if (handle_one()) {
        lot_.withdraw(ticket);
      } else if (stopping_.load(relaxed)) {
        return lot_.withdraw(ticket);
      } else {
        lot_.park(ticket, real_clock().now() + kRescue);
      }
    }
  }

  void pass_by(std::size_t worker) {
    while (!stopping_.load(relaxed)) {
      const ParkingLot::Ticket ticket = lot_.announce(worker);
      std::this_thread::yield();
      lot_.withdraw(ticket);
    }
  }

  // Fixed at construction.
  const Setup setup_;

  // Any thread.
  ParkingLot lot_;
  BoundedQueue<const Parcel*> queue_{4};
  Ledger ledger_;
  std::vector<std::vector<Parcel>> parcels_;
  std::vector<std::atomic<std::uint32_t>> handled_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> slept_through_ = false;
};

TEST(ParkingLotStress, NoWorkerSleepsWhileWorkWaits) {
  StressRun run;
  while (run.next_round()) {
    Round({.producers = static_cast<std::uint32_t>(1 + run.random().below(3)),
           .workers = static_cast<std::uint32_t>(1 + run.random().below(4)),
           .passers_by = 0})
        .play(run.random());
  }
}

TEST(ParkingLotStress, AWakeSpentOnAPasserByReachesASleeper) {
  StressRun run;
  while (run.next_round()) {
    Round({.producers = 1,
           .workers = static_cast<std::uint32_t>(1 + run.random().below(2)),
           .passers_by = 1})
        .play(run.random());
  }
}

// Sleepers that are woken all together, again and again.
class Dormitory {
 public:
  Dormitory(std::uint32_t sleepers, Random& random)
      : sleepers_(sleepers), lot_(sleepers), threads_(random) {
    for (std::size_t i = 0; i < sleepers; ++i) {
      threads_.start([this, i](Random& /*own*/) { sleep(i); });
    }
  }
  ~Dormitory() {
    rise(kLastMorning);
    threads_.join();
    EXPECT_EQ(lot_.parked_approx(), 0U);
  }

  void play() {
    rise(++morning_);
    Patience patience;
    while (up_.load(relaxed) < sleepers_ * morning_) {
      ASSERT_TRUE(patience.pause()) << "somebody sleeps on";
    }
  }

 private:
  static constexpr std::uint64_t kLastMorning = ~std::uint64_t{0};

  void rise(std::uint64_t morning) {
    called_.store(morning, relaxed);
    lot_.wake_all();
  }

  void sleep(std::size_t sleeper) {
    for (std::uint64_t seen = 0;;) {
      const ParkingLot::Ticket ticket = lot_.announce(sleeper);
      const std::uint64_t called = called_.load(relaxed);
      if (called == seen) {
        lot_.park(ticket, real_clock().now() + kRescue);
        continue;
      }
      lot_.withdraw(ticket);
      if (called == kLastMorning) return;
      seen = called;
      up_.fetch_add(1, relaxed);
    }
  }

  // Fixed at construction.
  const std::uint64_t sleepers_;

  // The test's thread only.
  std::uint64_t morning_ = 0;

  // Any thread.
  ParkingLot lot_;
  std::atomic<std::uint64_t> called_ = 0;
  std::atomic<std::uint64_t> up_ = 0;
  Threads threads_;
};

TEST(ParkingLotStress, WakeAllReachesEverySleeper) {
  StressRun run;
  while (run.next_round()) {
    Dormitory dormitory(static_cast<std::uint32_t>(1 + run.random().below(4)), run.random());
    for (int morning = 0; morning < 100 && !HasFatalFailure(); ++morning) dormitory.play();
  }
}

}  // namespace
}  // namespace muster::testing
