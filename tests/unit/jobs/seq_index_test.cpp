// seq_index_test.cpp: what was put in is found, in whatever order it comes and goes.
#include "jobs/seq_index.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>

namespace muster {
namespace {

TEST(SeqIndex, FindsWhatIsThere) {
  SeqIndex index;
  EXPECT_EQ(index.find(1), SeqIndex::kNowhere);
  for (const JobSeq seq : {3, 5, 9, 17, 20}) {
    EXPECT_TRUE(index.add(seq, static_cast<SeqIndex::Place>(seq + 100)));
  }
  EXPECT_EQ(index.size(), 5U);
  EXPECT_EQ(index.find(3), 103U);
  EXPECT_EQ(index.find(20), 120U);
  EXPECT_EQ(index.find(4), SeqIndex::kNowhere);
  EXPECT_EQ(index.find(21), SeqIndex::kNowhere);
}

TEST(SeqIndex, WhatIsThereStaysAsItIs) {
  SeqIndex index;
  EXPECT_TRUE(index.add(5, 1));
  EXPECT_TRUE(index.add(3, 2)) << "late";
  EXPECT_FALSE(index.add(5, 3));
  EXPECT_FALSE(index.add(3, 4));
  EXPECT_EQ(index.remove(5), 1U);
  EXPECT_FALSE(index.add(3, 5)) << "also when none is left in order";
  EXPECT_EQ(index.find(3), 2U);
}

TEST(SeqIndex, WhatHasGoneMayComeBack) {
  SeqIndex index;
  for (const JobSeq seq : {1, 2, 3}) EXPECT_TRUE(index.add(seq, 7));
  EXPECT_EQ(index.remove(2), 7U);
  EXPECT_EQ(index.remove(2), SeqIndex::kNowhere);
  EXPECT_TRUE(index.add(2, 8));
  EXPECT_EQ(index.find(2), 8U);
  EXPECT_EQ(index.size(), 3U);
}

// New ones at the end, late ones anywhere; from the front, or from anywhere.
TEST(SeqIndex, EqualsAMapUnderRandomOperations) {
  Random random(11);
  SeqIndex index;
  std::map<JobSeq, SeqIndex::Place> model;
  JobSeq next = 1;
  for (SeqIndex::Place step = 0; step < 30'000; ++step) {
    const bool grows = step / 3000 % 2 == 0;
    const auto any_below = [&](JobSeq end) {
      return static_cast<JobSeq>(random.below(static_cast<std::uint64_t>(end)));
    };
    const auto anywhere = [&] { return any_below(next + 10); };
    if (random.below(10) < (grows ? 8U : 1U)) {
      const JobSeq seq = random.below(5) > 0 ? (next += 1 + any_below(3)) : anywhere();
      EXPECT_EQ(index.add(seq, step), model.emplace(seq, step).second);
    } else {
      const auto near = model.lower_bound(random.below(8) > 0 ? anywhere() : 0);
      const JobSeq seq = near == model.end() ? anywhere() : near->first;
      const auto found = model.find(seq);
      EXPECT_EQ(index.remove(seq), found == model.end() ? SeqIndex::kNowhere : found->second);
      if (found != model.end()) model.erase(found);
    }
    const JobSeq seq = anywhere();
    const auto found = model.find(seq);
    ASSERT_EQ(index.find(seq), found == model.end() ? SeqIndex::kNowhere : found->second) << seq;
    ASSERT_EQ(index.size(), model.size());
  }
  std::vector<SeqIndex::Place> met;
  index.for_each([&met](SeqIndex::Place place) { met.push_back(place); });
  std::vector<SeqIndex::Place> expected;
  for (const auto& [seq, place] : model) expected.push_back(place);
  std::ranges::sort(met);
  std::ranges::sort(expected);
  EXPECT_EQ(met, expected);
}

}  // namespace
}  // namespace muster
