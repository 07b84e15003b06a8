// command_lines_test.cpp: which lines are written, what is read out of lines, and that no line at
// all is without an outcome.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/base/utf8.hpp>
#include <muster/processes/command_lines.hpp>

#include "processes/base64.hpp"

namespace muster {
namespace {

namespace json = boost::json;
using namespace std::string_literals;

CommandLine read(std::string_view text) {
  return read_command_line({.text = text});
}

// As "answer 7: text".
std::string told(const CommandLine& line) {
  if (const auto* answer = std::get_if<AnswerLine>(&line)) {
    return "answer " + std::to_string(answer->id) + ": " + answer->bytes;
  }
  if (const auto* error = std::get_if<ErrorLine>(&line)) {
    return "error " + std::to_string(error->id) + ": " + error->text;
  }
  if (const auto* progress = std::get_if<ProgressLine>(&line)) {
    return "progress " + std::to_string(progress->id) + ": " +
           std::to_string(progress->fraction).substr(0, 4) + " " + progress->text;
  }
  if (const auto* beat = std::get_if<HeartbeatLine>(&line)) {
    return "heartbeat " + (beat->memory_bytes ? std::to_string(*beat->memory_bytes) : "");
  }
  if (const auto* malformed = std::get_if<MalformedLine>(&line)) {
    return "malformed " + (malformed->id ? std::to_string(*malformed->id) : "") + ": " +
           malformed->problem;
  }
  return "other";
}

struct Example {
  std::string line;
  std::string expected;  // of a malformed line what stands before the excerpt
};

void expect_all(const std::vector<Example>& examples) {
  for (const auto& [line, expected] : examples) {
    const bool is_malformed = expected.starts_with("malformed");
    EXPECT_EQ(told(read(line)), is_malformed ? expected + ": " + line : expected) << line;
  }
}

// What the payload of a request is for whoever reads it with a library of his own.
std::string payload_of(const std::string& line) {
  EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
  const json::object request = json::parse(line).as_object();
  EXPECT_EQ(request.size(), 3U);
  if (const auto* coded = request.if_contains("payload_base64")) {
    return from_base64(std::string(coded->as_string())).value();
  }
  return std::string(request.at("payload").as_string());
}

std::string answer_with(std::string_view bytes) {
  if (!is_utf8(bytes)) return R"({"id":1,"ok_base64":")" + to_base64(bytes) + "\"}";
  return R"({"id":1,"ok":)" + json::serialize(json::string_view(bytes)) + '}';
}

// Bytes of all sorts: text, text of other languages, JSON, anything.
std::string random_bytes(Random& random) {
  static const std::vector<std::string> pieces = {
      "a",      "\"",         "\\",     "\n",   "\r\n", "\t",           "\0"s,     "\x7f",
      "{",      "}",          "[",      ":",    ",",    "12",           "null",    "\u00e4",
      "\u20ac", "\U0001f600", "\u2028", "\xff", "\xc3", "\xed\xa0\x80", "\\u0041", " "};
  std::string bytes;
  for (std::uint64_t i = random.below(12); i > 0; --i) bytes += pieces[random.below(pieces.size())];
  return bytes;
}

TEST(WriteRequest, TextIsAStringWhateverItLooksLike) {
  EXPECT_EQ(write_request({.id = 7, .task = "resize", .payload = "a.png"}),
            R"({"id":7,"task":"resize","payload":"a.png"})"
            "\n");
  for (const std::string text : {"", "12", "null", "{\"a\":1}", "\"quoted\"", "two\nlines\r\n"}) {
    EXPECT_EQ(payload_of(write_request({.id = 1, .task = "t", .payload = text})), text);
  }
}

TEST(WriteRequest, WhatIsNotTextIsBase64) {
  EXPECT_EQ(write_request({.id = UINT64_MAX, .task = "t", .payload = "\xff\xfe"}),
            R"({"id":18446744073709551615,"task":"t","payload_base64":"//4="})"
            "\n");
}

TEST(WriteRequest, TextIsBase64TooIfThatIsAskedFor) {
  EXPECT_EQ(write_request({.id = 1, .task = "t", .payload = "foo", .form = PayloadForm::base64}),
            R"({"id":1,"task":"t","payload_base64":"Zm9v"})"
            "\n");
}

TEST(WriteRequest, EveryByteStringArrives) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string bytes(1, static_cast<char>(byte));
    EXPECT_EQ(payload_of(write_request({.id = 1, .task = "t", .payload = bytes})), bytes);
  }
  Random random(5);
  for (int round = 0; round < 5000; ++round) {
    const std::string bytes = random_bytes(random);
    for (const PayloadForm form : {PayloadForm::text, PayloadForm::base64}) {
      const CommandRequest request{.id = 1, .task = "t", .payload = bytes, .form = form};
      ASSERT_EQ(payload_of(write_request(request)), bytes);
    }
  }
}

