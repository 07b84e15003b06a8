// process_figures_test.cpp: the figures of made-up processes, and of this one.
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <muster/processes/process_figures.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr char kStatus[] =
    "Name:\tworker\nState:\tS (sleeping)\nVmRSS:\t  900000 kB\nRssAnon:\t    1234 kB\n"
    "RssShmem:\t  890000 kB\nCoreDumping:\t0\nThreads:\t3\n";
constexpr char kStat[] =
    "42 (worker) S 1 42 42 0 -1 4194304 100 0 0 0 150 25 7 7 20 0 3 0 12345 99 88 77";

std::optional<ProcessFigures> figures_of(const std::string& status, const std::string& stat) {
  const std::map<std::string, std::string> all = {{"/proc/42/status", status},
                                                  {"/proc/42/stat", stat}};
  const MemoryFiles files(all);
  return read_process_figures(files, 42);
}

TEST(ProcessFigures, CountMemoryOfItsOwnOnly) {
  const auto figures = figures_of(kStatus, kStat);
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->anonymous_bytes, 1234U * 1024);
  EXPECT_EQ(figures->cpu_time, 1750ms);
  EXPECT_FALSE(figures->dumps_core);
}

TEST(ProcessFigures, AreNotConfusedByTheNameOfTheProgram) {
  const auto figures =
      figures_of(kStatus, "42 (a) S 1 (b) ) R 1 42 42 0 -1 4194304 100 0 0 0 3 4 7 7 20 0 3 0 1");
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->cpu_time, 70ms);
}

TEST(ProcessFigures, TellThatItsCoreIsDumped) {
  const auto figures = figures_of("RssAnon:\t 4 kB\nCoreDumping:\t1\n", kStat);
  ASSERT_TRUE(figures);
  EXPECT_TRUE(figures->dumps_core);
}

TEST(ProcessFigures, OfADeadProcessHaveNoMemory) {
  const auto figures = figures_of("Name:\tworker\nState:\tZ (zombie)\nThreads:\t1\n", kStat);
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->anonymous_bytes, 0U);
}

TEST(ProcessFigures, OfWhatDoesNotReadLikeAProcessAreNothing) {
  EXPECT_EQ(read_process_figures(MemoryFiles(std::map<std::string, std::string>()), 42),
            std::nullopt);
  EXPECT_EQ(figures_of(kStatus, ""), std::nullopt);
  EXPECT_EQ(figures_of(kStatus, "42 (worker) S 1 42"), std::nullopt);
  EXPECT_EQ(figures_of(kStatus, "42 (worker) S 1 42 42 0 -1 1 1 0 0 0 x 25 7"), std::nullopt);
  EXPECT_EQ(figures_of("RssAnon:\tmuch\n", kStat), std::nullopt);
  EXPECT_EQ(figures_of("RssAnon:\t-4 kB\n", kStat), std::nullopt);
}

TEST(ProcessFigures, OfThisProcessGrowWithIt) {
  const auto before = read_process_figures(RealFiles(), getpid());
  ASSERT_TRUE(before);
  EXPECT_GT(before->anonymous_bytes, 0U);
  constexpr std::size_t kBytes = 64 << 20;
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto after = read_process_figures(RealFiles(), getpid());
  ASSERT_TRUE(after);
  EXPECT_GE(after->anonymous_bytes, before->anonymous_bytes + kBytes / 2);
  EXPECT_GE(after->cpu_time, before->cpu_time);
  EXPECT_EQ(munmap(memory, kBytes), 0);
}

}  // namespace
}  // namespace muster
