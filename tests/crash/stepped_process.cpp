// stepped_process.cpp: ptrace.
#include "crash/stepped_process.hpp"

#include <cerrno>
#include <csignal>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::testing {
namespace {

// Where the child stops: in front of the operation, and behind it.
constexpr int kAtBegin = SIGSTOP;
constexpr int kAtEnd = SIGUSR2;

void stop_here(int signal) {
  ::raise(signal);
}

}  // namespace

SteppedProcess::SteppedProcess(const std::function<void()>& operation) {
  pid_ = fork();
  if (pid_ == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    stop_here(kAtBegin);
    operation();
    stop_here(kAtEnd);
    _exit(0);
  }
  int status = 0;
  const pid_t waited = pid_ < 0 ? -1 : waitpid(pid_, &status, 0);
  refused_ = waited != pid_ || !WIFSTOPPED(status);
  if (refused_ && pid_ > 0 && WIFEXITED(status)) pid_ = -1;
}

Stepped SteppedProcess::step() {
  if (refused_) return Stepped::refused;
  if (finished_) return Stepped::finished;
  if (ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) != 0) return Stepped::refused;
  return await_stop();
}

Stepped SteppedProcess::await_stop() {
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_ || !WIFSTOPPED(status)) {
    refused_ = true;
    return Stepped::refused;
  }
  finished_ = WSTOPSIG(status) == kAtEnd;
  return finished_ ? Stepped::finished : Stepped::on;
}

void SteppedProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) == pid_ && !WIFSIGNALED(status) && !WIFEXITED(status)) {
  }
  pid_ = -1;
}

}  // namespace muster::testing
