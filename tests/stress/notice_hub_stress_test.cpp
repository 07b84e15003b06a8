// notice_hub_stress_test.cpp: threads publish while subscribers read, fall behind, come and go.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/observe/notice_hub.hpp>

#include "stress/stress_run.hpp"

namespace muster::testing {
namespace {

constexpr unsigned kPublishers = 3;
constexpr unsigned kEach = 500;

// Longer than Patience: who is not woken fails the test by that.
constexpr std::chrono::seconds kTooLong{60};

// Reads until the hub is gone: every notice once or counted as lost, each publisher's in order.
void read_all(NoticeStream stream) {
  std::array<unsigned, kPublishers> next_of{};
  std::uint64_t received = 0;
  std::uint64_t last = 0;
  while (const std::optional<Notice> notice = stream.next(kTooLong)) {
    const auto& news = std::get<ScaledUp>(notice->news);
    EXPECT_GT(notice->sequence, last);
    EXPECT_GE(news.total, next_of.at(news.added));
    next_of.at(news.added) = news.total + 1;
    last = notice->sequence;
    ++received;
  }
  EXPECT_TRUE(stream.ended());
  EXPECT_EQ(last, kPublishers * kEach);  // the newest is never lost
  EXPECT_EQ(received + stream.lost(), kPublishers * kEach);
}

class Round {
 public:
  void play(Random& random) {
    Threads readers(random);
    for (const std::size_t capacity : {std::size_t{1}, std::size_t{7}, std::size_t{1024}}) {
      auto stream = std::make_shared<NoticeStream>(hub_->subscribe(capacity));
      readers.start([stream](Random& /*own*/) { read_all(std::move(*stream)); });
    }
    {
      Threads publishers(random);
      for (unsigned i = 0; i < kPublishers; ++i) {
        publishers.start([this, i](Random& /*own*/) { publish(i); });
      }
      publishers.start([this](Random& own) { come_and_go(own); });
    }
    hub_.reset();
  }

 private:
  void publish(unsigned publisher) {
    for (unsigned i = 0; i < kEach; ++i) {
      hub_->publish([&] { return ScaledUp{.added = publisher, .total = i, .reason = "stress"}; });
    }
    done_.fetch_add(1);
  }

  void come_and_go(Random& random) {
    while (done_.load() < kPublishers) {
      NoticeStream stream = hub_->subscribe(1 + random.below(3));
      for (std::uint64_t i = random.below(4); i > 0; --i) stream.try_next();
    }
  }

  std::unique_ptr<NoticeHub> hub_ = std::make_unique<NoticeHub>();
  std::atomic<unsigned> done_ = 0;
};

TEST(NoticeHubStress, EveryNoticeIsReceivedOnceOrCountedAsLost) {
  StressRun run;
  while (run.next_round()) Round().play(run.random());
}

TEST(NoticeHubStress, WhoWaitsIsWokenByEachNotice) {
  StressRun run;
  while (run.next_round()) {
    auto hub = std::make_unique<NoticeHub>();
    NoticeStream stream = hub->subscribe();
    std::atomic<std::uint64_t> read = 0;
    Threads reader(run.random());
    reader.start([&](Random& /*own*/) {
      while (const std::optional<Notice> notice = stream.next(kTooLong)) read = notice->sequence;
    });
    bool is_woken = true;
    for (std::uint64_t sequence = 1; sequence <= 100 && is_woken; ++sequence) {
      hub->publish([] { return WorkerAdded{.worker = 1}; });
      Patience patience;
      while (read < sequence && is_woken) is_woken = patience.pause();
    }
    EXPECT_TRUE(is_woken) << "the reader sleeps on";
    hub.reset();
  }
}

}  // namespace
}  // namespace muster::testing
