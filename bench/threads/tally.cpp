// tally.cpp: who sits where, and the patience of the waiter.
#include "threads/tally.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace muster::bench {
namespace {

class Seats {
 public:
  std::size_t take() {
    const std::scoped_lock lock(mutex_);
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    if (free == taken_.end()) throw std::runtime_error("more threads at once than kMostSeats");
    *free = true;
    const auto seat = static_cast<std::size_t>(free - taken_.begin());
    // relaxed: whoever counts there is seen later anyhow
    used_.store(std::max(used_.load(relaxed), seat + 1), relaxed);
    return seat;
  }

  void give_back(std::size_t seat) {
    const std::scoped_lock lock(mutex_);
    taken_[seat] = false;
  }

  // No higher seat was ever taken.
  [[nodiscard]] std::size_t used() const { return used_.load(relaxed); }  // relaxed: as above

 private:
  // Guarded by mutex_.
  std::mutex mutex_;
  std::array<bool, kMostSeats> taken_{};

  // Any thread.
  Atomic<std::size_t> used_ = 0;
};

Seats& seats() {
  static Seats all;
  return all;
}

// Gives the seat back when its thread ends.
struct Sitting {
  const std::size_t seat = seats().take();
  Sitting() = default;
  Sitting(const Sitting&) = delete;
  Sitting& operator=(const Sitting&) = delete;
  ~Sitting() { seats().give_back(seat); }
};

// The pool's threads cannot be joined: leaves without ceremony.
[[noreturn]] void give_up(const char* reason) {
  std::fprintf(stderr, "%s\n", reason);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

std::size_t take_seat() {
  thread_local const Sitting sitting;
  return sitting.seat;
}

std::uint64_t Tally::sum() const {
  std::uint64_t sum = 0;
  const std::size_t used = seats().used();
  for (std::size_t seat = 0; seat < used; ++seat) {
    sum += counts_[seat].value.load(acquire);  // sync(task-counted): pairs with add_one()
  }
  return sum;
}

void Tally::wait_for(std::uint64_t tasks) const {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kNap{50};
  constexpr std::chrono::seconds kPatience{30};
  std::uint64_t last = 0;
  Clock::time_point moved = Clock::now();
  for (;;) {
    const std::uint64_t now = sum();
    if (now == tasks) return;
    if (now > tasks) give_up("a pool ran a task twice");
    if (now != last) {
      last = now;
      moved = Clock::now();
    } else if (Clock::now() - moved > kPatience) {
      give_up("a pool is stuck: tasks went in that never ran");
    }
    std::this_thread::sleep_for(kNap);
  }
}

}  // namespace muster::bench
