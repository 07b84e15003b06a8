// lent_blocks_test.cpp: the shipped blocks under every small schedule and every allowed read, with
// an owner that sleeps when all are lent.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/queues/lent_blocks.hpp>
#include <muster/queues/shared_sleepers.hpp>
#include <muster/sync/plain.hpp>

#include "support/explorer/mutations.hpp"

namespace muster::explore {
namespace {

constexpr std::size_t kBlocks = 2;

// Loans are told by a flag each, with the orders of a ring and no more.
class Lending {
 public:
  struct Loan {
    Atomic<std::uint32_t> told = 0;  // the block + 1
  };

  explicit Lending(std::size_t blocks) : blocks_(std::span(returns_).first(blocks)) {}

  // By the owner.
  bool lend(std::size_t loan) {
    const auto block = blocks_.take();
    if (!block) return false;
    contents_[*block].set(static_cast<int>(loan));
    loans_[loan].told.store(*block + 1, release);
    return true;
  }
  void lend_or_sleep(std::size_t loan) {
    while (!lend(loan)) {
      const auto ticket = sleepers_.announce(0);
      if (lend(loan)) return sleepers_.withdraw(ticket);
      sleepers_.park(ticket, kForever);
    }
  }
  void take_and_put_back() {
    if (const auto block = blocks_.take()) blocks_.put_back(*block);
  }

  // By who reads them.
  void read(std::size_t loan) {
    std::uint32_t told = 0;
    while ((told = loans_[loan].told.load(acquire)) == 0) spin_pause();
    require(contents_[told - 1].get() == static_cast<int>(loan), "what is read is what was lent");
    LentBlocks::give_back(returns_[told - 1]);
    sleepers_.wake(1);
  }

  void expect_all_back(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) require(blocks_.take().has_value(), "each came back");
    require(!blocks_.take(), "once");
    require(sleepers_.asleep_approx() == 0, "nobody is left announced");
  }

 private:
  std::array<LentBlocks::Returns, kBlocks> returns_;
  std::array<Plain<int>, kBlocks> contents_;
  std::array<Loan, 4> loans_;
  std::array<ParticipantRecord, 1> owner_;
  Atomic<std::uint64_t> bitmap_ = 0;
  const SharedSleepers sleepers_{
      SharedSleepers::Parts{.bitmap = &bitmap_, .participants = owner_.data(), .count = 1}};
  LentBlocks blocks_;
};

using Body = std::function<void(Lending&)>;

Scenario scenario(const std::string& name, std::size_t blocks, const std::vector<Body>& threads) {
  return {.name = name,
          .setup =
              [=](Program& program) {
                auto lending = std::make_shared<Lending>(blocks);
                for (const Body& body : threads) program.thread([=] { body(*lending); });
                program.at_end([=] { lending->expect_all_back(blocks); });
              },
          .limits = {.preemptions = 3, .stale_reads = 2}};
}

std::vector<Scenario> scenarios() {
  const Body reads_two = [](Lending& l) { l.read(0), l.read(1); };
  return {
      scenario("a block comes back, and is lent again", 1,
               {[](Lending& l) { l.lend_or_sleep(0), l.lend_or_sleep(1); }, reads_two}),
      scenario("two blocks, two who read", 2,
               {[](Lending& l) { l.lend_or_sleep(0), l.lend_or_sleep(1), l.lend_or_sleep(2); },
                [](Lending& l) { l.read(0); }, [](Lending& l) { l.read(1), l.read(2); }}),
      scenario("one was not lent after all", 1,
               {[](Lending& l) { l.lend_or_sleep(0), l.take_and_put_back(), l.lend_or_sleep(1); },
                reads_two}),
  };
}

TEST(LentBlocksModel, WhatIsReadIsNotWrittenAndAllComeBack) {
  expect_all_hold(scenarios());
}

TEST(LentBlocksModel, EveryOrderIsNeeded) {
  expect_weakenings_caught(scenarios(), "lent_blocks.hpp");
}

}  // namespace
}  // namespace muster::explore
