// command_session_test.cpp: what each line, silence and the end of a worker mean for its tasks.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <muster/processes/command_session.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

// As "settled 100: text".
struct Tell {
  std::string operator()(const CommandSettled& event) const {
    return "settled " + std::to_string(event.task) + ": " + event.bytes;
  }
  std::string operator()(const CommandFailed& event) const {
    return "failed " + std::to_string(event.task) + " by " + std::string(to_string(event.kind)) +
           ": " + event.text;
  }
  std::string operator()(const CommandReturned& event) const {
    return "returned " + std::to_string(event.task);
  }
  std::string operator()(const CommandProgressed& event) const {
    return "progressed " + std::to_string(event.task) + ": " +
           std::to_string(event.fraction).substr(0, 3) + " " + event.text;
  }
  std::string operator()(const CommandBeat& event) const {
    return "beat " + (event.memory_bytes ? std::to_string(*event.memory_bytes) : "");
  }
  std::string operator()(const CommandOutput& event) const {
    return "output: " + event.text + (event.cut_bytes > 0 ? "+" : "") +
           (event.is_unfinished ? "..." : "");
  }
  std::string operator()(const CommandRestart& event) const {
    return "restart for " + std::string(to_string(event.reason)) + ": " + event.text;
  }
};

using Told = std::vector<std::string>;

Told told(const std::vector<CommandEvent>& events) {
  Told all;
  for (const CommandEvent& event : events) all.push_back(std::visit(Tell{}, event));
  return all;
}

// Of a worker that has ids 1, 2, ... for the tasks 100, 101, ...
class CommandSessionTest : public ::testing::Test {
 protected:
  void begin(const CommandSessionOptions& options, std::size_t tasks) {
    session_ = CommandSession(options);
    for (std::size_t i = 0; i < tasks; ++i) EXPECT_EQ(session_.give(100 + i, now_), i + 1);
  }

  Told take(std::string_view line) { return told(session_.take({.text = line}, now_)); }

  // What happens while time passes, looked at when it is asked for; as "300 s: ...".
  Told pass(Duration time) {
    Told all;
    const Time end = now_ + time;
    for (auto next = session_.next_look(); next && *next <= end; next = session_.next_look()) {
      now_ = *next;
      for (const std::string& event : told(session_.look(now_))) {
        all.push_back(std::to_string(now_.time_since_epoch() / 1s) + " s: " + event);
      }
    }
    now_ = end;
    return all;
  }

  Time now_{};
  CommandSession session_{CommandSessionOptions{}};
};

TEST_F(CommandSessionTest, OneTaskAfterTheOther) {
  begin({}, 1);
  EXPECT_FALSE(session_.has_room());
  EXPECT_EQ(take(R"({"id":1,"ok":"a"})"), Told{"settled 100: a"});
  EXPECT_TRUE(session_.has_room());
  EXPECT_EQ(session_.give(100, now_), 2U) << "another attempt is another id";
  EXPECT_EQ(take(R"({"id":2,"error":"x"})"), Told{"failed 100 by error: x"});
  EXPECT_TRUE(session_.has_room());
}

TEST_F(CommandSessionTest, SeveralTasksAreAnsweredInAnyOrder) {
  begin({.prefetch = 3}, 2);
  EXPECT_TRUE(session_.has_room());
  EXPECT_EQ(session_.give(102, now_), 3U);
  EXPECT_FALSE(session_.has_room());
  EXPECT_EQ(take(R"({"id":3,"ok":"c"})"), Told{"settled 102: c"});
  EXPECT_EQ(session_.tasks(), (std::vector<std::uint64_t>{100, 101}));
  EXPECT_EQ(take(R"({"id":1,"ok":"a"})"), Told{"settled 100: a"});
  EXPECT_EQ(take(R"({"id":2,"ok":"b"})"), Told{"settled 101: b"});
}

