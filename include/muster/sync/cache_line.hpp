// cache_line.hpp: keeping what different threads write on different cache lines.
#pragma once

#include <cstddef>

namespace muster {

// Fixed instead of std::hardware_destructive_interference_size, which changes with compiler flags
// and would make two translation units disagree about a layout. 64 holds on x86-64 and on arm64
// servers.
inline constexpr std::size_t kCacheLine = 64;

// A value alone on its cache line.
template <class T>
struct alignas(kCacheLine) CacheAligned {
  T value{};
};

}  // namespace muster