TEST(WriteRequest, JsonBecomesPartOfTheLineDigitByDigit) {
  const auto line = [](std::string_view payload) {
    return write_request({.id = 1, .task = "t", .payload = payload, .form = PayloadForm::json});
  };
  const std::string begin = R"({"id":1,"task":"t","payload":)";
  EXPECT_EQ(line(R"({"a":[1.10,12345678901234567890123]})"),
            begin + R"({"a":[1.10,12345678901234567890123]}})" + "\n");
  EXPECT_EQ(line("{\r\n \"a\": 1\n}"), begin + "{   \"a\": 1 }}\n");
  EXPECT_EQ(line("\"text\""), begin + "\"text\"}\n");
  EXPECT_EQ(line("null"), begin + "null}\n");
}

TEST(WriteRequest, WhatCannotBeWrittenIsRefusedWithItsReason) {
  const auto problem = [](const CommandRequest& request) -> std::string {
    try {
      return write_request(request);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
  };
  const auto json_of = [&](std::string_view payload) {
    return problem({.id = 1, .task = "t", .payload = payload, .form = PayloadForm::json});
  };
  EXPECT_EQ(problem({.id = 1, .task = "\xff", .payload = ""}),
            "invalid argument: task is \"\xef\xbf\xbd\" but must be UTF-8");
  EXPECT_EQ(json_of("{\"a\" 1}"),
            "invalid argument: payload is \"{\"a\" 1}\" but must be JSON: syntax error at byte 5");
  EXPECT_EQ(json_of(""), "invalid argument: payload is \"\" but must be JSON: it ends too early");
  EXPECT_NE(json_of("1,2").find("must be JSON: extra data"), std::string::npos);
  EXPECT_NE(json_of("1}").find("must be JSON: extra data"), std::string::npos);
  EXPECT_NE(json_of("\"\xff\"").find("must be JSON"), std::string::npos);
  EXPECT_EQ(json_of(std::string(63, '[') + std::string(63, ']')).substr(0, 7), R"({"id":1)");
  EXPECT_NE(json_of(std::string(64, '[') + std::string(64, ']')).find("deeper than 63"),
            std::string::npos);
}

// Whatever the escaping makes of it, and however near the bound it is.
TEST(WriteRequest, ARequestIsRefusedIfItsLineIsLongerThanTheBoundAndOnlyThen) {
  const auto expect_exact = [](const CommandRequest& request) {
    const std::size_t bytes = write_request(request).size();
    EXPECT_EQ(validate(request, bytes), std::vector<BadField>{}) << request.payload;
    EXPECT_EQ(
        validate(request, bytes - 1),
        (std::vector<BadField>{{"payload", std::to_string(request.payload.size()) + " bytes",
                                "must fit into a line of max_request_bytes, " +
                                    std::to_string(bytes - 1) + ", not " + std::to_string(bytes)}}))
        << request.payload;
    EXPECT_EQ(validate(request, 1).size(), 1U);
  };
  for (int byte = 0; byte < 256; ++byte) {
    const std::string bytes(300, static_cast<char>(byte));
    expect_exact({.id = 1, .task = "t", .payload = bytes});
    if (byte < 128) expect_exact({.id = 1, .task = bytes, .payload = ""});
  }
  Random random(7);
  for (int round = 0; round < 500; ++round) {
    const std::string bytes = random_bytes(random);
    expect_exact({.id = UINT64_MAX, .task = "t", .payload = bytes});
    expect_exact({.id = 1, .task = "t", .payload = bytes, .form = PayloadForm::base64});
  }
  expect_exact({.id = 1, .task = "t", .payload = "[1,\n 2]", .form = PayloadForm::json});
}

TEST(WriteRequest, AJsonPayloadOfTheGreatestDepthCanBeReadBackAsAResult) {
  const std::string deep = std::string(63, '[') + std::string(63, ']');
  EXPECT_EQ(told(read(R"({"id":1,"ok":)" + deep + "}")), "answer 1: " + deep);
}

TEST(ReadCommandLine, AResultIsTheTextOfAStringOrTheJsonOfAnythingElse) {
  expect_all({
      {R"({"id":7,"ok":"done"})", "answer 7: done"},
      {R"({"id":7,"ok":""})", "answer 7: "},
      {R"({"id":7,"ok":"a\n\"b\" \u00e4\ud83d\ude00"})", "answer 7: a\n\"b\" \u00e4\U0001f600"},
      {R"({"id":7,"ok":"\u0000"})", "answer 7: "s + '\0'},
      {R"({"id":7,"ok":12})", "answer 7: 12"},
      {R"({"id":7,"ok":1.10})", "answer 7: 1.10"},
      {R"({"id":7,"ok":12345678901234567890123})", "answer 7: 12345678901234567890123"},
      {R"({"id":7,"ok":null})", "answer 7: null"},
      {R"({"id":7,"ok":{"a": [1, "}"]} })", R"(answer 7: {"a": [1, "}"]})"},
      {R"({"id":7,"ok_base64":"//4="})", "answer 7: \xff\xfe"},
      {R"({"id":7,"ok_base64":""})", "answer 7: "},
  });
}

