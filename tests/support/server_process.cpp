// server_process.cpp: starting, killing and reporting on a program that serves a test.
#include "support/server_process.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <poll.h>
#include <pwd.h>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <muster/processes/file_descriptor.hpp>

namespace muster::testing {
namespace {

using namespace std::chrono_literals;

struct Account {
  uid_t user = 0;
  gid_t group = 0;
};

// Nothing if servers run as whoever runs the test.
std::optional<Account> account_of_servers() {
  if (::geteuid() != 0) return std::nullopt;
  passwd entry{};
  passwd* found = nullptr;
  char strings[4096];
  ::getpwnam_r("postgres", &entry, strings, sizeof strings, &found);
  if (found == nullptr) {
    throw std::runtime_error(
        "cannot run servers: they refuse to be root, and there is no user \"postgres\"; install "
        "the package postgresql-15, or run the test as another user");
  }
  return Account{.user = entry.pw_uid, .group = entry.pw_gid};
}

// Ours but for what would make servers behave differently on another desk.
std::vector<std::string> environment_of_servers() {
  std::vector<std::string> environment{"LC_ALL=C"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool speaks_to_them = text.starts_with("PG") || text.starts_with("LC_") ||
                                text.starts_with("LANG") || text.starts_with("NOTIFY_SOCKET=");
    if (!speaks_to_them) environment.emplace_back(text);
  }
  return environment;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& each : strings) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string end_of(const std::filesystem::path& log) {
  constexpr std::size_t kMostBytes = 4'000;
  std::ifstream in(log, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  if (text.size() <= kMostBytes) return text;
  return "..." + text.substr(text.size() - kMostBytes);
}

// What /proc/<id>/stat says after the name, or nothing if there is no such process.
struct ProcessState {
  char letter = 'X';
  pid_t parent = 0;
};

std::optional<ProcessState> state_of(const std::string& id) {
  std::ifstream in("/proc/" + id + "/stat");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 1));
  ProcessState state;
  rest >> state.letter >> state.parent;
  return state;
}

// The stopped process reaps nobody, so these numbers stay with their processes.
std::vector<FileDescriptor> children_of_stopped(pid_t parent) {
  std::vector<FileDescriptor> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::optional<ProcessState> state = state_of(name);
    if (!state || state->parent != parent) continue;
    FileDescriptor child(static_cast<int>(::syscall(SYS_pidfd_open, std::stoi(name), 0)));
    if (child) children.push_back(std::move(child));
  }
  return children;
}

void await_end(const FileDescriptor& process) {
  pollfd watched{.fd = process.get(), .events = POLLIN, .revents = 0};
  while (::poll(&watched, 1, -1) < 0 && errno == EINTR) {
  }
}

}  // namespace

// All that the child needs, made before the fork: after it there is no memory to be had, since
// another thread may have been in the middle of it.
struct ServerProcess::Launch {
  explicit Launch(const ServerCommand& command)
      : parent(::getpid()),
        account(account_of_servers()),
        arguments(command.arguments),
        environment(environment_of_servers()),
        signal_when_orphaned(command.signal_when_orphaned),
        log(::open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
    if (!log) throw std::runtime_error("cannot write the log " + command.log.string());
    if (::access(arguments.front().c_str(), X_OK) != 0) {
      throw std::runtime_error("cannot run " + arguments.front() + ": " + std::strerror(errno));
    }
  }

  // In the child.
  [[noreturn]] void execute() const;

  pid_t parent;
  std::optional<Account> account;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  int signal_when_orphaned;
  FileDescriptor log;
  std::vector<char*> argument_pointers = pointers_to(arguments);
  std::vector<char*> environment_pointers = pointers_to(environment);
};

