// command_session.hpp: what the lines of a command worker mean for its tasks.
//
//     CommandSession session({.prefetch = 1});
//     if (session.has_room()) send(write_request({.id = session.give(task, now), ...}));
//     splitter.feed(bytes, [&](const SplitLine& line) { handle(session.take(line, now)); });
//     handle(session.look(now));                      // at session.next_look()
//     handle(session.end());                          // when its standard output has ended
//
// From the first task to the end of one worker process. Each task that it is given comes back once:
// settled, failed, or returned. What goes wrong is held against one task where that is certain, and
// the worker goes on:
//
//     it says that the task has failed                         the task fails
//     its answer cannot be read, but begins with the id        the task fails
//     it answers again, or is late with its progress           told as output
//     it writes lines that are not of the protocol             told as output, up to a bound
//
// Otherwise nobody knows what else is wrong, and it must be restarted: an answer cannot be read and
// says not whose it is, or is about an id that it was not given; it writes too much that is not of
// the protocol; it gives no sign of life while it has a task; its output ends. Then the oldest task
// fails and the others are returned.
//
// Thread safety: a value; decides by what it is told, and does nothing itself.
// Design note: docs/guides/command_workers.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>
#include <muster/policy/retry.hpp>
#include <muster/processes/command_lines.hpp>
#include <muster/processes/line_splitter.hpp>

namespace muster {

struct CommandSessionOptions {
  // Tasks that a worker may have at once, from 1 to 1024. 1: it gets the next when it has answered.
  // More: it need not wait for the next, and may answer in any order; but if it must be restarted,
  // nobody knows which of them it had begun.
  std::size_t prefetch = 1;

  // How long a worker that has a task may write nothing, from 1 ms to a year. Whatever it writes is
  // a sign of life; one whose tasks take longer should send heartbeats.
  Duration max_silence = std::chrono::minutes(5);

  // Lines not of the protocol that a worker may write between two answers. 0: none.
  std::size_t max_other_lines = 100;
};

// Every problem with the options; empty: none.
[[nodiscard]] MUSTER_API std::vector<BadField> validate(const CommandSessionOptions& options);

enum class RestartReason {
  malformed,     // a line that cannot be read, and nobody knows which task it is about
  unknown_task,  // a line about a task that it was not given
  chatter,       // too many lines not of the protocol
  silence,       // no sign of life
  ended,         // its output has ended
};

MUSTER_API std::string_view to_string(RestartReason reason);

// `task` is always the caller's number, as it was given.
struct CommandSettled {
  std::uint64_t task = 0;
  std::string bytes;
};

struct CommandFailed {
  std::uint64_t task = 0;
  FailureKind kind = FailureKind::error;  // crash if the worker must be restarted
  std::string text;
};

// The worker must be restarted because of another task. Whether it had begun this one is not known.
struct CommandReturned {
  std::uint64_t task = 0;
};

struct CommandProgressed {
  std::uint64_t task = 0;
  double fraction = 0;
  std::string text;
};

struct CommandBeat {
  std::optional<std::uint64_t> memory_bytes = {};
};

// A line that is not of the protocol, or comes too late.
struct CommandOutput {
  std::string text;
  std::size_t cut_bytes = 0;
  bool is_unfinished = false;
};

// Comes last: the worker is of no more use, and so is the session.
struct CommandRestart {
  RestartReason reason = RestartReason::ended;
  std::string text;
};

using CommandEvent = std::variant<CommandSettled, CommandFailed, CommandReturned, CommandProgressed,
                                  CommandBeat, CommandOutput, CommandRestart>;

class MUSTER_API CommandSession {
 public:
  // Requires: valid options.
  explicit CommandSession(const CommandSessionOptions& options) : options_(options) {}

  // Whether it may be given a task.
  [[nodiscard]] bool has_room() const noexcept {
    return !is_over_ && given_.size() < options_.prefetch;
  }

  // The id to send to the worker: 1, 2, 3, ... since a task that is tried again must not be
  // mistaken for its earlier attempt. Requires: has_room(); `task` is not among tasks().
  [[nodiscard]] std::uint64_t give(std::uint64_t task, Time now);

  // What give() will say next.
  [[nodiscard]] std::uint64_t next_id() const noexcept { return last_id_ + 1; }

  // It has written a line.
  [[nodiscard]] std::vector<CommandEvent> take(const SplitLine& line, Time now);

  // Its standard output has ended, and take() was told all that it wrote.
  [[nodiscard]] std::vector<CommandEvent> end();

  // Time has passed. First take() what there is to read. Silence counts only as far as somebody
  // was there to listen: a gap between two looks counts as a quarter of `max_silence` at most.
  [[nodiscard]] std::vector<CommandEvent> look(Time now);

  // When to look again; nothing: when it has a task.
  [[nodiscard]] std::optional<Time> next_look() const noexcept;

  // Those that it has, oldest first.
  [[nodiscard]] std::vector<std::uint64_t> tasks() const;

  // The one held to be at hand; nothing: it has none.
  [[nodiscard]] std::optional<std::uint64_t> oldest() const noexcept {
    return given_.empty() ? std::nullopt : std::optional(given_.front().task);
  }

  // Any change is a sign of life (VitalSigns::beats). Above 0: it has begun to speak.
  [[nodiscard]] std::uint64_t signs() const noexcept { return signs_; }

  [[nodiscard]] bool is_over() const noexcept { return is_over_; }

 private:
  struct Given {
    std::uint64_t id = 0;
    std::uint64_t task = 0;
  };
  using Events = std::vector<CommandEvent>;
  using Place = std::deque<Given>::iterator;

  [[nodiscard]] Place find(std::uint64_t id);
  [[nodiscard]] std::uint64_t settle(const Place& place);
  [[nodiscard]] Events stray(const SplitLine& line, std::uint64_t id);
  [[nodiscard]] Events other(const SplitLine& line);
  [[nodiscard]] Events on_malformed(const SplitLine& line, const MalformedLine& malformed);
  [[nodiscard]] Events restart(RestartReason reason, const std::string& text);
  [[nodiscard]] std::string with_last_output(std::string text) const;
  void pass(Time now);

  CommandSessionOptions options_;
  std::deque<Given> given_;  // oldest first
  std::uint64_t last_id_ = 0;
  std::uint64_t signs_ = 0;
  std::size_t other_lines_ = 0;  // since the last answer
  std::string last_output_;      // an excerpt of the last of these
  Time last_look_{};
  Duration silence_{};
  bool is_over_ = false;
};

}  // namespace muster
