// idle_probe.cpp: getrusage and /proc/self/status before, with and without a pool.
#include "processes/idle_probe.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "processes/child_process.hpp"
#include "processes/ready_pool.hpp"
#include "support/usage.hpp"

namespace muster::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* kProbe = "--probe-idle";
constexpr unsigned kIdleWorkers = 100;

// Two health passes of a pool with the default heartbeat of 5 s.
constexpr auto kIdleTime = 5s;

// A pool looks after its workers twice in each heartbeat. Here they are so frequent that what else
// the process does does not count.
constexpr auto kQuickHeartbeat = 100ms;
constexpr auto kQuickTime = 2s;

double own_memory_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    unsigned long kib = 0;
    if (std::sscanf(line.c_str(), "RssAnon: %lu kB", &kib) == 1) return static_cast<double>(kib);
  }
  throw std::runtime_error("/proc/self/status tells no RssAnon");
}

Usage usage_over(std::chrono::milliseconds time) {
  const Usage begin = usage_now();
  std::this_thread::sleep_for(time);
  return usage_now() - begin;
}

double health_pass_ms() {
  ProcessPool pool({.workers = kIdleWorkers, .health = {.heartbeat = kQuickHeartbeat}});
  wake_up(pool, kIdleWorkers);
  const Usage used = usage_over(kQuickTime);
  const double passes =
      used.wall_seconds / std::chrono::duration<double>(kQuickHeartbeat / 2).count();
  return 1000 * used.cpu_seconds / passes;
}

IdleCosts measure_costs() {
  IdleCosts costs;
  const double before_kib = own_memory_kib();
  {
    ProcessPool pool({.workers = kIdleWorkers});
    wake_up(pool, kIdleWorkers);
    const Usage used = usage_over(kIdleTime);
    costs.cpu_percent = 100 * used.cpu_seconds / used.wall_seconds;
    costs.memory_mb = (own_memory_kib() - before_kib) * 1024 / 1e6;
  }
  costs.health_pass_ms = health_pass_ms();
  return costs;
}

}  // namespace

IdleCosts probe_idle_costs() {
  const std::string answer = output_of('\'' + own_path() + "' " + kProbe);
  IdleCosts costs;
  if (std::sscanf(answer.c_str(), "%lf %lf %lf", &costs.cpu_percent, &costs.memory_mb,
                  &costs.health_pass_ms) != 3) {
    throw std::runtime_error("the probe of idle workers says \"" + answer + '"');
  }
  return costs;
}

std::optional<int> run_idle_probe(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]) != kProbe) return std::nullopt;
  const IdleCosts costs = measure_costs();
  std::printf("%f %f %f\n", costs.cpu_percent, costs.memory_mb, costs.health_pass_ms);
  return EXIT_SUCCESS;
}

}  // namespace muster::bench
