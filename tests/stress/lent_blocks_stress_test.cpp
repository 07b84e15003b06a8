// lent_blocks_stress_test.cpp: one thread lends blocks full of a number, others read them, hold
// them for a while and give them back; under the thread sanitizer, too.
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/queues/bounded_queue.hpp>
#include <muster/queues/lent_blocks.hpp>

#include "stress/stress_run.hpp"

namespace muster::testing {
namespace {

constexpr std::uint32_t kBlocks = 6;
constexpr std::uint64_t kLoans = 3000;

struct Loan {
  std::uint32_t block = 0;
  std::uint64_t number = 0;
};

class LendingRound {
 public:
  void play(Random& random) {
    {
      Threads threads(random);
      threads.start([this](Random&) { lend_all(); });
      for (int i = 0; i < 2; ++i) threads.start([this](Random& own) { read_all(own); });
    }
    EXPECT_EQ(torn_.load(), 0U);
    EXPECT_EQ(read_.load(), kLoans);
    for (std::uint32_t i = 0; i < kBlocks; ++i) EXPECT_TRUE(blocks_.take()) << i;
    EXPECT_FALSE(blocks_.take());
  }

 private:
  void lend_all() {
    Patience patience;
    for (std::uint64_t number = 1; number <= kLoans;) {
      const auto block = blocks_.take();
      if (!block) {
        if (!patience.pause()) return;
        continue;
      }
      patience.reset();
      contents_[*block].fill(number);
      while (!loans_.try_push(Loan{*block, number})) spin_pause();  // there is room for all blocks
      ++number;
    }
  }

  void read_all(Random& random) {
    std::vector<Loan> held;
    Patience patience;
    while (read_.load() < kLoans) {
      if (const auto loan = loans_.try_pop()) {
        held.push_back(*loan);
        patience.reset();
      } else if (!patience.pause()) {
        return;
      }
      while (!held.empty() && (held.size() > 2 || random.below(2) == 0)) {
        check(held.back());
        held.pop_back();
      }
    }
    for (const Loan& loan : held) check(loan);
  }

  void check(const Loan& loan) {
    for (const std::uint64_t found : contents_[loan.block]) torn_ += found == loan.number ? 0 : 1;
    LentBlocks::give_back(returns_[loan.block]);
    ++read_;
  }

  std::array<LentBlocks::Returns, kBlocks> returns_;
  std::array<std::array<std::uint64_t, 16>, kBlocks> contents_{};
  LentBlocks blocks_{returns_};
  BoundedQueue<Loan> loans_{8};
  std::atomic<std::uint64_t> torn_ = 0;
  std::atomic<std::uint64_t> read_ = 0;
};

TEST(LentBlocksStress, NoBlockIsWrittenWhileItIsRead) {
  StressRun run;
  while (run.next_round()) LendingRound().play(run.random());
}

}  // namespace
}  // namespace muster::testing
