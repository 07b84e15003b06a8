// written_bytes.hpp: how much a process has had written to disks so far, as the kernel counts it.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace muster::bench {

// Throws std::runtime_error if there is no such process, or it is none of ours.
std::uint64_t written_bytes_of(pid_t process);

}  // namespace muster::bench
