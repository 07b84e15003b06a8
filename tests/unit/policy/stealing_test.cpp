// stealing_test.cpp: how many tasks are taken, by whom, and from whom first.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/policy/stealing.hpp>

#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

std::vector<std::size_t> order(const StealingOptions& options, std::vector<Victim> victims,
                               Random& random) {
  std::vector<std::size_t> workers;
  for (const Victim& victim : order_victims(options, victims, random)) {
    workers.push_back(victim.worker);
  }
  return workers;
}

TEST(Stealing, EveryBadFieldIsNamedAtOnce) {
  EXPECT_TRUE(validate(StealingOptions{}).empty());
  const std::vector<BadField> bad =
      validate(StealingOptions{.most = 0, .cooldown = -1ns, .patience = -1ns, .max_searchers = 0});
  ASSERT_EQ(bad.size(), 4U);
  EXPECT_EQ(bad[0].field, "most");
  EXPECT_EQ(bad[1].field, "cooldown");
  EXPECT_EQ(bad[1].value, "-1 ns");
  EXPECT_EQ(bad[2].field, "patience");
  EXPECT_EQ(bad[3].field, "max_searchers");
  EXPECT_EQ(validate(StealingOptions{.max_searchers = 1.01}).size(), 1U);
  EXPECT_EQ(
      validate(StealingOptions{.max_searchers = std::numeric_limits<double>::quiet_NaN()}).size(),
      1U);
}

TEST(Stealing, TakesOneOrHalfOrAllAndNeverMoreThanAllowed) {
  struct Case {
    StealSize size;
    std::size_t most;
    std::size_t queued;
    std::size_t taken;
  };
  for (const Case& each : {
           Case{StealSize::one, 4, 0, 0},
           Case{StealSize::one, 4, 1, 1},
           Case{StealSize::one, 4, 100, 1},
           Case{StealSize::half, 4, 0, 0},
           Case{StealSize::half, 4, 1, 1},
           Case{StealSize::half, 4, 2, 1},
           Case{StealSize::half, 4, 3, 2},
           Case{StealSize::half, 4, 7, 4},
           Case{StealSize::half, 4, 100, 4},
           Case{StealSize::half, 64, 100, 50},
           Case{StealSize::half, 64, 101, 51},
           Case{StealSize::all, 4, 3, 3},
           Case{StealSize::all, 4, 5, 4},
           Case{StealSize::all, 1000, 5, 5},
       }) {
    const StealingOptions options{.size = each.size, .most = each.most};
    EXPECT_EQ(tasks_to_steal(options, each.queued), each.taken)
        << each.queued << " queued, at most " << each.most;
  }
}

TEST(Stealing, LeavesQueuesUpToTheThresholdAlone) {
  const StealingOptions options{.size = StealSize::all, .threshold = 2};
  EXPECT_EQ(tasks_to_steal(options, 2), 0U);
  EXPECT_EQ(tasks_to_steal(options, 3), 3U);
}

TEST(Stealing, NothingIsTakenWhenItIsOff) {
  const StealingOptions options{.enabled = false};
  EXPECT_EQ(tasks_to_steal(options, 100), 0U);
  EXPECT_FALSE(may_search(options, Time(1s), {}));
}

TEST(Stealing, AWorkerSearchesAgainAfterItsCooldown) {
  const StealingOptions cooling{.cooldown = 10ms};
  EXPECT_TRUE(may_search(cooling, Time(5ms), {}));
  EXPECT_FALSE(may_search(cooling, Time(14ms), Time(5ms)));
  EXPECT_TRUE(may_search(cooling, Time(15ms), Time(5ms)));
  EXPECT_TRUE(may_search(StealingOptions{}, Time(5ms), Time(5ms)));
}

TEST(Stealing, ASoftTaskMayBeTakenWhenPatienceHasEnded) {
  const Time came = Time{} + 5s;
  EXPECT_EQ(stealable_from({}, came), came + 1ms);
  EXPECT_EQ(stealable_from({.patience = 0s}, came), came);
  EXPECT_EQ(stealable_from({.patience = Duration::max()}, came), Time::max());
  EXPECT_EQ(stealable_from({}, Time::max()), Time::max()) << "there is none";
}

TEST(Stealing, AShareOfTheWorkersSearchesAndOneAlwaysMay) {
  struct Case {
    double share;
    std::size_t workers;
    std::size_t searchers;
  };
  for (const Case& each : {Case{0.5, 1, 1}, Case{0.5, 2, 1}, Case{0.5, 3, 1}, Case{0.5, 64, 32},
                           Case{1.0, 64, 64}, Case{0.001, 64, 1}}) {
    EXPECT_EQ(max_searchers({.max_searchers = each.share}, each.workers), each.searchers);
  }
}

