// codec_test.cpp: what was encoded is decoded, and whatever else the bytes are is refused.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/codec.hpp>
#include <muster/codec_described.hpp>

#include "unit/processes/sample.hpp"
#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using testing::Color;
using testing::Money;
using testing::Named;
using testing::Point;
using testing::Sample;
using testing::seeded;

static_assert(PlainValue<int> && PlainValue<double> && PlainValue<Color> && PlainValue<Point>);
static_assert(!PlainValue<int*> && !PlainValue<const char*> && !PlainValue<std::nullptr_t>);
static_assert(!PlainValue<int&> && !PlainValue<const Point&>);
static_assert(!PlainValue<int Point::*> && !PlainValue<void (*)()>);
static_assert(!PlainValue<std::string_view> && !PlainValue<std::span<int>>);
static_assert(!PlainValue<std::reference_wrapper<int>>);
static_assert(!PlainValue<std::string> && !PlainValue<std::unique_ptr<int>>);
static_assert(!PlainValue<Named>, "a described struct is sent member by member");
static_assert(detail::HasPlainCodec<Point> && !detail::HasPlainCodec<bool>);
static_assert(!detail::HasPlainCodec<Money>, "a codec of its own is used, also within a vector");
static_assert(detail::type_name<int>() == "int");
static_assert(detail::type_name<int[3]>().ends_with("]"));

template <class T>
Bytes encoded(const T& value) {
  ByteWriter out;
  Codec<T>::encode(value, out);
  return out.take();
}

template <class T>
T decoded(const Bytes& bytes) {
  ByteReader in(bytes);
  T value = Codec<T>::decode(in);
  in.expect_end();
  return value;
}

template <class T>
T round_trip(const T& value) {
  return decoded<T>(encoded(value));
}

template <class T>
std::string complaint_about(const Bytes& bytes) {
  try {
    static_cast<void>(decoded<T>(bytes));
  } catch (const CodecError& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed);
    return error.what();
  }
  return "none";
}

Bytes length(std::uint64_t number) {
  return encoded(number);
}

template <class T>
class EveryType : public ::testing::Test {};
using Types = ::testing::Types<
    bool, char, std::int8_t, std::uint64_t, float, double, Color, Point, std::string, Bytes,
    std::vector<int>, std::vector<bool>, std::vector<std::byte>, std::vector<std::string>,
    std::array<int, 3>, std::array<std::string, 2>, std::optional<int>, std::optional<std::string>,
    std::pair<int, std::string>, std::tuple<int>, std::tuple<bool, std::string>,
    std::map<std::string, int>, std::unordered_map<int, std::string>, Named, Sample>;
TYPED_TEST_SUITE(EveryType, Types, );

TYPED_TEST(EveryType, ComesBackAsItsDefault) {
  EXPECT_EQ(round_trip(TypeParam{}), TypeParam{});
}

TYPED_TEST(EveryType, TakesAtLeastOneByteAndRefusesNone) {
  EXPECT_GE(encoded(TypeParam{}).size(), 1U);
  EXPECT_THROW(static_cast<void>(decoded<TypeParam>(Bytes())), CodecError);
}

TYPED_TEST(EveryType, RefusesAByteTooMany) {
  EXPECT_EQ(complaint_about<TypeParam>(encoded(TypeParam{}).to_string() + 'x'),
            "cannot decode all of it: 1 byte is left behind the last value");
}

