// idle_time.hpp: how long to look for work or results before one sleeps.
#pragma once

#include <chrono>

#include <muster/base/clock.hpp>
#include <muster/pool_options.hpp>

namespace muster {

constexpr Duration idle_time(IdlePolicy policy) noexcept {
  switch (policy) {
    case IdlePolicy::power:
      break;
    case IdlePolicy::balanced:
      return std::chrono::microseconds(20);
    case IdlePolicy::latency:
      return std::chrono::microseconds(500);
  }
  return Duration::zero();
}

}  // namespace muster
