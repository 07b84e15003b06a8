// write_bar.cpp: a Landlock ruleset.
#include "processes/write_bar.hpp"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <muster/processes/file_descriptor.hpp>

namespace muster {
namespace {

// Known since its first version, so any kernel that has it bars these.
constexpr std::uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE;
constexpr std::uint64_t kChanges = kWriteFile | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                   LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                   LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                   LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                   LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

// Also by open(): known since version 3, Linux 6.2.
constexpr std::uint64_t kTruncate = std::uint64_t{1} << 14;  // LANDLOCK_ACCESS_FS_TRUNCATE

std::uint64_t truncation() noexcept {
  const auto version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version >= 3 ? kTruncate : 0;
}

bool allow_below(int ruleset, const char* path) noexcept {
  const FileDescriptor place(open(path, O_PATH | O_CLOEXEC));
  struct stat status{};
  if (!place || fstat(place.get(), &status) != 0) return false;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = (S_ISDIR(status.st_mode) ? kChanges : kWriteFile) | truncation();
  rule.parent_fd = place.get();
  return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

}  // namespace

bool bar_from_writing(const std::vector<std::string>& except_below) noexcept {
  landlock_ruleset_attr all{};
  all.handled_access_fs = kChanges | truncation();
  const FileDescriptor ruleset(static_cast<int>(
      syscall(SYS_landlock_create_ruleset, &all, sizeof all.handled_access_fs, 0)));
  if (!ruleset || !allow_below(ruleset.get(), "/dev/null")) return false;
  for (const std::string& path : except_below) {
    if (!allow_below(ruleset.get(), path.c_str())) return false;
  }
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0;
}

}  // namespace muster
