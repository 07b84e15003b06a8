// process_figures.hpp: what a process uses, from /proc.
//
// Memory is what the process alone has (RssAnon). Its whole resident size would count every page of
// the shared segment that it ever touched, so that each worker would look as large as the segment.
//
// Thread safety: may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/base/system_files.hpp>

namespace muster {

struct ProcessFigures {
  std::uint64_t anonymous_bytes = 0;  // 0 also for one that is dead but not reaped
  Duration cpu_time{};                // of all its threads, in steps of 10 ms
  bool dumps_core = false;

  bool operator==(const ProcessFigures&) const = default;
};

// Nothing if there is no such process, or /proc does not read like one.
// Requires: `pid` is not reaped meanwhile, or the figures may be a stranger's.
[[nodiscard]] MUSTER_API std::optional<ProcessFigures> read_process_figures(
    const SystemFiles& files, pid_t pid);

}  // namespace muster
