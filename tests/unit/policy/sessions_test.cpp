// sessions_test.cpp: a key stays with its worker until its time, or its place, runs out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include <gtest/gtest.h>

#include <muster/error.hpp>
#include <muster/policy/sessions.hpp>

#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST(Sessions, BadOptionsAreRefused) {
  EXPECT_THROW(Sessions({.session_ttl = 0s}), InvalidArgument);
  EXPECT_THROW(Sessions({.max_sessions = 0}), InvalidArgument);
}

TEST(Sessions, AKeyStaysWhereItWasAssigned) {
  Sessions sessions;
  EXPECT_FALSE(sessions.find(1, Time(0s)));
  sessions.assign(1, 7, Time(0s));
  EXPECT_EQ(sessions.find(1, Time(1s)), 7U);
  EXPECT_FALSE(sessions.find(2, Time(1s)));
  EXPECT_EQ(sessions.counts().hits, 1U);
  EXPECT_EQ(sessions.counts().misses, 2U);
  EXPECT_EQ(sessions.counts().moves, 0U);
}

TEST(Sessions, ASessionRunsOutAfterFiveMinutesWithoutATask) {
  Sessions sessions;
  sessions.assign(1, 7, Time(0s));
  EXPECT_TRUE(sessions.find(1, Time(5min - 1ns)));
  EXPECT_TRUE(sessions.find(1, Time(10min - 2ns))) << "the task before should have prolonged it";
  EXPECT_FALSE(sessions.find(1, Time(15min - 2ns)));
  EXPECT_EQ(sessions.size(Time(15min - 2ns)), 0U);
}

TEST(Sessions, ASessionThatRanOutMayBeginAgainElsewhereAndThatIsNoMove) {
  Sessions sessions({.session_ttl = 1s});
  sessions.assign(1, 7, Time(0s));
  sessions.assign(1, 8, Time(1s));
  EXPECT_EQ(sessions.find(1, Time(1s)), 8U);
  EXPECT_EQ(sessions.counts().moves, 0U);
}

TEST(Sessions, AssigningALiveSessionElsewhereIsAMove) {
  Sessions sessions;
  sessions.assign(1, 7, Time(0s));
  sessions.assign(1, 7, Time(1s));
  EXPECT_EQ(sessions.counts().moves, 0U);
  sessions.assign(1, 8, Time(2s));
  EXPECT_EQ(sessions.find(1, Time(3s)), 8U);
  EXPECT_EQ(sessions.counts().moves, 1U);
  EXPECT_EQ(sessions.size(Time(3s)), 1U);
}

TEST(Sessions, TheLeastRecentlyUsedMakesRoom) {
  Sessions sessions({.max_sessions = 3});
  for (const std::uint64_t key : {1U, 2U, 3U}) sessions.assign(key, key, Time(0s));
  EXPECT_TRUE(sessions.find(1, Time(1s)));
  sessions.assign(4, 4, Time(1s));
  EXPECT_EQ(sessions.size(Time(1s)), 3U);
  EXPECT_FALSE(sessions.find(2, Time(1s)));
  for (const std::uint64_t key : {1U, 3U, 4U}) EXPECT_EQ(sessions.find(key, Time(1s)), key);
}

TEST(Sessions, ForgettingAWorkerEndsItsSessionsAndNoOthers) {
  Sessions sessions;
  for (std::uint64_t key = 0; key < 100; ++key) sessions.assign(key, key % 4, Time(0s));
  EXPECT_EQ(sessions.forget(2, Time(0s)), 25U);
  EXPECT_EQ(sessions.forget(2, Time(0s)), 0U);
  EXPECT_EQ(sessions.counts().moves, 25U);
  EXPECT_EQ(sessions.size(Time(0s)), 75U);
  for (std::uint64_t key = 0; key < 100; ++key) {
    const auto expected = key % 4 == 2 ? std::nullopt : std::optional<std::size_t>(key % 4);
    EXPECT_EQ(sessions.find(key, Time(0s)), expected);
  }
}

