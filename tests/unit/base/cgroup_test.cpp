// cgroup_test.cpp: which group's quota counts, for both versions and the oddities of containers.
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <muster/base/cgroup.hpp>

namespace muster {
namespace {

using Files = std::map<std::string, std::string>;

constexpr const char* kGroup = "/proc/self/cgroup";
constexpr const char* kMounts = "/proc/self/mountinfo";
constexpr const char* kV2AtRoot = "29 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n";

std::optional<double> quota(Files files) {
  return cgroup_quota_cpus(MemoryFiles(std::move(files)));
}

// The quota with this content of our own group's cpu.max.
std::optional<double> quota_of(const std::string& cpu_max) {
  return quota({{kGroup, "0::/a\n"}, {kMounts, kV2AtRoot}, {"/sys/fs/cgroup/a/cpu.max", cpu_max}});
}

TEST(Cgroup, TheQuotaIsTimeOverPeriod) {
  EXPECT_EQ(quota_of("150000 100000\n"), 1.5);
  EXPECT_EQ(quota_of("50000 200000\n"), 0.25);
}

TEST(Cgroup, MaxIsNoLimit) {
  EXPECT_EQ(quota_of("max 100000\n"), std::nullopt);
}

TEST(Cgroup, AMalformedQuotaIsNoLimit) {
  for (const char* text : {"", "\n", "max", "100000", "0 100000", "1 0", "-1 100000", "a b",
                           "1 2 3", "1e5 100000", "99999999999999999999 1"}) {
    EXPECT_EQ(quota_of(text), std::nullopt) << text;
  }
}

TEST(Cgroup, TheSmallestQuotaOfAllAncestorsWins) {
  const Files files = {{kGroup, "0::/a/b/c\n"},
                       {kMounts, kV2AtRoot},
                       {"/sys/fs/cgroup/a/cpu.max", "200000 100000\n"},
                       {"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
                       {"/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n"}};
  EXPECT_EQ(quota(files), 2.0);
}

TEST(Cgroup, ALimitOnTheMountsRootCounts) {
  const Files files = {{kGroup, "0::/a\n"},
                       {kMounts, kV2AtRoot},
                       {"/sys/fs/cgroup/cpu.max", "300000 100000\n"},
                       {"/sys/fs/cgroup/a/cpu.max", "max 100000\n"}};
  EXPECT_EQ(quota(files), 3.0);
}

TEST(Cgroup, OtherGroupsDoNotCount) {
  const Files files = {{kGroup, "0::/a/b\n"},
                       {kMounts, kV2AtRoot},
                       {"/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n"},
                       {"/sys/fs/cgroup/a/b/c/cpu.max", "100000 100000\n"},
                       {"/sys/fs/cgroup/ab/cpu.max", "100000 100000\n"}};
  EXPECT_EQ(quota(files), 4.0);
}

TEST(Cgroup, AMountThatStartsAtOurGroupShowsItAtItsRoot) {
  const Files files = {
      {kGroup, "4:cpu,cpuacct:/docker/1f\n"},
      {kMounts, "32 31 0:29 /docker/1f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}};
  EXPECT_EQ(quota(files), 2.5);
}

TEST(Cgroup, AMountOfASiblingIsNotTakenForOurs) {
  // "/docker/1" is a prefix of our name, but not our ancestor. The second mount is ours.
  const Files files = {{kGroup, "0::/docker/1f\n"},
                       {kMounts,
                        "32 31 0:29 /docker/1 /other ro - cgroup2 cgroup2 rw\n"
                        "33 31 0:29 /docker/1f /ours ro - cgroup2 cgroup2 rw\n"},
                       {"/other/cpu.max", "100000 100000\n"},
                       {"/ours/cpu.max", "500000 100000\n"}};
  EXPECT_EQ(quota(files), 5.0);
}

TEST(Cgroup, OfSeveralMountsTheOneShowingMoreAncestorsIsRead) {
  const Files files = {{kGroup, "0::/pod/one\n"},
                       {kMounts,
                        "32 31 0:29 /pod/one /narrow ro - cgroup2 cgroup2 rw\n"
                        "33 31 0:29 / /wide ro - cgroup2 cgroup2 rw\n"},
                       {"/narrow/cpu.max", "500000 100000\n"},
                       {"/wide/pod/one/cpu.max", "500000 100000\n"},
                       {"/wide/pod/cpu.max", "200000 100000\n"}};
  EXPECT_EQ(quota(files), 2.0);
}

TEST(Cgroup, AGroupThatCannotBeSeenFallsBackToTheMountsRoot) {
  const std::string mounts = "32 31 0:29 /docker/1f /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
  for (const char* group : {"0::/elsewhere\n", "0::/../up\n", "0::/\n", ""}) {
    const Files files = {
        {kGroup, group}, {kMounts, mounts}, {"/sys/fs/cgroup/cpu.max", "300000 100000\n"}};
    EXPECT_EQ(quota(files), 3.0) << group;
  }
}

TEST(Cgroup, APathThatLeadsUpwardsIsNotFollowed) {
  const Files files = {{kGroup, "0::/../a\n"},
                       {kMounts, kV2AtRoot},
                       {"/sys/fs/cgroup/../a/cpu.max", "100000 100000\n"},
                       {"/sys/fs/cgroup/cpu.max", "300000 100000\n"}};
  EXPECT_EQ(quota(files), 3.0);
}

TEST(Cgroup, EscapedCharactersInMountPathsAreRead) {
  const Files files = {
      {kGroup, "0::/my group/a\\b\n"},
      {kMounts, "32 31 0:29 /my\\040group /mnt/c\\134d\\011e ro - cgroup2 cgroup2 rw\n"},
      {"/mnt/c\\d\te/a\\b/cpu.max", "600000 100000\n"}};
  EXPECT_EQ(quota(files), 6.0);
}

TEST(Cgroup, ABackslashWithoutThreeOctalDigitsStandsForItself) {
  const Files files = {{kGroup, "0::/\n"},
                       {kMounts, "32 31 0:29 / /m\\04 ro - cgroup2 cgroup2 rw\n"},
                       {"/m\\04/cpu.max", "700000 100000\n"}};
  EXPECT_EQ(quota(files), 7.0);
}

TEST(Cgroup, AMountAtTheRootDirectoryWorks) {
  const Files files = {{kGroup, "0::/a\n"},
                       {kMounts, "32 31 0:29 / / ro - cgroup2 cgroup2 rw\n"},
                       {"/a/cpu.max", "700000 100000\n"},
                       {"/cpu.max", "600000 100000\n"}};
  EXPECT_EQ(quota(files), 6.0);
}

TEST(Cgroup, VersionOneWithoutLimitSaysMinusOne) {
  const Files files = {{kGroup, "1:cpu:/\n"},
                       {kMounts, "32 31 0:29 / /cpu rw - cgroup cgroup rw,cpu\n"},
                       {"/cpu/cpu.cfs_quota_us", "-1\n"},
                       {"/cpu/cpu.cfs_period_us", "100000\n"}};
  EXPECT_EQ(quota(files), std::nullopt);
}

TEST(Cgroup, TheCpuControllerIsNotMistakenForItsNeighbours) {
  const Files files = {{kGroup, "3:cpuset:/x\n2:cpuacct:/y\n1:cpu:/z\n"},
                       {kMounts,
                        "34 31 0:31 / /cpuset rw - cgroup cgroup rw,cpuset\n"
                        "33 31 0:30 / /cpuacct rw - cgroup cgroup rw,cpuacct\n"
                        "32 31 0:29 / /cpu rw - cgroup cgroup rw,cpu\n"},
                       {"/cpu/x/cpu.cfs_quota_us", "100000\n"},
                       {"/cpu/x/cpu.cfs_period_us", "100000\n"},
                       {"/cpu/z/cpu.cfs_quota_us", "400000\n"},
                       {"/cpu/z/cpu.cfs_period_us", "100000\n"}};
  EXPECT_EQ(quota(files), 4.0);
}

TEST(Cgroup, OnAHybridSystemTheSmallerVersionWins) {
  Files files = {{kGroup, "1:cpu:/a\n0::/b\n"},
                 {kMounts,
                  "32 31 0:29 / /one rw - cgroup cgroup rw,cpu\n"
                  "33 31 0:30 / /two rw - cgroup2 cgroup2 rw\n"},
                 {"/one/a/cpu.cfs_quota_us", "200000\n"},
                 {"/one/a/cpu.cfs_period_us", "100000\n"}};
  EXPECT_EQ(quota(files), 2.0);
  files["/two/b/cpu.max"] = "100000 100000\n";
  EXPECT_EQ(quota(files), 1.0);
  files["/two/b/cpu.max"] = "900000 100000\n";
  EXPECT_EQ(quota(files), 2.0);
}

TEST(Cgroup, WithoutProcThereIsNoLimit) {
  EXPECT_EQ(quota({{"/sys/fs/cgroup/cpu.max", "100000 100000\n"}}), std::nullopt);
}

}  // namespace
}  // namespace muster
