// two_flags.hpp: a thread that waits for a flag and answers by another, both in lines of their own.
// No pool, but the floor of every round trip between two threads: two lines change cores.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include <muster/sync/backoff.hpp>
#include <muster/sync/cache_line.hpp>

namespace muster::bench {

class TwoFlags {
 public:
  static constexpr const char* kName = "two flags";

  explicit TwoFlags(unsigned /*workers*/)
      : thread_([this](const std::stop_token& stop) { answer(stop); }) {}

  template <class Task>
  void post(const Task& task) {
    static_cast<void>(round_trip(task));
  }

  // The task runs on the calling side: what is measured is the way there and back.
  template <class Task>
  auto round_trip(const Task& task) {
    asked_.store(++trips_, std::memory_order_release);
    while (answered_.load(std::memory_order_acquire) != trips_) spin_pause();
    return task();
  }

 private:
  void answer(const std::stop_token& stop) {
    for (std::uint64_t trip = 1; !stop.stop_requested();) {
      if (asked_.load(std::memory_order_acquire) != trip) {
        spin_pause();
        continue;
      }
      answered_.store(trip++, std::memory_order_release);
    }
  }

  alignas(kCacheLine) std::atomic<std::uint64_t> asked_ = 0;
  alignas(kCacheLine) std::atomic<std::uint64_t> answered_ = 0;
  alignas(kCacheLine) std::uint64_t trips_ = 0;  // the calling thread's
  std::jthread thread_;                          // last, so that it ends before the rest goes
};

}  // namespace muster::bench
