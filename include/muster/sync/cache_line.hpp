// cache_line.hpp: keeping what different threads write on different cache lines, and fetching a
// line before it is written.
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

// Asks for the line at `address` as its only holder: whoever reads it and then writes it pays for
// one transfer between caches instead of two. Changes nothing, and any address will do.
inline void prefetch_for_write(const void* address) noexcept {
#if defined(__x86_64__)
  // __builtin_prefetch would fetch the line shared, unless the compiler may assume a CPU with
  // PREFETCHW. Those without it take the instruction for a no-op.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace muster
