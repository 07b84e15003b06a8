// notice_hub_test.cpp: who is told what, in which order, and what happens to who reads slowly.
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/error.hpp>
#include <muster/observe/notice_hub.hpp>
#include <muster/sync/blocking.hpp>
#include <muster/sync/player.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

void publish_worker(NoticeHub& hub, unsigned worker) {
  hub.publish([worker] { return WorkerAdded{.worker = worker}; });
}

// The workers that a stream tells of, until nothing waits.
std::vector<unsigned> workers_of(NoticeStream& stream) {
  std::vector<unsigned> workers;
  while (const std::optional<Notice> notice = stream.try_next()) {
    workers.push_back(std::get<WorkerAdded>(notice->news).worker);
  }
  return workers;
}

using Workers = std::vector<unsigned>;

TEST(NoticeHub, EverySubscriberIsToldEverythingInOrder) {
  NoticeHub hub;
  NoticeStream one = hub.subscribe();
  NoticeStream other = hub.subscribe();
  for (const unsigned worker : {5U, 6U, 7U}) publish_worker(hub, worker);
  EXPECT_EQ(workers_of(one), (Workers{5, 6, 7}));
  EXPECT_EQ(workers_of(other), (Workers{5, 6, 7}));
  EXPECT_EQ(one.lost(), 0U);
}

TEST(NoticeHub, WithoutASubscriberNothingIsMade) {
  NoticeHub hub;
  int made = 0;
  const auto make = [&made] { return WorkerAdded{.worker = static_cast<unsigned>(++made)}; };
  hub.publish(make);
  EXPECT_EQ(made, 0);
  {
    const NoticeStream stream = hub.subscribe();
    hub.publish(make);
    EXPECT_EQ(made, 1);
  }
  hub.publish(make);
  EXPECT_EQ(made, 1);
}

TEST(NoticeHub, AStreamBeginsWhenItIsSubscribed) {
  NoticeHub hub;
  NoticeStream early = hub.subscribe();
  publish_worker(hub, 1);
  NoticeStream late = hub.subscribe();
  publish_worker(hub, 2);
  EXPECT_EQ(workers_of(early), (Workers{1, 2}));
  EXPECT_EQ(workers_of(late), (Workers{2}));
}

TEST(NoticeHub, NoticesAreNumberedWithoutGapsAndTimed) {
  NoticeHub hub;
  NoticeStream stream = hub.subscribe();
  Time last = current_time();
  for (unsigned worker = 0; worker < 3; ++worker) publish_worker(hub, worker);
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    const Notice notice = stream.try_next().value();
    EXPECT_EQ(notice.sequence, sequence);
    EXPECT_GE(notice.time, last);
    last = notice.time;
  }
  EXPECT_LE(last, current_time());
}

TEST(NoticeHub, WhoIsBehindLosesTheOldestAndIsToldHowMany) {
  NoticeHub hub;
  NoticeStream slow = hub.subscribe(2);
  NoticeStream roomy = hub.subscribe(3);
  for (unsigned worker = 1; worker <= 5; ++worker) publish_worker(hub, worker);
  EXPECT_EQ(slow.lost(), 3U);
  EXPECT_EQ(roomy.lost(), 2U);
  EXPECT_EQ(slow.try_next().value().sequence, 4U);
  publish_worker(hub, 6);
  EXPECT_EQ(workers_of(slow), (Workers{5, 6}));
  EXPECT_EQ(slow.lost(), 3U);
  EXPECT_EQ(workers_of(roomy), (Workers{4, 5, 6}));
  EXPECT_EQ(roomy.lost(), 3U);
}

TEST(NoticeHub, ACapacityOfNoneOrTooManyIsRefused) {
  NoticeHub hub;
  EXPECT_NO_THROW(static_cast<void>(hub.subscribe(1)));
  EXPECT_NO_THROW(static_cast<void>(hub.subscribe(NoticeHub::kMaxCapacity)));
  EXPECT_THROW(static_cast<void>(hub.subscribe(NoticeHub::kMaxCapacity + 1)), InvalidArgument);
  try {
    static_cast<void>(hub.subscribe(0));
    FAIL() << "subscribed without room";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "invalid argument: capacity is 0 but must be from 1 to 1048576");
  }
}

TEST(NoticeHub, WhatCannotBeMadeReachesThePublisherAndNobodyElse) {
  NoticeHub hub;
  NoticeStream stream = hub.subscribe();
  EXPECT_THROW(hub.publish([]() -> News { throw std::runtime_error("no name"); }),
               std::runtime_error);
  EXPECT_EQ(stream.try_next(), std::nullopt);
  publish_worker(hub, 1);
  EXPECT_EQ(stream.try_next().value().sequence, 1U);
}

TEST(NoticeStream, AMovedStreamGoesOnAndTheOneItReplacesIsUnsubscribed) {
  NoticeHub hub;
  NoticeStream first = hub.subscribe();
  publish_worker(hub, 1);
  NoticeStream moved = std::move(first);
  publish_worker(hub, 2);
  EXPECT_EQ(workers_of(moved), (Workers{1, 2}));

  NoticeStream replaced = hub.subscribe();
  replaced = std::move(moved);
  publish_worker(hub, 3);
  EXPECT_EQ(workers_of(replaced), (Workers{3}));
  {
    const NoticeStream gone = std::move(replaced);
  }
  bool made = false;
  hub.publish([&made] {
    made = true;
    return WorkerAdded{};
  });
  EXPECT_FALSE(made) << "somebody is still subscribed";
}

