// two_modes.cpp: one load, with a queue for each worker or with one for all; something to profile.
//
//     two_modes stealing|global [TASKS [PRODUCERS]]
//
// Each producer posts bursts of short tasks and rests in between, so that workers get in each
// other's way, fall asleep and are woken, as in most services. docs/guides/profiling.md looks at it
// with perf and strace; the program itself says how long tasks waited, and what the pool counted.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <muster/error.hpp>
#include <muster/thread_pool.hpp>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBurst = 32;
constexpr std::chrono::microseconds kBetweenBursts{200};

struct Load {
  muster::Queueing queueing = muster::Queueing::stealing;
  std::size_t tasks = 200'000;
  std::size_t producers = 1;
};

std::size_t parse_count(const std::string& field, const std::string& text, std::size_t most) {
  std::size_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc{} && stop == end && count >= 1 && count <= most) return count;
  throw muster::InvalidArgument(
      {field, text, "must be a number from 1 to " + std::to_string(most)});
}

Load parse(const std::vector<std::string>& words) {
  if (words.empty() || words.size() > 3 || (words[0] != "stealing" && words[0] != "global")) {
    throw std::invalid_argument("usage: two_modes stealing|global [TASKS [PRODUCERS]]");
  }
  Load load;
  if (words[0] == "global") load.queueing = muster::Queueing::global;
  if (words.size() > 1) load.tasks = parse_count("TASKS", words[1], 100'000'000);
  if (words.size() > 2) load.producers = parse_count("PRODUCERS", words[2], 1000);
  return load;
}

// About a microsecond. A function of its own, so that a profile names it.
[[gnu::noinline]] void work() {
  std::uint64_t number = 1;
  for (int i = 0; i < 700; ++i) number = number * 6364136223846793005U + 1442695040888963407U;
  [[maybe_unused]] const volatile std::uint64_t result = number;  // so that it is computed
}

// For each task the time from its post to its start.
std::vector<Clock::duration> run(const Load& load, muster::ThreadPool& pool) {
  std::vector<Clock::duration> waits(load.tasks);
  const auto produce = [&](std::size_t first) {
    Clock::time_point next_burst = Clock::now();
    std::size_t posted = 0;
    for (std::size_t i = first; i < load.tasks; i += load.producers) {
      if (posted++ % kBurst == 0) std::this_thread::sleep_until(next_burst += kBetweenBursts);
      pool.post([&wait = waits[i], post = Clock::now()] {
        wait = Clock::now() - post;
        work();
      });
    }
  };
  std::vector<std::thread> producers;
  producers.reserve(load.producers);
  for (std::size_t i = 0; i < load.producers; ++i) producers.emplace_back(produce, i);
  for (std::thread& producer : producers) producer.join();
  pool.wait_idle();
  return waits;
}

double in_us(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

void print(const muster::ThreadPoolStats& stats) {
  std::cout << "worker   completed  steals  of attempts  lost races  idle spins   parks\n";
  for (std::size_t i = 0; i < stats.workers.size(); ++i) {
    const muster::ThreadPoolStats::Worker& worker = stats.workers[i];
    std::cout << std::setw(6) << i << std::setw(12) << worker.completed << std::setw(8)
              << worker.successful_steals << std::setw(13) << worker.steal_attempts << std::setw(12)
              << worker.lost_races << std::setw(12) << worker.idle_spins << std::setw(8)
              << worker.parks << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Load load = parse({argv + 1, argv + argc});
    muster::ThreadPool pool({.workers = 2, .queueing = load.queueing});
    const Clock::time_point start = Clock::now();
    std::vector<Clock::duration> waits = run(load, pool);
    const double seconds = in_us(Clock::now() - start) / 1e6;

    std::sort(waits.begin(), waits.end());
    const auto share = [&](std::size_t percent) {
      return waits[(waits.size() - 1) * percent / 100];
    };
    std::cout << std::fixed << std::setprecision(1) << load.tasks << " tasks in " << seconds
              << " s; waited p50 " << in_us(share(50)) << " us, p99 " << in_us(share(99))
              << " us\n";
    const muster::ThreadPoolStats stats = pool.stats();
    print(stats);
    if (stats.completed != load.tasks) throw std::runtime_error("a task was not run once");
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
