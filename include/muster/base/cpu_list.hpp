// cpu_list.hpp: sets of CPUs, in the notation of the Linux kernel: "0-3,8,10-11".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <muster/base/api.hpp>

namespace muster {

// The kernel's CPU numbers, ascending, each once.
using CpuList = std::vector<unsigned>;

// CPU numbers stay below this, eight times what Linux can be built for. It bounds what a malformed
// file can make us allocate.
inline constexpr unsigned kMaxCpus = 65'536;

// Nothing if any part of the text is malformed: not a number, not ascending, or too large.
// Blank text is the empty set, as the kernel writes it for a NUMA node without CPUs.
MUSTER_API std::optional<CpuList> parse_cpu_list(std::string_view text);

// The reverse; "" for the empty set.
MUSTER_API std::string format_cpu_list(const CpuList& cpus);

}  // namespace muster
