// tasks.cpp: nothing, the same again, something else, and a crash.
#include "processes/tasks.hpp"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <vector>

namespace muster::bench {

Registry suite_registry() {
  Registry registry;
  registry.add(kEmptyTask, [](const Bytes& /*payload*/) { return Bytes(); });
  registry.add(kEchoTask, [](const Bytes& payload) { return payload; });
  registry.add(kChangeTask, [](const Bytes& payload) {
    std::vector<std::byte> changed(payload.size());
    std::ranges::transform(payload.span(), changed.begin(), [](std::byte byte) { return ~byte; });
    return Bytes(std::move(changed));
  });
  registry.add(kCrashTask, [](const TaskContext& context, int signal) {
    if (context.attempt() == 1) (void)std::raise(signal);
    return context.attempt();
  });
  return registry;
}

}  // namespace muster::bench
