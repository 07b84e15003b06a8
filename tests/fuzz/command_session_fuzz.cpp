// command_session_fuzz.cpp: whatever a command worker writes, each task comes back exactly once.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <muster/base/assert.hpp>
#include <muster/base/utf8.hpp>
#include <muster/processes/command_lines.hpp>
#include <muster/processes/command_session.hpp>
#include <muster/processes/line_splitter.hpp>

#include "fuzz/fuzz_entries.hpp"
#include "processes/json_text.hpp"

namespace muster::fuzz {
namespace {

constexpr std::size_t kMaxLineBytes = 120;
constexpr Duration kMaxSilence = std::chrono::seconds(60);

// A worker and the ledger of its tasks.
class Play {
 public:
  explicit Play(std::size_t prefetch)
      : session_({.prefetch = prefetch, .max_silence = kMaxSilence, .max_other_lines = 3}),
        splitter_(kMaxLineBytes) {}

  ~Play() {
    splitter_.finish([this](const SplitLine& line) { settle(session_.take(line, now_)); });
    settle(session_.end());
    MUSTER_ASSERT(session_.is_over());
    MUSTER_ASSERT(open_.empty());
  }
  Play(const Play&) = delete;
  Play& operator=(const Play&) = delete;

  void give() {
    if (!session_.has_room()) return;
    open_.insert(++tasks_);
    MUSTER_ASSERT(session_.give(tasks_, now_) == tasks_);
  }

  void wait(Duration time) {
    now_ += time;
    settle(session_.look(now_));
    if (const auto next = session_.next_look()) {
      MUSTER_ASSERT(next->time_since_epoch().count() > now_.time_since_epoch().count());
    }
  }

  void write(std::string_view bytes) {
    splitter_.feed(bytes, [this](const SplitLine& line) { settle(session_.take(line, now_)); });
  }

 private:
  void settle(const std::vector<CommandEvent>& events) {
    if (was_over_) MUSTER_ASSERT(events.empty());
    for (const CommandEvent& event : events) {
      MUSTER_ASSERT(!session_.is_over() || &event != &events.back() ||
                    std::holds_alternative<CommandRestart>(event));
      std::visit([this](const auto& what) { note(what); }, event);
    }
    was_over_ = session_.is_over();
    MUSTER_ASSERT(session_.tasks() == std::vector<std::uint64_t>(open_.begin(), open_.end()));
    MUSTER_ASSERT(!was_over_ || (open_.empty() && !session_.has_room()));
  }

  void note(const CommandSettled& event) { close(event.task); }
  void note(const CommandFailed& event) { close(event.task); }
  void note(const CommandReturned& event) { close(event.task); }
  void note(const CommandProgressed& event) {
    MUSTER_ASSERT(open_.contains(event.task));
    MUSTER_ASSERT((event.fraction >= 0 && event.fraction <= 1));
    MUSTER_ASSERT(is_utf8(event.text));
  }
  void note(const CommandBeat&) {}
  void note(const CommandOutput& event) { MUSTER_ASSERT(event.text.size() <= kMaxLineBytes); }
  void note(const CommandRestart& event) {
    MUSTER_ASSERT(session_.is_over());
    MUSTER_ASSERT(is_utf8(event.text));
  }
  void close(std::uint64_t task) { MUSTER_ASSERT(open_.erase(task) == 1U); }

  Time now_{};
  CommandSession session_;
  LineSplitter splitter_;
  std::set<std::uint64_t> open_;
  std::uint64_t tasks_ = 0;
  bool was_over_ = false;
};

// The payload of a request, by the reader of answers: the two directions must agree.
void check_request(std::string_view payload) {
  std::string line = write_request({.id = 7, .task = "t", .payload = payload});
  MUSTER_ASSERT(line.find('\n') == line.size() - 1);
  const std::string_view begin = R"({"id":7,"task":"t","payload)";
  MUSTER_ASSERT(line.starts_with(begin));
  line.replace(0, begin.size(), R"({"id":7,"ok)");
  const CommandLine read = read_command_line({.text = line});
  const auto* const answer = std::get_if<AnswerLine>(&read);
  MUSTER_ASSERT((answer != nullptr && answer->bytes == payload));
}

// JSON that is sent as such comes back as it is but for the ends of lines.
void check_json_request(std::string_view payload) {
  if (!json_problem(payload, 63).empty() || payload.find_first_of("\r\n") != payload.npos) return;
  std::string line =
      write_request({.id = 7, .task = "t", .payload = payload, .form = PayloadForm::json});
  line.replace(line.find(R"("payload")"), 9, R"("ok")");
  const CommandLine read = read_command_line({.text = line});
  const auto* const answer = std::get_if<AnswerLine>(&read);
  MUSTER_ASSERT(answer != nullptr);
  const std::size_t first = payload.find_first_not_of(" \t");
  const std::string_view bare = payload.substr(first, payload.find_last_not_of(" \t") + 1 - first);
  const bool is_string = bare.front() == '"';
  MUSTER_ASSERT(answer->bytes == (is_string ? json_string(bare) : std::string(bare)));
}

std::size_t prefetch_of(std::string_view number) {
  std::size_t prefetch = 1;
  (void)std::from_chars(number.data(), number.data() + number.size(), prefetch);
  return prefetch % 8 + 1;
}

}  // namespace

void command_session(std::string_view input) {
  constexpr std::string_view kPrefetch = "!prefetch ";
  auto play = std::make_unique<Play>(1);
  while (!input.empty()) {
    const std::size_t size = std::min(input.find('\n'), input.size() - 1) + 1;
    const std::string_view line = input.substr(0, size);
    input.remove_prefix(size);
    if (line == "!give\n") {
      play->give();
    } else if (line == "!wait\n") {
      play->wait(kMaxSilence / 5);
    } else if (line == "!sleep\n") {
      play->wait(kMaxSilence * 5);
    } else if (line.starts_with(kPrefetch)) {
      play = std::make_unique<Play>(prefetch_of(line.substr(kPrefetch.size())));
    } else {
      play->write(line);
      check_request(line);
      check_json_request(line.substr(0, line.find('\n')));
    }
  }
}

}  // namespace muster::fuzz
