// progress_board_test.cpp: what is written is read, and nothing else is.
#include "jobs/progress_board.hpp"

#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr ProgressPlace place(std::uint32_t number, int started) {
  return {number, WallTime(std::chrono::seconds(started))};
}

TEST(ProgressBoard, WhatIsWrittenIsRead) {
  const ProgressBoard board;
  const ProgressPen pen(board.path());
  EXPECT_FALSE(board.read(place(3, 1)));
  pen.write(place(3, 1), {.fraction = 0.25, .text = "a quarter"});
  ASSERT_TRUE(board.read(place(3, 1)));
  EXPECT_EQ(board.read(place(3, 1))->fraction, 0.25);
  EXPECT_EQ(board.read(place(3, 1))->text, "a quarter");
  EXPECT_FALSE(board.read(place(2, 1))) << "another place";
  EXPECT_FALSE(board.read(place(3, 2))) << "another run";
}

TEST(ProgressBoard, ALongTextIsCutAndALieDoesNoHarm) {
  const ProgressBoard board;
  const ProgressPen pen(board.path());
  pen.write(place(0, 1), {.fraction = 1, .text = std::string(1000, 'x')});
  EXPECT_EQ(board.read(place(0, 1))->text, std::string(200, 'x'));
  pen.write(place(0, 1), {.fraction = 1, .text = "\xff"});
  EXPECT_EQ(board.read(place(0, 1))->text, "\xEF\xBF\xBD") << "no UTF-8";
}

TEST(ProgressBoard, WithoutABoardNothingIsWritten) {
  const ProgressPen pen("/proc/self/fd/9999");
  pen.write(place(0, 1), {.fraction = 1, .text = "x"});
}

TEST(ProgressBoard, WhoReadsMeanwhileSeesOneOrTheOther) {
  const ProgressBoard board;
  const ProgressPen pen(board.path());
  std::atomic<bool> stops = false;
  std::thread writer([&] {
    for (int i = 0; !stops; ++i) {
      const bool is_even = i % 2 == 0;
      pen.write(place(0, 1),
                {.fraction = is_even ? 0.0 : 1.0, .text = std::string(150, is_even ? 'a' : 'b')});
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    const std::optional<JobProgress> seen = board.read(place(0, 1));
    if (!seen) continue;  // nothing yet, or in the middle of it
    ASSERT_EQ(seen->text, std::string(150, seen->fraction == 0 ? 'a' : 'b'));
  }
  stops = true;
  writer.join();
}

}  // namespace
}  // namespace muster
