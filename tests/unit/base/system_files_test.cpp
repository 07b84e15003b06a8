// system_files_test.cpp: the two sides of the seam answer alike.
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include <muster/base/system_files.hpp>

namespace muster {
namespace {

TEST(RealFiles, ReadsFilesThatHaveNoSize) {
  const auto status = RealFiles().read("/proc/self/status");
  ASSERT_TRUE(status);
  EXPECT_NE(status->find("Pid:\t" + std::to_string(getpid()) + "\n"), std::string::npos);
}

TEST(RealFiles, WhatCannotBeReadIsNothing) {
  EXPECT_EQ(RealFiles().read("/no/such/file"), std::nullopt);
  EXPECT_EQ(RealFiles().read("/proc"), std::nullopt);  // a directory opens, but does not read
}

TEST(RealFiles, AnEndlessFileIsCutOff) {
  EXPECT_EQ(RealFiles().read("/dev/zero")->size(), std::size_t{8} << 20);
}

TEST(MemoryFiles, GivesBackWhatItWasGiven) {
  const MemoryFiles files(std::map<std::string, std::string>{{"/a", "1\n"}});
  EXPECT_EQ(files.read("/a"), "1\n");
  EXPECT_EQ(files.read("/b"), std::nullopt);
}

}  // namespace
}  // namespace muster
