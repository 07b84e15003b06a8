// spawner.cpp: the pool's end of the socket to its spawner.
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <muster/base/assert.hpp>
#include <muster/processes/spawner.hpp>

#include "processes/packet_socket.hpp"
#include "processes/spawn_frames.hpp"

namespace muster {
namespace {

constexpr std::chrono::seconds kEndTimeout(5);

static_assert(kMaxLaunchBytes <= kMaxPacketBytes, "a launch that is valid can be sent");

// How a spawner is to find its process, as posix_spawn() wants it.
class SpawnSettings {
 public:
  explicit SpawnSettings(int socket) {
    int error = posix_spawn_file_actions_init(&actions_);
    if (error == 0) error = posix_spawnattr_init(&attributes_);
    const auto then = [&error](int result) {
      if (error == 0) error = result;
    };
    then(posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0));
    then(posix_spawn_file_actions_adddup2(&actions_, socket, kSpawnerSocket));
    then(posix_spawn_file_actions_addclosefrom_np(&actions_, kSpawnerSocket + 1));
    // Nothing that the pool's process ignores is ignored, and no signal ends the spawner but
    // SIGKILL. In a group of its own it gets no Ctrl-C, which is for the pool to answer.
    sigset_t all;
    sigfillset(&all);
    then(posix_spawnattr_setsigdefault(&attributes_, &all));
    then(posix_spawnattr_setsigmask(&attributes_, &all));
    then(posix_spawnattr_setpgroup(&attributes_, 0));
    then(posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP));
    if (error != 0) throw SystemFailure("prepare to start a spawner", error, "");
  }
  ~SpawnSettings() {
    (void)posix_spawn_file_actions_destroy(&actions_);
    (void)posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

std::string attempt_text(const SpawnerOptions& options) {
  const std::string program =
      options.program.empty() ? "this program" : '"' + options.program + '"';
  return "start " + program + " as a spawner";
}

ProcessHandle start(const SpawnerOptions& options, int socket) {
  std::string program = options.program.empty() ? "/proc/self/exe" : options.program;
  std::string mark = std::string(kSpawnerVariable) + '=' + std::to_string(getpid());
  const std::array<char*, 2> arguments = {program.data(), nullptr};
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(mark.data());
  environment.push_back(nullptr);
  const SpawnSettings settings(socket);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), settings.actions(), settings.attributes(),
                                arguments.data(), environment.data());
  if (error != 0) throw SystemFailure(attempt_text(options), error, "");
  ProcessHandle process = ProcessHandle::open(pid);
  if (!process) {
    const int reason = errno;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, nullptr, 0);
    throw SystemFailure("watch a spawner", reason, "");
  }
  return process;
}

// False if the time has passed first.
bool await_readable(int descriptor, Duration timeout) {
  const Time deadline = later(real_clock().now(), timeout);
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - real_clock().now());
    pollfd wait{.fd = descriptor, .events = POLLIN, .revents = 0};
    const auto limit = std::max<std::chrono::milliseconds::rep>(left.count(), 0);
    const int count = poll(&wait, 1, static_cast<int>(std::min<decltype(limit)>(limit, 60'000)));
    if (count > 0) return true;
    if (limit == 0) return false;
  }
}

// Two ends, both beyond the standard descriptors and the number where the spawner finds its own.
std::pair<FileDescriptor, FileDescriptor> make_sockets() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw SystemFailure("make a socket to a spawner", errno, "");
  }
  const FileDescriptor first(ends[0]);
  const FileDescriptor second(ends[1]);
  FileDescriptor ours(fcntl(first.get(), F_DUPFD_CLOEXEC, kSpawnerSocket + 1));
  FileDescriptor theirs(fcntl(second.get(), F_DUPFD_CLOEXEC, kSpawnerSocket + 1));
  if (!ours || !theirs) throw SystemFailure("make a socket to a spawner", errno, "");
  return {std::move(ours), std::move(theirs)};
}

}  // namespace