TEST(ReadCommandLine, TheOtherKindsOfLines) {
  expect_all({
      {R"({"id":7,"error":"no such file"})", "error 7: no such file"},
      {R"({"id":7,"error":{"code": 3}})", R"(error 7: {"code": 3})"},
      {R"({"id":7,"progress":0.25,"text":"a quarter"})", "progress 7: 0.25 a quarter"},
      {R"({"id":7,"progress":1})", "progress 7: 1.00 "},
      {R"({"id":7,"progress":1.0000000000000002})", "progress 7: 1.00 "},
      {R"({"id":7,"progress":50})", "progress 7: 1.00 "},
      {R"({"id":7,"progress":-1e-3})", "progress 7: 0.00 "},
      {R"({"id":7,"progress":0.5,"text":"\u001b[31m"})", "progress 7: 0.50 \\x1b[31m"},
      {R"({"heartbeat":true})", "heartbeat "},
      {R"({"heartbeat":true,"memory_bytes":1048576})", "heartbeat 1048576"},
      {R"({"heartbeat":true,"id":"of its own"})", "heartbeat "},
  });
}

TEST(ReadCommandLine, OrderWhiteSpaceEscapesAndUnknownFieldsDoNotMatter) {
  expect_all({
      {R"({"ok":"x","id":7})", "answer 7: x"},
      {" \t{ \"id\" : 7 , \"ok\" : \"x\" } \r", "answer 7: x"},
      {R"({"\u0069d":7,"o\u006b":"x"})", "answer 7: x"},
      {R"({"id":7,"ok":"x","took":{"ok":1,"id":[2]},"took":3,"":4})", "answer 7: x"},
      {R"({"id":18446744073709551615,"ok":""})", "answer 18446744073709551615: "},
      {R"({"id":0,"ok":""})", "answer 0: "},
  });
}

TEST(ReadCommandLine, AFieldTwiceIsMalformedAndAnIdTwiceIsNone) {
  expect_all({
      {R"({"id":7,"ok":1,"ok":1})", R"(malformed 7: it has "ok" twice)"},
      {R"({"id":7,"id":7,"ok":1})", R"(malformed : it has "id" twice)"},
      {R"({"id":7,"\u0069d":8,"ok":1})", R"(malformed : it has "id" twice)"},
      {R"({"id":7,"ok":{"a":1,"a":2}})", R"(answer 7: {"a":1,"a":2})"},
  });
}

TEST(ReadCommandLine, AWrongIdIsNone) {
  for (const std::string id :
       {"-1", "-0", "1.0", "1e0", "18446744073709551616", "\"7\"", "null", "true", "[7]", "{}"}) {
    const std::string rule = " but must be a whole number from 0 to 18446744073709551615";
    expect_all({{R"({"id":)" + id + R"(,"ok":1})", "malformed : \"id\" is " + id + rule}});
  }
  expect_all({{R"({"ok":1})", R"(malformed : it has no "id")"},
              {R"({"error":"x"})", R"(malformed : it has no "id")"},
              {R"({"progress":0.5})", R"(malformed : it has no "id")"}});
}

TEST(ReadCommandLine, NoneOrTwoOfTheKindsIsMalformed) {
  const std::string kinds = R"("ok", "ok_base64", "error", "progress", "heartbeat")";
  expect_all({
      {R"({"id":7})", "malformed 7: it has an id but none of " + kinds},
      {R"({"id":7,"result":1})", "malformed 7: it has an id but none of " + kinds},
      {R"({"id":7,"ok":1,"error":null})", "malformed 7: it has more than one of " + kinds},
      {R"({"id":7,"ok":1,"ok_base64":""})", "malformed 7: it has more than one of " + kinds},
      {R"({"id":7,"heartbeat":true,"ok":1})", "malformed 7: it has more than one of " + kinds},
      {R"({"ok":1,"error":2})", "malformed : it has more than one of " + kinds},
  });
}

TEST(ReadCommandLine, AFieldOfTheWrongTypeIsMalformed) {
  const std::string base64 = " but must be a string of base64, with padding";
  expect_all({
      {R"({"id":7,"ok_base64":12})", R"(malformed 7: "ok_base64" is 12)" + base64},
      {R"({"id":7,"ok_base64":"a"})", R"(malformed 7: "ok_base64" is "a")" + base64},
      {R"({"id":7,"progress":"50%"})",
       R"(malformed 7: "progress" is "50%" but must be a number from 0 to 1)"},
      {R"({"id":7,"progress":null})",
       R"(malformed 7: "progress" is null but must be a number from 0 to 1)"},
      {R"({"id":7,"progress":1e400})",
       R"(malformed 7: "progress" is 1e400 but must be a number from 0 to 1)"},
      {R"({"id":7,"progress":0,"text":1})", R"(malformed 7: "text" is 1 but must be a string)"},
      {R"({"heartbeat":1})", R"(malformed : "heartbeat" is 1 but must be true)"},
      {R"({"heartbeat":false})", R"(malformed : "heartbeat" is false but must be true)"},
      {R"({"heartbeat":true,"memory_bytes":1.5})",
       R"(malformed : "memory_bytes" is 1.5 but must be a whole number)"},
  });
}

TEST(ReadCommandLine, WhatBeginsLikeAnObjectAndIsNoneIsMalformed) {
  const std::string no_json = "malformed : it is not JSON: ";
  expect_all({
      {R"({'id': 7, 'ok': 1})", no_json + "syntax error at byte 1"},
      {R"({"ok":1,"id":7,})", no_json + "syntax error at byte 15"},
      {R"({"id":7)", no_json + "it ends too early"},
      {"{", no_json + "it ends too early"},
  });
}

TEST(ReadCommandLine, WhatIsBrokenBehindItsIdIsAboutThatTask) {
  const std::string no_json = "malformed 7: it is not JSON: ";
  const std::string deep = std::string(64, '[') + std::string(64, ']');
  expect_all({
      {R"({"id":7,"ok":"cut)", no_json + "it ends too early"},
      {R"({"id":7,"ok":1}{"id":8,"ok":1})", no_json + "extra data at byte 15"},
      {R"({"id": 7, "ok": NaN})", no_json + "syntax error at byte 16"},
      {R"({"id":7,"ok":1,})", no_json + "syntax error at byte 15"},
      {R"({"id":7,"ok":"\udc80"})", no_json + "illegal trailing surrogate at byte 20"},
      {R"({"id":7,"ok":)" + deep + "}", no_json + "nested deeper than 64 at byte 76"},
  });
  EXPECT_EQ(told(read("{\"id\":7,\"ok\":\"\xff\"}")).substr(0, 28), no_json.substr(0, 28));
  EXPECT_EQ(told(read("{\"id\":7,\"ok\":\"a\tb\"}")).substr(0, 28), no_json.substr(0, 28));
}

TEST(ReadCommandLine, WhatIsNotOfTheProtocolIsOther) {
  for (const std::string line :
       {"", " ", "\r", "Loading...", "Loading...{\"id\":7,\"ok\":1}", "[1]", "12", "\"ok\"", "null",
        R"({"level":"info","message":"hello"})", "{}", R"({"text":"x","memory_bytes":1})",
        "\xff\xfe"}) {
    EXPECT_EQ(told(read(line)), "other") << line;
  }
}

TEST(ReadCommandLine, ALineThatIsTooLongSaysWhichTaskItIsAboutIfThatComesFirst) {
  const auto cut = [](std::string_view text) {
    return told(read_command_line({.text = text, .cut_bytes = 100}));
  };
  EXPECT_EQ(cut(R"({"id":7,"ok":"aaaa)"),
            R"(malformed 7: it is too long: 118 bytes of at most 18: {"id":7,"ok":"aaaa)");
  EXPECT_EQ(cut(R"( { "id" : 7 , )").substr(0, 12), "malformed 7:");
  EXPECT_EQ(cut(R"({"id":7)").substr(0, 12), "malformed : ") << "70, perhaps";
  EXPECT_EQ(cut(R"({"ok":"aaaa)").substr(0, 12), "malformed : ");
  EXPECT_EQ(cut(R"({"id":"7",)").substr(0, 12), "malformed : ");
  EXPECT_EQ(cut("Loading..."), "other");
}

TEST(ReadCommandLine, AnExcerptIsShortPlainText) {
  EXPECT_EQ(excerpt("a\tb\x1b[0m\x7f\xff"), "a\\x09b\\x1b[0m\\x7f\xef\xbf\xbd");
  EXPECT_EQ(excerpt(std::string(200, 'a')), std::string(200, 'a'));
  EXPECT_EQ(excerpt(std::string(5000, 'a')), std::string(200, 'a') + "... (5000 bytes)");
}

TEST(ReadCommandLine, EveryByteStringComesBackAsAResult) {
  Random random(6);
  for (int round = 0; round < 5000; ++round) {
    const std::string bytes = random_bytes(random);
    ASSERT_EQ(read(answer_with(bytes)), CommandLine(AnswerLine{.id = 1, .bytes = bytes}));
  }
}

const std::vector<std::string>& good_lines() {
  static const std::vector<std::string> lines = {
      R"({"id":7,"ok":"d\u00f6ne \"x\" \\"})",
      R"({"id":184,"ok":{"a":[1.5e3,true,null],"b":{"c":"}"}}})",
      R"({"id":7,"ok_base64":"AP/+gA=="})",
      R"({"id":7,"error":"no such file"})",
      R"({"id":7,"progress":0.25,"text":"a quarter"})",
      R"({"heartbeat":true,"memory_bytes":1048576})",
  };
  return lines;
}