TEST(NoticeStream, OutlivesItsHubWithWhatWasPublished) {
  auto hub = std::make_unique<NoticeHub>();
  NoticeStream stream = hub->subscribe();
  publish_worker(*hub, 1);
  publish_worker(*hub, 2);
  hub.reset();
  EXPECT_FALSE(stream.ended());
  EXPECT_EQ(stream.next(1h).value().sequence, 1U);
  EXPECT_EQ(stream.try_next().value().sequence, 2U);
  EXPECT_TRUE(stream.ended());
  EXPECT_EQ(stream.try_next(), std::nullopt);
  EXPECT_EQ(stream.next(1h), std::nullopt);  // at once
}

TEST(NoticeStream, HasNotEndedWhileItsHubLives) {
  NoticeHub hub;
  const NoticeStream stream = hub.subscribe();
  EXPECT_FALSE(stream.ended());
}

TEST(NoticeStream, NextGivesUpAfterItsTimeout) {
  NoticeHub hub;
  NoticeStream stream = hub.subscribe();
  const Time begin = current_time();
  EXPECT_EQ(stream.next(0ns), std::nullopt);
  EXPECT_EQ(stream.next(2ms), std::nullopt);
  EXPECT_GE(current_time() - begin, 2ms);
}

TEST(NoticeStream, ANegativeTimeoutIsRefused) {
  NoticeHub hub;
  NoticeStream stream = hub.subscribe();
  EXPECT_THROW(stream.next(-1ns), InvalidArgument);
}

// Counts the waits of the thread that it employs.
class CountingEmployer final : public Employer {
 public:
  Cover begin_blocking() noexcept override {
    ++begun;
    waits.count_down();
    return Cover::nobody;
  }
  void end_blocking() noexcept override { ++ended; }
  ExecutorId executor_id() const noexcept override { return {}; }

  std::latch waits{1};
  int begun = 0;
  int ended = 0;
};

// Calls next() on a thread of its own; `act` is called when that is about to wait.
template <class Act>
std::optional<Notice> while_waiting(NoticeStream& stream, Duration timeout, const Act& act) {
  CountingEmployer employer;
  std::optional<Notice> notice;
  std::thread waiter([&] {
    current_employer = &employer;
    notice = stream.next(timeout);
    current_employer = nullptr;
  });
  employer.waits.wait();
  act();
  waiter.join();
  EXPECT_EQ(employer.begun, 1);
  EXPECT_EQ(employer.ended, 1);
  return notice;
}

TEST(NoticeStream, WhoWaitsIsWokenByANotice) {
  for (const Duration timeout : {Duration(1h), Duration::max()}) {
    NoticeHub hub;
    NoticeStream stream = hub.subscribe();
    const auto notice = while_waiting(stream, timeout, [&] { publish_worker(hub, 4); });
    EXPECT_EQ(notice.value().news, News(WorkerAdded{.worker = 4}));
  }
}

TEST(NoticeStream, WhoWaitsIsWokenByTheEndOfTheHub) {
  auto hub = std::make_unique<NoticeHub>();
  NoticeStream stream = hub->subscribe();
  EXPECT_EQ(while_waiting(stream, 1h, [&] { hub.reset(); }), std::nullopt);
  EXPECT_TRUE(stream.ended());
}

TEST(NoticeStream, WhatWaitsAlreadyIsTakenWithoutTellingAnEmployer) {
  NoticeHub hub;
  NoticeStream stream = hub.subscribe();
  publish_worker(hub, 1);
  CountingEmployer employer;
  current_employer = &employer;
  EXPECT_TRUE(stream.next(1h).has_value());
  current_employer = nullptr;
  EXPECT_EQ(employer.begun, 0);
}

// Publishes one notice at 5 s of its own time, and nothing ever after.
class OneNotice final : public Player {
 public:
  explicit OneNotice(NoticeHub& hub) : hub_(hub) { current_player = this; }
  ~OneNotice() override { current_player = nullptr; }
  OneNotice(const OneNotice&) = delete;
  OneNotice& operator=(const OneNotice&) = delete;

  Played play(Time until) override {
    if (now_ >= kDue) return Played::nothing;
    if (until < kDue) {
      now_ = until;
      return Played::too_late;
    }
    now_ = kDue;
    publish_worker(hub_, 1);
    return Played::something;
  }
  Time now() const override { return now_; }
  bool flip() noexcept override { return false; }

  static constexpr Time kDue{5s};

 private:
  NoticeHub& hub_;
  Time now_{};
};

TEST(NoticeStream, InASimulationWaitingLetsThingsHappenInItsTime) {
  NoticeHub hub;
  NoticeStream stream = hub.subscribe();
  const OneNotice player(hub);
  EXPECT_EQ(stream.next(4s), std::nullopt);
  EXPECT_EQ(player.now(), Time(4s));
  EXPECT_EQ(stream.next(4s).value().time, OneNotice::kDue);
  EXPECT_THROW(stream.next(4s), WouldDeadlock);
}

}  // namespace
}  // namespace muster
