// lane_test.cpp: order within a partition, priority between them, and no head that blocks others.
#include "jobs/lane.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr WallTime at(int seconds) {
  return WallTime(std::chrono::seconds(seconds));
}

JobSeq seq_of(const std::optional<WaitingJob>& job) {
  return job ? job->seq : 0;
}

TEST(Lane, IsEmptyAtFirst) {
  Lane lane;
  EXPECT_FALSE(lane.take(at(0)));
  EXPECT_FALSE(lane.next_delayed());
  EXPECT_EQ(lane.size(), 0U);
}

TEST(Lane, JobsWithoutAPartitionGoByPriorityThenAge) {
  Lane lane;
  lane.add({.seq = 1});
  lane.add({.seq = 2, .priority = 5});
  lane.add({.seq = 3, .priority = 5});
  lane.add({.seq = 4, .priority = -1});
  std::vector<JobSeq> order;
  while (const auto job = lane.take(at(0))) order.push_back(job->seq);
  EXPECT_EQ(order, (std::vector<JobSeq>{2, 3, 1, 4}));
}

TEST(Lane, APartitionIsTakenInOrderWhateverThePriorities) {
  Lane lane;
  lane.add({.seq = 1, .partition = 7});
  lane.add({.seq = 2, .partition = 7, .priority = 100});
  const auto first = lane.take(at(0));
  EXPECT_EQ(seq_of(first), 1);
  EXPECT_FALSE(lane.take(at(0))) << "the first is still being run";
  lane.finish(*first);
  EXPECT_EQ(seq_of(lane.take(at(0))), 2);
}

TEST(Lane, ThePriorityOfAHeadChoosesBetweenPartitionsAndOthers) {
  Lane lane;
  lane.add({.seq = 1, .partition = 7});
  lane.add({.seq = 2, .partition = 8, .priority = 3});
  lane.add({.seq = 3, .priority = 2});
  EXPECT_EQ(seq_of(lane.take(at(0))), 2);
  EXPECT_EQ(seq_of(lane.take(at(0))), 3);
  EXPECT_EQ(seq_of(lane.take(at(0))), 1);
}

TEST(Lane, AHeadThatWaitsHoldsUpItsPartitionAndNobodyElse) {
  Lane lane;
  lane.add({.seq = 1, .partition = 7, .run_at = at(10)});
  lane.add({.seq = 2, .partition = 7});
  lane.add({.seq = 3, .partition = 8});
  EXPECT_EQ(seq_of(lane.take(at(0))), 3);
  EXPECT_FALSE(lane.take(at(9)));
  EXPECT_EQ(lane.next_delayed(), at(10));
  EXPECT_EQ(seq_of(lane.take(at(10))), 1);
}

TEST(Lane, WhatIsRetriedStaysInFrontOfItsPartition) {
  Lane lane;
  lane.add({.seq = 1, .partition = 7});
  lane.add({.seq = 2, .partition = 7});
  lane.add({.seq = 3});
  auto job = lane.take(at(0));
  job->run_at = at(5);
  job->attempts = 1;
  lane.retry(*job);
  EXPECT_EQ(lane.size(), 3U);
  EXPECT_EQ(seq_of(lane.take(at(1))), 3) << "others go on";
  EXPECT_FALSE(lane.take(at(4)));
  job = lane.take(at(5));
  ASSERT_EQ(seq_of(job), 1);
  EXPECT_EQ(job->attempts, 1);
  lane.finish(*job);
  EXPECT_EQ(seq_of(lane.take(at(5))), 2);
}

TEST(Lane, WhatIsRemovedIsNotTakenAndFreesItsPartition) {
  Lane lane;
  for (JobSeq seq = 1; seq <= 4; ++seq) lane.add({.seq = seq, .partition = 7});
  lane.add({.seq = 5});
  EXPECT_TRUE(lane.remove(1)) << "a head";
  EXPECT_TRUE(lane.remove(3)) << "in the middle";
  EXPECT_TRUE(lane.remove(5));
  EXPECT_FALSE(lane.remove(5));
  EXPECT_EQ(lane.size(), 2U);
  const auto job = lane.take(at(0));
  EXPECT_EQ(seq_of(job), 2);
  EXPECT_FALSE(lane.remove(2)) << "it is being run";
  EXPECT_TRUE(lane.remove(4)) << "the last, while another is being run";
  lane.finish(*job);
  EXPECT_FALSE(lane.take(at(0)));
  EXPECT_EQ(lane.size(), 0U);
  EXPECT_FALSE(lane.next_delayed()) << "nothing is left to wait for";
}

