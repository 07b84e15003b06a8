// cron_fuzz.cpp: what is accepted as a schedule has a next run, and it is later.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <muster/base/assert.hpp>
#include <muster/base/utf8.hpp>
#include <muster/error.hpp>
#include <muster/jobs/cron.hpp>

#include "fuzz/fuzz_entries.hpp"

namespace muster::fuzz {
namespace {

constexpr WallTime kLeapDay{std::chrono::sys_days{std::chrono::year(2024) / 2 / 29}};

}  // namespace

void cron(std::string_view input) {
  const std::string_view expression = input.substr(0, input.find('\n'));
  const std::string_view zone = input.substr(std::min(expression.size() + 1, input.size()));
  try {
    const CronSchedule schedule = CronSchedule::parse(expression, zone.empty() ? "UTC" : zone);
    MUSTER_ASSERT(CronSchedule::parse(schedule.text(), schedule.time_zone()) == schedule);
    const std::optional<WallTime> first = schedule.next_after(kLeapDay);
    if (!first) return;  // not within 28 years
    MUSTER_ASSERT(*first > kLeapDay);
    MUSTER_ASSERT(schedule.next_after(*first - std::chrono::seconds(1)) == first);
    const std::optional<WallTime> second = schedule.next_after(*first);
    MUSTER_ASSERT((!second || *second > *first));
  } catch (const InvalidArgument& error) {
    MUSTER_ASSERT(is_utf8(error.what()));
  }
}

}  // namespace muster::fuzz
