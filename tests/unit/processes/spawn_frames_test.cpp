// spawn_frames_test.cpp: what is sent is what arrives, and nothing else is taken for it.
#include "processes/spawn_frames.hpp"

#include <chrono>
#include <fcntl.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace muster {
namespace {

LaunchOptions full_options() {
  return {
      .program = "/bin/worker",
      .arguments = {"one", "", "three\n"},
      .environment = {{"A", "1"}, {"B", ""}},
      .inherit_environment = false,
      .working_directory = "/tmp",
      .standard_output = 1,
      .descriptors = {0, 2},
      .limits = {.memory_bytes = UINT64_MAX, .cpu_time = std::chrono::seconds(9), .open_files = 20},
      .nice = -5,
      .oom_score_adj = -1000,
      .no_new_privileges = true,
      .writable_paths = {{"/tmp", "/var/tmp"}}};
}

std::vector<FileDescriptor> copies(std::size_t count) {
  std::vector<FileDescriptor> all;
  for (std::size_t i = 0; i < count; ++i) all.emplace_back(fcntl(0, F_DUPFD_CLOEXEC, 3));
  return all;
}

TEST(SpawnFrames, ALaunchArrivesAsItWasSent) {
  const auto descriptors = copies(3);
  const auto launch = decode_launch(encode_launch(77, full_options()), descriptors);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->worker, 77U);
  LaunchOptions expected = full_options();
  expected.standard_output = descriptors[0].get();
  expected.descriptors = {descriptors[1].get(), descriptors[2].get()};
  EXPECT_TRUE(launch->options == expected);
  EXPECT_EQ(descriptors_of(full_options()), (std::vector<int>{1, 0, 2}));
}

TEST(SpawnFrames, AnEmptyLaunchArrivesAsItWasSent) {
  const auto launch = decode_launch(encode_launch(0, {}), {});
  ASSERT_TRUE(launch);
  EXPECT_TRUE(launch->options == LaunchOptions{});
}

TEST(SpawnFrames, WhatIsCutOrChangedIsNoLaunch) {
  const auto descriptors = copies(3);
  const std::string whole = encode_launch(77, full_options());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_launch(whole.substr(0, size), descriptors)) << size;
  }
  EXPECT_FALSE(decode_launch(whole + 'x', descriptors));
  EXPECT_FALSE(decode_launch(whole, copies(2)));
  EXPECT_FALSE(decode_launch(whole, copies(4)));
  EXPECT_EQ(worker_of_launch(whole.substr(0, 20)), 77U);
  // Any byte may be wrong: the answer is another launch or none, but never a crash.
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0xff);
    (void)decode_launch(changed, descriptors);
  }
}

TEST(SpawnFrames, AReportArrivesAsItWasSent) {
  const Report report{.kind = ReportKind::refused,
                      .worker = UINT64_MAX,
                      .pid = 12,
                      .error_number = 2,
                      .end = {.by_signal = true, .number = 11, .dumped_core = true},
                      .text = "run it"};
  const std::string bytes = encode_report(report);
  const auto arrived = decode_report(bytes);
  ASSERT_TRUE(arrived);
  EXPECT_TRUE(*arrived == report);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_report(bytes.substr(0, size))) << size;
  }
  std::string other_version = bytes;
  other_version[0] = 99;
  EXPECT_FALSE(decode_report(other_version));
}

}  // namespace
}  // namespace muster