TEST(Lane, WhatIsHeldKeepsItsPlaceAndIsNotTaken) {
  Lane lane;
  for (JobSeq seq = 1; seq <= 3; ++seq) lane.add({.seq = seq, .partition = 7});
  lane.add({.seq = 4});
  lane.add({.seq = 5});
  for (const JobSeq seq : {2, 4}) EXPECT_TRUE(lane.hold(seq));
  EXPECT_FALSE(lane.hold(4)) << "twice";
  EXPECT_FALSE(lane.hold(9)) << "does not wait here";
  const auto head = lane.take(at(0));
  EXPECT_EQ(seq_of(head), 1);
  lane.finish(*head);
  EXPECT_EQ(seq_of(lane.take(at(0))), 5);
  EXPECT_FALSE(lane.take(at(0))) << "nor is what stands behind it";
  EXPECT_EQ(lane.size(), 3U);
  lane.release(2);
  lane.release(4);
  const auto second = lane.take(at(0));
  EXPECT_EQ(seq_of(second), 2);
  EXPECT_EQ(seq_of(lane.take(at(0))), 4);
  EXPECT_TRUE(lane.hold(3));
  EXPECT_TRUE(lane.remove(3)) << "also while it is held";
  lane.finish(*second);
  EXPECT_FALSE(lane.next_delayed()) << "nothing is left to wait for";
}

TEST(Lane, OnlyWhatHasNoPartitionIsGivenAway) {
  Lane lane;
  lane.add({.seq = 1, .partition = 7, .priority = 9});
  lane.add({.seq = 2, .run_at = at(3)});
  EXPECT_FALSE(lane.give_away(at(0)));
  EXPECT_EQ(seq_of(lane.give_away(at(3))), 2);
  EXPECT_FALSE(lane.give_away(at(3)));
  EXPECT_EQ(lane.size(), 1U);
}

// The same rules without any heap or list.
class PlainLane {
 public:
  void add(const WaitingJob& job) { waiting_.push_back(job); }
  std::optional<WaitingJob> take(WallTime now) {
    auto best = waiting_.end();
    std::set<PartitionHash> seen;
    for (auto job = waiting_.begin(); job != waiting_.end(); ++job) {
      if (job->partition) {
        const bool is_head = seen.insert(*job->partition).second;
        if (!is_head || busy_.contains(*job->partition)) continue;
      }
      if (job->run_at > now) continue;
      const bool is_better = best == waiting_.end() || job->priority > best->priority ||
                             (job->priority == best->priority && job->seq < best->seq);
      if (is_better) best = job;
    }
    if (best == waiting_.end()) return std::nullopt;
    const WaitingJob job = *best;
    waiting_.erase(best);
    if (job.partition) busy_.insert(*job.partition);
    return job;
  }
  void finish(const WaitingJob& job) {
    if (job.partition) busy_.erase(*job.partition);
  }
  void retry(const WaitingJob& job) {
    finish(job);
    waiting_.push_front(job);
  }
  bool remove(JobSeq seq) {
    return std::erase_if(waiting_, [&](const WaitingJob& job) { return job.seq == seq; }) > 0;
  }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }

 private:
  std::deque<WaitingJob> waiting_;
  std::set<PartitionHash> busy_;
};

TEST(Lane, APartitionMayGoByPriority) {
  Lane lane(PartitionOrder::priority);
  lane.add({.seq = 1, .partition = 7});
  lane.add({.seq = 2, .partition = 7, .priority = 5});
  lane.add({.seq = 3, .partition = 7, .priority = -5});
  lane.add({.seq = 4, .partition = 7, .priority = 5});
  lane.add({.seq = 5, .partition = 7});
  auto job = lane.take(at(0));
  EXPECT_EQ(seq_of(job), 2);
  job->run_at = at(1);
  lane.retry(*job);
  lane.add({.seq = 6, .partition = 7, .priority = 5});
  lane.add({.seq = 7, .partition = 7, .priority = 9});
  EXPECT_FALSE(lane.take(at(0))) << "what is retried stays in front";
  std::vector<JobSeq> order;
  while (const auto next = lane.take(at(1))) {
    order.push_back(next->seq);
    lane.finish(*next);
  }
  EXPECT_EQ(order, (std::vector<JobSeq>{2, 7, 4, 6, 1, 5, 3}));
}

