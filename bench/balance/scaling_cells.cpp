// scaling_cells.cpp: does the number of workers follow the load, and who waits meanwhile?
//
// The loads of docs/design/scaling.md, with shorter pauses, and all that is a time divided by 50:
// tasks of 2 ms, a look every 20 ms, cooldowns of 100 ms and so on. What remains are the defaults
// of the library, whatever the policy.
//
// A reversal is to remove after adding, or the other way round. The load that comes from nothing in
// the beginning is a change of load like another, except before the ramp: there only what comes
// after its beginning counts.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <thread>
#include <utility>

#include <muster/thread_pool.hpp>

#include "balance/cells.hpp"
#include "balance/course.hpp"
#include "balance/sleeping.hpp"

namespace muster::bench {
namespace {

constexpr int kFaster = 50;
constexpr double kTaskSeconds = 0.1 / kFaster;
constexpr std::size_t kMostWorkers = 32;

// In seconds of the design note; divided by kFaster when it is run.
struct Load {
  std::string name;
  std::function<double(double second)> rate;
  double peak_rate = 0;
  double seconds = 0;
  double begin = 0;
  double changes = 1;
  unsigned rounds = 1;
};

std::vector<Load> loads() {
  const auto step = [](double second) { return second >= 50 && second < 150 ? 120.0 : 20.0; };
  const auto ramp = [](double second) {
    return 10 + 110 * std::clamp((second - 40) / 30, 0.0, 1.0);
  };
  const auto sine = [](double second) {
    return 70 - 60 * std::cos(second * 2 * std::numbers::pi / 240);
  };
  return {{.name = kStep, .rate = step, .peak_rate = 120, .seconds = 280, .changes = 3},
          {.name = kRamp,
           .rate = ramp,
           .peak_rate = 120,
           .seconds = 130,
           .begin = 40,
           .changes = 1,

           .rounds = 2},
          {.name = kSine, .rate = sine, .peak_rate = 130, .seconds = 480, .changes = 5}};
}

ScalingOptions options_of(ScalingPolicy policy) {
  ScalingOptions options{.policy = policy, .max_workers = kMostWorkers};
  for (Duration* time : {&options.check_every, &options.scale_up_cooldown,
                         &options.scale_down_cooldown, &options.ratio.scale_down_idle_timeout,
                         &options.depth.scale_down_delay, &options.predictive.horizon,
                         &options.predictive.smoothing, &options.predictive.scale_down_delay}) {
    *time /= kFaster;
  }
  return options;
}

// Independent arrivals: those of a steady load at its peak, of which some are left out.
Plan planned(const Load& load, Random random) {
  Plan plan;
  const Duration end = seconds_long(load.seconds / kFaster);
  for (Duration at = random_gap(load.peak_rate * kFaster, random); at < end;
       at += random_gap(load.peak_rate * kFaster, random)) {
    const double second = kFaster * std::chrono::duration<double>(at).count();
    if (!random.chance(load.rate(second) / load.peak_rate)) continue;
    plan.push_back({.at = at, .length = random_gap(1 / kTaskSeconds, random)});
  }
  return plan;
}

struct Change {
  Duration at{};
  int change = 0;
  unsigned total = 0;
};

double reversals(const std::vector<Change>& changes, Duration begin) {
  double count = 0;
  const Change* last = nullptr;
  for (const Change& change : changes) {
    if (change.at < begin) continue;
    if (last != nullptr && (last->change > 0) != (change.change > 0)) ++count;
    last = &change;
  }
  return count;
}

Course course_of(const Load& load, ScalingPolicy policy, const std::vector<Change>& changes) {
  constexpr double kMoments = 400;
  Course course{.load = load.name, .policy = std::string(to_string(policy)), .moments = {}};
  auto next = changes.begin();
  unsigned workers = 1;
  for (double moment = 0; moment <= kMoments; ++moment) {
    const double second = load.seconds * moment / kMoments;
    while (next != changes.end() && next->at <= seconds_long(second / kFaster)) {
      workers = (next++)->total;
    }
    course.moments.push_back({.seconds = second / kFaster,
                              .arrivals_per_second = load.rate(second) * kFaster,
                              .workers = workers});
  }
  return course;
}

double mean_workers(const Course& course) {
  double sum = 0;
  for (const Course::Moment& moment : course.moments) sum += moment.workers;
  return sum / static_cast<double>(course.moments.size());
}

std::vector<Course>& courses() {
  static std::vector<Course> all;
  return all;
}

void keep(Course course) {
  std::vector<Course>& all = courses();
  std::erase_if(all, [&course](const Course& other) {
    return other.load == course.load && other.policy == course.policy;
  });
  all.push_back(std::move(course));
}

Sample follow(const Load& load, ScalingPolicy policy, Random random) {
  const Plan plan = planned(load, random);
  const Duration begin = seconds_long(load.begin / kFaster);
  const Duration end = seconds_long(load.seconds / kFaster);
  std::vector<Time> posts(plan.size());
  std::vector<Duration> waits(plan.size());
  std::vector<Change> changes;
  const Time start = Time::clock::now();
  {
    ThreadPoolOptions options = sleeping_options(1);
    options.scaling = options_of(policy);
    options.on_scaling = [&changes, start](const ScalingChange& change) {
      changes.push_back(
          {.at = Time::clock::now() - start,
           .change = static_cast<int>(change.added) - static_cast<int>(change.removed),
           .total = change.total});
    };
    ThreadPool pool(options);
    post_as_planned(plan, [&](std::size_t task) {
      posts[task] = Time::clock::now();
      pool.post([&, task] {
        if (plan[task].at >= begin) waits[task] = Time::clock::now() - posts[task];
        std::this_thread::sleep_for(plan[task].length);
      });
    });
    std::this_thread::sleep_until(start + end);
  }
  // What the pool did to stop, or while it did, is no answer to the load.
  std::erase_if(changes, [end](const Change& change) { return change.at > end; });
  Course course = course_of(load, policy, changes);
  Sample sample{.items = plan.size(),
                .seconds = load.seconds / kFaster,
                .figures = {milliseconds_of(*std::max_element(waits.begin(), waits.end())),
                            mean_workers(course), reversals(changes, begin) / load.changes}};
  keep(std::move(course));
  return sample;
}

}  // namespace

const std::vector<Course>& scaling_courses() {
  return courses();
}

double scaling_task_seconds() {
  return kTaskSeconds;
}

std::vector<Cell> scaling_cells() {
  std::vector<Cell> cells;
  for (const Load& load : loads()) {
    Cell cell{.group = kScalingGroup,
              .name = load.name,
              .contenders = {},
              .columns = {{kScalingGroup + kLongestWaitSuffix, load.name},
                          {kScalingGroup + kWorkersSuffix, load.name},
                          {kScalingGroup + kReversalsSuffix, load.name}},
              .items = 1,  // whatever the load says
              .most_rounds = load.rounds,
              .warm_up = Cell::WarmUp::none};
    for (const ScalingPolicy policy :
         {ScalingPolicy::ratio, ScalingPolicy::depth, ScalingPolicy::predictive}) {
      cell.contenders.push_back(
          {std::string(to_string(policy)),
           [load, policy, round = std::uint64_t{0}](std::uint64_t /*items*/) mutable {
             return follow(load, policy, Random(++round));
           }});
    }
    cells.push_back(std::move(cell));
  }
  return cells;
}

}  // namespace muster::bench