Spawner::Spawner(const SpawnerOptions& options) : owner_(getpid()) {
  if (options.start_timeout <= Duration::zero()) {
    throw InvalidArgument({"start_timeout", std::to_string(options.start_timeout.count()) + " ns",
                           "must be more than 0"});
  }
  // A program that does not call spawner_main() would start itself over and over.
  if (getenv(kSpawnerVariable) != nullptr) {
    throw SystemFailure("start a spawner from a spawner", EPERM,
                        "call muster::spawner_main() first in main()");
  }
  auto [ours, theirs] = make_sockets();
  process_ = start(options, theirs.get());
  socket_ = std::move(ours);
  theirs.reset();
  try {
    await_hello(options);
  } catch (...) {
    (void)process_.send_signal(SIGKILL);
    end();
    throw;
  }
}

Spawner::~Spawner() {
  end();
}

void Spawner::await_hello(const SpawnerOptions& options) {
  constexpr char kAdvice[] = "call muster::spawner_main() first in its main()";
  if (!await_readable(socket_.get(), options.start_timeout)) {
    throw SystemFailure(attempt_text(options), ETIMEDOUT, kAdvice);
  }
  Packet packet;
  const PacketOutcome outcome = receive_packet(socket_.get(), packet);
  const auto report = decode_report(packet.bytes);
  if (outcome == PacketOutcome::closed) {
    throw SystemFailure(attempt_text(options), ECONNRESET, kAdvice);
  }
  if (!report || report->kind != ReportKind::hello) {
    throw SystemFailure(attempt_text(options), EPROTO, "build it with the same muster");
  }
}

void Spawner::end() noexcept {
  socket_.reset();
  if (getpid() != owner_) return;
  if (!await_readable(process_.descriptor(), kEndTimeout)) {
    (void)process_.send_signal(SIGKILL);
    (void)await_readable(process_.descriptor(), kEndTimeout);
  }
  (void)process_.try_reap();  // nothing if a wait() in this process was faster
}

LaunchOutcome Spawner::launch(std::uint64_t worker, const LaunchOptions& options) {
  MUSTER_ASSERT(worker < std::uint64_t{1} << 63);
  if (auto bad = validate(options); !bad.empty()) throw InvalidArgument(std::move(bad));
  if (is_lost_) return LaunchOutcome::lost;
  switch (send_packet(socket_.get(), encode_launch(worker, options), descriptors_of(options))) {
    case PacketOutcome::done:
      return LaunchOutcome::sent;
    case PacketOutcome::would_block:
      return LaunchOutcome::full;
    case PacketOutcome::closed:
      break;
  }
  return LaunchOutcome::lost;
}

std::optional<SpawnerEvent> Spawner::try_receive() {
  if (is_lost_) return std::nullopt;
  Packet packet;
  const PacketOutcome outcome = receive_packet(socket_.get(), packet);
  if (outcome == PacketOutcome::would_block) return std::nullopt;
  auto report = decode_report(packet.bytes);
  const bool is_cut = report && report->kind == ReportKind::started && packet.descriptors.empty();
  if (outcome == PacketOutcome::closed || !report || is_cut) {
    // What cannot be understood, or lost its pidfd since we may have no more descriptors, leaves a
    // worker that we know nothing of: better none at all.
    is_lost_ = true;
    (void)process_.send_signal(SIGKILL);
    return SpawnerLost{};
  }
  switch (report->kind) {
    case ReportKind::started:
      return WorkerStarted{report->worker,
                           ProcessHandle(report->pid, std::move(packet.descriptors.front()))};
    case ReportKind::refused:
      return WorkerRefused{report->worker, std::move(report->text), report->error_number};
    case ReportKind::ended:
      return WorkerEnded{report->worker, report->end};
    case ReportKind::hello:
      break;
  }
  return std::nullopt;
}

}  // namespace muster