void ServerProcess::Launch::execute() const {
  ::setsid();
  ::dup2(log.get(), STDOUT_FILENO);
  ::dup2(log.get(), STDERR_FILENO);
  ::close(STDIN_FILENO);
  ::open("/dev/null", O_RDONLY);
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  if (::chdir("/") != 0) ::_exit(126);
  // Straight to the kernel: the library would ask threads to follow that are not in this process.
  if (account &&
      (::syscall(SYS_setgroups, 0, nullptr) != 0 || ::syscall(SYS_setgid, account->group) != 0 ||
       ::syscall(SYS_setuid, account->user) != 0)) {
    ::_exit(126);
  }
  // Another user would lose this signal, so it comes last.
  ::prctl(PR_SET_PDEATHSIG, signal_when_orphaned);
  if (::getppid() != parent) ::_exit(126);

  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(argument_pointers.front(), argument_pointers.data(), environment_pointers.data());
  ::_exit(127);
}

ServerProcess::ServerProcess(ServerCommand command) : command_(std::move(command)) {
  const Launch launch(command_);
  thread_ = std::thread([this, &launch] { run(launch); });
  pid_t id = 0;
  {
    const MutexLock lock(mutex_);
    while (id_ == 0) changed_.wait(mutex_);
    id = id_;
  }
  if (id > 0) return;
  thread_.join();
  throw std::runtime_error("cannot make a process for " + command_.arguments.front());
}

ServerProcess::~ServerProcess() {
  send(SIGKILL);
  thread_.join();
}

void ServerProcess::run(const Launch& launch) {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);  // they are for the test's own threads
  const pid_t id = ::fork();
  if (id == 0) launch.execute();
  {
    const MutexLock lock(mutex_);
    id_ = id;
    changed_.notify_all();  // `launch` is gone from here on
  }
  if (id < 0) return;

  siginfo_t ignored{};
  while (::waitid(P_PID, static_cast<id_t>(id), &ignored, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  const MutexLock lock(mutex_);  // or send() could reach whoever has the number next
  ::waitpid(id, &status_, 0);
  ended_ = true;
  changed_.notify_all();
}

pid_t ServerProcess::id() const {
  const MutexLock lock(mutex_);
  return id_;
}

void ServerProcess::send(int signal) {
  const MutexLock lock(mutex_);
  if (!ended_) ::kill(id_, signal);
}

bool ServerProcess::wait_until_ended(Duration at_most) {
  const Time deadline = std::chrono::steady_clock::now() + at_most;
  const MutexLock lock(mutex_);
  while (!ended_ && changed_.wait_until(mutex_, deadline)) {
  }
  return ended_;
}

void ServerProcess::kill_with_children() {
  const pid_t parent = id();
  send(SIGSTOP);  // so that there are no new ones
  while (!wait_until_ended(0ms)) {
    const std::optional<ProcessState> state = state_of(std::to_string(parent));
    if (state && state->letter == 'T') break;
    wait_until_ended(1ms);
  }
  const std::vector<FileDescriptor> children = children_of_stopped(parent);
  send(SIGKILL);
  for (const FileDescriptor& child : children) {
    ::syscall(SYS_pidfd_send_signal, child.get(), SIGKILL, nullptr, 0);
  }
  for (const FileDescriptor& child : children) await_end(child);
  while (!wait_until_ended(1h)) {
  }
}

bool ServerProcess::succeeded() const {
  const MutexLock lock(mutex_);
  return ended_ && WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
}

std::string ServerProcess::report() const {
  std::string text;
  for (const std::string& argument : command_.arguments) text += argument + " ";
  const MutexLock lock(mutex_);
  if (!ended_) {
    text += "is still running";
  } else if (WIFSIGNALED(status_)) {
    text += "was ended by signal " + std::to_string(WTERMSIG(status_));
  } else {
    text += "exited with " + std::to_string(WEXITSTATUS(status_));
  }
  return text + "; its log ends with\n" + end_of(command_.log);
}

void give_to_servers(const std::filesystem::path& path) {
  const std::optional<Account> account = account_of_servers();
  if (account && ::chown(path.c_str(), account->user, account->group) != 0) {
    throw std::runtime_error("cannot give " + path.string() + " away: " + std::strerror(errno));
  }
}

}  // namespace muster::testing
