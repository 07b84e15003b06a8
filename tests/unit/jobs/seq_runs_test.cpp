// seq_runs_test.cpp: numbers to text and back; what is no such text is refused.
#include "jobs/stores/sqlite/seq_runs.hpp"

#include <set>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/jobs/job_error.hpp>

namespace muster {
namespace {

TEST(SeqRuns, NeighboursAreOneRunInWhateverOrderTheyCome) {
  EXPECT_EQ(to_text(runs_of({605, 3, 1, 2, 608, 607})), "1-3 605 607-608");
  EXPECT_EQ(to_text(runs_of({9})), "9");
  EXPECT_TRUE(runs_of({}).empty());
}

TEST(SeqRuns, WhatIsThereTwiceIsTwoRuns) {
  EXPECT_EQ(runs_of({4, 5, 5}), (std::vector<SeqRun>{{4, 5}, {5, 5}}));
}

TEST(SeqRuns, AnyNumbersComeBack) {
  Random random(20261118);
  for (int round = 0; round < 200; ++round) {
    std::set<JobSeq> seqs;
    for (std::uint64_t i = 1 + random.below(100); i > 0; --i) {
      seqs.insert(static_cast<JobSeq>(1 + random.below(round % 2 == 0 ? 150 : INT64_MAX)));
    }
    const std::vector<SeqRun> runs = runs_of({seqs.begin(), seqs.end()});
    EXPECT_EQ(runs_in(to_text(runs)), runs);
    JobSeq count = 0;
    for (const SeqRun& run : runs) {
      count += run.size();
      for (JobSeq seq = run.first; seq <= run.last; ++seq) ASSERT_TRUE(seqs.contains(seq));
    }
    EXPECT_EQ(count, static_cast<JobSeq>(seqs.size()));
  }
}

TEST(SeqRuns, WhatIsNoNumberIsRefused) {
  for (const char* const text : {"", " ", "x", "1 ", "1  2", "1-", "-1", "0", "3-2", "2 1", "1-3 3",
                                 "1,2", "9223372036854775808", "1-2-3"}) {
    try {
      (void)runs_in(text);
      ADD_FAILURE() << text;
    } catch (const StoreFailure& failure) {
      EXPECT_NE(std::string(failure.what()).find("it is corrupt: \"" + std::string(text) + '"'),
                std::string::npos)
          << failure.what();
    }
  }
}

}  // namespace
}  // namespace muster
