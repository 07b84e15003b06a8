// echo_cells.cpp: what payloads cost that do not fit into a slot.
//
// What that may cost is measured beside it, in one sample: three times a memcpy of the bytes that
// are moved, and the round trip of a task without any. A task that gives back what it was given, as
// an echo does, moves them once, to the worker; one that gives as many others moves them twice. Two
// processes that pass flags, with as many bytes and without any, show what the machine takes.
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "processes/cells.hpp"
#include "processes/ping_pong.hpp"
#include "processes/ready_pool.hpp"
#include "processes/tasks.hpp"
#include "support/keep.hpp"
#include "support/latencies.hpp"

namespace muster::bench {
namespace {

using Clock = Latencies::Clock;

// Extents are warm once each of them has been used; a pool with one task at a time has eight.
constexpr unsigned kWarmUpTrips = 50;

ProcessPoolOptions pool_options() {
  return {.workers = 1, .idle = IdlePolicy::latency};
}

template <class Work>
double p50_us(std::uint64_t times, const Work& work) {
  Latencies latencies(times);
  for (std::uint64_t i = 0; i < times; ++i) {
    const Clock::time_point start = Clock::now();
    work();
    latencies.put(i, Clock::now() - start);
  }
  return latencies.percentile_us(0.5);
}

double memcpy_us(std::size_t bytes, std::uint64_t times) {
  const std::vector<char> from(bytes, 'x');
  std::vector<char> to(bytes, 'y');
  return p50_us(times, [&from, &to] {
    std::memcpy(to.data(), from.data(), from.size());
    let_escape(to.data());
    do_something_else();
  });
}

double empty_trip_us(std::uint64_t times) {
  ProcessPool pool(pool_options());
  wake_up(pool, 1);
  return p50_us(times, [&pool] { (void)pool.exec(kEmptyTask).get(); });
}

double echo_us(const std::string& task, std::size_t bytes, std::uint64_t times) {
  ProcessPool pool(pool_options());
  wake_up(pool, 1);
  const Bytes payload(std::string(bytes, 'x'));
  Bytes answer;
  const auto echo = [&pool, &task, &payload, &answer] {
    answer = {};
    answer = pool.exec(task, payload).get();
  };
  for (unsigned i = 0; i < kWarmUpTrips; ++i) echo();
  const double result = p50_us(times, echo);
  const bool is_right =
      task == kEchoTask ? answer == payload : answer == Bytes(std::string(bytes, kOtherByte));
  if (!is_right) throw std::runtime_error("\"" + task + "\" did not give what it should");
  return result;
}

double flags_us(std::size_t bytes, std::uint64_t times) {
  PingPong game(PingPong::Wait::spin, bytes);
  for (unsigned i = 0; i < kWarmUpTrips; ++i) game.round_trip();
  return p50_us(times, [&game] { game.round_trip(); });
}

template <class Measure>
Contender contender(const std::string& name, const Measure& measure) {
  return {name, [measure](std::uint64_t times) -> Sample {
            const Clock::time_point start = Clock::now();
            const double figure = measure(times);
            const std::chrono::duration<double> time = Clock::now() - start;
            return {.items = times, .seconds = time.count(), .figures = {figure}};
          }};
}

Cell echo_cell(const std::string& name, std::size_t bytes, std::uint64_t times) {
  const auto echo = [bytes](std::uint64_t count) { return echo_us(kEchoTask, bytes, count); };
  const auto change = [bytes](std::uint64_t count) { return echo_us(kChangeTask, bytes, count); };
  const auto copy = [bytes](std::uint64_t count) { return memcpy_us(bytes, count); };
  const auto allow_once = [bytes](std::uint64_t count) {
    return 3 * memcpy_us(bytes, count) + empty_trip_us(count);
  };
  const auto allow_twice = [bytes](std::uint64_t count) {
    return 3 * memcpy_us(2 * bytes, count) + empty_trip_us(count);
  };
  const auto flags = [bytes](std::uint64_t count) { return flags_us(bytes, count); };
  const auto bare_flags = [](std::uint64_t count) { return flags_us(0, count); };
  return {.group = kEchoGroup,
          .name = name,
          .contenders = {contender(kMuster, echo), contender(kChange, change),
                         contender(kAllowance, allow_once), contender(kAllowanceTwice, allow_twice),
                         contender(kMemcpy, copy), contender(kFlags, flags),
                         contender(kBareFlags, bare_flags)},
          .columns = {{kEchoGroup, name}},
          .items = times};
}

}  // namespace

std::vector<Cell> echo_cells() {
  return {echo_cell("1 KB", 1000, 3000), echo_cell("1 MB", 1'000'000, 200)};
}

}  // namespace muster::bench
