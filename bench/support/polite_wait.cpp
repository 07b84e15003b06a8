// polite_wait.cpp: the end of a wait that would never end.
#include "polite_wait.hpp"

#include <cstdio>
#include <cstdlib>

namespace muster::bench {

void PoliteWait::give_up_if_stuck() {
  constexpr std::chrono::seconds kPatience{30};
  const auto now = std::chrono::steady_clock::now();
  if (failures_ == kFailuresPerLook) stuck_since_ = now;
  if (now - stuck_since_ < kPatience) return;

  // The other threads of this sample wait as well and cannot be joined: leave without ceremony.
  std::fputs("a contender is stuck: items went in that never came out\n", stderr);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace muster::bench
