// payload_test.cpp: arguments and results, and who understands whose.
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/payload.hpp>

#include "unit/processes/sample.hpp"

namespace muster {
namespace {

using testing::Named;

template <class Call>
std::string complaint_of(const Call& call) {
  try {
    call();
  } catch (const CodecError& error) {
    return error.what();
  }
  return "none";
}

TEST(Payload, ATextOrBytesAloneAreSentAsTheyAre) {
  const std::string text = "hello";
  char buffer[] = "hello";
  EXPECT_EQ(encode_arguments("hello"), Bytes("hello"));
  EXPECT_EQ(encode_arguments(buffer), Bytes("hello"));
  EXPECT_EQ(encode_arguments(text), Bytes("hello"));
  EXPECT_EQ(encode_arguments(text.c_str()), Bytes("hello"));
  EXPECT_EQ(encode_arguments(std::string_view(text)), Bytes("hello"));
  EXPECT_EQ(encode_arguments(Bytes("hello")), Bytes("hello"));
  EXPECT_EQ(encode_result(text), Bytes("hello"));
  EXPECT_EQ(decode_result<std::string>("hello"), "hello");
  EXPECT_EQ(decode_result<Bytes>("hello"), Bytes("hello"));
  EXPECT_EQ(decode_arguments<std::string>("hello"), std::tuple("hello"));
}

TEST(Payload, WhatIsMovedInAloneIsNotCopied) {
  std::string text(100, 'x');
  const void* const where = text.data();
  Bytes bytes = encode_arguments(std::move(text));
  EXPECT_EQ(bytes.span().data(), where);
  const Bytes again = encode_arguments(std::move(bytes));
  EXPECT_EQ(again.span().data(), where);
  EXPECT_EQ(decode_result<Bytes>(again).span().data(), where);
}

TEST(Payload, TextsAmongOthersHaveALengthAndAreAllTheSame) {
  const Bytes expected = encode_arguments(std::string("ab"), 1);
  EXPECT_EQ(expected.size(), 8U + 2 + sizeof(int));
  EXPECT_EQ(encode_arguments("ab", 1), expected);
  EXPECT_EQ(encode_arguments(std::string_view("ab"), 1), expected);
  EXPECT_EQ(encode_arguments(Bytes("ab"), 1), expected);
  EXPECT_EQ((decode_arguments<std::string, int>(expected)), std::tuple(std::string("ab"), 1));
  EXPECT_EQ((decode_arguments<Bytes, int>(expected)), std::tuple(Bytes("ab"), 1));
}

TEST(Payload, SeveralArgumentsAreATuple) {
  EXPECT_EQ(encode_arguments(1, 2.5), encode_arguments(std::tuple(1, 2.5)));
  EXPECT_EQ((decode_arguments<int, double>(encode_arguments(1, 2.5))), std::tuple(1, 2.5));
}

TEST(Payload, NothingIsNoByte) {
  EXPECT_TRUE(encode_arguments().empty());
  EXPECT_EQ(decode_arguments<>(Bytes()), std::tuple());
  EXPECT_NO_THROW(decode_result<void>(Bytes()));
  EXPECT_EQ(complaint_of([] { decode_result<void>("x"); }),
            "result: cannot decode all of it: 1 byte is left behind the last value");
}

TEST(Payload, StructsAndContainersComeBack) {
  const std::vector<Named> names = {{"Ada"}, {"Grace"}};
  EXPECT_EQ(decode_result<std::vector<Named>>(encode_result(names)), names);
  EXPECT_EQ(decode_result<Named>(encode_arguments(names[1])), names[1]);
}

TEST(Payload, AnErrorNamesTheArgumentOrTheResult) {
  const auto three = encode_arguments(1, 2, 3);
  EXPECT_EQ(complaint_of([&] { (void)decode_arguments<int, int, std::string>(three); }),
            "argument 3: cannot decode the length of std::string: it takes 8 bytes, but 4 bytes "
            "are left");
  EXPECT_EQ(complaint_of([&] { (void)decode_arguments<int, int>(three); }),
            "cannot decode all of it: 4 bytes are left behind the last value");
  EXPECT_EQ(complaint_of([] { (void)decode_result<double>("abc"); }),
            "result: cannot decode double: it takes 8 bytes, but 3 bytes are left");
}

}  // namespace
}  // namespace muster