TEST(Lane, WhatIsRetriedDoesNotTakeOthersAlongToTheFront) {
  Lane lane(PartitionOrder::priority);
  lane.add({.seq = 1, .partition = 7, .priority = 5});
  const auto failed = lane.take(at(0));
  ASSERT_TRUE(failed);
  lane.retry(*failed);
  lane.add({.seq = 2, .partition = 7, .priority = 9});
  lane.add({.seq = 3, .partition = 7, .priority = 3});
  std::vector<JobSeq> order;
  while (const auto next = lane.take(at(1))) {
    order.push_back(next->seq);
    lane.finish(*next);
  }
  EXPECT_EQ(order, (std::vector<JobSeq>{1, 2, 3}));
}

// Against a plain list that is sorted.
TEST(Lane, APartitionByPriorityEqualsASortedList) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    Lane lane(PartitionOrder::priority);
    std::vector<WaitingJob> model;
    JobSeq seq = 0;
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t dice = random.below(10);
      if (dice < 5) {
        const auto priority = static_cast<std::int16_t>(random.below(4));
        model.push_back({.seq = ++seq, .partition = 7, .priority = priority});
        lane.add(model.back());
      } else if (dice < 7 && !model.empty()) {
        const auto gone = model.begin() + static_cast<std::ptrdiff_t>(random.below(model.size()));
        EXPECT_TRUE(lane.remove(gone->seq));
        model.erase(gone);
      } else {
        std::ranges::sort(model, [](const WaitingJob& left, const WaitingJob& right) {
          return left.priority != right.priority ? left.priority > right.priority
                                                 : left.seq < right.seq;
        });
        const auto job = lane.take(at(0));
        ASSERT_EQ(seq_of(job), model.empty() ? 0 : model.front().seq);
        if (!job) continue;
        model.erase(model.begin());
        lane.finish(*job);
      }
    }
  }
}

TEST(Lane, ABlockedPartitionWaitsAndNobodyElse) {
  Lane lane;
  lane.add({.seq = 1, .partition = 7});
  lane.add({.seq = 2, .partition = 7});
  lane.add({.seq = 3, .partition = 8});
  const auto dead = lane.take(at(0));
  lane.block(7, 1);
  lane.add({.seq = 4, .partition = 7});
  const auto other = lane.take(at(0));
  EXPECT_EQ(seq_of(other), 3);
  lane.finish(*other);
  EXPECT_FALSE(lane.take(at(0)));
  lane.unblock(7, 1, dead);
  const auto again = lane.take(at(0));
  EXPECT_EQ(seq_of(again), 1) << "in front";
  lane.block(7, 1);
  lane.unblock(7, 1, std::nullopt);
  EXPECT_EQ(seq_of(lane.take(at(0))), 2);
  lane.unblock(9, 9, WaitingJob{.seq = 9, .partition = 9});
  EXPECT_EQ(seq_of(lane.take(at(0))), 9) << "was not blocked";
}

TEST(Lane, APartitionGoesOnWhenNoneOfItsDeadLettersIsLeft) {
  for (const PartitionOrder order : {PartitionOrder::enqueued, PartitionOrder::priority}) {
    Lane lane(order);
    for (const JobSeq dead : {1, 2, 3, 3}) lane.block(7, dead);
    EXPECT_EQ(lane.blocked().size(), 3U);
    lane.add({.seq = 4, .partition = 7});
    lane.unblock(7, 3, WaitingJob{.seq = 3, .partition = 7});
    lane.unblock(7, 2, std::nullopt);
    EXPECT_FALSE(lane.take(at(0)));
    EXPECT_TRUE(lane.is_blocked_by(7, 1));
    lane.unblock(7, 1, WaitingJob{.seq = 1, .partition = 7});
    lane.add({.seq = 5, .partition = 7, .priority = 1});
    std::vector<JobSeq> taken;
    while (const auto job = lane.take(at(0))) {
      taken.push_back(job->seq);
      lane.finish(*job);
    }
    EXPECT_EQ(taken, order == PartitionOrder::enqueued ? (std::vector<JobSeq>{1, 3, 4, 5})
                                                       : (std::vector<JobSeq>{1, 3, 5, 4}));
    EXPECT_TRUE(lane.blocked().empty());
  }
}

