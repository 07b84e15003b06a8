// idle_cells.cpp: what a pool costs while there is nothing to do, or nearly nothing.
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "threads/cells.hpp"
#include "threads/memory_probe.hpp"
#include "threads/pools.hpp"
#include "threads/posting.hpp"

namespace muster::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Cells that take seconds and vary little.
constexpr unsigned kRounds = 3;

constexpr unsigned kTicks = 100;

// "plain" shows what the measuring thread itself costs.
using IdlePools = Lineup<MusterPool, TbbPool, AsioPool, LibThreadPool, MutexPool, Plain>;

template <class Pool, class During>
Usage usage_of_pool(const During& during) {
  constexpr auto kUntilAsleep = 200ms;
  Tally tally;
  Pool pool(kWorkers);
  const std::uint64_t before = wake_up(pool, tally, kWorkers);
  std::this_thread::sleep_for(kUntilAsleep);
  const Usage start = usage_now();
  const std::uint64_t tasks = during(pool, tally);
  const Usage used = usage_now() - start;
  tally.wait_for(before + tasks);
  return used;
}

template <class Pool>
Sample stay_idle() {
  const Usage used = usage_of_pool<Pool>([](Pool& /*pool*/, Tally& /*tally*/) {
    std::this_thread::sleep_for(1s);
    return 0;
  });
  const double cpu_ms = used.cpu_seconds * 1e3;
  return {.items = 1, .seconds = used.wall_seconds, .figures = {cpu_ms / used.wall_seconds}};
}

template <class Pool>
Sample tick() {
  const Usage used = usage_of_pool<Pool>([](Pool& pool, Tally& tally) {
    const Clock::time_point start = Clock::now();
    for (unsigned i = 1; i <= kTicks; ++i) {
      std::this_thread::sleep_until(start + i * 10ms);
      pool.post([&tally] { tally.add_one(); });
    }
    return kTicks;
  });
  const double percent = 100 * used.cpu_seconds / used.wall_seconds;
  return {.items = kTicks, .seconds = used.wall_seconds, .figures = {percent}};
}

// One figure for each contender, which takes its time and is not divided by anything.
Cell figure_cell(const std::string& group, const std::string& name, const std::string& column,
                 std::vector<Contender> contenders) {
  return {.group = group,
          .name = name,
          .contenders = std::move(contenders),
          .columns = {{group, column}},
          .items = 1,
          .most_rounds = kRounds};
}

Cell idle_cell() {
  const auto run = []<class Pool>(std::uint64_t /*items*/) { return stay_idle<Pool>(); };
  return figure_cell(kIdleGroup, "idle", "idle, ms CPU/s", IdlePools::all(run));
}

Cell ticking_cell() {
  const auto run = []<class Pool>(std::uint64_t /*items*/) { return tick<Pool>(); };
  return figure_cell(kIdleGroup, "100 Hz", "100 Hz, % of a CPU", IdlePools::all(run));
}

Cell memory_cell(const std::string& name, const std::string& column, double (*ask)(const char*)) {
  const auto run = [ask]<class Pool>(std::uint64_t /*items*/) {
    return Sample{.items = 1, .seconds = 1, .figures = {ask(Pool::kName)}};
  };
  return figure_cell(kMemoryGroup, name, column, PostPools::all(run));
}

}  // namespace

std::vector<Cell> idle_cells() {
  return {idle_cell(), ticking_cell(), memory_cell("worker", "worker", kib_per_worker),
          memory_cell("queue", "1000 queued tasks", kib_per_thousand_tasks)};
}

}  // namespace muster::bench
