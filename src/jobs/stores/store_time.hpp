// store_time.hpp: times as databases keep them: nanoseconds since 1970.
#pragma once

#include <chrono>
#include <cstdint>

#include <muster/base/clock.hpp>

namespace muster {

inline std::int64_t as_number(WallTime time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

inline WallTime as_time(std::int64_t number) {
  return WallTime(std::chrono::duration_cast<WallTime::duration>(std::chrono::nanoseconds(number)));
}

// What ended before that is older than `age`; 0: nothing is.
inline std::int64_t older_than(WallTime now, Duration age) {
  if (age >= now.time_since_epoch()) return 0;
  return as_number(now - std::chrono::duration_cast<WallTime::duration>(age));
}

}  // namespace muster
