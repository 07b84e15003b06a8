// event_json_test.cpp: what was encoded is decoded, and whatever else a text is, is refused by
// name.
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <muster/jobs/event_json.hpp>

#include "unit/jobs/event_sample.hpp"
#include "unit/queues/seeded.hpp"

namespace muster::testing {
namespace {

using std::chrono::nanoseconds;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr EventOptions kRefuseUnknown{.unknown_fields = UnknownFields::refuse};

// Many where a read behind the end is seen, else as many as a quick test has time for.
#ifdef __SANITIZE_ADDRESS__
constexpr int kMutations = 100'000;
#else
constexpr int kMutations = 2'000;
#endif

template <class T>
T round_trip(const T& value) {
  return decode_event<T>(encode_event(value));
}

// What is said behind the summary, if it is an EventError that is put together as it ought to be.
template <class Act>
std::string complaint(std::string_view summary, const Act& act) {
  try {
    act();
  } catch (const EventError& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed);
    const std::string said = error.path() + ": " + error.problem();
    EXPECT_EQ(error.what(), std::string(summary) + ": " + said);
    return said;
  }
  return "none";
}

template <class T>
std::string refusal(std::string_view text, const EventOptions& options = {}) {
  return complaint("event does not match its type",
                   [&] { static_cast<void>(decode_event<T>(text, options)); });
}

template <class T>
std::string encoding_refusal(const T& event, const EventOptions& options = {}) {
  return complaint("event cannot be encoded",
                   [&] { static_cast<void>(encode_event(event, options)); });
}

// At both ends, and one beyond.
template <class T>
void expect_range(const std::string& below, const std::string& min, const std::string& max,
                  const std::string& above) {
  EXPECT_EQ(encode_event(std::numeric_limits<T>::min()), min);
  EXPECT_EQ(encode_event(std::numeric_limits<T>::max()), max);
  EXPECT_EQ(decode_event<T>(min), std::numeric_limits<T>::min());
  EXPECT_EQ(decode_event<T>(max), std::numeric_limits<T>::max());
  const std::string expected = "$: expected a whole number from " + min + " to " + max + ", found ";
  EXPECT_EQ(refusal<T>(below), expected + below);
  EXPECT_EQ(refusal<T>(above), expected + above);
  EXPECT_EQ(refusal<T>("1.5"), expected + "1.5");
  EXPECT_EQ(refusal<T>("\"1\""), expected + "\"1\"");
}

TEST(EventJson, IntegersOfEverySizeAreCheckedAtBothEnds) {
  expect_range<std::int8_t>("-129", "-128", "127", "128");
  expect_range<std::uint8_t>("-1", "0", "255", "256");
  expect_range<std::int16_t>("-32769", "-32768", "32767", "32768");
  expect_range<std::uint16_t>("-1", "0", "65535", "65536");
  expect_range<std::int32_t>("-2147483649", "-2147483648", "2147483647", "2147483648");
  expect_range<std::uint32_t>("-1", "0", "4294967295", "4294967296");
  // What 64 bits cannot hold is a double when it is parsed.
  expect_range<std::int64_t>("-9223372036854777856", "-9223372036854775808", "9223372036854775807",
                             "9223372036854775808");
  expect_range<std::uint64_t>("-1", "0", "18446744073709551615", "18446744073709551616");
  expect_range<long long>("-9223372036854777856", "-9223372036854775808", "9223372036854775807",
                          "9223372036854775808");
}

TEST(EventJson, AWholeNumberWithAnExponentIsAnIntegerWhereDoublesAreExact) {
  EXPECT_EQ(decode_event<int>("3.0"), 3);
  EXPECT_EQ(decode_event<int>("-3e2"), -300);
  EXPECT_EQ(decode_event<unsigned>("-0.0"), 0U);
  EXPECT_EQ(decode_event<std::int64_t>("9007199254740991.0"), 9'007'199'254'740'991);
  EXPECT_EQ(refusal<std::int64_t>("9007199254740992.0"),
            "$: expected a whole number from -9223372036854775808 to 9223372036854775807, found "
            "9007199254740992");
  EXPECT_EQ(refusal<std::uint8_t>("2.56e2"), "$: expected a whole number from 0 to 255, found 256");
  EXPECT_EQ(refusal<std::uint8_t>("1e400"),
            "$: expected a whole number from 0 to 255, found infinity");
}

TEST(EventJson, FloatingNumbersComeBackExactly) {
  for (const double number :
       {0.0, 0.1, 5.0, 1e22, -1.7976931348623157e308, 5e-324, 0x1.0p60, 123456789012345678901.0}) {
    EXPECT_EQ(round_trip(number), number);
    EXPECT_EQ(round_trip(boost::json::value(number)), boost::json::value(number));
  }
  EXPECT_TRUE(std::signbit(round_trip(-0.0)));
  EXPECT_EQ(encode_event(0.1F), "0.1");
  // The one float whose shortest digits lead to a neighbour, by way of a double.
  EXPECT_EQ(round_trip(-7.038531e-26F), -7.038531e-26F);
  EXPECT_EQ(encode_event(5.0), "5.0");
  EXPECT_EQ(decode_event<double>("5"), 5.0);
  EXPECT_EQ(decode_event<double>("1e-400"), 0.0);
  EXPECT_EQ(decode_event<double>("18446744073709551615"), 0x1.0p64);
  EXPECT_EQ(decode_event<float>("3.4028234663852886e+38"), std::numeric_limits<float>::max());
}

TEST(EventJson, RandomNumbersComeBackExactly) {
  Random random = seeded();
  for (int i = 0; i < 5000; ++i) {
    const double number = random_double(random);
    EXPECT_EQ(round_trip(number), number);
    const float small = random_float(random);
    EXPECT_EQ(round_trip(small), small);
  }
}

TEST(EventJson, NumbersThatJsonCannotSayAreRefused) {
  Order order;
  order.prices["tea"] = std::nan("");
  EXPECT_EQ(encoding_refusal(order), "$.prices.tea: expected a finite number, found NaN");
  EXPECT_EQ(encoding_refusal(-kInfinity), "$: expected a finite number, found -infinity");
  EXPECT_EQ(encoding_refusal(std::numeric_limits<float>::infinity()),
            "$: expected a finite number, found infinity");
  EXPECT_EQ(encoding_refusal(boost::json::value({1, {{"a", kInfinity}}})),
            "$[1].a: expected a finite number, found infinity");
  const std::string range = "a number from -1.7976931348623157e+308 to 1.7976931348623157e+308";
  EXPECT_EQ(refusal<double>("1e400"), "$: expected " + range + ", found infinity");
  EXPECT_EQ(refusal<boost::json::value>("[1, {\"a\": -1e400}]"),
            "$[1].a: expected " + range + ", found -infinity");
  EXPECT_EQ(refusal<boost::json::object>("{\"a\": 1e400}"),
            "$.a: expected " + range + ", found infinity");
  EXPECT_EQ(refusal<float>("1e39"),
            "$: expected a number from -3.4028234663852886e+38 to 3.4028234663852886e+38, found "
            "1e+39");
}

TEST(EventJson, StringsAreEscapedAndComeBack) {
  using namespace std::string_literals;
  const std::string text = "\"\\/\b\f\n\r\t\0\x1f\x7f a\u00e9\u20ac\U0001f600"s;
  EXPECT_EQ(encode_event(text),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f a\u00e9\u20ac\U0001f600\"");
  for (std::size_t lead = 0; lead < 20; ++lead) {
    const std::string moved = std::string(lead, 'x') + text + std::string(20 - lead, 'y');
    EXPECT_EQ(round_trip(moved), moved);
  }
  for (char each = 0; each < 0x7f; ++each) {
    const std::string alone = std::string("xxx") + each + "yyyyyyyy";
    EXPECT_EQ(round_trip(alone), alone);
  }
  EXPECT_EQ(decode_event<std::string>(" \"\\u00e9\\ud83d\\ude00\" "), "\u00e9\U0001f600");
}

TEST(EventJson, EveryByteThatIsNotUtf8IsRefusedWhereverItStands) {
  for (std::size_t lead = 0; lead < 20; ++lead) {
    for (const std::string_view bad : {"\xff", "\x80", "\xc0\x80", "\xed\xa0\x80", "\xe2\x82"}) {
      const std::string text = std::string(lead, 'x').append(bad);
      EXPECT_THROW(static_cast<void>(encode_event(text)), EventError);
      EXPECT_EQ(refusal<std::string>("\"" + text + "\"").substr(0, 39),
                "$: expected JSON in UTF-8, found someth");
    }
  }
  EXPECT_EQ(encoding_refusal(Item{"caf\xe9", 1}), "$.name: expected UTF-8, found \"caf\ufffd\"");
  EXPECT_EQ(encoding_refusal(std::map<std::string, int>{{"caf\xe9", 1}}),
            "$[\"caf\ufffd\"]: expected UTF-8, found \"caf\ufffd\"");
  EXPECT_EQ(encoding_refusal(boost::json::value({{"a", "\xff"}})),
            "$.a: expected UTF-8, found \"\ufffd\"");
  EXPECT_EQ(refusal<std::string>("\"\\ud800\""),
            "$: expected JSON in UTF-8, found something else at byte 7");
}

TEST(EventJson, EnumsAreTheirNames) {
  EXPECT_EQ(encode_event(Size::medium), "\"medium\"");
  EXPECT_EQ(round_trip(Size::large), Size::large);
  const std::string expected = "$: expected one of \"small\", \"medium\", \"large\", found ";
  EXPECT_EQ(refusal<Size>("\"huge\""), expected + "\"huge\"");
  EXPECT_EQ(refusal<Size>("1"), expected + "1");
  const int beyond = static_cast<int>(Size::large) + 5;
  EXPECT_EQ(encoding_refusal(static_cast<Size>(beyond)), expected + "7");
}

TEST(EventJson, AnEmptyOptionalIsAbsentOrNull) {
  EXPECT_EQ(encode_event(Traced{}), "{}");
  EXPECT_EQ(encode_event(Traced{"t1"}), R"({"trace":"t1"})");
  EXPECT_EQ(decode_event<Traced>("{}"), Traced{});
  EXPECT_EQ(decode_event<Traced>(R"({"trace":null})"), Traced{});
  EXPECT_EQ(encode_event(std::optional<int>()), "null");
  EXPECT_EQ(encode_event(std::vector<std::optional<int>>{1, {}}), "[1,null]");
  EXPECT_EQ(encode_event(std::map<std::string, std::optional<int>>{{"a", {}}}), R"({"a":null})");
  using OptionalJson = std::optional<boost::json::value>;
  EXPECT_EQ(round_trip(OptionalJson(1)), OptionalJson(1));
  EXPECT_EQ(round_trip(OptionalJson(nullptr)), std::nullopt);
  EXPECT_EQ(refusal<Traced>(R"({"trace":1})"), "$.trace: expected a string, found 1");
}

TEST(EventJson, TimesAreWrittenInUtcWithAsManyDigitsAsNeeded) {
  const auto at = [](std::int64_t nanos) { return encode_event(Time(nanoseconds(nanos))); };
  EXPECT_EQ(at(0), "\"1970-01-01T00:00:00.000Z\"");
  EXPECT_EQ(at(1'709'210'096'789'000'000), "\"2024-02-29T12:34:56.789Z\"");
  EXPECT_EQ(at(1'709'210'096'789'010'000), "\"2024-02-29T12:34:56.789010Z\"");
  EXPECT_EQ(at(-1), "\"1969-12-31T23:59:59.999999999Z\"");
  EXPECT_EQ(at(-86'400'000'000'000), "\"1969-12-31T00:00:00.000Z\"");
  EXPECT_EQ(encode_event(Time::min()), "\"1677-09-21T00:12:43.145224192Z\"");
  EXPECT_EQ(encode_event(Time::max()), "\"2262-04-11T23:47:16.854775807Z\"");
  EXPECT_EQ(round_trip(Time::min()), Time::min());
  EXPECT_EQ(round_trip(Time::max()), Time::max());
}

TEST(EventJson, TimesOfAnyOffsetAreRead) {
  const Time time(std::chrono::milliseconds(1'709'210'096'500));
  for (const char* text :
       {"2024-02-29T12:34:56.5Z", "2024-02-29t12:34:56.500000000z", "2024-02-29 14:04:56.5+01:30",
        "2024-02-28T23:34:56.50-13:00", "2024-03-01T12:33:56.5+23:59"}) {
    EXPECT_EQ(decode_event<Time>("\"" + std::string(text) + "\""), time) << text;
  }
}

TEST(EventJson, WhatIsNoTimeIsRefused) {
  const std::string expected =
      "$: expected a time of the years 1677 to 2262 such as \"2024-02-29T12:34:56.789Z\", found ";
  EXPECT_EQ(refusal<Time>("1709210096"), expected + "1709210096");
  for (const std::string text :
       {"", "2024-02-29", "2023-02-29T12:34:56Z", "2024-02-29T24:00:00Z", "2024-02-29T12:60:00Z",
        "2024-02-29T12:34:60Z", "2024-02-29T12:34:56", "2024-02-29T12:34:56.Z",
        "2024-02-29T12:34:56.1234567890Z", "2024-02-29T12:34:56Zx", "2024-02-29T12:34:56+24:00",
        "2024-02-29T12:34:56+01:60", "2024-02-29T12:34:56+0100", "2024-13-01T00:00:00Z",
        "1677-09-21T00:12:43.145224191Z", "2262-04-11T23:47:16.854775808Z", "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z", "zzzz-zz-zzTzz:zz:zz.zzzzzzzzzZ"}) {
    const std::string quoted = '"' + text + '"';
    EXPECT_EQ(refusal<Time>(quoted), expected + quoted);
  }
}

TEST(EventJson, DurationsAreNanosecondsOfWhateverUnit) {
  using std::chrono::hours;
  using std::chrono::seconds;
  using Ticks = std::chrono::duration<std::uint8_t, std::micro>;
  EXPECT_EQ(encode_event(seconds(-2)), "-2000000000");
  EXPECT_EQ(decode_event<seconds>("3e9"), seconds(3));
  EXPECT_EQ(round_trip(nanoseconds::min()), nanoseconds::min());
  EXPECT_EQ(round_trip(hours(2'562'047)), hours(2'562'047));
  EXPECT_EQ(round_trip(Ticks(255)), Ticks(255));
  const std::string of_seconds =
      "$: expected a whole number of nanoseconds from -9223372036000000000 to 9223372036000000000 "
      "that is a multiple of 1000000000, found ";
  EXPECT_EQ(refusal<seconds>("1500000000"), of_seconds + "1500000000");
  EXPECT_EQ(refusal<seconds>("9223372037000000000"), of_seconds + "9223372037000000000");
  EXPECT_EQ(refusal<seconds>("null"), of_seconds + "null");
  EXPECT_EQ(encoding_refusal(seconds::max()), of_seconds + "9223372036854775807 times 1000000000");
  EXPECT_EQ(encoding_refusal(seconds::min()), of_seconds + "-9223372036854775808 times 1000000000");
  EXPECT_EQ(refusal<Ticks>("256000"),
            "$: expected a whole number of nanoseconds from 0 to 255000 that is a multiple of "
            "1000, found 256000");
}

TEST(EventJson, AStructIsAnObjectOfItsMembersThoseOfTheBaseFirst) {
  EXPECT_EQ(encode_event(WebhookEvent{"w1", "https://x", "c1", {{"n", {1, true, nullptr}}}}),
            R"({"webhook_id":"w1","endpoint":"https://x","customer_id":"c1",)"
            R"("payload":{"n":[1,true,null]}})");
  EXPECT_EQ(encode_event(Nothing{}), "{}");
  Order order;
  order.trace = "t1";
  EXPECT_TRUE(encode_event(order).starts_with(R"({"trace":"t1","is_paid":false,"floor":0,)"));
  Hidden hidden;
  hidden.set(5);
  EXPECT_EQ(encode_event(hidden), R"({"secret_":5})");
  EXPECT_EQ(round_trip(hidden).shown(), 5);
}

TEST(EventJson, FieldsMayStandInAnyOrderAndTheLastOfTwoCounts) {
  EXPECT_EQ(decode_event<Item>(R"({ "quantity": 2, "name": "tea" })"), (Item{"tea", 2}));
  EXPECT_EQ(decode_event<Item>(R"({"name":"tea","quantity":2,"name":"rum"})"), (Item{"rum", 2}));
}

TEST(EventJson, EveryFieldIsRequiredUnlessItIsOptional) {
  EXPECT_EQ(refusal<Item>(R"({"name":"tea"})"),
            "$.quantity: expected a whole number from 0 to 4294967295, found nothing");
  EXPECT_EQ(refusal<Item>("{}"), "$.name: expected a string, found nothing");
  EXPECT_EQ(refusal<WebhookEvent>(R"({"webhook_id":"","endpoint":"","customer_id":""})"),
            "$.payload: expected any JSON value, found nothing");
}

TEST(EventJson, UnknownFieldsAreIgnoredOrRefused) {
  const std::string text = R"([{"name":"tea","quantity":2,"col\nor":"red"}])";
  EXPECT_EQ(decode_event<std::vector<Item>>(text), (std::vector{Item{"tea", 2}}));
  EXPECT_EQ(refusal<std::vector<Item>>(text, kRefuseUnknown),
            "$[0][\"col\\nor\"]: expected no such field, found \"red\"");
  EXPECT_EQ(decode_event<Item>(R"({"quantity":2,"name":"tea"})", kRefuseUnknown), (Item{"tea", 2}));
  EXPECT_EQ(refusal<Traced>(R"({"trace":null,"b":{}})", kRefuseUnknown),
            "$.b: expected no such field, found an object");
}

TEST(EventJson, AnErrorNamesThePlaceWhatWasExpectedAndWhatWasFound) {
  using Items = std::map<std::string, std::vector<Item>>;
  EXPECT_EQ(
      refusal<Items>(R"({"items":[{"name":"a","quantity":1},{"name":"b","quantity":"two"}]})"),
      "$.items[1].quantity: expected a whole number from 0 to 4294967295, found \"two\"");
  EXPECT_EQ(refusal<Items>(R"({"":[1]})"), "$[\"\"][0]: expected an object, found 1");
  EXPECT_EQ(refusal<Items>(R"({"1a":true})"), "$[\"1a\"]: expected an array, found true");
  EXPECT_EQ(refusal<Items>("[]"), "$: expected an object, found an array of 0 items");
  EXPECT_EQ(refusal<bool>("[false]"), "$: expected true or false, found an array of 1 item");
  EXPECT_EQ(refusal<double>("false"), "$: expected a number, found false");
  EXPECT_EQ(refusal<std::string>("{}"), "$: expected a string, found an object");
  EXPECT_EQ(refusal<boost::json::object>("null"), "$: expected an object, found null");
  EXPECT_EQ((refusal<std::array<int, 2>>("[1]")),
            "$: expected an array of 2 items, found an array of 1 item");
  EXPECT_EQ((refusal<std::array<int, 1>>("[1,2]")),
            "$: expected an array of 1 item, found an array of 2 items");
}

TEST(EventJson, LongTextsAreCutBetweenCharactersInMessages) {
  const auto found = [](const std::string& text) { return refusal<bool>("\"" + text + "\""); };
  const std::string expected = "$: expected true or false, found \"";
  const std::string almost(63, 'x');
  EXPECT_EQ(found(almost + "x"), expected + almost + "x\"");
  EXPECT_EQ(found(almost + "xx"), expected + almost + "x\"...");
  EXPECT_EQ(found(almost + "\u20ac"), expected + almost + "\"...");
  EXPECT_EQ((refusal<std::map<std::string, bool>>("{\"" + almost + "xx\":1}")),
            "$[\"" + almost + "x\"...]: expected true or false, found 1");
  EXPECT_EQ(encoding_refusal(almost + "\xff\xff"),
            "$: expected UTF-8, found \"" + almost + "\ufffd\"...");
}

TEST(EventJson, WhatIsNoJsonIsRefusedWithItsPosition) {
  EXPECT_EQ(refusal<int>(""), "$: expected JSON, found its end too early, at byte 0");
  EXPECT_EQ(refusal<Item>("{\"name\""), "$: expected JSON, found its end too early, at byte 7");
  EXPECT_EQ(refusal<int>("1 2"), "$: expected the end of the JSON, found more text at byte 2");
  EXPECT_EQ(refusal<Item>("{,}"), "$: expected JSON in UTF-8, found something else at byte 1");
  for (const char* text : {"[1,]", "// x\n[]", "NaN", "'a'", "\xef\xbb\xbf[]", "[01]", "[1.]"}) {
    EXPECT_NE(refusal<boost::json::value>(text), "none") << text;
  }
}

TEST(EventJson, NestingIsBoundedBothWays) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  const std::string limit = "expected at most 32 arrays and objects within each other, found more";
  const auto deepest = decode_event<boost::json::value>(nested(32));
  EXPECT_EQ(encode_event(deepest), nested(32));
  EXPECT_EQ(refusal<boost::json::value>(nested(33)), "$: " + limit + " at byte 32");
  EXPECT_EQ(refusal<boost::json::value>(nested(500'000)), "$: " + limit + " at byte 32");
  std::string path = "$";
  for (int i = 0; i < 32; ++i) path += "[0]";
  EXPECT_EQ(encoding_refusal(std::vector{deepest}), path + ": " + limit);
  Tree tree;
  for (int i = 0; i < 15; ++i) tree = Tree{{tree}};
  EXPECT_EQ(round_trip(tree), tree);
  EXPECT_NE(encoding_refusal(Tree{{tree}}), "none");
}

TEST(EventJson, TheTextIsBoundedBothWays) {
  const std::string longest(1'048'574, 'x');
  EXPECT_EQ(round_trip(longest), longest);
  EXPECT_EQ(encoding_refusal(longest + "x"),
            "$: expected at most 1048576 bytes of text, found 1048577");
  EXPECT_EQ(refusal<std::string>("\"" + longest + "x\""),
            "$: expected at most 1048576 bytes of text, found 1048577");
  EXPECT_EQ(decode_event<int>("1234", {.max_bytes = 4}), 1234);
  EXPECT_EQ(refusal<int>("12345", {.max_bytes = 4}),
            "$: expected at most 4 bytes of text, found 5");
  EXPECT_EQ(encoding_refusal(12345, {.max_bytes = 4}),
            "$: expected at most 4 bytes of text, found 5");
}

TEST(EventJson, ACodecOfTheUsersMayRefuse) {
  EXPECT_EQ(round_trip(std::vector{Money(5)}), std::vector{Money(5)});
  EXPECT_EQ(refusal<std::vector<Money>>("[5,-1]"),
            "$[1]: expected an amount of at least 0 cents, found -1");
}

TEST(EventJson, EqualEventsHaveEqualTexts) {
  std::unordered_map<std::string, int> up;
  std::unordered_map<std::string, int> down(1000);
  for (int i = 0; i < 10; ++i) up[std::to_string(i)] = i;
  for (int i = 9; i >= 0; --i) down[std::to_string(i)] = i;
  EXPECT_EQ(encode_event(up), encode_event(down));
}

TEST(EventJson, RandomEventsComeBack) {
  Random random = seeded();
  for (int i = 0; i < 300; ++i) {
    const Order order = random_order(random);
    const std::string text = encode_event(order);
    const auto same = decode_event<Order>(text, kRefuseUnknown);
    EXPECT_EQ(same, order) << text;
    EXPECT_EQ(encode_event(same), text);
  }
}

TEST(EventJson, WhateverTheTextIsItIsRefusedOrComesBack) {
  Random random = seeded();
  std::string valid;
  int refused = 0;
  for (int i = 0; i < kMutations; ++i) {
    if (i % 100 == 0) valid = encode_event(random_order(random));
    const std::string text = mutated(valid, random);
    try {
      const auto order = decode_event<Order>(text);
      EXPECT_EQ(round_trip(order), order) << text;
    } catch (const EventError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, kMutations / 10);
  EXPECT_LT(refused, kMutations - kMutations / 10);
}

boost::json::value schema_without_version(boost::json::object schema) {
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  schema.erase("$schema");
  return schema;
}

TEST(EventJson, TheSchemaSaysWhatIsDecoded) {
  EXPECT_EQ(schema_without_version(event_schema<Order>()), boost::json::parse(R"({
    "type": "object",
    "properties": {
      "trace": {"type": ["string", "null"]},
      "is_paid": {"type": "boolean"},
      "floor": {"type": "integer", "minimum": -128, "maximum": 127},
      "number": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615},
      "rating": {"type": "number"},
      "amount": {"type": "number"},
      "note": {"type": "string"},
      "size": {"type": "string", "enum": ["small", "medium", "large"]},
      "gift": {"type": ["object", "null"], "required": ["name", "quantity"], "properties": {
        "name": {"type": "string"},
        "quantity": {"type": "integer", "minimum": 0, "maximum": 4294967295}}},
      "items": {"type": "array", "items": {
        "type": "object", "required": ["name", "quantity"], "properties": {
          "name": {"type": "string"},
          "quantity": {"type": "integer", "minimum": 0, "maximum": 4294967295}}}},
      "flags": {"type": "array", "items": {"type": "boolean"}},
      "gaps": {"type": "array", "items": {
        "type": ["integer", "null"], "minimum": -2147483648, "maximum": 2147483647}},
      "corner": {"type": "array", "minItems": 2, "maxItems": 2, "items": {
        "type": "integer", "minimum": -32768, "maximum": 32767}},
      "prices": {"type": "object", "additionalProperties": {"type": ["number", "null"]}},
      "labels": {"type": "object", "additionalProperties": {"type": "string"}},
      "placed_at": {"type": "string", "format": "date-time"},
      "patience": {"type": "integer", "description": "nanoseconds", "multipleOf": 1000000000,
        "minimum": -9223372036000000000, "maximum": 9223372036000000000},
      "payload": {},
      "extra": {"type": "object"}},
    "required": ["is_paid", "floor", "number", "rating", "amount", "note", "size", "items", "flags",
      "gaps", "corner", "prices", "labels", "placed_at", "patience", "payload", "extra"]})"));
}

TEST(EventJson, TheSchemaOfWhatMayBeNullSaysSo) {
  EXPECT_EQ(schema_without_version(event_schema<std::optional<Size>>()),
            boost::json::parse(R"({"type": ["string", "null"],
                                   "enum": ["small", "medium", "large", null]})"));
  EXPECT_EQ(schema_without_version(event_schema<std::optional<boost::json::value>>()),
            boost::json::parse("{}"));
  EXPECT_EQ(schema_without_version(event_schema<std::optional<Either>>()),
            boost::json::parse(R"({"anyOf": [{"const": "either"}, {"type": "null"}]})"));
}

TEST(EventJson, TheSchemaOfAUsersCodecIsWhatItSays) {
  EXPECT_EQ(schema_without_version(event_schema<std::vector<Money>>()),
            boost::json::parse(R"({"type": "array", "items": {"type": "integer", "minimum": 0}})"));
  EXPECT_EQ(schema_without_version(event_schema<std::vector<Opaque>>()),
            boost::json::parse(R"({"type": "array", "items": {}})"));
}

TEST(EventJson, AStructThatHoldsItselfIsDescribedOnce) {
  const auto expected = boost::json::parse(R"({
    "type": "object",
    "properties": {"branches": {"type": "array", "items": {"type": "object"}}},
    "required": ["branches"]})");
  EXPECT_EQ(schema_without_version(event_schema<Tree>()), expected);
  EXPECT_EQ(schema_without_version(event_schema<Tree>()), expected);
}

}  // namespace
}  // namespace muster::testing