TEST(Victims, ThoseWithNothingToTakeAreNotVisited) {
  Random random = testing::seeded();
  const std::vector<Victim> victims{
      {.worker = 1, .queued = 0}, {.worker = 2, .queued = 3}, {.worker = 3, .queued = 2}};
  EXPECT_EQ(order({.threshold = 2}, victims, random), std::vector<std::size_t>{2});
  EXPECT_EQ(order({}, victims, random).size(), 2U);
  EXPECT_TRUE(order({.enabled = false}, victims, random).empty());
}

TEST(Victims, NearestComeByDistanceAndBusiestByLength) {
  Random random = testing::seeded();
  const std::vector<Victim> victims{{.worker = 1, .queued = 5, .distance = 2},
                                    {.worker = 2, .queued = 9, .distance = 1},
                                    {.worker = 3, .queued = 7, .distance = 0}};
  EXPECT_EQ(order({.victim = VictimChoice::nearest}, victims, random),
            (std::vector<std::size_t>{3, 2, 1}));
  EXPECT_EQ(order({.victim = VictimChoice::busiest}, victims, random),
            (std::vector<std::size_t>{2, 3, 1}));
}

// 24 orders of 4 equals, 6000 draws: 250 each, 16 either way is a standard deviation.
TEST(Victims, EqualsComeInEveryOrderEquallyOften) {
  Random random = testing::seeded();
  std::vector<Victim> victims;
  for (std::size_t worker = 0; worker < 4; ++worker) {
    victims.push_back({.worker = worker, .queued = 1, .distance = 1});
  }
  for (const VictimChoice choice :
       {VictimChoice::nearest, VictimChoice::random, VictimChoice::busiest}) {
    std::map<std::vector<std::size_t>, int> seen;
    for (int draw = 0; draw < 6000; ++draw) {
      ++seen[order({.victim = choice}, victims, random)];
    }
    EXPECT_EQ(seen.size(), 24U);
    for (const auto& [workers, times] : seen) EXPECT_NEAR(times, 250, 80);
  }
}

TEST(Victims, FairnessComesBeforeTheChoiceOfVictim) {
  Random random = testing::seeded();
  const std::vector<Victim> victims{{.worker = 1, .queued = 90, .last_drained = 7},
                                    {.worker = 2, .queued = 10, .last_drained = 3},
                                    {.worker = 3, .queued = 1, .last_drained = 0},
                                    {.worker = 4, .queued = 2, .last_drained = 0}};
  EXPECT_EQ(order({.victim = VictimChoice::busiest, .fair = true}, victims, random),
            (std::vector<std::size_t>{4, 3, 2, 1}));
  EXPECT_EQ(order({.victim = VictimChoice::busiest}, victims, random),
            (std::vector<std::size_t>{1, 2, 4, 3}));
}

// Queues come and go at random. A victim is drained a second time only if each of the others was
// without tasks at some time since the first, or was drained itself.
TEST(Victims, WithFairnessNobodyIsDrainedTwiceWhileAnotherWithTasksIsUntouched) {
  Random random = testing::seeded();
  for (const VictimChoice choice :
       {VictimChoice::nearest, VictimChoice::random, VictimChoice::busiest}) {
    const StealingOptions options{.victim = choice, .fair = true};
    std::array<Victim, 6> workers{};
    std::array<std::uint64_t, 6> last_without_tasks{};
    for (std::size_t i = 0; i < workers.size(); ++i) {
      workers[i] = {.worker = i, .queued = 1, .distance = static_cast<unsigned>(i)};
    }
    for (std::uint64_t drain = 1; drain <= 5000; ++drain) {
      for (Victim& worker : workers) {
        worker.queued = random.chance(0.2) ? 0 : 1 + random.below(9);
        if (worker.queued == 0) last_without_tasks[worker.worker] = drain;
      }
      std::array<Victim, 6> victims = workers;
      const std::span<Victim> ordered = order_victims(options, victims, random);
      if (ordered.empty()) continue;
      Victim& drained = workers[ordered.front().worker];
      for (const Victim& other : workers) {
        if (drained.last_drained == 0 || other.worker == drained.worker) continue;
        const bool had_tasks_since = last_without_tasks[other.worker] <= drained.last_drained;
        ASSERT_FALSE(had_tasks_since && other.last_drained < drained.last_drained)
            << "worker " << drained.worker << " again, before " << other.worker;
      }
      drained.last_drained = drain;
    }
  }
}

}  // namespace
}  // namespace muster
