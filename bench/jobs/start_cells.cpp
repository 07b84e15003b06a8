// start_cells.cpp: how soon is a job run that is enqueued while the pool sleeps?
//
// From the call of enqueue() to that of the handler, each after a silence. On SQLite at level
// `written`, beside two processes that wake each other, and a bare commit that is written, too; on
// PostgreSQL `synced`, beside one commit.
#include <chrono>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include "jobs/cells.hpp"
#include "jobs/mails.hpp"
#include "jobs/measured_pool.hpp"
#include "jobs/raw_postgres.hpp"
#include "jobs/raw_sqlite.hpp"
#include "jobs/sizes.hpp"
#include "processes/ping_pong.hpp"
#include "support/latencies.hpp"

namespace muster::bench {
namespace {

using Clock = Latencies::Clock;
using std::chrono::milliseconds;

constexpr milliseconds kSilence{1};
constexpr std::uint64_t kWarmUpTrips = 20;

// `trip` gets its number and says how long it took.
template <class Trip>
Sample make_trips(std::uint64_t trips, const Trip& trip) {
  Latencies latencies(trips);
  for (std::uint64_t i = 0; i < kWarmUpTrips + trips; ++i) {
    std::this_thread::sleep_for(kSilence);
    const Clock::duration time = trip(i);
    if (i >= kWarmUpTrips) latencies.put(i - kWarmUpTrips, time);
  }
  return {.items = trips,
          .seconds = 1,
          .figures = {latencies.percentile_us(0.5), latencies.percentile_us(0.99)}};
}

template <class Work>
Clock::duration time_of(const Work& work) {
  const Clock::time_point start = Clock::now();
  work();
  return Clock::now() - start;
}

Sample start_by_muster(StoreKind kind, std::uint64_t trips) {
  const Durability durability =
      kind == StoreKind::sqlite ? Durability::written : Durability::synced;
  const Place place(kind);
  Clock::time_point begun;  // handed over by the semaphore
  std::binary_semaphore is_begun(0);
  MeasuredPool pool(place.url(), [&begun, &is_begun](const Mail& /*mail*/) {
    begun = Clock::now();
    is_begun.release();
  });
  pool.start();
  return make_trips(trips, [&](std::uint64_t number) {
    const EnqueueOptions<Mail> mail = make_mail(number, Ids::sequential);
    const Clock::time_point start = Clock::now();
    (void)pool.client().enqueue(mail, durability);
    if (!is_begun.try_acquire_for(std::chrono::minutes(1))) {
      throw std::runtime_error("a job was not run within a minute");
    }
    const Clock::duration time = begun - start;
    pool.drain();
    return time;
  });
}

Sample play_ping_pong(std::uint64_t trips) {
  PingPong game(PingPong::Wait::futex);
  return make_trips(
      trips, [&game](std::uint64_t /*number*/) { return time_of([&game] { game.round_trip(); }); });
}

Sample write_one(std::uint64_t trips) {
  const Place place(StoreKind::sqlite);
  RawSqlite raw(place, Durability::written);
  return make_trips(trips, [&raw](std::uint64_t number) {
    const EncodedJob job = encoded(make_mail(number, Ids::sequential));
    return time_of([&raw, &job] { raw.insert(std::span(&job, 1)); });
  });
}

Sample commit_one(std::uint64_t trips) {
  const Place place(StoreKind::postgres);
  RawPostgres raw(place.url());
  return make_trips(trips, [&raw](std::uint64_t number) {
    const EncodedJob job = encoded(make_mail(number, Ids::sequential));
    return time_of([&raw, &job] { raw.insert_one(job); });
  });
}

Cell start_cell(StoreKind kind, std::vector<Contender> yardsticks) {
  const std::string name = to_text(kind);
  Cell cell{.group = kStartGroup,
            .name = name,
            .contenders = {},
            .columns = {{kStartGroup, name + " p50"}, {kStartGroup, name + " p99"}},
            .items = sizes().starts,
            .warm_up = Cell::WarmUp::none};
  if (can_have(kind)) cell.contenders = std::move(yardsticks);
  if (muster_has(kind)) {
    cell.contenders.push_back(
        {kMuster, [kind](std::uint64_t trips) { return start_by_muster(kind, trips); }});
  }
  return cell;
}

}  // namespace

std::vector<Cell> start_cells() {
  return {start_cell(StoreKind::sqlite, {{kFutex, play_ping_pong}, {kOneCommit, write_one}}),
          start_cell(StoreKind::postgres, {{kOneCommit, commit_one}})};
}

}  // namespace muster::bench
