// strategy_race.cpp: eight workers; tasks of heavy-tailed length (sleeping.hpp) that come one by
// one, independently, at a share of what the workers can do; or 200 at once, and the next 200 when
// these are done.
//
// Makespan is the time from the first post to the end of the last task, in bursts the mean of
// these. All are timed, so that strategies which look at times know all they can; some tasks have
// run before, so that weights have been measured.
#include "balance/strategy_race.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include <muster/thread_pool.hpp>

#include "balance/cells.hpp"
#include "balance/sleeping.hpp"

namespace muster::bench {
namespace {

constexpr unsigned kWorkers = 8;
constexpr std::uint64_t kPacedTasks = 2000;
constexpr std::uint64_t kBurst = 200;
constexpr std::uint64_t kBurstTasks = 8 * kBurst;
constexpr unsigned kBurstRounds = 3;

enum class Arrivals { paced, bursts };
enum class Stealing { off, on };

struct Placing {
  BuiltIn strategy = BuiltIn::round_robin;
  std::vector<double> weights = {};
  Stealing stealing = Stealing::off;
};

// One pool, and what happens in it.
class Run {
 public:
  Run(const Placing& placing, double first_worker_slowness, std::uint64_t tasks)
      : slowness_(first_worker_slowness), waits_(tasks), ends_(tasks), pool_(options_of(placing)) {
    constexpr unsigned kTasksPerWorker = 8;
    for (unsigned i = 0; i < kTasksPerWorker * kWorkers; ++i) {
      pool_.post([this] { sleep(kShortestTask); });
    }
    pool_.wait_idle();
  }

  // Runs all of them and says how long that took. `first`: the number of the first.
  Duration serve(std::span<const PlannedTask> plan, std::size_t first) {
    const Time start = Time::clock::now();
    post_as_planned(plan, [&](std::size_t i) {
      const std::size_t task = first + i;
      waits_.posted(task);
      pool_.post([this, task, length = plan[i].length] {
        waits_.begun(task);
        sleep(length);
        ends_[task] = Time::clock::now();
      });
    });
    pool_.wait_idle();
    return last_end(first, plan.size()) - start;
  }

  [[nodiscard]] double p99_wait_ms() const { return waits_.percentile_ms(0.99); }

 private:
  static ThreadPoolOptions options_of(const Placing& placing) {
    ThreadPoolOptions options = sleeping_options(kWorkers);
    options.strategy = placing.strategy;
    options.weights = placing.weights;
    options.stealing.enabled = placing.stealing == Stealing::on;
    options.timing = Timing::full;
    return options;
  }

  void sleep(Duration length) const {
    const double slowness = this_worker() == 0 ? slowness_ : 1;
    std::this_thread::sleep_for(length * slowness);
  }

  // Throws if a task has not run.
  [[nodiscard]] Time last_end(std::size_t first, std::size_t count) const {
    const auto begin = ends_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(count);
    if (std::find(begin, end, Time{}) != end) throw std::runtime_error("a task has not run");
    return *std::max_element(begin, end);
  }

  // Fixed at construction.
  const double slowness_;

  // Each index by the task of this number.
  Waits waits_;
  std::vector<Time> ends_;

  // Last, so that it ends first.
  ThreadPool pool_;
};

double tasks_per_second(const StrategyRace& race) {
  const double at_work = kWorkers - 1 + 1 / race.first_worker_slowness;
  return race.load * at_work / kMeanTaskSeconds;
}

Plan planned(const StrategyRace& race, Arrivals arrivals, std::uint64_t tasks, Random random) {
  Plan plan;
  Duration at{};
  for (std::uint64_t i = 0; i < tasks; ++i) {
    if (arrivals == Arrivals::paced) at += random_gap(tasks_per_second(race), random);
    plan.push_back({.at = at, .length = heavy_tailed(random)});
  }
  return plan;
}

Sample race_once(const StrategyRace& race, Arrivals arrivals, const Placing& placing,
                 std::span<const PlannedTask> plan) {
  Run run(placing, race.first_worker_slowness, plan.size());
  const std::size_t at_once = arrivals == Arrivals::paced ? plan.size() : kBurst;
  Duration sum{};
  double count = 0;
  for (std::size_t first = 0; first < plan.size(); first += at_once) {
    sum += run.serve(plan.subspan(first, at_once), first);
    ++count;
  }
  return {.items = plan.size(),
          .seconds = milliseconds_of(sum) / 1000,
          .figures = {milliseconds_of(sum) / count, run.p99_wait_ms()}};
}

Contender contender(const StrategyRace& race, Arrivals arrivals, std::string name,
                    Placing placing) {
  // Counts its runs: in each round all contenders get the tasks of that round.
  return {std::move(name), [race, arrivals, placing = std::move(placing),
                            round = std::uint64_t{0}](std::uint64_t tasks) mutable {
            const Plan plan = planned(race, arrivals, tasks, Random(++round));
            return race_once(race, arrivals, placing, plan);
          }};
}

Cell cell_of(const StrategyRace& race, Arrivals arrivals, Stealing stealing) {
  const std::string name = std::string(arrivals == Arrivals::paced ? kPaced : kBursts) +
                           (stealing == Stealing::on ? kStealing : "");
  Cell cell{.group = race.group,
            .name = name,
            .contenders = {},
            .columns = {{race.group + kMakespanSuffix, name}, {race.group + kWaitSuffix, name}},
            .items = arrivals == Arrivals::paced ? kPacedTasks : kBurstTasks,
            .most_rounds = arrivals == Arrivals::paced ? race.paced_rounds : kBurstRounds,
            .warm_up = Cell::WarmUp::none};
  cell.contenders.push_back(contender(race, arrivals, kPlainTurns,
                                      {.strategy = BuiltIn::interleaved_weighted,
                                       .weights = std::vector<double>(kWorkers, 1.0),
                                       .stealing = stealing}));
  for (const BuiltIn strategy : kBuiltIns) {
    cell.contenders.push_back(contender(race, arrivals, std::string(to_string(strategy)),
                                        {.strategy = strategy, .stealing = stealing}));
  }
  return cell;
}

}  // namespace

std::vector<Cell> strategy_race_cells(const StrategyRace& race) {
  std::vector<Cell> cells;
  for (const Stealing stealing : {Stealing::off, Stealing::on}) {
    for (const Arrivals arrivals : {Arrivals::paced, Arrivals::bursts}) {
      cells.push_back(cell_of(race, arrivals, stealing));
    }
  }
  return cells;
}

}  // namespace muster::bench
