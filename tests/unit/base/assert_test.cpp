// assert_test.cpp: what MUSTER_ASSERT prints when it fails, and that it costs nothing else.
#undef NDEBUG  // MUSTER_DEBUG_ASSERT is on in this file, off in debug_assert_test.cpp

#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <muster/base/assert.hpp>

namespace muster {
namespace {

enum class Colour : std::uint8_t { red = 1, blue = 7 };

struct Opaque {
  int number = 0;
  bool operator==(const Opaque&) const = default;
};

TEST(Assert, ATrueConditionDoesNothingAndIsEvaluatedOnce) {
  int evaluations = 0;
  MUSTER_ASSERT(++evaluations == 1);
  EXPECT_EQ(evaluations, 1);
}

TEST(Assert, ExtraArgumentsAreNotEvaluatedOnSuccess) {
  int evaluations = 0;
  MUSTER_ASSERT(true, ++evaluations);
  EXPECT_EQ(evaluations, 0);
}

TEST(Assert, EveryKindOfConditionCompiles) {
  const unsigned size = 1;
  const auto owner = std::make_unique<int>(3);
  MUSTER_ASSERT(size == 1);  // unsigned and a literal, without a warning
  MUSTER_ASSERT(size + 1 < 3);
  MUSTER_ASSERT(size << 1 <= 2);
  MUSTER_ASSERT(owner);
  MUSTER_ASSERT(owner != nullptr && *owner > 2);
  MUSTER_ASSERT(!owner || size);
  MUSTER_ASSERT((size & 1) != 0);
}

TEST(Assert, WorksInConstantExpressions) {
  constexpr auto half = [](int number) {
    MUSTER_ASSERT(number % 2 == 0, "odd", number);
    return number / 2;
  };
  static_assert(half(8) == 4);
}

TEST(AssertDeathTest, AFailurePrintsPlaceExpressionAndBothValues) {
  const long bottom = 3;
  const long top = 5;
  EXPECT_DEATH(MUSTER_ASSERT(bottom >= top),
               "assert_test\\.cpp:[0-9]+: .*TestBody.*: assertion failed: bottom >= top  "
               "\\(3 >= 5\\)\n");
}

TEST(AssertDeathTest, EachComparisonPrintsItsOwnSign) {
  const int two = 2;
  EXPECT_DEATH(MUSTER_ASSERT(two == 3), "\\(2 == 3\\)");
  EXPECT_DEATH(MUSTER_ASSERT(two != 2), "\\(2 != 2\\)");
  EXPECT_DEATH(MUSTER_ASSERT(two < 2), "\\(2 < 2\\)");
  EXPECT_DEATH(MUSTER_ASSERT(two <= 1), "\\(2 <= 1\\)");
  EXPECT_DEATH(MUSTER_ASSERT(two > 2), "\\(2 > 2\\)");
}

TEST(AssertDeathTest, ExtraArgumentsFollowTheValues) {
  const int worker = 7;
  EXPECT_DEATH(MUSTER_ASSERT(worker < 4, "worker", worker, std::string("is unknown")),
               "\\(7 < 4\\) worker 7 is unknown\n");
}

TEST(AssertDeathTest, AConditionWithoutComparisonPrintsItsValue) {
  const bool ready = false;
  const int* const nothing = nullptr;
  EXPECT_DEATH(MUSTER_ASSERT(ready), "assertion failed: ready  \\(false\\)\n");
  EXPECT_DEATH(MUSTER_ASSERT(nothing), "assertion failed: nothing  \\(0x0\\)\n");
}

TEST(AssertDeathTest, AJoinedConditionPrintsItsText) {
  const int number = 4;
  EXPECT_DEATH(MUSTER_ASSERT(number == 4 && number > 9),
               "assertion failed: number == 4 && number > 9\n");
}

TEST(AssertDeathTest, TemporariesLiveUntilTheyArePrinted) {
  const std::string name = "a name that is too long to be stored inside the string object";
  EXPECT_DEATH(MUSTER_ASSERT(name + "!" == std::string("other")), "inside the string object! ==");
}

TEST(AssertDeathTest, EnumsPrintAsNumbersAndPointersInHexadecimal) {
  const auto* const address = reinterpret_cast<const int*>(std::uintptr_t{0xbeef0});
  EXPECT_DEATH(MUSTER_ASSERT(Colour::red == Colour::blue), "\\(1 == 7\\)");
  EXPECT_DEATH(MUSTER_ASSERT(address == nullptr), "\\(0xbeef0 == nullptr\\)");
}

TEST(AssertDeathTest, SmallIntegersPrintAsNumbersAndNullTextSafely) {
  const char* const text = nullptr;
  EXPECT_DEATH(MUSTER_ASSERT(std::uint8_t{65} == std::int8_t{-1}), "\\(65 == -1\\)");
  EXPECT_DEATH(MUSTER_ASSERT(false, text, "end"), "\\(false\\) nullptr end");
}

TEST(AssertDeathTest, ValuesThatCannotBePrintedShowAsQuestionMarks) {
  EXPECT_DEATH(MUSTER_ASSERT(Opaque{1} == Opaque{2}), "\\(\\? == \\?\\)");
}

TEST(AssertDeathTest, WithoutNdebugADebugAssertFailsToo) {
  const int number = 1;
  EXPECT_DEATH(MUSTER_DEBUG_ASSERT(number == 2, "why"), "number == 2  \\(1 == 2\\) why\n");
}

}  // namespace
}  // namespace muster
