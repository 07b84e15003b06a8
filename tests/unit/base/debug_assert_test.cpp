// debug_assert_test.cpp: MUSTER_DEBUG_ASSERT in a build with NDEBUG.
#ifndef NDEBUG
#define NDEBUG
#endif

#include <gtest/gtest.h>

#include <muster/base/assert.hpp>

namespace muster {
namespace {

TEST(DebugAssert, WithNdebugNothingIsEvaluated) {
  int evaluations = 0;
  const int only_used_here = 3;
  MUSTER_DEBUG_ASSERT(++evaluations == 7, ++evaluations, only_used_here);
  EXPECT_EQ(evaluations, 0);
}

TEST(DebugAssertDeathTest, WithNdebugTheOrdinaryAssertStaysOn) {
  const int number = 1;
  EXPECT_DEATH(MUSTER_ASSERT(number == 2), "\\(1 == 2\\)");
}

}  // namespace
}  // namespace muster