TEST(Codec, ExtremeNumbersComeBack) {
  EXPECT_EQ(round_trip(std::numeric_limits<std::int64_t>::min()),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(round_trip(std::numeric_limits<std::uint64_t>::max()),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(round_trip(std::numeric_limits<double>::infinity()),
            std::numeric_limits<double>::infinity());
}

TEST(Codec, ValuesFollowEachOther) {
  ByteWriter out;
  Codec<int>::encode(7, out);
  Codec<std::string>::encode("seven", out);
  const Bytes bytes = out.take();
  EXPECT_EQ(bytes, encoded(std::pair<int, std::string>(7, "seven")));
  EXPECT_EQ(bytes, encoded(std::tuple<int, std::string>(7, "seven")));
  ByteReader in(bytes);
  EXPECT_EQ(Codec<int>::decode(in), 7);
  EXPECT_EQ(in.left(), 13U);
  EXPECT_EQ(Codec<std::string>::decode(in), "seven");
  EXPECT_EQ(in.left(), 0U);
}

TEST(Codec, RandomValuesComeBack) {
  Random random = seeded();
  for (int i = 0; i < 100; ++i) {
    const Sample sample = testing::random_sample(random);
    EXPECT_EQ(round_trip(sample), sample);
  }
}

TEST(Codec, WhatIsCutOffAnywhereIsRefused) {
  Random random = seeded();
  for (int i = 0; i < 3; ++i) {
    const Bytes bytes = encoded(testing::random_sample(random));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      // Copied, so that a sanitizer sees what is read behind the end.
      const Bytes cut = Bytes::copy_of(bytes.span().first(size));
      EXPECT_THROW(static_cast<void>(decoded<Sample>(cut)), CodecError) << size;
    }
  }
}

TEST(Codec, WhateverTheBytesAreNothingButCodecErrorIsThrown) {
  Random random = seeded();
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    std::string text = encoded(testing::random_sample(random)).to_string();
    for (auto left = 1 + random.below(3); left > 0; --left) {
      text[random.below(text.size())] = static_cast<char>(random());
    }
    if (random.chance(0.1)) text.insert(random.below(text.size()), testing::random_text(random));
    try {
      static_cast<void>(decoded<Sample>(text));
    } catch (const CodecError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(Codec, ALengthThatCannotBeTrueIsRefusedBeforeMemoryIsAskedFor) {
  for (const std::uint64_t claimed :
       {std::uint64_t{1}, std::uint64_t{1} << 40, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    const Bytes bytes = length(claimed);
    const std::string problem =
        ": its length is " + std::to_string(claimed) + ", but 0 bytes are left";
    EXPECT_EQ(complaint_about<std::string>(bytes), "cannot decode std::string" + problem);
    EXPECT_EQ(complaint_about<Bytes>(bytes), "cannot decode Bytes" + problem);
    EXPECT_EQ(complaint_about<std::vector<double>>(bytes), "cannot decode std::vector" + problem);
    EXPECT_EQ(complaint_about<std::vector<Named>>(bytes), "cannot decode std::vector" + problem);
    EXPECT_EQ((complaint_about<std::map<int, int>>(bytes)), "cannot decode a map" + problem);
  }
}

TEST(Codec, AsManyItemsAsFitAreNotTooMany) {
  const std::vector<std::uint16_t> items(3, 7);
  const std::string whole = encoded(items).to_string();
  EXPECT_EQ(decoded<std::vector<std::uint16_t>>(whole), items);
  EXPECT_EQ(complaint_about<std::vector<std::uint16_t>>(whole.substr(0, whole.size() - 1)),
            "cannot decode std::vector: its length is 3, but 5 bytes are left");
}

TEST(Codec, AnErrorNamesTheFieldAndWhatWasWrong) {
  Sample sample;
  sample.layers.resize(2);
  sample.layers[1].name = "top";
  const std::string whole = encoded(sample).to_string();
  // Behind the name there are the origin, of 4 bytes, and an empty outline, of 8.
  const std::string place = "muster::testing::Sample.layers: item 1: muster::testing::Layer.";
  EXPECT_EQ(complaint_about<Sample>(whole.substr(0, whole.size() - 9)),
            place +
                "origin: cannot decode muster::testing::Point: it takes 4 bytes, but 3 bytes are "
                "left");
  EXPECT_EQ(complaint_about<Sample>(whole.substr(0, whole.size() - 1)),
            place +
                "outline: cannot decode the length of std::vector: it takes 8 bytes, but 7 bytes "
                "are left");
}

TEST(Codec, AnErrorNamesThePartOfAPairATupleOrAMap) {
  EXPECT_EQ((complaint_about<std::pair<char, int>>("a")),
            "second: cannot decode int: it takes 4 bytes, but 0 bytes are left");
  EXPECT_EQ((complaint_about<std::tuple<char, char, bool>>("ab\2")),
            "item 2: cannot decode bool: it is 2, but must be 0 or 1");
  EXPECT_EQ((complaint_about<std::optional<int>>("\3")),
            "std::optional: cannot decode bool: it is 3, but must be 0 or 1");
  EXPECT_EQ((complaint_about<std::map<char, int>>(length(2).to_string() + "a1234b")),
            "value 1: cannot decode int: it takes 4 bytes, but 0 bytes are left");
}

TEST(Codec, AKeyThatIsThereTwiceIsRefused) {
  const std::string bytes = length(2).to_string() + "axay";
  EXPECT_EQ((complaint_about<std::map<char, char>>(bytes)),
            "key 1: cannot decode a map: this key is there already");
  EXPECT_EQ((complaint_about<std::unordered_map<char, char>>(bytes)),
            "key 1: cannot decode a map: this key is there already");
}

TEST(Codec, ACodecOfTheUsersMayRefuse) {
  EXPECT_EQ(round_trip(Money(5)), Money(5));
  EXPECT_EQ(complaint_about<std::vector<Money>>(length(1).to_string() +
                                                encoded(std::int64_t{-1}).to_string()),
            "item 0: cannot decode Money: it is negative");
}

TEST(Codec, BytesWithinAnotherShareItsMemory) {
  const std::pair<int, Bytes> value(1, Bytes(std::string(100, 'x')));
  const Bytes whole = encoded(value);
  const auto same = decoded<std::pair<int, Bytes>>(whole);
  EXPECT_EQ(same, value);
  EXPECT_EQ(same.second.span().data(), whole.span().data() + 12);
}

struct Base {
  int id = 0;
  BOOST_DESCRIBE_CLASS(Base, (), (id), (), ())
};
class Derived : public Base {
 public:
  void set(int outer, int inner, const std::string& text) {
    id = outer;
    Base::id = inner;
    text_ = text;
  }
  std::string shown() const {
    return std::to_string(id) + " " + std::to_string(Base::id) + " " + text_;
  }

 private:
  int id = 0;
  std::string text_;
  BOOST_DESCRIBE_CLASS(Derived, (Base), (), (), (id, text_))
};

TEST(Codec, PrivateMembersAndThoseOfTheSameNameInABaseAreSent) {
  Derived value;
  value.set(1, 2, "three");
  EXPECT_EQ(round_trip(value).shown(), "1 2 three");
}

TEST(ByteWriter, KeepsTheOrderWhereverTheBytesStand) {
  for (std::size_t first = 0; first < 100; first += 7) {
    for (std::size_t second = 0; second < 100; second += 7) {
      ByteWriter out;
      out.append(std::string(first, 'a'));
      out.append(std::string(second, 'b'));
      out.append("c");
      const std::string expected = std::string(first, 'a') + std::string(second, 'b') + "c";
      EXPECT_EQ(out.take().text(), expected);
      EXPECT_TRUE(out.take().empty());
      out.append("again");
      EXPECT_EQ(out.take().text(), "again");
    }
  }
}

}  // namespace
}  // namespace muster
