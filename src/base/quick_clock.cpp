// quick_clock.cpp: the CPU's counter, and each thread's comparison with the steady clock.
#include <atomic>
#include <string>
#include <utility>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <muster/base/quick_clock.hpp>
#include <muster/base/system_files.hpp>

namespace muster {
namespace {

#if defined(__x86_64__)
constexpr const char* kCounter = "tsc";
std::uint64_t read_ticks() noexcept {
  return __rdtsc();
}
#elif defined(__aarch64__)
constexpr const char* kCounter = "arch_sys_counter";
std::uint64_t read_ticks() noexcept {
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
#else
constexpr const char* kCounter = nullptr;
std::uint64_t read_ticks() noexcept {
  return 0;
}
#endif

// If the kernel trusts it, it is the same on all CPUs and never stops.
bool kernel_uses_counter() noexcept {
  if (kCounter == nullptr) return false;
  try {
    const std::optional<std::string> name =
        RealFiles().read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    return name == std::string(kCounter) + '\n';
  } catch (...) {
    return false;
  }
}

bool has_counter() noexcept {
  static const bool has = kernel_uses_counter();
  return has;
}

// Of all threads' counters. relaxed everywhere: a figure, by itself.
constinit std::atomic<TickScale::Speed> speed = 0;

constinit thread_local TickScale scale;

// The best of three: one may have been interrupted between its looks.
TickScale::Moment look_at_both() noexcept {
  TickScale::Moment best;
  std::uint64_t best_width = ~std::uint64_t{0};
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t before = read_ticks();
    const Time time = Time::clock::now();
    const std::uint64_t width = read_ticks() - before;
    if (width >= best_width) continue;
    best_width = width;
    best = {.ticks = before + width / 2, .time = time};
  }
  return best;
}

// Rarely, unless there is no counter, or its speed is not known yet.
[[gnu::noinline]] Time compare() noexcept {
  const Time about_now = Time::clock::now();
  if (!has_counter()) return about_now;
  // relaxed: as above.
  if (speed.load(std::memory_order_relaxed) == 0 && scale.is_too_early(about_now)) return about_now;
  const TickScale::Moment now = look_at_both();
  // relaxed: as above.
  if (const auto measured = scale.compare(now)) speed.store(*measured, std::memory_order_relaxed);
  const TickScale::Speed known = speed.load(std::memory_order_relaxed);  // relaxed: as above
  if (known != 0) scale.hold(known);
  return now.time;
}

}  // namespace

std::optional<TickScale::Speed> TickScale::compare(const Moment& now) noexcept {
  constexpr Duration kLongest{1'000'000'000};            // in nanoseconds, times 2^32, it fits
  constexpr std::uint64_t kMostTicks = 100'000'000'000;  // more: it has gone back
  const Moment before = std::exchange(last_, now);
  max_ticks_ = 0;
  const Duration passed = now.time - before.time;
  const std::uint64_t ticks = now.ticks - before.ticks;
  if (before.ticks == 0 || passed < kApart || passed > kLongest) return std::nullopt;
  if (ticks == 0 || ticks > kMostTicks) return std::nullopt;
  return (static_cast<std::uint64_t>(passed.count()) << 32U) / ticks;
}

Time quick_now() noexcept {
  // relaxed: as above.
  const std::optional<Time> time = scale.at(read_ticks(), speed.load(std::memory_order_relaxed));
  return time ? *time : compare();
}

TickScale::Speed counter_speed() noexcept {
  return speed.load(std::memory_order_relaxed);  // relaxed: as above
}

void tell_counter_speed(TickScale::Speed told) noexcept {
  if (told != 0) speed.store(told, std::memory_order_relaxed);  // relaxed: as above
}

}  // namespace muster
