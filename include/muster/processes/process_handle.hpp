// process_handle.hpp: one process that cannot be mistaken for another.
//
// A number may belong to a stranger as soon as its process was reaped; a pidfd never does.
//
// Thread safety: const members may be called from any thread.
#pragma once

#include <optional>
#include <sys/types.h>
#include <utility>

#include <muster/base/api.hpp>
#include <muster/processes/exit_status.hpp>
#include <muster/processes/file_descriptor.hpp>

namespace muster {

class MUSTER_API ProcessHandle {
 public:
  ProcessHandle() = default;
  ProcessHandle(pid_t pid, FileDescriptor pidfd) noexcept : pid_(pid), pidfd_(std::move(pidfd)) {}

  // Of a process that is there: ourselves, our parent, or a child that was not reaped. If it is not
  // or there is no descriptor left, the handle is empty and errno says why.
  [[nodiscard]] static ProcessHandle open(pid_t pid) noexcept;
  explicit operator bool() const noexcept { return static_cast<bool>(pidfd_); }

  // For people, and for /proc as long as the process was not reaped.
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  // Readable once the process is dead.
  [[nodiscard]] int descriptor() const noexcept { return pidfd_.get(); }

  [[nodiscard]] bool is_dead() const noexcept;

  // False if it was gone already, which is no error.
  bool send_signal(int number) const noexcept;

  // Reaps it if it is dead and a child of ours. A worker is its spawner's child, so there is only
  // something to reap if that died first and we are whom orphans are left to.
  [[nodiscard]] std::optional<ProcessEnd> try_reap() const noexcept;

 private:
  pid_t pid_ = -1;
  FileDescriptor pidfd_;
};

}  // namespace muster
