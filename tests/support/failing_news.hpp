// failing_news.hpp: memory that runs out when a test says so.
//
// failing_news.cpp replaces the aligned operators new: compile it into a test that stands by
// itself.
#pragma once

namespace muster::testing {

// The next so many that ask for memory aligned to more than usual get none.
void fail_aligned_news(int count) noexcept;

}  // namespace muster::testing
