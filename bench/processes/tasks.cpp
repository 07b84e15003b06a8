// tasks.cpp: nothing, the same again, something else, and a crash.
#include "processes/tasks.hpp"

#include <csignal>
#include <string>

namespace muster::bench {

Registry suite_registry() {
  Registry registry;
  registry.add(kEmptyTask, [](const Bytes& /*payload*/) { return Bytes(); });
  registry.add(kEchoTask, [](const Bytes& payload) { return payload; });
  // Made beforehand, as long as the payloads are: what is measured is how bytes come and go.
  registry.add(kChangeTask, [answer = Bytes()](const Bytes& payload) mutable {
    if (answer.size() != payload.size()) answer = std::string(payload.size(), kOtherByte);
    return answer;
  });
  registry.add(kCrashTask, [](const TaskContext& context, int signal) {
    if (context.attempt() == 1) (void)std::raise(signal);
    return context.attempt();
  });
  return registry;
}

}  // namespace muster::bench
