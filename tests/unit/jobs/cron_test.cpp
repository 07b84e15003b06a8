// cron_test.cpp: which expressions are taken, and when they run, through clock changes too.
#include <algorithm>
#include <array>
#include <bitset>
#include <ctime>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/error.hpp>
#include <muster/jobs/cron.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;
using std::chrono::floor;
using std::chrono::sys_days;

using Texts = std::vector<std::string>;
using Times = std::vector<WallTime>;

// "2024-03-31 01:00" or "2024-03-31 01:00:00", in UTC.
WallTime utc(const std::string& text) {
  std::tm parts{};
  const char* const seconds = strptime(text.c_str(), "%Y-%m-%d %H:%M", &parts);
  if (seconds != nullptr && *seconds == ':') strptime(seconds, ":%S", &parts);
  EXPECT_NE(seconds, nullptr) << text;
  return WallTime::clock::from_time_t(timegm(&parts));
}

std::string shown(std::optional<WallTime> time) {
  if (!time) return "none";
  const std::time_t seconds = WallTime::clock::to_time_t(*time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const char* const format = parts.tm_sec == 0 ? "%Y-%m-%d %H:%M" : "%Y-%m-%d %H:%M:%S";
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

std::string next(const std::string& cron, const std::string& after) {
  return shown(CronSchedule::parse(cron).next_after(utc(after)));
}

// The runs after `from`, one after the other; all in UTC.
struct Sequence {
  std::string cron;
  std::string time_zone;
  std::string from;
  Texts expected;
};

void check(const std::vector<Sequence>& sequences) {
  for (const Sequence& sequence : sequences) {
    const CronSchedule schedule = CronSchedule::parse(sequence.cron, sequence.time_zone);
    Texts found;
    std::optional<WallTime> time = utc(sequence.from);
    while (time && found.size() < sequence.expected.size()) {
      time = schedule.next_after(*time);
      found.push_back(shown(time));
    }
    EXPECT_EQ(found, sequence.expected) << sequence.cron << " in " << sequence.time_zone;
  }
}

// What parse() complains about; with no field if it does not.
BadField problem(const std::string& cron, const std::string& time_zone = "UTC") {
  try {
    (void)CronSchedule::parse(cron, time_zone);
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.bad_fields().size(), 1U);
    EXPECT_NE(std::string(error.what()).find(error.bad_fields().front().value), std::string::npos);
    return error.bad_fields().front();
  }
  return {};
}

TEST(Cron, TakesWhatCronTakes) {
  const std::vector<Texts> good{
      {"* * * * *", "0 0 * * *", "59 23 31 12 7", "00 05 01 01 00", "  0\t0  * * *  "},
      {"*/5 * * * *", "1-30/2 * * * *", "5-5 * * * *", "0,30 * * * *", "*/60 */24 */31 */12 */7"},
      {"0 0 * jan-Mar,DEC *", "0 0 * * mon-FRI,0", "0 0 ? * 1-FRI", "0 0 * * 5-7"},
      {"0 0 1,15,L * *", "0 0 l * *", "0 0 L 2 *", "? ? ? ? ?", "?/5 * * * *"},
      {"0 0 29 2 *", "0 0 31 2,3 *", "0 0 30 2 MON", "30 0 0 1 1 *", "*/10 * * * * *"},
      {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@Daily"},
  };
  for (const Texts& expressions : good) {
    for (const std::string& cron : expressions) EXPECT_EQ(problem(cron), BadField()) << cron;
  }
}

TEST(Cron, ABadExpressionIsNamedWithTheRuleThatItBreaks) {
  const std::vector<std::pair<std::string, Texts>> bad{
      {"must have 5 fields", {"", "   ", "* * * *", "* * * * * * *"}},
      {"one of @yearly, @annually, @monthly", {"@reboot", "@", "@daily *"}},
      {"seconds from 0 to 59, not \"60\"", {"60 * * * * *"}},
      {"minutes from 0 to 59, not \"60\"", {"60 * * * *", "0 60 * * * *"}},
      {"hours from 0 to 23, not \"24\"", {"0 24 * * *"}},
      {"days of the month from 1 to 31, not ", {"0 0 0 * *", "0 0 32 * *"}},
      {"months from 1 to 12 or JAN to DEC, not ", {"0 0 1 0 *", "0 0 1 13 *", "0 0 * MON *"}},
      {"days of the week from 0 to 7 or SUN to SAT, not ", {"0 0 * * 8", "0 0 * * MONDAY"}},
      {"not \"L\"", {"0 L * * *", "0 0 * * L", "0 0 1-L * *", "0 0 L/2 * *", "0 0 L-3 * *"}},
      {"minutes from 0 to 59, not \"\"", {"-1 * * * *", "1- * * * *", "/5 * * * *"}},
      {"minutes from 0 to 59, not ", {"+1 * * * *", "1.5 * * * *", "0x5 * * * *", "1-2-3 * * * *"}},
      {"minutes from 0 to 59, not ", {"** * * * *", "*-5 * * * *", "00005 * * * *"}},
      {"an empty item in its minutes", {", * * * *", "1,,2 * * * *", "1, * * * *"}},
      {"a step from 1 to 60 in its minutes, not ", {"*/0 * * * *", "*/ * * * *", "*/61 * * * *"}},
      {"a step from 1 to 60 in its minutes, not ", {"*/-5 * * * *", "1-30/2/3 * * * *"}},
      {"a step only after * or a range in its minutes, not \"5/10\"", {"5/10 * * * *"}},
      {"runs backwards in its hours: split \"22-2\" in two", {"0 22-2 * * *"}},
      {"runs backwards in its days of the week: split \"FRI-SUN\" in two", {"0 0 * * FRI-SUN"}},
      {"must fire at least once", {"0 0 30 2 *", "0 0 30,31 FEB ?", "0 0 31 4,6 *"}},
      {"must fire at least once", {"0 0 30 2 */2", "0 0 31 2-2 */7"}},
  };
  for (const auto& [rule, expressions] : bad) {
    for (const std::string& cron : expressions) {
      const BadField found = problem(cron);
      EXPECT_EQ(found.field, "cron") << cron;
      EXPECT_EQ(found.value, '"' + cron + '"');
      EXPECT_NE(found.rule.find(rule), std::string::npos) << cron << ": " << found.rule;
    }
  }
}

TEST(Cron, AnUnknownTimeZoneIsNamed) {
  for (const std::string zone : {"", "Europe", "Europe/Atlantis", "europe/berlin", "../UTC", "UTC ",
                                 "/usr/share/zoneinfo/UTC", "zone.tab"}) {
    const BadField bad = problem("* * * * *", zone);
    EXPECT_EQ(bad.field, "time_zone");
    EXPECT_EQ(bad.value, '"' + zone + '"');
  }
  EXPECT_EQ(problem("* * * * *", std::string(1'000'000, 'x')).field, "time_zone");
  EXPECT_EQ(problem("* * * * *", std::string("UTC\0", 4)).field, "time_zone");
  EXPECT_EQ(problem("* * * * *", "Etc/UTC"), BadField());
}

TEST(Cron, NastyInputIsRefusedAtOnceAndShownInShort) {
  const std::string digits(200, '9');
  Texts nasty{"0 0 1--100000000 * *", "0-4294967295 * * * *", "0-18446744073709551616 * * * *"};
  nasty.insert(nasty.end(), {"*/" + digits + " * * * *", "0 0 " + digits + " * *", "0\n0 * * *"});
  nasty.insert(nasty.end(), {"\xff\xfe * * * *", std::string("0 0 * * *\0", 10)});
  for (const char c : {',', '-', '@', '/', 'L', '9'}) nasty.emplace_back(256, c);
  for (const char c : {'*', ' ', '\0'}) nasty.emplace_back(1'000'000, c);
  for (const std::string& cron : nasty) {
    const BadField bad = problem(cron);
    EXPECT_EQ(bad.field, "cron");
    EXPECT_LE(bad.value.size(), 256U + 5);
    EXPECT_TRUE(std::ranges::all_of(bad.value, [](char c) { return c >= ' ' && c <= '~'; }));
  }
}

TEST(Cron, TheLongestExpressionHas256Characters) {
  const std::string fields = "* * * * *";
  EXPECT_EQ(problem(std::string(256 - fields.size(), ' ') + fields), BadField());
  const BadField bad = problem(std::string(257 - fields.size(), ' ') + fields);
  EXPECT_EQ(bad.rule, "must have at most 256 characters");
}

TEST(Cron, TheNextRunIsTheKnownOne) {
  const std::vector<std::array<std::string, 3>> known{
      {"* * * * *", "2024-01-01 00:00", "2024-01-01 00:01"},
      {"* * * * * *", "2024-01-01 00:00", "2024-01-01 00:00:01"},
      {"*/15 * * * *", "2024-01-01 00:46", "2024-01-01 01:00"},
      {"1-10/4 * * * *", "2024-01-01 00:09", "2024-01-01 01:01"},
      {"30 5,17 * * *", "2024-02-28 18:00", "2024-02-29 05:30"},
      {"15 30 5 * * *", "2024-02-28 05:30:15", "2024-02-29 05:30:15"},
      {"5-7 59 23 31 12 *", "2024-12-31 23:59:07", "2025-12-31 23:59:05"},
      {"0 0 31 * *", "2024-03-31 00:00", "2024-05-31 00:00"},
      {"0 0 L * *", "2024-02-01 00:00", "2024-02-29 00:00"},
      {"0 0 L * *", "2023-02-01 00:00", "2023-02-28 00:00"},
      {"0 0 L 4 *", "2024-01-01 00:00", "2024-04-30 00:00"},
      {"0 0 1,L * *", "2024-04-30 00:00", "2024-05-01 00:00"},
      {"0 0 29 2 *", "2024-02-29 00:00", "2028-02-29 00:00"},
      {"0 0 29 2 *", "2096-02-29 00:00", "2104-02-29 00:00"},
      {"0 9 * * MON-FRI", "2024-03-01 09:00", "2024-03-04 09:00"},
      {"0 9 * * 7", "2024-03-01 00:00", "2024-03-03 09:00"},
      {"0 9 * * 5-7", "2024-03-02 09:00", "2024-03-03 09:00"},
      {"0 0 13 * FRI", "2024-09-01 00:00", "2024-09-06 00:00"},
      {"0 0 13 * FRI", "2024-05-10 00:00", "2024-05-13 00:00"},
      {"0 0 */2 * MON", "2024-03-01 00:00", "2024-03-11 00:00"},
      {"0 0 8-14 * */7", "2024-03-01 00:00", "2024-03-10 00:00"},
      {"0 0 30 2 MON", "2024-02-05 00:00", "2024-02-12 00:00"},
      {"@yearly", "2024-01-01 00:00", "2025-01-01 00:00"},
      {"@annually", "2024-06-01 00:00", "2025-01-01 00:00"},
      {"@monthly", "2024-01-01 00:00", "2024-02-01 00:00"},
      {"@weekly", "2024-03-01 00:00", "2024-03-03 00:00"},
      {"@daily", "2024-02-28 12:00", "2024-02-29 00:00"},
      {"@midnight", "2024-02-28 12:00", "2024-02-29 00:00"},
      {"@hourly", "2024-12-31 23:00", "2025-01-01 00:00"},
      {"0 0 * * *", "1969-12-30 23:59:59", "1969-12-31 00:00"},
  };
  for (const auto& [cron, after, expected] : known) {
    EXPECT_EQ(next(cron, after), expected) << cron << " after " << after;
  }
}

TEST(Cron, ARunIsStrictlyAfterAndOnAWholeSecond) {
  const CronSchedule noon = CronSchedule::parse("0 12 * * *");
  const WallTime today = utc("2024-03-01 12:00");
  EXPECT_EQ(noon.next_after(today - 1ns), today);
  EXPECT_EQ(noon.next_after(today), today + 24h);
  EXPECT_EQ(noon.next_after(today + 1ns), today + 24h);
  const WallTime before_1970 = utc("1960-03-01 12:00");
  EXPECT_EQ(noon.next_after(before_1970 - 1ns), before_1970);
  EXPECT_EQ(noon.next_after(before_1970 + 1ns), before_1970 + 24h);
}

TEST(Cron, ALeapDayOnAWeekdayComesWithin28Years) {
  // A day of the week with a * in it does not widen the days: only leap days that are Sundays.
  EXPECT_EQ(next("0 0 29 2 */7", "2004-02-29 00:00"), "2032-02-29 00:00");
  EXPECT_EQ(next("0 0 29 2 */7", "2032-02-29 00:00"), "2060-02-29 00:00");
  EXPECT_EQ(next("0 0 29 2 */7", "2088-02-29 00:00"), "none") << "2100 has no leap day";
}

TEST(Cron, TheEndsOfTimeAreHarmless) {
  for (const char* const zone : {"UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo"}) {
    for (const char* const cron : {"* * * * * *", "0 0 * * *", "*/7 */5 29 2 */7"}) {
      const CronSchedule schedule = CronSchedule::parse(cron, zone);
      EXPECT_EQ(schedule.next_after(WallTime::max()), std::nullopt);
      const WallTime first = schedule.next_after(WallTime::min()).value_or(WallTime::max());
      EXPECT_LT(first, WallTime::min() + days(366 * 29)) << cron << " in " << zone;
    }
  }
}

TEST(CronClockChange, AFixedTimeInTheGapRunsOnceRightAfterIt) {
  const Texts berlin{"2024-03-30 01:30", "2024-03-31 01:00", "2024-04-01 00:30"};
  const Texts new_york{"2024-03-09 07:30", "2024-03-10 07:00", "2024-03-11 06:30"};
  const Texts lord_howe{"2024-10-04 15:45", "2024-10-05 15:30", "2024-10-06 15:15"};
  const Texts beirut{"2024-03-29 22:00", "2024-03-30 22:00", "2024-03-31 21:00"};
  const Texts apia{"2011-12-29 22:00", "2011-12-30 10:00", "2011-12-30 22:00"};
  check({{"30 2 * * *", "Europe/Berlin", "2024-03-30 00:00", berlin},
         {"30 2 * * *", "America/New_York", "2024-03-09 00:00", new_york},
         {"15 2 * * *", "Australia/Lord_Howe", "2024-10-04 12:00", lord_howe},
         {"@daily", "Asia/Beirut", "2024-03-29 12:00", beirut},       // midnight is skipped
         {"0 12 * * *", "Pacific/Apia", "2011-12-29 12:00", apia}});  // a day is skipped
}

TEST(CronClockChange, AllFixedTimesInOneGapAreOneRun) {
  const Texts minutes{"2024-03-30 01:50", "2024-03-31 01:00", "2024-04-01 00:00"};
  const Texts hours{"2024-03-31 00:00", "2024-03-31 01:00", "2024-03-31 02:00"};
  check({{"*/10 2 * * *", "Europe/Berlin", "2024-03-30 01:40", minutes},
         {"0 1-4 * * *", "Europe/Berlin", "2024-03-30 12:00", hours},
         {"0 1,2,3,4 * * *", "Europe/Berlin", "2024-03-30 12:00", hours}});
}

TEST(CronClockChange, AFixedTimeThatComesTwiceRunsTheFirstTime) {
  const Texts berlin{"2024-10-26 00:30", "2024-10-27 00:30", "2024-10-28 01:30"};
  const Texts new_york{"2024-11-02 05:30", "2024-11-03 05:30", "2024-11-04 06:30"};
  const Texts lord_howe{"2024-04-05 14:45", "2024-04-06 14:45", "2024-04-07 15:15"};
  const Texts seconds{"2024-10-27 00:59:59", "2024-10-28 01:00", "2024-10-28 01:00:01"};
  check({{"30 2 * * *", "Europe/Berlin", "2024-10-26 00:00", berlin},
         {"30 1 * * *", "America/New_York", "2024-11-02 00:00", new_york},
         {"45 1 * * *", "Australia/Lord_Howe", "2024-04-05 12:00", lord_howe},
         {"* * 2 * * *", "Europe/Berlin", "2024-10-27 00:59:58", seconds},
         {"30 2 * * *", "Europe/Berlin", "2024-10-27 01:00", {"2024-10-28 01:30"}},
         {"30 2 * * *", "Europe/Berlin", "2024-10-27 01:29:59", {"2024-10-28 01:30"}}});
}

TEST(CronClockChange, ARunningScheduleGoesOnAcrossTheGap) {
  const Texts berlin{"2024-03-31 00:30", "2024-03-31 01:00", "2024-03-31 01:30"};
  const Texts new_york{"2024-03-10 06:45", "2024-03-10 07:45", "2024-03-10 08:45"};
  const Texts lord_howe{"2024-10-05 15:15", "2024-10-05 15:30", "2024-10-05 15:45"};
  const Texts two_hours{"2024-03-30 23:00", "2024-03-31 02:00", "2024-03-31 04:00"};
  check({{"*/30 * * * *", "Europe/Berlin", "2024-03-31 00:00", berlin},
         {"45 * * * *", "America/New_York", "2024-03-10 06:00", new_york},
         {"*/15 * * * *", "Australia/Lord_Howe", "2024-10-05 15:00", lord_howe},
         {"0 */2 * * *", "Europe/Berlin", "2024-03-30 22:00", two_hours}});  // none shows 02:00
}

TEST(CronClockChange, ARunningScheduleRunsInBothPassesOfAnHour) {
  const Texts berlin{"2024-10-27 00:30", "2024-10-27 01:00", "2024-10-27 01:30"};
  const Texts new_york{"2024-11-03 05:45", "2024-11-03 06:45", "2024-11-03 07:45"};
  const Texts lord_howe{"2024-04-06 14:45", "2024-04-06 15:15", "2024-04-06 16:15"};
  const Texts late{"2024-10-27 00:59", "2024-10-27 01:58", "2024-10-27 01:59"};
  check({{"*/30 * * * *", "Europe/Berlin", "2024-10-27 00:00", berlin},
         {"45 * * * *", "America/New_York", "2024-11-03 05:00", new_york},
         {"45 * * * *", "Australia/Lord_Howe", "2024-04-06 14:00", lord_howe},
         {"58,59 */2 * * *", "Europe/Berlin", "2024-10-27 00:58", late}});
}

TEST(CronClockChange, AZoneWithoutOneIsJustAhead) {
  const Texts kolkata{"2024-03-30 21:00", "2024-03-31 21:00", "2024-04-01 21:00"};
  check({{"30 2 * * *", "Asia/Kolkata", "2024-03-30 00:00", kolkata},
         {"30 2-2/1 * * *", "Asia/Kolkata", "2024-03-30 00:00", kolkata},
         {"0 0 1 4 *", "Asia/Kolkata", "2024-03-31 00:00", {"2024-03-31 18:30"}}});
}

// The text of a field, and what it means.
struct SimpleField {
  std::string text = "*";
  std::bitset<64> values = std::bitset<64>().set();
};

SimpleField random_field(Random& random, unsigned low, unsigned high) {
  SimpleField field{"", {}};
  for (std::uint64_t items = 1 + random.below(3); items > 0; --items) {
    unsigned from = low + static_cast<unsigned>(random.below(high - low + 1));
    unsigned to = from + static_cast<unsigned>(random.below(high - from + 1));
    const std::uint64_t kind = random.below(8);
    if (kind == 0) {
      from = low;
      to = high;
      field.text += '*';
    } else if (kind < 4) {
      to = from;
      field.text += std::to_string(from);
    } else {
      field.text += std::to_string(from) + '-' + std::to_string(to);
    }
    const bool has_step = kind == 0 || kind == 7;
    const auto step = has_step ? 1 + static_cast<unsigned>(random.below(7)) : 1;
    if (has_step) field.text += '/' + std::to_string(step);
    if (items > 1) field.text += ',';
    for (unsigned value = from; value <= to; value += step) field.values.set(value);
  }
  return field;
}

struct SimpleSchedule {
  SimpleField minutes;
  SimpleField hours;
  SimpleField days_of_month = {};
  SimpleField months = {};
  SimpleField days_of_week = {};

  std::string text() const {
    return minutes.text + ' ' + hours.text + ' ' + days_of_month.text + ' ' + months.text + ' ' +
           days_of_week.text;
  }

  bool is_running() const { return hours.text.find_first_of("*/") != std::string::npos; }

  bool has_day(sys_days day) const {
    const std::chrono::year_month_day date(day);
    const std::chrono::weekday weekday(day);
    const bool by_month = days_of_month.values[static_cast<unsigned>(date.day())];
    const bool by_week =
        days_of_week.values[weekday.c_encoding()] || days_of_week.values[weekday.iso_encoding()];
    const bool both = days_of_month.text.find('*') != std::string::npos ||
                      days_of_week.text.find('*') != std::string::npos;
    return months.values[static_cast<unsigned>(date.month())] &&
           (both ? by_month && by_week : by_month || by_week);
  }

  // Of a time on a whole minute, as the local clock shows it.
  bool matches(WallTime local) const {
    const sys_days day = floor<days>(local);
    const auto minute = static_cast<unsigned>((local - day) / 1min);
    return minutes.values[minute % 60] && hours.values[minute / 60] && has_day(day);
  }
};

TEST(CronProperty, TheNextRunIsTheFirstMinuteThatMatches) {
  Random random(20'240'301);
  for (int round = 0; round < 50; ++round) {
    const SimpleSchedule simple{random_field(random, 0, 59),
                                random_field(random, 0, 23),
                                random_field(random, 1, 31),
                                {},
                                random_field(random, 0, 7)};
    const WallTime start = utc("2000-01-01 00:00") + random.below(20'000'000) * 1min;
    const WallTime end = start + 48h;
    WallTime time = start + 1min;
    while (time < end && !simple.matches(time)) time += 1min;
    const auto next = CronSchedule::parse(simple.text()).next_after(start);
    ASSERT_TRUE(next && (time == end ? *next >= end : *next == time))
        << simple.text() << " after " << shown(start) << ": " << shown(next);
  }
}

TEST(CronProperty, TheNextRunIsOnTheFirstDayThatMatchesAndRefusedIfThereIsNone) {
  Random random(20'240'302);
  for (int round = 0; round < 300; ++round) {
    const SimpleSchedule simple{{"7", {}},
                                {"11", {}},
                                random_field(random, 1, 31),
                                random_field(random, 1, 12),
                                random_field(random, 0, 7)};
    const sys_days start = sys_days(1970y / 1 / 1) + days(random.below(36'000));
    const sys_days end = start + days(28 * 366);
    sys_days day = start;
    while (day < end && !simple.has_day(day)) day += days(1);
    if (day == end) {
      ASSERT_EQ(problem(simple.text()).field, "cron") << simple.text();
    } else {
      ASSERT_EQ(next(simple.text(), shown(start)), shown(day + 11h + 7min)) << simple.text();
    }
  }
}

// Berlin in 2024, by hand.
constexpr auto kSpring = sys_days(2024y / 3 / 31) + 1h;
constexpr auto kAutumn = sys_days(2024y / 10 / 27) + 1h;

Duration berlin_offset(WallTime time) {
  return time >= kSpring && time < kAutumn ? 2h : 1h;
}

Times berlin_runs(const SimpleSchedule& simple, const DueSpan& span) {
  std::set<WallTime> all;
  for (WallTime time = span.last - 1h; time <= span.now + 1h; time += 1min) {
    const bool is_second = berlin_offset(time - 1h) > berlin_offset(time);
    if (simple.matches(time + berlin_offset(time)) && (simple.is_running() || !is_second)) {
      all.insert(time);
    }
    const bool is_skipped = time >= kSpring && time < kSpring + 1h;
    if (is_skipped && !simple.is_running() && simple.matches(time + 1h)) all.insert(kSpring);
  }
  std::erase_if(all, [&](WallTime time) { return time <= span.last || time > span.now; });
  return {all.begin(), all.end()};
}

TEST(CronProperty, RunsAcrossClockChangesAreThoseOfASimpleModel) {
  Random random(20'240'303);
  for (int round = 0; round < 60; ++round) {
    const SimpleSchedule simple{random_field(random, 0, 59), random_field(random, 0, 23)};
    const WallTime change = random.chance(0.5) ? kSpring : kAutumn;
    const DueSpan span{change - random.below(200) * 1min, change + random.below(200) * 1min};
    const CronSchedule schedule = CronSchedule::parse(simple.text(), "Europe/Berlin");
    const Times expected = berlin_runs(simple, span);
    ASSERT_EQ(due_runs(schedule, span, {.missed_runs = MissedRuns::run_all}), expected)
        << simple.text() << " after " << shown(span.last) << " until " << shown(span.now);
    ASSERT_EQ(due_runs(schedule, span), Times(expected.end() - !expected.empty(), expected.end()));
  }
}

TEST(CronDue, EveryPolicyTakesItsPartOfTheMissedRuns) {
  const CronSchedule schedule = CronSchedule::parse("*/10 * * * *");
  const WallTime noon = utc("2024-03-01 12:00");
  const DueSpan span{noon, noon + 30min + 20s};
  const auto due = [&](const DueOptions& options) { return due_runs(schedule, span, options); };
  const Times all{noon + 10min, noon + 20min, noon + 30min};
  const Times latest{noon + 30min};
  EXPECT_EQ(due({}), latest) << "run_once is the default";
  EXPECT_EQ(due({.missed_runs = MissedRuns::run_all}), all);
  EXPECT_EQ(due({.missed_runs = MissedRuns::run_all, .most = 1}), Times{noon + 10min});
  EXPECT_EQ(due({.missed_runs = MissedRuns::run_all, .most = 0}), Times());
  EXPECT_EQ(due({.missed_runs = MissedRuns::skip}), latest);
  EXPECT_EQ(due({.missed_runs = MissedRuns::skip, .grace = 20s}), latest);
  EXPECT_EQ(due({.missed_runs = MissedRuns::skip, .grace = 19'999ms}), Times());
  EXPECT_EQ(due({.missed_runs = MissedRuns::skip, .grace = -1s}), Times());
  EXPECT_EQ(due({.missed_runs = MissedRuns::skip, .grace = Duration::max()}), all);
  EXPECT_EQ(due({.missed_runs = MissedRuns::skip, .grace = Duration::max(), .most = 2}).back(),
            noon + 20min);
}

TEST(CronDue, ARunIsDueWhenItsTimeHasComeAndNotAgain) {
  const CronSchedule noon = CronSchedule::parse("0 12 * * *");
  const WallTime time = utc("2024-03-01 12:00");
  for (const MissedRuns policy : {MissedRuns::skip, MissedRuns::run_once, MissedRuns::run_all}) {
    const auto due = [&](const DueSpan& span) { return due_runs(noon, span, {policy}); };
    EXPECT_EQ(due({time - 1min, time - 1ns}), Times());
    EXPECT_EQ(due({time - 1min, time}), Times{time});
    EXPECT_EQ(due({time, time + 1s}), Times());
    EXPECT_EQ(due({time, time}), Times());
    EXPECT_EQ(due({time + 1min, time - 1min}), Times()) << "time went backwards";
    EXPECT_EQ(due({WallTime::max(), WallTime::min()}), Times());
  }
}

TEST(CronDue, YearsOfMissedSecondsCostLittle) {
  const CronSchedule each_second = CronSchedule::parse("* * * * * *", "Europe/Berlin");
  const WallTime now = utc("2024-03-31 01:00") + 500ms;
  const DueSpan span{WallTime::min(), now};
  EXPECT_EQ(due_runs(each_second, span), Times{now - 500ms});
  EXPECT_EQ(due_runs(each_second, span, {.missed_runs = MissedRuns::skip}).size(), 60U);
  EXPECT_EQ(due_runs(each_second, span, {.missed_runs = MissedRuns::run_all}).size(), 1000U);
}

TEST(CronDue, TheLatestRunIsFoundInABurst) {
  const CronSchedule burst = CronSchedule::parse("0-5 0 12 * * *");
  const WallTime noon = utc("2024-03-01 12:00");
  for (auto second = 0s; second < 60s; ++second) {
    EXPECT_EQ(due_runs(burst, {noon - 1h, noon + second}), Times{noon + std::min(second, 5s)});
  }
}

TEST(Cron, SchedulesAreEqualWhenTheirTextAndTimeZoneAre) {
  const CronSchedule daily = CronSchedule::parse("@daily", "Europe/Berlin");
  CronSchedule copy = CronSchedule::parse(" * * * * *");
  EXPECT_EQ(copy.text(), " * * * * *");
  EXPECT_EQ(copy.time_zone(), "UTC");
  EXPECT_NE(copy, daily);
  copy = daily;
  EXPECT_EQ(copy, daily);
  EXPECT_EQ(copy, CronSchedule::parse(daily.text(), daily.time_zone()));
  EXPECT_NE(copy, CronSchedule::parse("@daily", "Europe/Paris"));
  EXPECT_NE(copy, CronSchedule::parse("0 0 * * *", "Europe/Berlin"));
}

}  // namespace
}  // namespace muster