// Whatever comes, there is an outcome, it can be shown, and an answer is as good as any.
void expect_sound(const std::string& line) {
  for (const std::size_t cut_bytes : {0U, 1U}) {
    const CommandLine outcome = read_command_line({.text = line, .cut_bytes = cut_bytes});
    if (const auto* answer = std::get_if<AnswerLine>(&outcome)) {
      ASSERT_EQ(cut_bytes, 0U);
      ASSERT_NO_THROW((void)json::parse(line)) << line;
      ASSERT_EQ(told(read(answer_with(answer->bytes))), "answer 1: " + answer->bytes);
    } else {
      ASSERT_TRUE(is_utf8(told(outcome))) << line;
    }
  }
}

TEST(ReadCommandLine, EveryChangeOfOneByteHasAnOutcome) {
  const std::string others = "\"\\{]:,7e\n\x80\xff"s + '\0';
  for (const std::string& line : good_lines()) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      for (const char byte : others) {
        std::string changed = line;
        changed[i] = byte;
        expect_sound(changed);
      }
      std::string other = line;
      expect_sound(other.erase(i, 1));
      other = line;
      expect_sound(other.insert(i, 1, line[i]));
      expect_sound(line.substr(0, i));
      expect_sound(line.substr(i));
    }
  }
}

TEST(ReadCommandLine, ALineThatIsCutOffIsNeverAnAnswer) {
  for (const std::string& line : good_lines()) {
    for (std::size_t size = 0; size < line.size(); ++size) {
      const CommandLine outcome = read_command_line(
          {.text = std::string_view(line).substr(0, size), .is_unfinished = true});
      EXPECT_TRUE(std::holds_alternative<MalformedLine>(outcome) ||
                  std::holds_alternative<OtherLine>(outcome))
          << line.substr(0, size);
    }
  }
}

}  // namespace
}  // namespace muster
