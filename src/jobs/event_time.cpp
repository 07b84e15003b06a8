// event_time.cpp: times of events as RFC 3339 writes them, "2024-02-29T12:34:56.789Z".
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <muster/jobs/event_json.hpp>

namespace muster {
namespace {

using SystemClock = std::chrono::system_clock;
static_assert(std::is_same_v<SystemClock::duration, std::chrono::nanoseconds>,
              "its years and the nine digits of a second follow from this");

// Reads numbers at fixed places of a text, and remembers whether all were there.
class TimeScanner {
 public:
  explicit TimeScanner(std::string_view text) : rest_(text) {}

  int number(std::size_t digits) {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const char digit = take();
      if (digit < '0' || digit > '9') return is_good_ = false, 0;
      value = value * 10 + (digit - '0');
    }
    return value;
  }
  char one_of(std::string_view characters) {
    const char character = take();
    if (characters.find(character) == std::string_view::npos) is_good_ = false;
    return character;
  }
  char peek() const { return rest_.empty() ? '\0' : rest_[0]; }
  bool is_good_to_end() const { return is_good_ && rest_.empty(); }

 private:
  char take() {
    const char character = peek();
    if (!rest_.empty()) rest_.remove_prefix(1);
    return character;
  }

  std::string_view rest_;
  bool is_good_ = true;
};

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::int64_t kSecondsPerDay = 86'400;

// None if the clock does not know it. The seconds may be just below what fits as nanoseconds.
std::optional<std::int64_t> nanos_of(std::int64_t seconds, std::int64_t nanos) {
  if (seconds < 0) {
    ++seconds;
    nanos -= kNanosPerSecond;
  }
  std::int64_t whole = 0;
  if (__builtin_mul_overflow(seconds, kNanosPerSecond, &whole)) return std::nullopt;
  if (__builtin_add_overflow(whole, nanos, &whole)) return std::nullopt;
  return whole;
}

// Since 1970; none if it is not as of RFC 3339.
std::optional<std::int64_t> parse_time(std::string_view text) {
  TimeScanner scanner(text);
  const std::chrono::year year(scanner.number(4));
  scanner.one_of("-");
  const std::chrono::month month(static_cast<unsigned>(scanner.number(2)));
  scanner.one_of("-");
  const std::chrono::day day(static_cast<unsigned>(scanner.number(2)));
  scanner.one_of("Tt ");
  const int hour = scanner.number(2);
  scanner.one_of(":");
  const int minute = scanner.number(2);
  scanner.one_of(":");
  const int second = scanner.number(2);
  std::int64_t nanos = 0;
  if (scanner.peek() == '.') {
    scanner.one_of(".");
    std::int64_t unit = kNanosPerSecond;
    do {
      unit /= 10;
      nanos += scanner.number(1) * unit;
    } while (unit > 1 && scanner.peek() >= '0' && scanner.peek() <= '9');
  }
  int offset_minutes = 0;
  const char zone = scanner.one_of("Zz+-");
  if (zone == '+' || zone == '-') {
    const int hours = scanner.number(2);
    scanner.one_of(":");
    const int minutes = scanner.number(2);
    if (hours > 23 || minutes > 59) return std::nullopt;
    offset_minutes = (zone == '+' ? 1 : -1) * (hours * 60 + minutes);
  }
  const std::chrono::year_month_day date(year, month, day);
  if (!scanner.is_good_to_end() || !date.ok()) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t minutes = std::int64_t{hour} * 60 + minute - offset_minutes;
  return nanos_of(days * kSecondsPerDay + minutes * 60 + second, nanos);
}

void append_digits(std::int64_t number, std::size_t count, std::string& out) {
  const std::string digits = std::to_string(number);
  out.append(count - digits.size(), '0').append(digits);
}

std::string time_text(std::int64_t nanos_since_1970) {
  // By hand: the beginning of the first day cannot be said in nanoseconds.
  const auto floor_divide = [](std::int64_t number, std::int64_t by) {
    return number / by - (number % by < 0 ? 1 : 0);
  };
  const std::int64_t seconds = floor_divide(nanos_since_1970, kNanosPerSecond);
  const std::int64_t days = floor_divide(seconds, kSecondsPerDay);
  const std::int64_t second = seconds - days * kSecondsPerDay;
  const std::int64_t nanos = nanos_since_1970 % kNanosPerSecond;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};

  std::string text;
  append_digits(static_cast<int>(date.year()), 4, text);
  append_digits(static_cast<unsigned>(date.month()), 2, text += '-');
  append_digits(static_cast<unsigned>(date.day()), 2, text += '-');
  append_digits(second / 3600, 2, text += 'T');
  append_digits(second / 60 % 60, 2, text += ':');
  append_digits(second % 60, 2, text += ':');
  append_digits(nanos < 0 ? nanos + kNanosPerSecond : nanos, 9, text += '.');
  const std::string_view zeros = "000";
  while (text.ends_with(zeros) && text[text.size() - 4] != '.') text.resize(text.size() - 3);
  return text + 'Z';
}

}  // namespace

void EventCodec<SystemClock::time_point>::encode(SystemClock::time_point time, EventWriter& out) {
  out.write_string(time_text(time.time_since_epoch().count()));
}

SystemClock::time_point EventCodec<SystemClock::time_point>::decode(const EventReader& in) {
  std::optional<std::int64_t> nanos;
  if (in.value() != nullptr && in.value()->is_string()) nanos = parse_time(in.string());
  if (nanos) return SystemClock::time_point(SystemClock::duration(*nanos));
  in.fail("a time of the years 1677 to 2262 such as \"2024-02-29T12:34:56.789Z\"");
}

}  // namespace muster
