// utf8_test.cpp: what is text, and what becomes of bytes that are not.
#include <string>

#include <gtest/gtest.h>

#include <muster/base/utf8.hpp>

namespace muster {
namespace {

TEST(Utf8, WellFormedTextIsKept) {
  for (const std::string good : {"", "plain", "\u00e4\u20ac\U0001f600",
                                 "\u0080\u07ff\u0800\uffff\U00010000\U0010ffff", "\ud7ff\ue000"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
    EXPECT_EQ(to_utf8(good), good);
  }
  EXPECT_TRUE(is_utf8(std::string(3, '\0')));
}

TEST(Utf8, EachByteThatIsNotIsReplaced) {
  const std::string sign = "\xef\xbf\xbd";
  EXPECT_EQ(to_utf8("a\xff"
                    "b"),
            "a" + sign + "b");
  EXPECT_EQ(to_utf8("\xc3"), sign);                                   // cut off
  EXPECT_EQ(to_utf8("\xe2\x82"), sign + sign);                        // cut off
  EXPECT_EQ(to_utf8("\xc0\x80"), sign + sign);                        // too long a form
  EXPECT_EQ(to_utf8("\xe0\x9f\xbf"), sign + sign + sign);             // too long a form
  EXPECT_EQ(to_utf8("\xed\xa0\x80"), sign + sign + sign);             // a surrogate
  EXPECT_EQ(to_utf8("\xf4\x90\x80\x80"), sign + sign + sign + sign);  // too large
}

TEST(Utf8, OneWrongByteAnywhereMakesItNoText) {
  for (const std::string bad : {"a\xff", "\xffz", "\xc3", "\xe2\x82", "\xc0\x80", "\xe0\x9f\xbf",
                                "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "x\xc3("}) {
    EXPECT_FALSE(is_utf8(bad)) << to_utf8(bad);
  }
}

}  // namespace
}  // namespace muster
