// spawner.hpp: the process that starts the workers of one pool.
//
//     int main(int argc, char** argv) {
//       muster::spawner_main();                 // first of all; returns unless this is a spawner
//       ...
//       muster::Spawner spawner({});
//       spawner.launch(7, {.program = "/usr/bin/convert"});
//       // when spawner.descriptor() is readable:
//       while (auto event = spawner.try_receive()) std::visit(..., *event);
//
// A process with threads must not fork, and what the kernel ties to a parent it ties to a thread
// of it. So there is a process of its own for this, with one thread, which is the parent of all
// workers: it starts them, reaps them, and tells of both. No SIGCHLD of theirs reaches the pool's
// process, and no wait() in it can take their ends away.
//
// No worker outlives the pool: the spawner kills them all when the pool's process ends, by kill -9
// too, and the kernel kills them when the spawner ends. What workers start themselves, and leave in
// their process group, is killed with them, unless the spawner was killed first.
//
// Thread safety: one thread at a time.
// Design note: docs/design/processes.md
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>
#include <muster/processes/exit_status.hpp>
#include <muster/processes/launch_options.hpp>
#include <muster/processes/process_handle.hpp>

namespace muster {

struct SpawnerOptions {
  // The program that becomes the spawner; its main() must call spawner_main(). Empty: this one.
  std::string program = {};

  // How long it may take to start. More than 0.
  Duration start_timeout = std::chrono::seconds(10);
};

// Its program runs. Only now is it known to exist, and that it could be run.
struct WorkerStarted {
  std::uint64_t worker = 0;
  ProcessHandle process;
};

// There is no such process. `attempt` reads on from "cannot", as for SystemFailure.
struct WorkerRefused {
  std::uint64_t worker = 0;
  std::string attempt;
  int error_number = 0;

  [[nodiscard]] SystemFailure failure() const { return {attempt, error_number, ""}; }
};

// It is dead, and so are those that it had started in its process group. Comes once for each that
// has started, and after that.
struct WorkerEnded {
  std::uint64_t worker = 0;
  ProcessEnd end;
};

// The spawner is dead, and the kernel kills its workers: each is dead when the descriptor of its
// process says so, and nobody saw how. Nothing comes after this.
struct SpawnerLost {};

using SpawnerEvent = std::variant<WorkerStarted, WorkerRefused, WorkerEnded, SpawnerLost>;

enum class LaunchOutcome {
  sent,  // WorkerStarted or WorkerRefused will follow
  full,  // too much is under way: receive first
  lost,  // the spawner is dead; SpawnerLost will follow, or has
};

class MUSTER_API Spawner {
 public:
  // Starts it and waits until it answers. Throws SystemFailure if it does not.
  explicit Spawner(const SpawnerOptions& options);

  // Kills the workers that are left, and waits until they are dead; if one hangs in the kernel, for
  // 5 s.
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  // Never waits. `worker` is a number of the caller's, less than 2^63, that no worker has which has
  // not ended. Throws InvalidArgument.
  LaunchOutcome launch(std::uint64_t worker, const LaunchOptions& options);

  // Never waits; nothing if nothing has happened.
  [[nodiscard]] std::optional<SpawnerEvent> try_receive();

  // Readable when there is something to receive.
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }

  [[nodiscard]] const ProcessHandle& process() const noexcept { return process_; }

 private:
  void await_hello(const SpawnerOptions& options);
  void end() noexcept;

  FileDescriptor socket_;
  ProcessHandle process_;
  pid_t owner_;  // who is to end it: not a child that has got a copy of us by fork()
  bool is_lost_ = false;
};

// Returns at once in a process that was not started as a spawner. In one that was it does not
// return. To be called before threads are started and files are opened.
MUSTER_API void spawner_main();

}  // namespace muster
