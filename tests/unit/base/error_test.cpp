// error_test.cpp: messages name what was wrong, and exceptions keep their type and contents.
#include <cerrno>
#include <exception>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <muster/error.hpp>

namespace muster {
namespace {

TEST(Error, AnInvalidArgumentNamesFieldValueAndRule) {
  const InvalidArgument error({"workers", "5000", "must be at most 4096"});
  EXPECT_STREQ(error.what(), "invalid argument: workers is 5000 but must be at most 4096");
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
}

TEST(Error, AnInvalidArgumentListsEveryProblem) {
  const std::vector<BadField> problems = {{"workers", "0", "must be at least 1"},
                                          {"name", "\"\"", "must not be empty"}};
  const InvalidArgument error(problems);
  EXPECT_STREQ(error.what(),
               "invalid argument: workers is 0 but must be at least 1; "
               "name is \"\" but must not be empty");
  EXPECT_EQ(error.bad_fields(), problems);
}

TEST(ErrorDeathTest, AnInvalidArgumentWithoutAReasonIsABug) {
  EXPECT_DEATH(InvalidArgument(std::vector<BadField>()), "InvalidArgument needs a reason");
}

TEST(Error, ASystemFailureSaysWhatWasAttemptedWhyItFailedAndWhatToDo) {
  const SystemFailure error("open \"x.db\"", ENOSPC, "free space and retry");
  EXPECT_STREQ(error.what(),
               "cannot open \"x.db\": No space left on device (errno 28); free space and retry");
  EXPECT_EQ(error.code(), ErrorCode::system_failure);
  EXPECT_EQ(error.error_number(), ENOSPC);
}

TEST(Error, AdviceMayBeLeftOut) {
  EXPECT_STREQ(SystemFailure("fork", EAGAIN, "").what(),
               "cannot fork: Resource temporarily unavailable (errno 11)");
}

TEST(Error, EveryErrorIsCaughtAsErrorAndAsStandardException) {
  EXPECT_THROW(throw InvalidArgument({"a", "b", "c"}), Error);
  EXPECT_THROW(throw SystemFailure("fork", EAGAIN, ""), Error);
  EXPECT_THROW(throw SystemFailure("fork", EAGAIN, ""), std::exception);
  EXPECT_THROW(throw TimedOut("late"), Error);
}

TEST(Error, CopyingNeverThrowsAndKeepsTheContents) {
  static_assert(std::is_nothrow_copy_constructible_v<InvalidArgument>);
  static_assert(std::is_nothrow_copy_constructible_v<SystemFailure>);
  const InvalidArgument original({"workers", "0", "must be at least 1"});
  const InvalidArgument copy = original;
  EXPECT_STREQ(copy.what(), original.what());
  EXPECT_EQ(copy.bad_fields(), original.bad_fields());
}

TEST(Error, EveryCodeHasAName) {
  EXPECT_EQ(to_string(ErrorCode::invalid_argument), "invalid_argument");
  EXPECT_EQ(to_string(ErrorCode::system_failure), "system_failure");
  EXPECT_EQ(to_string(TimedOut("late").code()), "timed_out");
  EXPECT_EQ(to_string(QueueFull("no room").code()), "queue_full");
  EXPECT_EQ(to_string(Dropped("too many").code()), "dropped");
}

}  // namespace
}  // namespace muster
