// shared_blocks_test.cpp: both sides of a worker's memory in one process.
#include "processes/shared_blocks.hpp"

#include <cstring>
#include <functional>
#include <unistd.h>

#include <gtest/gtest.h>

#include <muster/error.hpp>

#include "processes/worker_segment.hpp"

namespace muster {
namespace {

using Outcome = SharedBlocks::Outcome;

constexpr WorkerSegment::Sizes kSizes{
    .ring = {.slots = 4, .participants = 2, .parties = RingParties::pair},
    .blocks = {.count = 4, .bytes = 4096}};

class SharedBlocksTest : public ::testing::Test {
 protected:
  static WorkerSegment attached_to(const WorkerSegment& segment) {
    return WorkerSegment::attach(FileDescriptor(dup(segment.descriptor())));
  }

  const WorkerSegment pool_ = WorkerSegment::create(kSizes);
  const WorkerSegment worker_ = attached_to(pool_);
};

TEST_F(SharedBlocksTest, WhatOneSideWritesTheOtherReads) {
  const SharedBlocks::Taken payload = pool_.blocks().take(100);
  const SharedBlocks::Taken result = worker_.blocks().take(100);
  ASSERT_EQ(payload.outcome, Outcome::taken);
  ASSERT_EQ(result.outcome, Outcome::taken);
  std::memset(pool_.blocks().own_memory(payload.block).data(), 'p', 100);
  std::memset(worker_.blocks().own_memory(result.block).data(), 'r', 100);
  const auto seen_by_worker = worker_.blocks().read({payload.block, 100});
  const auto seen_by_pool = pool_.blocks().read({result.block, 100});
  ASSERT_TRUE(seen_by_worker && seen_by_pool);
  EXPECT_EQ(seen_by_worker->size(), 100U);
  EXPECT_EQ(seen_by_worker->back(), std::byte{'p'});
  EXPECT_EQ(seen_by_pool->front(), std::byte{'r'});
}

TEST_F(SharedBlocksTest, EachSideHasAsManyAndGetsThemBack) {
  for (int lap = 0; lap < 3; ++lap) {
    for (std::uint32_t i = 0; i < kSizes.blocks.count; ++i) {
      EXPECT_EQ(pool_.blocks().take(1).outcome, Outcome::taken);
      EXPECT_EQ(worker_.blocks().take(1).outcome, Outcome::taken);
    }
    EXPECT_EQ(pool_.blocks().take(1).outcome, Outcome::none_free);
    EXPECT_EQ(worker_.blocks().take(1).outcome, Outcome::none_free);
    for (std::uint32_t i = 0; i < kSizes.blocks.count; ++i) {
      pool_.blocks().payload_back(i);
      pool_.blocks().give_back(i);
    }
  }
}

TEST_F(SharedBlocksTest, WhatCannotBeThereIsNotRead) {
  for (const SharedBlocks& blocks : {std::cref(pool_.blocks()), std::cref(worker_.blocks())}) {
    EXPECT_TRUE(blocks.read({3, 4096}));
    EXPECT_FALSE(blocks.read({4, 1}));
    EXPECT_FALSE(blocks.read({0, 4097}));
    EXPECT_FALSE(blocks.read({0xFFFF'FFFF, 0xFFFF'FFFF}));
  }
}

TEST_F(SharedBlocksTest, HalfOfTheResultsMayBeKept) {
  EXPECT_TRUE(pool_.blocks().pin());
  EXPECT_TRUE(pool_.blocks().pin());
  EXPECT_FALSE(pool_.blocks().pin());
  pool_.blocks().unpin();
  EXPECT_TRUE(pool_.blocks().pin());
}

TEST_F(SharedBlocksTest, MoreThanThereIsMemoryForIsRefusedAndCostsNoBlock) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 39;  // as address space it is there
  const WorkerSegment huge =
      WorkerSegment::create({.ring = kSizes.ring, .blocks = {.count = 1, .bytes = kHuge}});
  EXPECT_EQ(huge.blocks().take(kHuge).outcome, Outcome::no_memory);
  EXPECT_EQ(huge.blocks().take(100).outcome, Outcome::taken);
}

TEST_F(SharedBlocksTest, BlocksThatDoNotFitIntoTheMemoryAreRefused) {
  for (const BlockSizes& sizes : {BlockSizes{.count = 400, .bytes = 4096},
                                  BlockSizes{.count = 0xFFFF'FFFF, .bytes = 1U << 31},
                                  BlockSizes{.count = 4, .bytes = ~std::uint64_t{0}}}) {
    const WorkerSegment segment = WorkerSegment::create(kSizes);
    segment.board().blocks = sizes.count;
    segment.board().block_bytes = sizes.bytes;
    EXPECT_THROW((void)attached_to(segment), InvalidArgument) << sizes.count;
  }
}

}  // namespace
}  // namespace muster
