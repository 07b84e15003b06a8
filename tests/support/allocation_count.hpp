// allocation_count.hpp: how often, and how much, the calling thread has allocated so far.
//
//     const std::uint64_t before = allocation_count();
//     pool.post(task);
//     EXPECT_EQ(allocation_count() - before, 0);
//
// Link allocation_count.cpp, which replaces operator new for the whole program.
#pragma once

#include <cstdint>

namespace muster::testing {

std::uint64_t allocation_count() noexcept;
std::uint64_t allocated_bytes() noexcept;

}  // namespace muster::testing
