// tasks.cpp: nothing, the same again, and a crash.
#include "processes/tasks.hpp"

#include <csignal>

namespace muster::bench {

Registry suite_registry() {
  Registry registry;
  registry.add(kEmptyTask, [](const Bytes& /*payload*/) { return Bytes(); });
  registry.add(kEchoTask, [](const Bytes& payload) { return payload; });
  registry.add(kCrashTask, [](const TaskContext& context, int signal) {
    if (context.attempt() == 1) (void)std::raise(signal);
    return context.attempt();
  });
  return registry;
}

}  // namespace muster::bench
