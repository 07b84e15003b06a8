// launch_options.hpp: what a worker process runs, what it is given, and how far it may go.
//
// Thread safety: values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/error.hpp>

namespace muster {

struct EnvironmentVariable {
  std::string name;
  std::string value;

  bool operator==(const EnvironmentVariable&) const = default;
};

// What the kernel enforces, per process. Nothing: as the pool's own process.
struct ProcessLimits {
  // Memory of its own, that is heap, stacks and data but not the shared segment. At least 1. Beyond
  // it allocations fail, and new throws std::bad_alloc.
  std::optional<std::uint64_t> memory_bytes = {};

  // CPU time in all its life. At least 1 s. Beyond it SIGXCPU, and SIGKILL after 5 s more.
  std::optional<std::chrono::seconds> cpu_time = {};

  // Descriptors that it may have open, those it is given included.
  std::optional<std::uint64_t> open_files = {};

  bool operator==(const ProcessLimits&) const = default;
};

struct LaunchOptions {
  // A path, from `working_directory` on if it is relative; a name without a slash is looked up in
  // PATH. Empty: the program that runs the spawner, as it was when that started, even if the file
  // has been replaced since.
  std::string program = {};

  // Those behind the program's name.
  std::vector<std::string> arguments = {};

  // Variables to set. They come on top of the environment that the pool had when its spawner was
  // started, or are all there is.
  std::vector<EnvironmentVariable> environment = {};
  bool inherit_environment = true;

  // Empty: the pool's own.
  std::string working_directory = {};

  // Descriptors of the caller's, who keeps them; the worker gets copies. -1: an empty input, and
  // the outputs of the pool's process.
  int standard_input = -1;
  int standard_output = -1;
  int standard_error = -1;

  // The same for what the worker finds as descriptors 3, 4, ... It gets no others. At most 32.
  std::vector<int> descriptors = {};

  ProcessLimits limits = {};

  // Added to the pool's own niceness; less than 0 takes a privilege. From -40 to 39.
  int nice = 0;

  // From -1000 to 1000: the more, the sooner the kernel kills it when memory runs out. Nothing: as
  // the pool's process, which then is as likely to be picked as its workers.
  std::optional<int> oom_score_adj = {};

  // It can gain no privileges by the programs that it runs.
  bool no_new_privileges = false;

  // It, and all that it starts, can create, change and remove files only below these paths, and
  // gains no privileges. Relative ones begin at `working_directory`. Needs Landlock: Linux 5.13;
  // before 6.2 that does not keep it from truncating files.
  std::optional<std::vector<std::string>> writable_paths = {};

  bool operator==(const LaunchOptions&) const = default;
};

inline constexpr std::size_t kMaxPassedDescriptors = 32;

// Of all texts in LaunchOptions together.
inline constexpr std::size_t kMaxLaunchBytes = 65'536;

// Every problem with the options; empty: none.
[[nodiscard]] MUSTER_API std::vector<BadField> validate(const LaunchOptions& options);

}  // namespace muster
