// command_session.cpp: from one line to what becomes of the tasks.
#include <algorithm>
#include <utility>

#include <muster/base/assert.hpp>
#include <muster/processes/command_session.hpp>

namespace muster {
namespace {

constexpr std::size_t kMostPrefetch = 1024;
constexpr Duration kShortestSilence = std::chrono::milliseconds(1);
constexpr Duration kLongestSilence = std::chrono::hours(24 * 365);
constexpr int kLooksPerSilence = 4;

std::string in_seconds(Duration duration) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  std::string text = std::to_string(milliseconds / 1000);
  if (milliseconds % 1000 != 0) text += '.' + std::to_string(1000 + milliseconds % 1000).substr(1);
  return text + " s";
}

template <class... Calls>
struct Overloaded : Calls... {
  using Calls::operator()...;
};

}  // namespace

std::vector<BadField> validate(const CommandSessionOptions& options) {
  std::vector<BadField> bad;
  if (options.prefetch < 1 || options.prefetch > kMostPrefetch) {
    bad.push_back({.field = "prefetch",
                   .value = std::to_string(options.prefetch),
                   .rule = "must be from 1 to " + std::to_string(kMostPrefetch)});
  }
  if (options.max_silence < kShortestSilence || options.max_silence > kLongestSilence) {
    bad.push_back({.field = "max_silence",
                   .value = std::to_string(options.max_silence.count()) + " ns",
                   .rule = "must be from 1 ms to a year"});
  }
  return bad;
}

std::string_view to_string(RestartReason reason) {
  switch (reason) {
    case RestartReason::malformed:
      return "malformed";
    case RestartReason::unknown_task:
      return "unknown_task";
    case RestartReason::chatter:
      return "chatter";
    case RestartReason::silence:
      return "silence";
    case RestartReason::ended:
      break;
  }
  return "ended";
}

std::uint64_t CommandSession::give(std::uint64_t task, Time now) {
  MUSTER_ASSERT(has_room());
  if (given_.empty()) last_look_ = now;  // what it did not say without a task is no silence
  given_.push_back({.id = ++last_id_, .task = task});
  return last_id_;
}

std::vector<CommandEvent> CommandSession::take(const SplitLine& line, Time now) {
  if (is_over_) return {};
  pass(now);
  silence_ = Duration::zero();
  ++signs_;
  // What is about a task that it has not got is judged by its id alone.
  const auto about = [&](std::uint64_t id, auto make_event) -> Events {
    const Place place = find(id);
    if (place == given_.end()) return stray(line, id);
    return {make_event(place)};
  };
  CommandLine read = read_command_line(line);
  return std::visit(
      Overloaded{
          [&](AnswerLine& answer) {
            return about(answer.id, [&](const Place& place) -> CommandEvent {
              return CommandSettled{.task = settle(place), .bytes = std::move(answer.bytes)};
            });
          },
          [&](ErrorLine& error) {
            return about(error.id, [&](const Place& place) -> CommandEvent {
              return CommandFailed{.task = settle(place), .text = std::move(error.text)};
            });
          },
          [&](ProgressLine& progress) {
            return about(progress.id, [&](const Place& place) -> CommandEvent {
              return CommandProgressed{.task = place->task,
                                       .fraction = progress.fraction,
                                       .text = std::move(progress.text)};
            });
          },
          [](HeartbeatLine& beat) {
            return Events{CommandBeat{.memory_bytes = beat.memory_bytes}};
          },
          [&](MalformedLine& malformed) { return on_malformed(line, malformed); },
          [&](OtherLine&) { return other(line); },
      },
      read);
}

CommandSession::Events CommandSession::on_malformed(const SplitLine& line,
                                                    const MalformedLine& malformed) {
  // The end of the output, which is about to be told, says more.
  if (line.is_unfinished) return other(line);
  if (!malformed.id) {
    return restart(RestartReason::malformed,
                   "the worker wrote a line that cannot be read: " + malformed.problem);
  }
  const Place place = find(*malformed.id);
  if (place == given_.end()) return stray(line, *malformed.id);
  return {CommandFailed{.task = settle(place),
                        .text = "the worker's answer cannot be read: " + malformed.problem}};
}

std::vector<CommandEvent> CommandSession::end() {
  if (is_over_) return {};
  const char* const what = given_.empty() ? "the worker's output has ended"
                                          : "the worker's output has ended before its answer";
  return restart(RestartReason::ended, with_last_output(what));
}

std::vector<CommandEvent> CommandSession::look(Time now) {
  if (is_over_ || given_.empty()) return {};
  pass(now);
  if (silence_ < options_.max_silence) return {};
  return restart(RestartReason::silence,
                 with_last_output("the worker has given no sign of life for " +
                                  in_seconds(options_.max_silence)));
}

std::optional<Time> CommandSession::next_look() const noexcept {
  if (is_over_ || given_.empty()) return std::nullopt;
  return last_look_ +
         std::min(options_.max_silence - silence_, options_.max_silence / kLooksPerSilence);
}

std::vector<std::uint64_t> CommandSession::tasks() const {
  std::vector<std::uint64_t> all;
  all.reserve(given_.size());
  for (const Given& given : given_) all.push_back(given.task);
  return all;
}

void CommandSession::pass(Time now) {
  silence_ += std::clamp<Duration>(now - last_look_, Duration::zero(),
                                   options_.max_silence / kLooksPerSilence);
  last_look_ = std::max(now, last_look_);
}

CommandSession::Place CommandSession::find(std::uint64_t id) {
  return std::find_if(given_.begin(), given_.end(),
                      [id](const Given& given) { return given.id == id; });
}

std::uint64_t CommandSession::settle(const Place& place) {
  const std::uint64_t task = place->task;
  given_.erase(place);
  other_lines_ = 0;
  last_output_.clear();
  return task;
}

// Ids are given in order, so it is known whether it ever had this one.
CommandSession::Events CommandSession::stray(const SplitLine& line, std::uint64_t id) {
  if (id >= 1 && id <= last_id_) return other(line);
  return restart(RestartReason::unknown_task,
                 "the worker wrote about id " + std::to_string(id) +
                     ", which it was not given: " + excerpt(line.text));
}

CommandSession::Events CommandSession::other(const SplitLine& line) {
  last_output_ = excerpt(line.text);
  Events events = {CommandOutput{.text = std::string(line.text),
                                 .cut_bytes = line.cut_bytes,
                                 .is_unfinished = line.is_unfinished}};
  if (line.is_unfinished || ++other_lines_ <= options_.max_other_lines) return events;
  const std::string text = "the worker wrote more than " +
                           std::to_string(options_.max_other_lines) +
                           " lines that are no answers; let it write them to standard error";
  for (CommandEvent& event : restart(RestartReason::chatter, with_last_output(text))) {
    events.push_back(std::move(event));
  }
  return events;
}

std::string CommandSession::with_last_output(std::string text) const {
  if (!last_output_.empty()) text += "; its last other output: " + last_output_;
  return text;
}

CommandSession::Events CommandSession::restart(RestartReason reason, const std::string& text) {
  Events events;
  for (const Given& given : given_) {
    if (events.empty()) {
      events.emplace_back(
          CommandFailed{.task = given.task, .kind = FailureKind::crash, .text = text});
    } else {
      events.emplace_back(CommandReturned{.task = given.task});
    }
  }
  given_.clear();
  is_over_ = true;
  events.emplace_back(CommandRestart{.reason = reason, .text = text});
  return events;
}

}  // namespace muster
