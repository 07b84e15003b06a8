// cron.cpp: reads expressions, and finds the next run: first field by field in the local calendar,
// then as a moment in the time zone.
//
// The calendar is that of <chrono>. Of the date library, which has a calendar of its own, only the
// time zones are used: GCC 12 has none.

// Must be what the library was built with, or its classes differ. CMake's target says it; what is
// built without that has Debian's library.
#ifndef USE_OS_TZDB
#define USE_OS_TZDB 1
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <date/tz.h>
#include <span>
#include <stdexcept>
#include <utility>

#include <muster/error.hpp>
#include <muster/jobs/cron.hpp>

#include "base/text_scan.hpp"

namespace muster {
namespace {

using std::chrono::days;
using std::chrono::local_days;
using std::chrono::local_seconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using std::chrono::year;
using std::chrono::year_month;

constexpr std::size_t kMaxExpression = 256;
constexpr std::size_t kMaxZoneName = 64;
constexpr std::size_t kMaxDigits = 4;

// After so many years each date has each day of the week again, unless 2100 lies between.
constexpr std::chrono::years kHorizon{28};

// A set of small numbers; number n is bit n.
using NumberSet = std::uint64_t;

constexpr bool contains(NumberSet numbers, unsigned number) {
  return ((numbers >> number) & 1) != 0;
}

std::optional<unsigned> lowest(NumberSet numbers, unsigned from) {
  const NumberSet rest = numbers & (~NumberSet{0} << from);
  if (rest == 0) return std::nullopt;
  return static_cast<unsigned>(std::countr_zero(rest));
}

enum class DayRule { both_match, either_matches };
enum class ClockRule { fixed, running };

// What an expression says.
struct Pattern {
  NumberSet seconds = 0;
  NumberSet minutes = 0;
  NumberSet hours = 0;
  NumberSet days_of_month = 0;
  NumberSet months = 0;
  NumberSet days_of_week = 0;
  bool has_last_day = false;
  DayRule day_rule = DayRule::both_match;
  ClockRule clock_rule = ClockRule::fixed;
};

NumberSet matching_days(const Pattern& pattern, year_month month) {
  const auto last = static_cast<unsigned>((month / std::chrono::last).day());
  NumberSet by_month = pattern.days_of_month;
  if (pattern.has_last_day) by_month |= NumberSet{1} << last;

  // One week that begins with the weekday of the 1st, five times over.
  const unsigned first = std::chrono::weekday(local_days(month / 1)).c_encoding();
  const NumberSet from_first =
      ((pattern.days_of_week >> first) | (pattern.days_of_week << (7 - first))) & 0x7f;
  constexpr NumberSet kFiveWeeks = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28;
  const NumberSet by_week = (from_first * kFiveWeeks) << 1;

  const NumberSet from_1_to_last = (NumberSet{2} << last) - 2;
  const bool either = pattern.day_rule == DayRule::either_matches;
  return (either ? by_month | by_week : by_month & by_week) & from_1_to_last;
}

std::optional<local_days> next_day(const Pattern& pattern, local_days from, year until) {
  const std::chrono::year_month_day start(from);
  year_month month = start.year() / start.month();
  unsigned day = static_cast<unsigned>(start.day());
  for (; month.year() <= until; month += std::chrono::months(1), day = 1) {
    if (!contains(pattern.months, static_cast<unsigned>(month.month()))) continue;
    if (const auto found = lowest(matching_days(pattern, month), day)) {
      return local_days(month / std::chrono::day(*found));
    }
  }
  return std::nullopt;
}

std::optional<seconds> next_time_of_day(const Pattern& pattern, seconds from) {
  const auto at = [](unsigned hour, unsigned minute, unsigned second) {
    return std::chrono::hours(hour) + std::chrono::minutes(minute) + seconds(second);
  };
  const auto first_minute = static_cast<unsigned>(std::countr_zero(pattern.minutes));
  const auto first_second = static_cast<unsigned>(std::countr_zero(pattern.seconds));
  const auto of_day = static_cast<unsigned>(from.count());
  const unsigned hour = of_day / 3600;
  const unsigned minute = of_day / 60 % 60;
  if (contains(pattern.hours, hour)) {
    if (contains(pattern.minutes, minute)) {
      const auto second = lowest(pattern.seconds, of_day % 60);
      if (second) return at(hour, minute, *second);
    }
    const auto later = lowest(pattern.minutes, minute + 1);
    if (later) return at(hour, *later, first_second);
  }
  const auto later = lowest(pattern.hours, hour + 1);
  if (!later) return std::nullopt;
  return at(*later, first_minute, first_second);
}

// Whether some year has a day of it. The years from 2000 on have a leap day on each weekday.
bool has_a_day(const Pattern& pattern) {
  constexpr year kFirst{2000};
  return next_day(pattern, local_days(kFirst / 1 / 1), kFirst + kHorizon).has_value();
}

// The first local time that matches, at or after `from`, but not after the year `until`.
std::optional<local_seconds> next_local(const Pattern& pattern, local_seconds from, year until) {
  const auto today = std::chrono::floor<days>(from);
  std::optional<local_days> day = next_day(pattern, today, until);
  if (day == today) {
    if (const auto time = next_time_of_day(pattern, from - today)) return today + *time;
    day = next_day(pattern, today + days(1), until);
  }
  const auto first_time = next_time_of_day(pattern, seconds(0));
  if (!day || !first_time) return std::nullopt;
  return *day + *first_time;
}

struct FieldRule {
  std::string_view name;
  unsigned low;
  unsigned high;
  unsigned longest_step;
  std::span<const std::string_view> names;  // the first one is `low`
};

constexpr std::array<std::string_view, 12> kMonths{"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                   "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kWeekdays{"SUN", "MON", "TUE", "WED",
                                                    "THU", "FRI", "SAT"};

constexpr FieldRule kSeconds{"seconds", 0, 59, 60, {}};
constexpr FieldRule kMinutes{"minutes", 0, 59, 60, {}};
constexpr FieldRule kHours{"hours", 0, 23, 24, {}};
constexpr FieldRule kDaysOfMonth{"days of the month", 1, 31, 31, {}};
constexpr FieldRule kMonthsOfYear{"months", 1, 12, 12, kMonths};
constexpr FieldRule kDaysOfWeek{"days of the week", 0, 7, 7, kWeekdays};

using Macro = std::pair<std::string_view, std::string_view>;

constexpr std::array<Macro, 7> kMacros{{{"@yearly", "0 0 1 1 *"},
                                        {"@annually", "0 0 1 1 *"},
                                        {"@monthly", "0 0 1 * *"},
                                        {"@weekly", "0 0 * * 0"},
                                        {"@daily", "0 0 * * *"},
                                        {"@midnight", "0 0 * * *"},
                                        {"@hourly", "0 * * * *"}}};

// What one field says.
struct Field {
  NumberSet numbers = 0;
  bool has_star = false;
  bool has_step = false;
  bool has_last = false;
};

constexpr char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool is_same_word(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, {}, lower, lower);
}

// For messages: short, and harmless in a log whatever it was.
std::string in_quotes(std::string_view text) {
  std::string shown(text.substr(0, kMaxExpression));
  std::ranges::replace_if(shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return '"' + shown + (text.size() > kMaxExpression ? "..." : "") + '"';
}

// Only digits, and few of them.
std::optional<unsigned> to_number(std::string_view text) {
  return text.size() > kMaxDigits ? std::nullopt : parse_number<unsigned>(text);
}

class ExpressionReader {
 public:
  explicit ExpressionReader(std::string_view expression) : expression_(expression) {}

  Pattern read() const {
    if (expression_.size() > kMaxExpression) {
      refuse("must have at most " + std::to_string(kMaxExpression) + " characters");
    }
    const std::string text = without_macro();
    std::vector<std::string_view> fields = split(text, ' ');
    if (fields.size() == 5) fields.insert(fields.begin(), "0");
    if (fields.size() != 6) refuse("must have 5 fields, or 6 with the seconds in front");
    const Field hours = read_field(kHours, fields[2]);
    const Field days_of_month = read_field(kDaysOfMonth, fields[3]);
    const Field days_of_week = read_field(kDaysOfWeek, fields[5]);
    const bool has_star = days_of_month.has_star || days_of_week.has_star;
    const bool is_running = hours.has_star || hours.has_step;
    const Pattern pattern{
        .seconds = read_field(kSeconds, fields[0]).numbers,
        .minutes = read_field(kMinutes, fields[1]).numbers,
        .hours = hours.numbers,
        .days_of_month = days_of_month.numbers,
        .months = read_field(kMonthsOfYear, fields[4]).numbers,
        .days_of_week = (days_of_week.numbers | days_of_week.numbers >> 7) & 0x7f,  // 7 is 0
        .has_last_day = days_of_month.has_last,
        .day_rule = has_star ? DayRule::both_match : DayRule::either_matches,
        .clock_rule = is_running ? ClockRule::running : ClockRule::fixed};
    if (!has_a_day(pattern)) refuse("must fire at least once: none of its months has such a day");
    return pattern;
  }

 private:
  [[noreturn]] void refuse(const std::string& rule) const {
    throw InvalidArgument({"cron", in_quotes(expression_), rule});
  }

  // The fields, with a space between.
  std::string without_macro() const {
    std::string text(trim(expression_));
    if (!text.starts_with('@')) {
      std::ranges::replace(text, '\t', ' ');
      return text;
    }
    std::string known;
    for (const auto& [name, meaning] : kMacros) {
      if (is_same_word(name, text)) return std::string(meaning);
      known.append(known.empty() ? "" : ", ").append(name);
    }
    refuse("must be fields, or one of " + known);
  }

  Field read_field(const FieldRule& rule, std::string_view text) const {
    Field field;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      if (begin == end) refuse("must not have an empty item in its " + std::string(rule.name));
      add_item(rule, text.substr(begin, end - begin), field);
      begin = end + 1;
    }
    return field;
  }

  void add_item(const FieldRule& rule, std::string_view item, Field& field) const {
    if (rule.name == kDaysOfMonth.name && is_same_word(item, "L")) {
      field.has_last = true;
      return;
    }
    const std::size_t slash = std::min(item.find('/'), item.size());
    const bool has_step = slash < item.size();
    const std::string_view values = item.substr(0, slash);
    const std::size_t dash = std::min(values.find('-'), values.size());
    const bool is_star = values == "*" || values == "?";
    const bool is_range = dash < values.size();
    unsigned low = rule.low;
    unsigned high = rule.high;
    if (!is_star) {
      low = read_value(rule, values.substr(0, dash));
      high = is_range ? read_value(rule, values.substr(dash + 1)) : low;
    }
    if (low > high) {
      refuse("must not have a range that runs backwards in its " + std::string(rule.name) +
             ": split " + in_quotes(values) + " in two");
    }
    if (has_step && !is_star && !is_range) {
      refuse("must have a step only after * or a range in its " + std::string(rule.name) +
             ", not " + in_quotes(item));
    }
    const unsigned step = has_step ? read_step(rule, item.substr(slash + 1)) : 1;
    field.has_star = field.has_star || is_star;
    field.has_step = field.has_step || has_step;
    for (unsigned value = low; value <= high; value += step) field.numbers |= NumberSet{1} << value;
  }

  unsigned read_step(const FieldRule& rule, std::string_view text) const {
    const std::optional<unsigned> step = to_number(text);
    if (step && *step >= 1 && *step <= rule.longest_step) return *step;
    refuse("must have a step from 1 to " + std::to_string(rule.longest_step) + " in its " +
           std::string(rule.name) + ", not " + in_quotes(text));
  }

  unsigned read_value(const FieldRule& rule, std::string_view text) const {
    std::optional<unsigned> value = to_number(text);
    for (unsigned i = 0; i < rule.names.size() && !value; ++i) {
      if (is_same_word(rule.names[i], text)) value = rule.low + i;
    }
    if (value && *value >= rule.low && *value <= rule.high) return *value;
    std::string known = std::to_string(rule.low) + " to " + std::to_string(rule.high);
    if (!rule.names.empty()) {
      known.append(" or ").append(rule.names.front()).append(" to ").append(rule.names.back());
    }
    refuse("must have " + std::string(rule.name) + " from " + known + ", not " + in_quotes(text));
  }

  const std::string_view expression_;
};

// Null is UTC, which is known even where no time zones are installed. The library keeps the others
// until the process ends.
using Zone = const date::time_zone*;

Zone find_zone(std::string_view name) {
  if (name == "UTC") return nullptr;
  const BadField unknown{"time_zone", in_quotes(name),
                         "must be a time zone of this system, such as \"Europe/Berlin\" "
                         "(without any installed, UTC)"};
  if (name.size() > kMaxZoneName) throw InvalidArgument(unknown);
  try {
    const Zone zone = date::locate_zone(name);
    // The library reads a zone's file when it is first used. A bad one must fail here.
    (void)zone->get_info(sys_seconds());
    return zone;
  } catch (const std::runtime_error&) {
    throw InvalidArgument(unknown);
  }
}

// What the local clock is ahead of UTC, and from when until when: by default for ever, with room to
// reckon.
struct Offset {
  seconds ahead{0};
  sys_seconds begin{seconds::min() / 2};
  sys_seconds end{seconds::max() / 2};
};

Offset offset_at(Zone zone, sys_seconds time) {
  if (zone == nullptr) return {};
  const date::sys_info info = zone->get_info(time);
  return {info.offset, info.begin, info.end};
}

local_seconds to_local(sys_seconds time, seconds ahead) {
  return local_seconds(time.time_since_epoch() + ahead);
}

sys_seconds to_system(local_seconds time, seconds ahead) {
  return sys_seconds(time.time_since_epoch() - ahead);
}

year horizon(local_seconds from) {
  return std::chrono::year_month_day(std::chrono::floor<days>(from)).year() + kHorizon;
}

// When a fixed schedule runs what it has for a local time.
sys_seconds fixed_run(Zone zone, local_seconds local) {
  if (zone == nullptr) return to_system(local, seconds(0));
  const date::local_info info = zone->get_info(date::local_seconds(local.time_since_epoch()));
  const bool is_skipped = info.result == date::local_info::nonexistent;
  // Of a local time that comes twice, `first` is the first.
  return is_skipped ? info.first.end : to_system(local, info.first.offset);
}

std::optional<sys_seconds> next_fixed(const Pattern& pattern, Zone zone, sys_seconds time) {
  const Offset offset = offset_at(zone, time);
  const seconds ahead_before = offset_at(zone, offset.begin - seconds(1)).ahead;
  // What the clock showed before it was last set has had its run, even if it is shown again.
  const local_seconds from =
      std::max(to_local(time, offset.ahead) + seconds(1), to_local(offset.begin, ahead_before));
  const auto local = next_local(pattern, from, horizon(from));
  if (!local) return std::nullopt;
  return fixed_run(zone, *local);
}

// From one change of the offset to the next, so that no local time counts that is not shown.
std::optional<sys_seconds> next_running(const Pattern& pattern, Zone zone, sys_seconds time) {
  sys_seconds from = time + seconds(1);
  const year until = horizon(to_local(from, offset_at(zone, from).ahead));
  while (true) {
    const Offset offset = offset_at(zone, from);
    const auto local = next_local(pattern, to_local(from, offset.ahead), until);
    if (!local) return std::nullopt;
    const sys_seconds found = to_system(*local, offset.ahead);
    if (found < offset.end) return found;
    from = offset.end;
  }
}

// `time` less `by`, but not before time begins. Requires: `by` is not negative.
WallTime earlier(WallTime time, Duration by) {
  const auto least = WallTime::min().time_since_epoch();
  return time.time_since_epoch() < least + by ? WallTime::min() : time - by;
}

std::vector<WallTime> first_runs(const CronSchedule& schedule, const DueSpan& span,
                                 std::size_t most) {
  std::vector<WallTime> runs;
  WallTime last = span.last;
  while (runs.size() < most) {
    const auto next = schedule.next_after(last);
    if (!next || *next > span.now) break;
    runs.push_back(*next);
    last = *next;
  }
  return runs;
}

// By halves: years of a schedule that runs each second are few steps, too.
std::vector<WallTime> latest_run(const CronSchedule& schedule, const DueSpan& span) {
  std::optional<WallTime> run = schedule.next_after(span.last);
  if (!run || *run > span.now) return {};
  auto latest = std::chrono::floor<seconds>(*run);
  auto none_after = std::chrono::floor<seconds>(span.now);
  while (latest < none_after) {
    const sys_seconds middle = latest + (none_after - latest) / 2;
    run = schedule.next_after(middle);
    if (run && *run <= span.now) {
      latest = std::chrono::floor<seconds>(*run);
    } else {
      none_after = middle;
    }
  }
  return {latest};
}

}  // namespace

struct CronSchedule::Plan {
  std::string text;
  std::string time_zone;
  Pattern pattern;
  Zone zone;
};

CronSchedule::~CronSchedule() = default;
CronSchedule::CronSchedule(const CronSchedule&) = default;
CronSchedule& CronSchedule::operator=(const CronSchedule&) = default;
CronSchedule::CronSchedule(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

CronSchedule CronSchedule::parse(std::string_view expression, std::string_view time_zone) {
  const Pattern pattern = ExpressionReader(expression).read();
  const Zone zone = find_zone(time_zone);
  return CronSchedule(std::make_shared<const Plan>(
      Plan{std::string(expression), std::string(time_zone), pattern, zone}));
}

std::optional<WallTime> CronSchedule::next_after(WallTime time) const {
  const auto next_run = plan_->pattern.clock_rule == ClockRule::fixed ? &next_fixed : &next_running;
  const auto next = next_run(plan_->pattern, plan_->zone, std::chrono::floor<seconds>(time));
  if (!next || *next > std::chrono::floor<seconds>(WallTime::max())) return std::nullopt;
  return *next;
}

const std::string& CronSchedule::text() const {
  return plan_->text;
}

const std::string& CronSchedule::time_zone() const {
  return plan_->time_zone;
}

std::vector<WallTime> due_runs(const CronSchedule& schedule, const DueSpan& span,
                               const DueOptions& options) {
  if (span.now <= span.last || options.most == 0) return {};
  switch (options.missed_runs) {
    case MissedRuns::skip: {
      // With the run that is just as late as it may be; next_after() leaves out where it begins.
      const Duration grace = std::max(options.grace, Duration::zero());
      const WallTime late = earlier(earlier(span.now, grace), Duration(1));
      return first_runs(schedule, {std::max(span.last, late), span.now}, options.most);
    }
    case MissedRuns::run_once:
      return latest_run(schedule, span);
    case MissedRuns::run_all:
      return first_runs(schedule, span, options.most);
  }
  return {};
}

}  // namespace muster
