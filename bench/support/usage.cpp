// usage.cpp: getrusage() and the steady clock.
#include "usage.hpp"

#include <cerrno>
#include <chrono>
#include <sys/resource.h>
#include <sys/time.h>
#include <system_error>

namespace muster::bench {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

Usage usage_of(__rusage_who who) {
  rusage used{};
  if (getrusage(who, &used) != 0) {
    throw std::system_error(errno, std::generic_category(), "getrusage");
  }
  const auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {.wall_seconds = std::chrono::duration<double>(wall).count(),
          .cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime),
          .context_switches = static_cast<std::uint64_t>(used.ru_nvcsw + used.ru_nivcsw)};
}

}  // namespace

Usage usage_now() {
  return usage_of(RUSAGE_SELF);
}

Usage own_usage_now() {
  return usage_of(RUSAGE_THREAD);
}

}  // namespace muster::bench
