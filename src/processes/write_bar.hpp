// write_bar.hpp: bars a process, and all that it starts, from changing files but below some
// folders.
//
// By Landlock, which Linux has from 5.13 on, and which needs no privilege.
//
// Thread safety: for the one thread of a process that is about to run a program.
#pragma once

#include <string>
#include <vector>

namespace muster {

// False: errno says why; ENOSYS or EOPNOTSUPP if the kernel has no Landlock. /dev/null stays
// writable. Descriptors that are open stay as they are. Allocates nothing.
[[nodiscard]] bool bar_from_writing(const std::vector<std::string>& except_below) noexcept;

}  // namespace muster