TEST_F(CommandSessionTest, ProgressAndHeartbeatsAreTold) {
  begin({}, 1);
  EXPECT_EQ(take(R"({"heartbeat":true,"memory_bytes":5})"), Told{"beat 5"});
  EXPECT_EQ(take(R"({"id":1,"progress":0.5,"text":"half"})"), Told{"progressed 100: 0.5 half"});
  EXPECT_EQ(session_.signs(), 2U);
  EXPECT_EQ(session_.tasks().size(), 1U);
}

TEST_F(CommandSessionTest, AnAnswerThatCannotBeReadFailsItsTaskOnly) {
  begin({.prefetch = 2}, 2);
  EXPECT_EQ(take(R"({"id":2,"result":1})"),
            Told{"failed 101 by error: the worker's answer cannot be read: it has an id but none "
                 R"(of "ok", "ok_base64", "error", "progress", "heartbeat": {"id":2,"result":1})"});
  EXPECT_FALSE(session_.is_over());
  EXPECT_EQ(take(R"({"id":1,"ok":"a"})"), Told{"settled 100: a"});
}

TEST_F(CommandSessionTest, AnAnswerThatIsNotJsonFailsItsTaskOnly) {
  begin({.prefetch = 2}, 2);
  EXPECT_EQ(take(R"({"id": 2, "ok": NaN})"),
            Told{"failed 101 by error: the worker's answer cannot be read: it is not JSON: syntax "
                 R"(error at byte 16: {"id": 2, "ok": NaN})"});
  EXPECT_EQ(take(R"({"id":1,"ok":"a"})"), Told{"settled 100: a"});
}

