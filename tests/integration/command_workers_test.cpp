// command_workers_test.cpp: the examples of command workers, as a pool would talk to them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/processes/command_lines.hpp>
#include <muster/processes/command_session.hpp>
#include <muster/processes/line_splitter.hpp>
#include <muster/processes/spawner.hpp>

#include "unit/processes/process_testing.hpp"

namespace muster {
namespace {

struct Question {
  std::string task;
  std::string payload;
};

// An example that runs. Time stands still: whoever waits too long fails the test by himself.
class Worker {
 public:
  Worker(const std::string& program, PayloadForm form) : form_(form) {
    Pipe input = make_pipe();
    Pipe output = make_pipe();
    start(spawner_, 1,
          {.program = COMMANDS "/" + program,
           .standard_input = input.to_read.get(),
           .standard_output = output.to_write.get()});
    to_worker_ = std::move(input.to_write);
    from_worker_ = std::move(output.to_read);
  }

  // "= result" or "! error", and what was told on the way.
  std::string ask(const Question& question) {
    outcome_.clear();
    const std::string line = write_request({.id = session_.give(1, {}),
                                            .task = question.task,
                                            .payload = question.payload,
                                            .form = form_});
    // Small ones only, or both sides could wait for each other.
    EXPECT_EQ(::write(to_worker_.get(), line.data(), line.size()),
              static_cast<ssize_t>(line.size()));
    while (outcome_.empty() && !session_.is_over()) read_some();
    return outcome_;
  }

  // What it writes and how it ends when there are no more tasks.
  ProcessEnd end() {
    to_worker_ = FileDescriptor();
    while (!session_.is_over()) read_some();
    return receive<WorkerEnded>(spawner_).end;
  }

  [[nodiscard]] int beats() const { return beats_; }
  [[nodiscard]] const std::vector<double>& progress() const { return progress_; }
  [[nodiscard]] const std::string& restart() const { return restart_; }

 private:
  void read_some() {
    const auto take = [this](const SplitLine& line) { note(session_.take(line, {})); };
    await_readable(from_worker_.get());
    char buffer[4096];
    const ssize_t count = ::read(from_worker_.get(), buffer, sizeof buffer);
    if (count > 0) {
      splitter_.feed({buffer, static_cast<std::size_t>(count)}, take);
    } else {
      splitter_.finish(take);
      note(session_.end());
    }
  }

  void note(const std::vector<CommandEvent>& events) {
    for (const CommandEvent& event : events) {
      if (const auto* settled = std::get_if<CommandSettled>(&event))
        outcome_ = "= " + settled->bytes;
      if (const auto* failed = std::get_if<CommandFailed>(&event)) outcome_ = "! " + failed->text;
      if (const auto* step = std::get_if<CommandProgressed>(&event)) {
        progress_.push_back(step->fraction);
      }
      if (std::holds_alternative<CommandBeat>(event)) ++beats_;
      if (const auto* output = std::get_if<CommandOutput>(&event)) ADD_FAILURE() << output->text;
      if (const auto* restart = std::get_if<CommandRestart>(&event)) {
        restart_ = to_string(restart->reason);
      }
    }
  }

  const PayloadForm form_;
  Spawner spawner_{{}};
  FileDescriptor to_worker_;
  FileDescriptor from_worker_;
  CommandSession session_{CommandSessionOptions{}};
  LineSplitter splitter_{65'536};
  std::string outcome_;
  std::string restart_;
  std::vector<double> progress_;
  int beats_ = 0;
};

// Text in several languages, JSON, and bytes that are neither.
std::vector<std::string> payloads() {
  using namespace std::string_literals;
  std::vector<std::string> all = {"",
                                  "hello",
                                  "two\nlines\r\n",
                                  "12",
                                  "null",
                                  "[1, 2]",
                                  "\"\\u0041\"",
                                  "\u00e4\u20ac\U0001f600\u2028",
                                  "\0zero"s,
                                  "\xff\xfe",
                                  "\x7f"};
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    std::string bytes(static_cast<std::size_t>(random.below(200)), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    all.push_back(bytes);
  }
  return all;
}

void expect_clean_end(Worker& worker) {
  EXPECT_EQ(worker.end(), ProcessEnd{});
  EXPECT_EQ(worker.restart(), "ended");
  EXPECT_GE(worker.beats(), 1);
}

TEST(PythonWorker, EveryPayloadComesBackAsItWas) {
  for (const PayloadForm form : {PayloadForm::text, PayloadForm::base64}) {
    Worker worker("worker.py", form);
    for (const std::string& bytes : payloads()) {
      EXPECT_EQ(worker.ask({"echo", bytes}), "= " + bytes);
    }
    expect_clean_end(worker);
  }
}

TEST(PythonWorker, ResultsMayBeAnythingThatJsonHas) {
  Worker worker("worker.py", PayloadForm::text);
  EXPECT_EQ(worker.ask({"total", "[1, 2.5, 4, 0.5]"}), R"(= {"count": 4, "sum": 8.0})");
  EXPECT_EQ(worker.progress(), (std::vector{0.0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(worker.ask({"upper", "stra\u00dfe"}), "= STRASSE");
  expect_clean_end(worker);
}

TEST(PythonWorker, WhatATaskRaisesIsItsErrorAndTheWorkerGoesOn) {
  Worker worker("worker.py", PayloadForm::text);
  EXPECT_EQ(worker.ask({"total", "[1, \"a\"]"}),
            "! TypeError: unsupported operand type(s) for +: 'int' and 'str'");
  EXPECT_EQ(worker.ask({"total", "[NaN]"}),
            "! ValueError: Out of range float values are not JSON compliant");
  EXPECT_EQ(worker.ask({"dance", ""}), "! KeyError: 'dance'");
  EXPECT_EQ(worker.ask({"upper", "a"}), "= A");
  expect_clean_end(worker);
}

TEST(PythonWorker, JsonArrivesAsValues) {
  Worker worker("worker.py", PayloadForm::json);
  EXPECT_EQ(worker.ask({"echo", "{\"a\":\n [1, null]}"}), R"(= {"a": [1, null]})");
  EXPECT_EQ(worker.ask({"echo", "\"text\""}), "= text");
  expect_clean_end(worker);
}

TEST(ShellWorker, EveryPayloadComesBackAsItWas) {
  Worker worker("worker.sh", PayloadForm::base64);
  for (const std::string& bytes : payloads()) EXPECT_EQ(worker.ask({"echo", bytes}), "= " + bytes);
  expect_clean_end(worker);
}

TEST(ShellWorker, TasksSucceedAndFailByTheirStatus) {
  Worker worker("worker.sh", PayloadForm::base64);
  EXPECT_EQ(worker.ask({"upper", "hello"}), "= HELLO");
  EXPECT_EQ(worker.ask({"count", "\xff\xfe"}), "= 2");
  EXPECT_EQ(worker.ask({"lines", ""}), "! the task ended with status 1");
  EXPECT_EQ(worker.ask({"lines", "a\nb\n"}), "= 2\n");
  EXPECT_EQ(worker.ask({"dance", ""}), "! there is no such task");
  expect_clean_end(worker);
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  muster::spawner_main();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