TEST(Sessions, ATimeFromBeforeTheLastUseDoesNotShortenASession) {
  Sessions sessions({.session_ttl = 10s});
  sessions.assign(1, 7, Time(100s));
  EXPECT_EQ(sessions.find(1, Time(99s)), 7U);
  EXPECT_EQ(sessions.find(1, Time(109s)), 7U);
}

TEST(Sessions, ThoseThatRanOutAreNotForgottenAgain) {
  Sessions sessions({.session_ttl = 10s});
  sessions.assign(1, 7, Time(0s));
  sessions.assign(2, 7, Time(5s));
  EXPECT_EQ(sessions.forget(7, Time(10s)), 1U);
  EXPECT_EQ(sessions.counts().moves, 1U);
}

TEST(Sessions, ManyThatRanOutDoNotDriveOutALiveOne) {
  Sessions sessions({.session_ttl = 10s, .max_sessions = 4});
  for (const std::uint64_t key : {1U, 2U, 3U}) sessions.assign(key, 1, Time(0s));
  sessions.assign(4, 1, Time(9s));
  for (const std::uint64_t key : {5U, 6U, 7U}) sessions.assign(key, 1, Time(10s));
  EXPECT_TRUE(sessions.find(4, Time(10s)));
  EXPECT_EQ(sessions.size(Time(10s)), 4U);
}

// A list that is searched from end to end, the least recently used first.
struct Model {
  struct Entry {
    std::uint64_t key;
    std::size_t worker;
    Time last_used;
  };

  void run_out(Time now) {
    std::erase_if(entries, [&](const Entry& entry) { return now - entry.last_used >= 50s; });
  }

  std::optional<Entry> take(std::uint64_t key) {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const Entry& entry) { return entry.key == key; });
    if (found == entries.end()) return {};
    const Entry entry = *found;
    entries.erase(found);
    return entry;
  }

  std::optional<std::size_t> find(std::uint64_t key, Time now) {
    const std::optional<Entry> entry = take(key);
    ++(entry ? counts.hits : counts.misses);
    if (!entry) return {};
    entries.push_back({key, entry->worker, now});
    return entry->worker;
  }

  void assign(std::uint64_t key, std::size_t worker, Time now) {
    const std::optional<Entry> entry = take(key);
    if (entry && entry->worker != worker) ++counts.moves;
    if (!entry && entries.size() == 20) entries.pop_front();
    entries.push_back({key, worker, now});
  }

  std::size_t forget(std::size_t worker) {
    const std::size_t gone =
        std::erase_if(entries, [&](const Entry& entry) { return entry.worker == worker; });
    counts.moves += gone;
    return gone;
  }

  std::deque<Entry> entries;
  SessionCounts counts;
};

TEST(Sessions, EqualASimpleModelUnderRandomOperations) {
  Random random = testing::seeded();
  Sessions sessions({.session_ttl = 50s, .max_sessions = 20});
  Model model;
  Time now(0s);
  for (int step = 0; step < 20'000; ++step) {
    now += std::chrono::seconds(random.below(5));
    model.run_out(now);
    const std::uint64_t key = random.below(30);
    const std::size_t worker = random.below(4);
    const std::uint64_t operation = random.below(50);
    if (operation == 0) {
      ASSERT_EQ(sessions.forget(worker, now), model.forget(worker));
    } else if (operation < 5) {
      ASSERT_EQ(sessions.size(now), model.entries.size());
    } else if (operation < 25) {
      sessions.assign(key, worker, now);
      model.assign(key, worker, now);
    } else {
      ASSERT_EQ(sessions.find(key, now), model.find(key, now));
    }
    ASSERT_EQ(sessions.counts().hits, model.counts.hits);
    ASSERT_EQ(sessions.counts().misses, model.counts.misses);
    ASSERT_EQ(sessions.counts().moves, model.counts.moves);
  }
  EXPECT_GT(model.counts.hits, 1000U);
  EXPECT_GT(model.counts.moves, 1000U);
}

}  // namespace
}  // namespace muster
