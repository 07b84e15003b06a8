// round_trip_cells.cpp: a task is sent and waited for, one after the other; how soon is it back?
//
// Hot: without a pause; muster looks out for long before it sleeps. Paced: after a silence in which
// both processes fall asleep; there muster does as it does by default.
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "processes/cells.hpp"
#include "processes/peers.hpp"
#include "processes/ping_pong.hpp"
#include "processes/ready_pool.hpp"
#include "processes/ring_trip.hpp"
#include "processes/tasks.hpp"
#include "support/latencies.hpp"

namespace muster::bench {
namespace {

using std::chrono::microseconds;

constexpr microseconds kSilence{1000};
constexpr std::uint64_t kPacedTrips = 400;

template <class RoundTrip>
Sample make_trips(microseconds silence, std::uint64_t trips, const RoundTrip& round_trip) {
  using Clock = Latencies::Clock;
  Latencies latencies(trips);
  const Clock::time_point begin = Clock::now();
  for (std::uint64_t trip = 0; trip < trips; ++trip) {
    if (silence > microseconds{0}) std::this_thread::sleep_for(silence);
    const Clock::time_point start = Clock::now();
    round_trip();
    latencies.put(trip, Clock::now() - start);
  }
  return {.items = trips,
          .seconds = std::chrono::duration<double>(Clock::now() - begin).count(),
          .figures = {latencies.percentile_us(0.5), latencies.percentile_us(0.99)}};
}

Contender muster_that(IdlePolicy idle, microseconds silence) {
  return {kMuster, [idle, silence](std::uint64_t trips) {
            ProcessPool pool({.workers = 1, .idle = idle});
            wake_up(pool, 1);
            return make_trips(silence, trips, [&pool] { (void)pool.exec(kEmptyTask).get(); });
          }};
}

constexpr unsigned kWarmUpTrips = 100;

Contender bare_ring() {
  return {kBareRing, [](std::uint64_t trips) {
            RingTrip ring;
            for (unsigned i = 0; i < kWarmUpTrips; ++i) ring.round_trip();
            return make_trips(microseconds{0}, trips, [&ring] { ring.round_trip(); });
          }};
}

Contender ping_pong(const std::string& name, PingPong::Wait wait, microseconds silence) {
  return {name, [wait, silence](std::uint64_t trips) {
            PingPong game(wait);
            for (unsigned i = 0; i < kWarmUpTrips; ++i) game.round_trip();
            return make_trips(silence, trips, [&game] { game.round_trip(); });
          }};
}

Cell round_trip_cell(const std::string& name, microseconds silence,
                     std::vector<Contender> contenders) {
  for (Contender& peer : peers_that_travel(silence)) contenders.push_back(std::move(peer));
  return {.group = kRoundTripGroup,
          .name = name,
          .contenders = std::move(contenders),
          .columns = {{kRoundTripGroup, name + " p50"}, {kRoundTripGroup, name + " p99"}}};
}

}  // namespace

std::vector<Cell> round_trip_cells() {
  constexpr microseconds kNone{0};
  std::vector<Cell> cells{round_trip_cell("hot", kNone,
                                          {muster_that(IdlePolicy::latency, kNone), bare_ring(),
                                           ping_pong(kSpin, PingPong::Wait::spin, kNone),
                                           ping_pong(kFutex, PingPong::Wait::futex, kNone)}),
                          round_trip_cell("1 ms", kSilence,
                                          {muster_that(IdlePolicy::balanced, kSilence),
                                           ping_pong(kFutex, PingPong::Wait::futex, kSilence)})};
  cells.back().items = kPacedTrips;
  return cells;
}

}  // namespace muster::bench
