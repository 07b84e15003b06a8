// spawner_main.cpp: how a process becomes a spawner.
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <muster/processes/spawner.hpp>

#include "base/text_scan.hpp"
#include "processes/spawner_loop.hpp"

namespace muster {
namespace {

constexpr int kUsageExitCode = 64;  // EX_USAGE

[[noreturn]] void quit(std::string_view why) {
  const std::string text = "muster: cannot be a spawner: " + std::string(why) + '\n';
  (void)!write(STDERR_FILENO, text.data(), text.size());
  _exit(kUsageExitCode);
}

bool is_packet_socket(int descriptor) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

// Otherwise the next file that is opened would become a worker's output.
void open_missing_outputs() {
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(output, F_GETFD) >= 0) continue;
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null == output) (void)fcntl(null, F_SETFD, 0);
  }
}

[[noreturn]] void be_spawner(pid_t pool) {
  FileDescriptor socket(kSpawnerSocket);
  if (!is_packet_socket(socket.get())) quit("it was not started by a pool");
  (void)fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
  (void)unsetenv(kSpawnerVariable);
  (void)prctl(PR_SET_NAME, "muster-spawner");
  open_missing_outputs();
  if (getppid() == pool) {  // or it has died already, and no worker was started
    SpawnerLoop(std::move(socket), pool).run();
  }
  _exit(EXIT_SUCCESS);
}

}  // namespace

void spawner_main() {
  const char* const pool = getenv(kSpawnerVariable);
  if (pool == nullptr) return;
  const auto pid = parse_number<std::uint32_t>(pool);
  if (!pid) quit("MUSTER_SPAWNER is reserved, and no process id");
  try {
    be_spawner(static_cast<pid_t>(*pid));
  } catch (const std::exception& error) {
    quit(error.what());  // its workers die with it
  }
}

}  // namespace muster
