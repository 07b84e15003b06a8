// cpu_list_test.cpp: "0-3,8" and back, and nothing for text that is not such a list.
#include <gtest/gtest.h>

#include <muster/base/cpu_list.hpp>

namespace muster {
namespace {

TEST(CpuList, ReadsNumbersAndRanges) {
  EXPECT_EQ(parse_cpu_list("0"), CpuList({0}));
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11\n"), CpuList({0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("5-5"), CpuList({5}));
}

TEST(CpuList, BlankTextIsTheEmptySet) {
  EXPECT_EQ(parse_cpu_list(""), CpuList());
  EXPECT_EQ(parse_cpu_list("\n"), CpuList());
}

TEST(CpuList, MalformedTextIsNoList) {
  for (const char* text : {"x", "1,", ",1", "1,,2", "-", "-1", "1-", "3-1", "1-2-3", "0 1", "0x3",
                           "+1", "0-3:1/2", "1.5", "18446744073709551616"}) {
    EXPECT_EQ(parse_cpu_list(text), std::nullopt) << text;
  }
}

TEST(CpuList, OnlyAscendingNumbersAreBelieved) {
  EXPECT_EQ(parse_cpu_list("4,2"), std::nullopt);
  EXPECT_EQ(parse_cpu_list("0-3,3"), std::nullopt);
  EXPECT_EQ(parse_cpu_list("0-9,0-9"), std::nullopt);
}

TEST(CpuList, HugeRangesAreRefusedBeforeTheyCostMemory) {
  EXPECT_EQ(parse_cpu_list("0-4294967295"), std::nullopt);
  EXPECT_EQ(parse_cpu_list("65536"), std::nullopt);
  EXPECT_EQ(parse_cpu_list("0-65535")->size(), kMaxCpus);
}

TEST(CpuList, WritesWhatItReads) {
  for (const char* text : {"", "7", "0-1", "0-3,8,10-11", "1,3,5"}) {
    EXPECT_EQ(format_cpu_list(parse_cpu_list(text).value()), text);
  }
}

}  // namespace
}  // namespace muster
