// round_trip_cells.cpp: a task is sent and waited for, one after the other; how soon is it back?
//
// Hot: without a pause. Paced: after a silence in which the workers fall asleep, so the time to
// wake one counts. There muster sleeps as soon as it does by default.
#include <chrono>
#include <string>
#include <thread>

#include "support/latencies.hpp"
#include "threads/cells.hpp"
#include "threads/contenders/two_flags.hpp"
#include "threads/pools.hpp"
#include "threads/posting.hpp"

namespace muster::bench {
namespace {

using std::chrono::microseconds;

using HotPools =
    Lineup<MusterLatencyPool, TwoFlags, TbbGroup, TbbPool, AsioPool, LibThreadPool, MutexPool>;
using PacedPools = Lineup<MusterPool, TbbGroup, TbbPool, AsioPool, LibThreadPool, MutexPool>;

struct Pace {
  const char* name;
  microseconds silence;
  std::uint64_t trips;  // of a sample; 0: as many as fill its time
  unsigned most_rounds;
};

constexpr Pace kHot{"hot", microseconds{0}, 0, 1000};
constexpr Pace kPaces[] = {{"200 us", microseconds{200}, 250, 1000},
                           {"10 ms", microseconds{10'000}, 100, 5}};

template <class Pool>
void round_trip(Pool& pool) {
  const auto task = [] { return 1; };
  if constexpr (requires { pool.round_trip(task); }) {
    static_cast<void>(pool.round_trip(task));
  } else {
    static_cast<void>(pool.submit(task).get());
  }
}

template <class Pool>
Sample make_trips(microseconds silence, std::uint64_t trips) {
  Tally tally;
  Pool pool(kWorkers);
  wake_up(pool, tally, kWorkers);
  Latencies latencies(trips);
  const Usage begin = usage_now();
  for (std::uint64_t trip = 0; trip < trips; ++trip) {
    if (silence > microseconds{0}) std::this_thread::sleep_for(silence);
    const auto start = Latencies::Clock::now();
    round_trip(pool);
    latencies.put(trip, Latencies::Clock::now() - start);
  }
  return {.items = trips,
          .seconds = (usage_now() - begin).wall_seconds,
          .figures = {latencies.percentile_us(0.5), latencies.percentile_us(0.99)}};
}

template <class Pools>
Cell round_trip_cell(const Pace& pace) {
  const auto run = [silence = pace.silence]<class Pool>(std::uint64_t trips) {
    return make_trips<Pool>(silence, trips);
  };
  const std::string name = pace.name;
  return {.group = kRoundTripGroup,
          .name = name,
          .contenders = Pools::all(run),
          .columns = {{kRoundTripGroup, name + " p50"}, {kRoundTripGroup, name + " p99"}},
          .items = pace.trips,
          .most_rounds = pace.most_rounds};
}

}  // namespace

std::vector<Cell> round_trip_cells() {
  std::vector<Cell> cells{round_trip_cell<HotPools>(kHot)};
  for (const Pace& pace : kPaces) cells.push_back(round_trip_cell<PacedPools>(pace));
  return cells;
}

}  // namespace muster::bench
