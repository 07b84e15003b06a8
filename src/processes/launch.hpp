// launch.hpp: forks and runs one worker, and knows that it runs before it says so.
//
// For the spawner only: between fork and exec a child of a process with several threads must not
// even allocate memory, and dies with the thread that started it instead of with the process.
#pragma once

#include <string>
#include <sys/resource.h>
#include <variant>

#include <muster/processes/launch_options.hpp>
#include <muster/processes/process_handle.hpp>

namespace muster {

struct LaunchFailure {
  std::string attempt;  // reads on from "cannot"
  int error_number = 0;
};

// `open_files` is the limit that a worker has unless the options say otherwise.
// Requires: one thread; signals blocked, and none of them ignored.
[[nodiscard]] std::variant<ProcessHandle, LaunchFailure> launch(const LaunchOptions& options,
                                                                const rlimit& open_files);

}  // namespace muster
