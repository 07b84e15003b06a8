// start_cells.cpp: how soon a new worker is ready, and how soon a task runs again whose worker has
// died.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>

#include "processes/cells.hpp"
#include "processes/child_process.hpp"
#include "processes/ready_pool.hpp"
#include "processes/tasks.hpp"
#include "support/latencies.hpp"

namespace muster::bench {
namespace {

using Clock = Latencies::Clock;
using std::chrono::milliseconds;

constexpr std::uint64_t kStarts = 10;
constexpr std::uint64_t kCrashes = 5;

// Of one worker more, which then goes again.
Clock::duration start_worker(ProcessPool& pool) {
  const Clock::time_point start = Clock::now();
  pool.scale_up(1);
  wait_until_ready(pool, 2);
  const Clock::duration time = Clock::now() - start;
  pool.scale_down(1);
  wait_until_gone(pool, 1);
  return time;
}

Clock::duration start_pool() {
  const Clock::time_point start = Clock::now();
  const ProcessPool pool({.workers = 1});
  return Clock::now() - start;
}

Clock::duration start_true() {
  const Clock::time_point start = Clock::now();
  wait_for_program(start_program("/bin/true", {"true"}));
  return Clock::now() - start;
}

// From sending a task that kills its worker until its second attempt has ended.
Clock::duration survive_crash(int signal) {
  ProcessPool pool({.workers = kWorkers, .retry = {.delay = fixed(milliseconds{0})}});
  wake_up(pool, kWorkers);
  const Clock::time_point start = Clock::now();
  const auto attempt = pool.call<std::uint32_t>(kCrashTask, signal).get();
  const Clock::duration time = Clock::now() - start;
  if (attempt != 2) throw std::runtime_error("a task that crashes once was not tried twice");
  return time;
}

template <class Measure>
Latencies latencies_of(std::uint64_t times, const Measure& measure) {
  Latencies latencies(times);
  for (std::uint64_t i = 0; i < times; ++i) latencies.put(i, measure());
  return latencies;
}

template <class Measure>
Contender p50_of(const std::string& name, const Measure& measure) {
  return {name, [measure](std::uint64_t times) -> Sample {
            const Latencies latencies = latencies_of(times, measure);
            return {.items = times, .seconds = 1, .figures = {latencies.percentile_us(0.5) / 1000}};
          }};
}

Contender new_worker() {
  return {kMuster, [](std::uint64_t times) -> Sample {
            ProcessPool pool({.workers = 1});
            const Latencies latencies = latencies_of(times, [&pool] { return start_worker(pool); });
            return {.items = times, .seconds = 1, .figures = {latencies.percentile_us(0.5) / 1000}};
          }};
}

Cell start_cell() {
  return {.group = kStartGroup,
          .name = "ready",
          .contenders = {new_worker(), p50_of(kMusterPool, start_pool),
                         p50_of(kPosixSpawn, start_true)},
          .columns = {{kStartGroup, "p50"}},
          .items = kStarts};
}

Cell crash_cell(const std::string& name, int signal) {
  const auto run = [signal](std::uint64_t times) -> Sample {
    const Latencies latencies = latencies_of(times, [signal] { return survive_crash(signal); });
    return {.items = times,
            .seconds = 1,
            .figures = {latencies.percentile_us(0.5) / 1000, latencies.percentile_us(1) / 1000}};
  };
  return {.group = kCrashGroup,
          .name = name,
          .contenders = {{kMuster, run}},
          .columns = {{kCrashGroup, name + " p50"}, {kCrashGroup, name + " longest"}},
          .items = kCrashes};
}

}  // namespace

std::vector<Cell> start_cells() {
  return {start_cell(), crash_cell("SIGKILL", SIGKILL), crash_cell("SIGSEGV", SIGSEGV)};
}

}  // namespace muster::bench
