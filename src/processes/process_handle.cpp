// process_handle.cpp: what can be done with a pidfd.
#include <csignal>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <muster/processes/process_handle.hpp>

namespace muster {

// By their numbers: glibc 2.36 declares both functions as C++, and defines them as C.
ProcessHandle ProcessHandle::open(pid_t pid) noexcept {
  return {pid, FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)))};
}

bool ProcessHandle::is_dead() const noexcept {
  pollfd wait{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  return poll(&wait, 1, 0) == 1 && (wait.revents & POLLIN) != 0;
}

bool ProcessHandle::send_signal(int number) const noexcept {
  return syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0) == 0;
}

std::optional<ProcessEnd> ProcessHandle::try_reap() const noexcept {
  siginfo_t info{};
  const int result = waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG);
  if (result != 0 || info.si_pid == 0) return std::nullopt;
  return process_end(info.si_code, info.si_status);
}

}  // namespace muster
