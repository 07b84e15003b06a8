// tasks.hpp: what the workers of this suite can do. The suite's own program is their program.
#pragma once

#include <muster/registry.hpp>

namespace muster::bench {

inline constexpr const char* kEmptyTask = "empty";
inline constexpr const char* kEchoTask = "echo";
inline constexpr const char* kChangeTask = "change";  // as many of the next
inline constexpr char kOtherByte = 'o';

// Its first attempt kills its worker by the signal that it is given; the next says which it is.
inline constexpr const char* kCrashTask = "crash once";

Registry suite_registry();

}  // namespace muster::bench
