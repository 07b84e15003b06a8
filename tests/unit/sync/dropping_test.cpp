// dropping_test.cpp: what those who are destroyed unrun are told.
#include <exception>
#include <string>

#include <gtest/gtest.h>

#include <muster/error.hpp>
#include <muster/sync/dropping.hpp>

namespace muster {
namespace {

template <class Expected>
std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Expected& expected) {
    return expected.what();
  } catch (const std::exception& other) {
    return std::string("another error: ") + other.what();
  }
}

TEST(Dropping, WithoutOneThePoolHasStopped) {
  EXPECT_EQ(message_of<Stopped>(Dropping::error_for("the task", "")),
            "the task was dropped before it began: its pool stopped");
}

TEST(Dropping, SaysThatThereIsNoRoomAndLearnsTheName) {
  const Dropping dropping;
  EXPECT_EQ(message_of<Dropped>(Dropping::error_for("task \"resize\"", "resize")),
            "task \"resize\" was dropped before it began: too many tasks wait in its pool");
  EXPECT_EQ(dropping.task_name(), "resize");
}

TEST(Dropping, IsForOneTaskOnly) {
  const Dropping dropping;
  (void)Dropping::error_for("the task", "first");
  EXPECT_EQ(message_of<Stopped>(Dropping::error_for("another", "second")),
            "another was dropped before it began: its pool stopped");
  EXPECT_EQ(dropping.task_name(), "first");
}

TEST(Dropping, EndsWithItsScopeAndMayBeNested) {
  const Dropping outer;
  {
    const Dropping inner;
    (void)Dropping::error_for("the task", "inner");
    EXPECT_EQ(inner.task_name(), "inner");
  }
  EXPECT_EQ(outer.task_name(), "");
  (void)Dropping::error_for("the task", "outer");
  EXPECT_EQ(outer.task_name(), "outer");
}

}  // namespace
}  // namespace muster