TEST(Lane, KnowsWhetherAnythingCouldBeTakenButForLimits) {
  Lane lane;
  EXPECT_FALSE(lane.has_due(at(0)));
  lane.add({.seq = 1, .partition = 7, .run_at = at(10)});
  lane.add({.seq = 2, .partition = 7});
  lane.add({.seq = 3, .run_at = at(5)});
  EXPECT_FALSE(lane.has_due(at(4))) << "the second one stands behind the first";
  EXPECT_TRUE(lane.has_due(at(5)));
  WaitingJob limited = lane.take(at(5)).value();
  EXPECT_FALSE(lane.has_due(at(5)));
  limited.run_at = at(20);
  limited.is_put_off = true;
  lane.retry(limited);
  EXPECT_TRUE(lane.has_due(at(5)));
  EXPECT_FALSE(lane.remove(3)->is_put_off);
  EXPECT_FALSE(lane.has_due(at(5)));
  EXPECT_TRUE(lane.has_due(at(10)));
  lane.block(7, 4);
  EXPECT_FALSE(lane.has_due(at(10)));
}

TEST(Lane, PausesAreShiftedWithTheClockAndStartTimesAreNot) {
  Lane lane;
  lane.add({.seq = 1, .run_at = at(10), .attempts = 1});
  lane.add({.seq = 2, .partition = 7, .run_at = at(10), .attempts = 1});
  lane.add({.seq = 3, .run_at = at(10)});
  lane.add({.seq = 4, .partition = 8, .run_at = at(10), .is_put_off = true});
  lane.shift_pauses(-8s);
  EXPECT_EQ(seq_of(lane.take(at(2))), 1);
  EXPECT_EQ(seq_of(lane.take(at(2))), 2);
  EXPECT_EQ(seq_of(lane.take(at(2))), 4);
  EXPECT_FALSE(lane.take(at(9)));
  EXPECT_EQ(seq_of(lane.take(at(10))), 3);
}

TEST(Lane, KnowsAPartitionThatHasMoreThanHalf) {
  Lane lane;
  EXPECT_FALSE(lane.crowd());
  lane.add({.seq = 1, .partition = 7});
  lane.add({.seq = 2, .partition = 8});
  EXPECT_FALSE(lane.crowd());
  lane.add({.seq = 3, .partition = 8});
  ASSERT_TRUE(lane.crowd());
  EXPECT_EQ(lane.crowd()->head, 2);
  EXPECT_EQ(lane.crowd()->jobs, 2U);
  lane.add({.seq = 4});
  EXPECT_FALSE(lane.crowd());
}

TEST(Lane, EqualsAPlainOneUnderRandomOperations) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    Lane lane;
    PlainLane plain;
    std::vector<WaitingJob> running;
    JobSeq next = 1;
    int now = 0;
    for (int step = 0; step < 400; ++step) {
      switch (random.below(6)) {
        case 0:
        case 1: {
          WaitingJob job{.seq = next++};
          if (random.below(3) > 0) job.partition = random.below(4);
          if (random.below(4) == 0) job.run_at = at(now + static_cast<int>(random.below(5)));
          job.priority = static_cast<std::int16_t>(random.below(3));
          lane.add(job);
          plain.add(job);
          break;
        }
        case 2: {
          const auto job = lane.take(at(now));
          ASSERT_EQ(job, plain.take(at(now))) << "seed " << seed << " step " << step;
          if (job) running.push_back(*job);
          break;
        }
        case 3: {
          if (running.empty()) break;
          const std::size_t which = random.below(running.size());
          WaitingJob job = running[which];
          running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
          if (random.below(2) == 0) {
            lane.finish(job);
            plain.finish(job);
          } else {
            job.run_at = at(now + static_cast<int>(random.below(4)));
            lane.retry(job);
            plain.retry(job);
          }
          break;
        }
        case 4: {
          const JobSeq seq =
              1 + static_cast<JobSeq>(random.below(static_cast<std::uint64_t>(next)));
          ASSERT_EQ(lane.remove(seq).has_value(), plain.remove(seq));
          break;
        }
        default:
          ++now;
      }
      ASSERT_EQ(lane.size(), plain.size());
    }
  }
}

}  // namespace
}  // namespace muster
