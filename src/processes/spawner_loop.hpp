// spawner_loop.hpp: what a spawner does all its life: start workers, reap them, tell of both.
//
// Thread safety: one thread, in a process of its own.
// Design note: docs/design/processes.md
#pragma once

#include <cstdint>
#include <map>
#include <sys/resource.h>

#include <muster/processes/process_handle.hpp>

#include "processes/spawn_frames.hpp"

namespace muster {

class SpawnerLoop {
 public:
  // `pool` is the process that started us.
  SpawnerLoop(FileDescriptor socket, pid_t pool);

  // Until the pool is gone or lets go of its end of the socket; then no worker is left.
  void run();

 private:
  bool take_launch();
  bool start(const Launch& launch);
  bool note_end(std::uint64_t worker);

  // Waits until there is room. False if the pool is gone.
  bool tell(const Report& report, int descriptor = -1);

  void end_all() noexcept;

  const FileDescriptor socket_;
  const ProcessHandle pool_;
  const FileDescriptor events_;
  rlimit open_files_{};
  std::map<std::uint64_t, ProcessHandle> workers_;
};

}  // namespace muster
