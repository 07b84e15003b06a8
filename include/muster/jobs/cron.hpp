// cron.hpp: when a job that repeats is due.
//
//     const CronSchedule nightly = CronSchedule::parse("30 2 * * MON-FRI", "Europe/Berlin");
//     const std::optional<WallTime> next = nightly.next_after(now);
//
// An expression has five fields, separated by blanks, or six with the seconds in front:
//
//     seconds            0-59; left out, they are 0
//     minutes            0-59
//     hours              0-23
//     days of the month  1-31, or L, the last one of the month
//     months             1-12, or JAN-DEC
//     days of the week   0-7, or SUN-SAT; both 0 and 7 are Sunday
//
// A field is `*`, a value, a range `1-5`, one of both with a step, `*/5` or `1-30/2`, or a list of
// such with commas. `?` is another `*`; names stand in any case. A range never runs backwards, and
// a step follows only `*` or a range and is no longer than the field. Instead of fields: @yearly,
// @annually, @monthly, @weekly, @daily, @midnight, @hourly.
//
// Days, as in classic cron: when both day fields are restricted, either matches, so `0 0 13 * FRI`
// is each 13th and each Friday. A day field with a `*` in it is not restricted, and then both must
// match: `0 0 */2 * MON` is each Monday that is an odd day of its month.
//
// Clock changes: the hours decide which of two kinds a schedule is.
// - Fixed, when they have neither `*` nor a step: each local time that it names is one run. One
//   that the clocks skip runs at the first moment after the gap (all that fall into one gap are
//   one run); one that comes twice runs only the first time.
// - Running, otherwise: it goes by what the local clock shows. It runs whenever that matches, also
//   through both passes of an hour that comes twice, and has nothing to make up for after a gap.
//
// Limits: time zones are those of the system's database as the process first read it. Debian's says
// nothing of clock changes after 2037; from then on, the last offset stays.
//
// Thread safety: immutable values and pure functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>

namespace muster {

// What becomes of runs that were due while nobody looked.
enum class MissedRuns {
  skip,      // they are lost, except those within the grace
  run_once,  // the latest one stands for all
  run_all,   // each is made up for
};

struct DueOptions {
  MissedRuns missed_runs = MissedRuns::run_once;

  // How late a run may be without being missed; only for `skip`. It must be longer than the time
  // between two looks, or runs between them are lost. Less than 0 is 0.
  Duration grace = std::chrono::minutes(1);

  // No more runs than this at once; the later ones come next time, if `last` is the last one given.
  std::size_t most = 1000;
};

// From `last` (without it) to `now` (with it).
struct DueSpan {
  WallTime last{};
  WallTime now{};
};

class MUSTER_API CronSchedule {
 public:
  // Throws InvalidArgument that names `cron` or `time_zone`. An expression has at most 256
  // characters and fires at least once: `0 0 30 2 *` is refused. A time zone is named as in the
  // system's database; UTC is known without one.
  [[nodiscard]] static CronSchedule parse(std::string_view expression,
                                          std::string_view time_zone = "UTC");

  // Not movable: a copy is as cheap, and leaves no empty schedule behind.
  ~CronSchedule();
  CronSchedule(const CronSchedule&);
  CronSchedule& operator=(const CronSchedule&);

  // The first run strictly after `time`, on a whole second. Nothing: there is none within 28 years
  // (a leap day on a given day of the week, before 2100), or WallTime ends before it. Takes
  // microseconds, whatever the schedule.
  [[nodiscard]] std::optional<WallTime> next_after(WallTime time) const;

  // As given to parse().
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] const std::string& time_zone() const;

  // Of the same text in the same time zone: `@daily` is not `0 0 * * *`.
  friend bool operator==(const CronSchedule& left, const CronSchedule& right) {
    return left.text() == right.text() && left.time_zone() == right.time_zone();
  }

 private:
  struct Plan;
  explicit CronSchedule(std::shared_ptr<const Plan> plan);

  // Shared, because it never changes.
  std::shared_ptr<const Plan> plan_;
};

// The runs to be made at `span.now`, the oldest first. None if time went backwards.
[[nodiscard]] MUSTER_API std::vector<WallTime> due_runs(const CronSchedule& schedule,
                                                        const DueSpan& span,
                                                        const DueOptions& options = {});

}  // namespace muster
