// segment_test.cpp: shared memory is shared, sealed, reserved, and gone when nobody has it.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <map>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include <muster/base/system_files.hpp>
#include <muster/error.hpp>
#include <muster/processes/segment.hpp>

namespace muster {
namespace {

FileDescriptor copy_of(int descriptor) {
  return FileDescriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
}

TEST(Segment, IsOneMemoryForAllWhoAttach) {
  const Segment ours = Segment::create("muster-test", 10'000);
  const Segment theirs = Segment::attach(copy_of(ours.descriptor()));
  ASSERT_EQ(ours.memory().size(), 10'000U);
  ASSERT_EQ(theirs.memory().size(), 10'000U);
  EXPECT_NE(ours.memory().data(), theirs.memory().data());
  EXPECT_EQ(theirs.memory()[9'999], std::byte{0});
  ours.memory()[9'999] = std::byte{42};
  EXPECT_EQ(theirs.memory()[9'999], std::byte{42});
}

TEST(Segment, NobodyCanResizeOrUnsealIt) {
  const Segment segment = Segment::create("muster-test", 8192);
  EXPECT_EQ(ftruncate(segment.descriptor(), 4096), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(ftruncate(segment.descriptor(), 16'384), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(fcntl(segment.descriptor(), F_ADD_SEALS, F_SEAL_WRITE), -1);
}

TEST(Segment, IsClosedWhenAProgramIsRun) {
  const Segment segment = Segment::create("muster-test", 1);
  EXPECT_NE(fcntl(segment.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Segment, IsUnmappedAndClosedWhenItGoes) {
  const auto is_mapped = [] {
    return RealFiles().read("/proc/self/maps")->find("muster-gone") != std::string::npos;
  };
  int descriptor = -1;
  {
    Segment segment = Segment::create("muster-gone", 1);
    const Segment moved = std::move(segment);
    descriptor = moved.descriptor();
    EXPECT_TRUE(is_mapped());
  }
  EXPECT_FALSE(is_mapped());
  EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
}

TEST(Segment, MemoryThatIsNotThereIsSaidBeforeItIsTouched) {
  try {
    (void)Segment::create("muster-test", SIZE_MAX);
    FAIL() << "there is no such memory";
  } catch (const SystemFailure& failure) {
    EXPECT_EQ(failure.error_number(), ENOMEM);
    EXPECT_STREQ(failure.what(),
                 "cannot reserve shared memory \"muster-test\" of 18446744073709551615 bytes: "
                 "Cannot allocate memory (errno 12); ask for less or free memory");
  }
  EXPECT_THROW((void)Segment::create("muster-test", 0), InvalidArgument);
}

TEST(Segment, WhatTheMachineHasToSpareIsReadFromMeminfo) {
  const auto spare = [](const char* meminfo) {
    const std::map<std::string, std::string> all = {{"/proc/meminfo", meminfo}};
    return spare_memory_bytes(MemoryFiles(all));
  };
  EXPECT_EQ(spare("MemTotal:  9000 kB\nMemFree:  10 kB\nMemAvailable:    5000 kB\n"), 5'120'000U);
  EXPECT_EQ(spare("MemTotal:  9000 kB\n"), UINT64_MAX);
  EXPECT_EQ(spare("MemAvailable:\n"), UINT64_MAX);
  EXPECT_LT(spare_memory_bytes(RealFiles()), UINT64_MAX);
}

TEST(Segment, OnlyWhatIsSealedCanBeAttached) {
  EXPECT_THROW((void)Segment::attach(FileDescriptor()), InvalidArgument);
  EXPECT_THROW((void)Segment::attach(FileDescriptor(open("/dev/null", O_RDWR | O_CLOEXEC))),
               InvalidArgument);
  FileDescriptor unsealed(memfd_create("muster-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 4096), 0);
  EXPECT_THROW((void)Segment::attach(std::move(unsealed)), InvalidArgument);
}

}  // namespace
}  // namespace muster
