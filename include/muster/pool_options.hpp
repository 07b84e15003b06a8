// pool_options.hpp: what every pool may be told, and what it answers.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <muster/base/clock.hpp>

namespace muster {

// What a worker without work does before it sleeps.
enum class IdlePolicy {
  power,     // looks around once
  balanced,  // looks around for some 20 us
  latency,   // looks around for some 500 us: quick to react, and busy meanwhile
};

// Workers were added or removed; one of the two is 0.
struct ScalingChange {
  unsigned added = 0;
  unsigned removed = 0;
  unsigned total = 0;  // workers from now on; new ones may still be warming up
  std::string reason;  // "resize", or what the policy says
};

enum class Stop {
  graceful,  // all that was accepted is run
  discard,   // what has not begun is dropped: futures say Stopped, posted tasks are destroyed
};

struct StopOptions {
  Stop mode = Stop::graceful;

  // How long to wait for the tasks. None: for ever.
  std::optional<Duration> timeout = {};
};

// What a stop that timed out has left behind; it goes on, and another stop() waits for it again.
struct StopResult {
  std::uint64_t unfinished = 0;  // tasks, queued or running

  explicit operator bool() const noexcept { return unfinished == 0; }
};

}  // namespace muster
