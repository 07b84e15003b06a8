// watched_pool.cpp: a pool with little room under a load that is too much for it, and what it tells
// of that: notices while it happens, a snapshot afterwards.
//
//     watched_pool [block|reject|drop_oldest|drop_newest|caller_runs]
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <iomanip>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <muster/error.hpp>
#include <muster/thread_pool.hpp>

namespace {

using namespace std::chrono_literals;

constexpr int kRequests = 2000;

muster::WhenFull parse(std::string_view name) {
  using muster::WhenFull;
  for (const WhenFull each : {WhenFull::block, WhenFull::reject, WhenFull::drop_oldest,
                              WhenFull::drop_newest, WhenFull::caller_runs}) {
    if (to_string(each) == name) return each;
  }
  throw std::invalid_argument("unknown policy " + std::string(name) +
                              "; usage: watched_pool "
                              "[block|reject|drop_oldest|drop_newest|caller_runs]");
}

void serve() {
  const auto end = std::chrono::steady_clock::now() + 20us;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// More than two workers can serve: one request each 5 us, while each takes 20.
int send_requests(muster::ThreadPool& pool) {
  int refused = 0;
  auto next = std::chrono::steady_clock::now();
  for (int i = 0; i < kRequests; ++i) {
    while (std::chrono::steady_clock::now() < next) {
    }
    next += 5us;
    try {
      pool.post({.name = "request"}, serve);
    } catch (const muster::QueueFull&) {
      ++refused;  // a server would answer "try again later"
    }
  }
  return refused;
}

double in_us(std::optional<muster::Duration> duration) {
  return std::chrono::duration<double, std::micro>(duration.value_or(0ns)).count();
}

void print(const muster::PoolSnapshot& seen) {
  const auto percentiles = [](const muster::HistogramSnapshot& of) {
    for (const double percent : {50.0, 90.0, 99.0}) {
      std::cout << std::setw(9) << in_us(of.percentile(percent));
    }
    std::cout << '\n';
  };
  std::cout << std::fixed << std::setprecision(1) << "us          p50      p90      p99\n"
            << "waited";
  percentiles(seen.latency.queue_wait);
  std::cout << "ran   ";
  percentiles(seen.latency.run);
  const muster::PoolSnapshot::BackPressure& pressure = seen.back_pressure;
  std::cout << seen.throughput.tasks_per_second << " tasks/s; rejected " << pressure.rejected
            << ", dropped " << pressure.dropped_oldest + pressure.dropped_newest << ", blocked "
            << pressure.blocked << ", run by their sender " << pressure.caller_ran << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const muster::WhenFull when_full = argc > 1 ? parse(argv[1]) : muster::WhenFull::reject;
    std::atomic<int> dropped = 0;
    muster::ThreadPool pool({.workers = 2,
                             .admission = {.max_queued = 100, .when_full = when_full},
                             .on_drop = [&](const muster::DroppedTask&) { ++dropped; }});
    muster::NoticeStream notices = pool.notices();

    const int refused = send_requests(pool);
    pool.wait_idle();

    int told = 0;
    while (const std::optional<muster::Notice> notice = notices.try_next()) {
      if (++told <= 3) std::cout << to_text(*notice) << '\n';
    }
    std::cout << "... " << told << " notices\n";
    const muster::PoolSnapshot seen = pool.snapshot();
    print(seen);

    const std::uint64_t served = seen.latency.run.count() == 0 ? 0 : seen.queue.dequeued;
    const std::uint64_t all = served + static_cast<std::uint64_t>(refused) +
                              seen.back_pressure.dropped_newest + seen.back_pressure.caller_ran;
    if (all != kRequests) throw std::runtime_error("a request has vanished");
    if (dropped !=
        static_cast<int>(seen.back_pressure.dropped_oldest + seen.back_pressure.dropped_newest)) {
      throw std::runtime_error("a drop was not told of");
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