TEST_F(CommandSessionTest, AnAnswerThatIsTooLongFailsItsTaskOnly) {
  begin({}, 1);
  EXPECT_EQ(told(session_.take({.text = R"({"id":1,"ok":"aa)", .cut_bytes = 84}, now_)),
            Told{"failed 100 by error: the worker's answer cannot be read: it is too long: "
                 R"(100 bytes of at most 16: {"id":1,"ok":"aa)"});
  EXPECT_TRUE(session_.has_room());
}

TEST_F(CommandSessionTest, WhatComesAfterTheAnswerChangesNothing) {
  begin({}, 1);
  EXPECT_EQ(take(R"({"id":1,"ok":"a"})"), Told{"settled 100: a"});
  for (const std::string late : {R"({"id":1,"ok":"b"})", R"({"id":1,"error":"x"})",
                                 R"({"id":1,"progress":1})", R"({"id":1})"}) {
    EXPECT_EQ(take(late), Told{"output: " + late});
  }
  EXPECT_EQ(session_.give(100, now_), 2U);
  EXPECT_EQ(take(R"({"id":1,"ok":"b"})"), Told{R"(output: {"id":1,"ok":"b"})"});
  EXPECT_EQ(take(R"({"id":2,"ok":"c"})"), Told{"settled 100: c"});
}

// The oldest task fails with the text, the next is returned, the worker is to be restarted.
Told all_over(const std::string& reason, const std::string& text) {
  return {"failed 100 by crash: " + text, "returned 101", "restart for " + reason + ": " + text};
}

TEST_F(CommandSessionTest, AnIdThatItWasNotGivenIsTheEnd) {
  for (const std::string line :
       {R"({"id":3,"ok":"x"})", R"({"id":0,"ok":"x"})", R"({"id":3,"error":"x"})",
        R"({"id":3,"progress":0})", R"({"id":3})", R"({"id":18446744073709551615,"ok":1})"}) {
    begin({.prefetch = 2}, 2);
    const std::string id = line.substr(6, line.find_first_of(",}") - 6);
    EXPECT_EQ(take(line), all_over("unknown_task", "the worker wrote about id " + id +
                                                       ", which it was not given: " + line));
    EXPECT_TRUE(session_.is_over());
  }
}

TEST_F(CommandSessionTest, ALineThatCannotBeReadNorHeldAgainstATaskIsTheEnd) {
  for (const std::string line :
       {R"({"id":1 "ok":2})", R"({"ok":1})", R"({"id":"1","ok":1})", R"({'id':1})",
        R"({"id":1,"id":1,"ok":1})", R"({"heartbeat":0})"}) {
    begin({.prefetch = 2}, 2);
    const Told events = take(line);
    ASSERT_EQ(events.size(), 3U) << line;
    EXPECT_EQ(events[0].substr(0, 65),
              "failed 100 by crash: the worker wrote a line that cannot be read:");
    EXPECT_EQ(events[1], "returned 101");
    EXPECT_EQ(events[2].substr(0, 22), "restart for malformed:");
    EXPECT_EQ(events[2].substr(events[2].size() - line.size()), line);
  }
}

TEST_F(CommandSessionTest, NothingFollowsTheEnd) {
  begin({}, 1);
  EXPECT_EQ(take(R"({"ok":1})").size(), 2U);
  EXPECT_FALSE(session_.has_room());
  EXPECT_EQ(take(R"({"id":1,"ok":1})"), Told{});
  EXPECT_EQ(told(session_.end()), Told{});
  EXPECT_EQ(pass(1h), Told{});
  EXPECT_EQ(session_.next_look(), std::nullopt);
  EXPECT_EQ(session_.tasks(), std::vector<std::uint64_t>{});
}

TEST_F(CommandSessionTest, OtherLinesAreOutputUpToABound) {
  begin({.max_other_lines = 2}, 1);
  EXPECT_EQ(take("Loading..."), Told{"output: Loading..."});
  EXPECT_EQ(take("{}"), Told{"output: {}"});
  EXPECT_EQ(take(R"({"id":1,"progress":0.5})"), Told{"progressed 100: 0.5 "});
  const std::string text =
      "the worker wrote more than 2 lines that are no answers; let it write them to standard "
      "error; its last other output: more";
  EXPECT_EQ(take("more"),
            (Told{"output: more", "failed 100 by crash: " + text, "restart for chatter: " + text}));
}

TEST_F(CommandSessionTest, EachAnswerAllowsForOtherLinesAnew) {
  begin({.max_other_lines = 1}, 1);
  for (std::uint64_t id = 1; id < 10; ++id) {
    EXPECT_EQ(take("hello"), Told{"output: hello"});
    EXPECT_EQ(take("{\"id\":" + std::to_string(id) + ",\"ok\":\"\"}"), Told{"settled 100: "});
    EXPECT_EQ(session_.give(100, now_), id + 1);
  }
}

TEST_F(CommandSessionTest, AWorkerWithoutATaskMayNotWriteForEverEither) {
  begin({.max_other_lines = 2}, 0);
  EXPECT_EQ(take("a").size() + take("b").size(), 2U);
  EXPECT_EQ(take("c").back().substr(0, 20), "restart for chatter:");
}

TEST_F(CommandSessionTest, SilenceIsTheEnd) {
  begin({.prefetch = 2, .max_silence = 60s}, 2);
  EXPECT_EQ(pass(59s), Told{});
  const std::string text = "the worker has given no sign of life for 60 s";
  EXPECT_EQ(pass(1s), (Told{"60 s: failed 100 by crash: " + text, "60 s: returned 101",
                            "60 s: restart for silence: " + text}));
}

TEST_F(CommandSessionTest, AnySignOfLifeEndsTheSilence) {
  for (const std::string line :
       {R"({"heartbeat":true})", R"({"id":1,"progress":0})", "Loading...", R"({"id":2})"}) {
    now_ = Time{};
    begin({.prefetch = 2, .max_silence = 60s}, 2);
    EXPECT_EQ(pass(59s), Told{});
    (void)take(line);
    EXPECT_EQ(pass(59s), Told{}) << line;
    EXPECT_FALSE(pass(1s).empty()) << line;
    EXPECT_TRUE(session_.is_over()) << line;
  }
}

TEST_F(CommandSessionTest, SilenceWithoutATaskIsFine) {
  begin({.max_silence = 60s}, 1);
  EXPECT_EQ(pass(59s), Told{});
  EXPECT_EQ(take(R"({"id":1,"ok":1})").size(), 1U);
  EXPECT_EQ(pass(24h), Told{});
  EXPECT_EQ(told(session_.look(now_)), Told{});
  EXPECT_EQ(session_.give(7, now_), 2U);
  EXPECT_EQ(pass(59s), Told{}) << "counted from the task on";
  EXPECT_EQ(pass(1s).size(), 2U);
}

TEST_F(CommandSessionTest, APoolThatWasStoppedItselfHoldsThatAgainstNobody) {
  begin({.max_silence = 60s}, 1);
  EXPECT_EQ(pass(10s), Told{});
  now_ += 24h;
  EXPECT_EQ(told(session_.look(now_)), Told{});
  EXPECT_EQ(pass(29s), Told{});
  EXPECT_EQ(pass(31s).size(), 2U);
}

TEST_F(CommandSessionTest, TimeThatRunsBackIsNoSilence) {
  now_ += 1h;
  begin({.max_silence = 60s}, 1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(told(session_.look(now_ - 30min)), Told{});
    EXPECT_EQ(told(session_.look(now_)), Told{});
  }
}

TEST_F(CommandSessionTest, TheEndOfTheOutputIsTheEnd) {
  begin({.prefetch = 2}, 2);
  EXPECT_EQ(told(session_.end()),
            all_over("ended", "the worker's output has ended before its answer"));
}

TEST_F(CommandSessionTest, WithoutATaskNothingFailsAtTheEnd) {
  begin({}, 0);
  EXPECT_EQ(told(session_.end()), Told{"restart for ended: the worker's output has ended"});
}

TEST_F(CommandSessionTest, WhatItWroteLastExplainsTheEndIfItWasNoAnswer) {
  begin({.max_other_lines = 0}, 1);
  const SplitLine cut{.text = R"({"id":1,"ok":"aa)", .is_unfinished = true};
  EXPECT_EQ(told(session_.take(cut, now_)), Told{R"(output: {"id":1,"ok":"aa...)"});
  EXPECT_EQ(told(session_.end()).at(0),
            "failed 100 by crash: the worker's output has ended before its answer; its last other "
            R"(output: {"id":1,"ok":"aa)");
}

TEST_F(CommandSessionTest, AnAnswerWithoutALineEndCounts) {
  begin({}, 1);
  const SplitLine last{.text = R"({"id":1,"ok":"a"})", .is_unfinished = true};
  EXPECT_EQ(told(session_.take(last, now_)), Told{"settled 100: a"});
  EXPECT_EQ(told(session_.end()), Told{"restart for ended: the worker's output has ended"});
}

TEST_F(CommandSessionTest, WhatWasWrittenBeforeAnAnswerExplainsNothingLater) {
  begin({}, 1);
  EXPECT_EQ(take("Loading...").size(), 1U);
  EXPECT_EQ(take(R"({"id":1,"ok":"a"})").size(), 1U);
  EXPECT_EQ(session_.give(100, now_), 2U);
  EXPECT_EQ(told(session_.end()).at(0),
            "failed 100 by crash: the worker's output has ended before its answer");
}

TEST(CommandSessionOptions, AreValidated) {
  const auto fields = [](const CommandSessionOptions& options) {
    std::string all;
    for (const BadField& bad : validate(options)) all += bad.field + ' ' + bad.rule + ';';
    return all;
  };
  EXPECT_EQ(fields({}), "");
  EXPECT_EQ(fields({.prefetch = 1024, .max_silence = 1ms, .max_other_lines = 0}), "");
  EXPECT_EQ(fields({.max_silence = 24h * 365}), "");
  EXPECT_EQ(fields({.prefetch = 0}), "prefetch must be from 1 to 1024;");
  EXPECT_EQ(fields({.prefetch = 1025}), "prefetch must be from 1 to 1024;");
  EXPECT_EQ(fields({.max_silence = 999us}), "max_silence must be from 1 ms to a year;");
  EXPECT_EQ(fields({.max_silence = 24h * 366}), "max_silence must be from 1 ms to a year;");
}

}  // namespace
}  // namespace muster
