// payload_allocation_test.cpp: small payloads allocate nothing, and wrong ones not what they claim.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/process_pool.hpp>
#include <muster/registry.hpp>

#include "support/allocation_count.hpp"
#include "unit/processes/fake_context.hpp"

namespace muster {
namespace {

using testing::allocated_bytes;
using testing::allocation_count;

template <class Call>
std::uint64_t allocations(const Call& call) {
  const std::uint64_t before = allocation_count();
  call();
  return allocation_count() - before;
}

TEST(PayloadAllocation, UpToFortyEightBytesCostNone) {
  const std::string text(48, 'x');
  EXPECT_EQ(allocations([&] {
              const Bytes bytes(text);
              Bytes copy = bytes;
              const Bytes moved = std::move(copy);
              EXPECT_EQ(moved, bytes);
            }),
            0U);
  EXPECT_EQ(allocations([] {
              const Bytes payload = encode_arguments(1, 2.0, std::array<std::int64_t, 4>{});
              EXPECT_EQ(payload.size(), 44U);
            }),
            0U);
}

TEST(PayloadAllocation, MoreCostOneAndTheirCopiesNone) {
  std::string text(49, 'x');
  EXPECT_EQ(allocations([&] { EXPECT_EQ(Bytes::copy_of(text).size(), 49U); }), 1U);
  EXPECT_EQ(allocations([&] {
              const Bytes bytes(std::move(text));
              const Bytes copy = bytes;
              EXPECT_EQ(copy.part(0, 49), bytes);
            }),
            1U);
}

TEST(PayloadAllocation, ASmallTaskCostsNone) {
  Registry registry;
  registry.add("sum", [](int a, int b) { return a + b; });
  registry.add("echo", [](const Bytes& payload) { return payload; });
  testing::FakeContext context({.id = 1, .name = "sum"});
  EXPECT_EQ(allocations([&] {
              const Bytes payload = encode_arguments(1, 2);
              EXPECT_EQ(decode_result<int>(registry.run(0, context, payload)), 3);
              EXPECT_EQ(registry.run(1, context, payload), payload);
            }),
            0U);
}

// Half of them, as another thread may let go of a task, and then has its memory.
TEST(PayloadAllocation, OneTaskAfterTheOtherUsesTheSameMemory) {
  constexpr unsigned kTasks = 1000;
  ProcessPool pool({.workers = 1});
  const auto trips = [&pool] {
    for (unsigned i = 0; i < kTasks; ++i) EXPECT_EQ(pool.exec("echo", "small").get(), "small");
  };
  trips();
  EXPECT_LT(allocations(trips), kTasks / 2);
}

// Each byte claims to be an item, which in memory takes more.
TEST(PayloadAllocation, WhatIsClaimedIsNotAllocated) {
  using Large = std::pair<std::array<std::int64_t, 125>, bool>;
  const auto refuse = [](auto decode, std::uint64_t length, std::size_t rest) {
    ByteWriter out;
    out.append_length(length);
    out.append(std::string(rest, '\7'));
    const Bytes bytes = out.take();
    const std::uint64_t before = allocated_bytes();
    EXPECT_THROW(decode(bytes), CodecError);
    EXPECT_LE(allocated_bytes() - before, 2 * rest + 1000);
  };
  const auto decode_large = [](const Bytes& bytes) {
    (void)decode_result<std::vector<Large>>(bytes);
  };
  const auto decode_map = [](const Bytes& bytes) {
    (void)decode_result<std::map<int, std::string>>(bytes);
  };
  for (const std::size_t rest : {std::size_t{8}, std::size_t{100}, std::size_t{100'000}}) {
    refuse(decode_large, rest, rest);
    refuse(decode_large, std::uint64_t{1} << 60, rest);
    refuse(decode_map, rest / 2, rest);
    refuse(decode_map, std::uint64_t{1} << 60, rest);
  }
}

}  // namespace
}  // namespace muster
