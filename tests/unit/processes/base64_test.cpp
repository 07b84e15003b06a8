// base64_test.cpp: each sequence of bytes has one text, and no other text stands for it.
#include "processes/base64.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Base64, WritesTheExamplesOfTheStandard) {
  const std::pair<std::string, std::string> examples[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"},
                                                          {"\xfb\xff", "+/8="}};
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, AllSortsOfBytesComeBack) {
  for (int first = 0; first < 256; ++first) {
    for (int second = first % 7; second < 256; second += 7) {
      const std::string bytes = {static_cast<char>(first), static_cast<char>(second)};
      EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
      EXPECT_EQ(from_base64(to_base64(bytes + 'x')), bytes + 'x');
    }
  }
}

TEST(Base64, WhatIsWrittenOtherwiseIsRefused) {
  for (const std::string text :
       {"Zg", "Zg=", "Z===", "====", "Zm9v=", "Zg==Zg==", "Zm8=Zm9v", "Zh==", "Zm9=", "Zm 9",
        "Zm9\n", "Zm9v\n", "Zm-_", "=m9v", "Z=9v", "Zm=v", "Z=="}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

TEST(Base64, NothingBehindTheTextIsRead) {
  const std::string_view text = "Zm9vYmFy";
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::vector<char> exact(text.begin(), text.begin() + size);  // the sanitizer sees its end
    EXPECT_EQ(from_base64({exact.data(), size}).has_value(), size % 4 == 0) << size;
  }
}

}  // namespace
}  // namespace muster
