// line_splitter_test.cpp: however the bytes come, the lines are the same.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <muster/processes/line_splitter.hpp>

namespace muster {
namespace {

// "text", with "+n" for bytes cut and "..." for an unfinished line.
std::vector<std::string> lines(std::string_view bytes, std::size_t piece, std::size_t bound) {
  std::vector<std::string> all;
  const auto take = [&all](const SplitLine& line) {
    std::string text(line.text);
    if (line.cut_bytes > 0) text += '+' + std::to_string(line.cut_bytes);
    all.push_back(text + (line.is_unfinished ? "..." : ""));
  };
  LineSplitter splitter(bound);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    splitter.feed(bytes.substr(0, piece), take);
  }
  splitter.finish(take);
  return all;
}

using Lines = std::vector<std::string>;

TEST(LineSplitter, GivesTheSameLinesHoweverTheBytesCome) {
  for (const std::size_t piece : {1U, 2U, 3U, 5U, 100U}) {
    EXPECT_EQ(lines("one\n\nthree\nlast", piece, 100), (Lines{"one", "", "three", "last..."}));
    EXPECT_EQ(lines("abcdef\nabc\nabcd\nabcde", piece, 3),
              (Lines{"abc+3", "abc", "abc+1", "abc+2..."}));
  }
}

TEST(LineSplitter, WithoutBytesThereIsNoLine) {
  EXPECT_EQ(lines("", 1, 10), Lines{});
  EXPECT_EQ(lines("\n", 1, 10), Lines{""});
  EXPECT_EQ(lines("a\n", 1, 10), Lines{"a"});
}

}  // namespace
}  // namespace muster
