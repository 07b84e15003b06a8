// spawner_loop.cpp: waits for launches, for deaths of workers and for the end of the pool.
#include "processes/spawner_loop.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <span>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <variant>

#include <muster/error.hpp>

#include "processes/launch.hpp"
#include "processes/packet_socket.hpp"

namespace muster {
namespace {

// What an event of epoll is about: these, or the number of a worker plus kFirstWorker.
constexpr std::uint64_t kSocket = 0;
constexpr std::uint64_t kPool = 1;
constexpr std::uint64_t kFirstWorker = 2;

bool watch(const FileDescriptor& events, int descriptor, std::uint64_t subject) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = subject;
  return epoll_ctl(events.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

// There is one descriptor per worker: the usual soft limit would do for a thousand.
rlimit raise_open_files() {
  rlimit before{};
  (void)getrlimit(RLIMIT_NOFILE, &before);
  rlimit raised = before;
  raised.rlim_cur = raised.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &raised);
  return before;
}

// Its own children are in its group. The dead worker still holds the group's number, so that it
// cannot be a stranger's.
std::optional<ProcessEnd> reap(const ProcessHandle& worker) {
  (void)kill(-worker.pid(), SIGKILL);
  siginfo_t info{};
  int result = 0;
  do {
    result = waitid(P_PIDFD, static_cast<id_t>(worker.descriptor()), &info, WEXITED);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return std::nullopt;
  return process_end(info.si_code, info.si_status);
}

}  // namespace

SpawnerLoop::SpawnerLoop(FileDescriptor socket, pid_t pool)
    : socket_(std::move(socket)),
      pool_(ProcessHandle::open(pool)),
      events_(epoll_create1(EPOLL_CLOEXEC)),
      open_files_(raise_open_files()) {
  if (!events_ || !watch(events_, socket_.get(), kSocket)) {
    throw SystemFailure("wait for launches", errno, "");
  }
  // The socket ends with the pool unless a child of the pool's has kept the other end.
  if (pool_ && !watch(events_, pool_.descriptor(), kPool)) {
    throw SystemFailure("watch the pool", errno, "");
  }
}

void SpawnerLoop::run() {
  bool goes_on = !pool_.is_dead() && tell({.kind = ReportKind::hello, .pid = getpid()});
  while (goes_on) {
    std::array<epoll_event, 64> happened{};
    const int count = epoll_wait(events_.get(), happened.data(), happened.size(), -1);
    if (count < 0 && errno != EINTR) break;
    for (int i = 0; i < count && goes_on; ++i) {
      const std::uint64_t subject = happened[static_cast<std::size_t>(i)].data.u64;
      if (subject == kPool) {
        goes_on = false;
      } else if (subject == kSocket) {
        goes_on = take_launch();
      } else {
        goes_on = note_end(subject - kFirstWorker);
      }
    }
  }
  end_all();
}

bool SpawnerLoop::take_launch() {
  Packet packet;
  const PacketOutcome outcome = receive_packet(socket_.get(), packet);
  if (outcome == PacketOutcome::would_block) return true;
  if (outcome == PacketOutcome::closed) return false;
  if (packet.is_short) {
    return tell({.kind = ReportKind::refused,
                 .worker = worker_of_launch(packet.bytes),
                 .error_number = EMFILE,
                 .text = "receive a worker's descriptors"});
  }
  if (const auto launch = decode_launch(packet.bytes, packet.descriptors)) return start(*launch);
  return tell({.kind = ReportKind::refused,
               .worker = worker_of_launch(packet.bytes),
               .error_number = EPROTO,
               .text = "read what to launch"});
}

bool SpawnerLoop::start(const Launch& launch) {
  Report refusal{.kind = ReportKind::refused, .worker = launch.worker};
  if (workers_.contains(launch.worker)) {
    refusal.error_number = EEXIST;
    refusal.text = "start worker " + std::to_string(launch.worker) + " twice";
    return tell(refusal);
  }
  auto result = muster::launch(launch.options, open_files_);
  if (const auto* const failure = std::get_if<LaunchFailure>(&result)) {
    refusal.error_number = failure->error_number;
    refusal.text = failure->attempt;
    return tell(refusal);
  }
  const ProcessHandle& worker =
      workers_.emplace(launch.worker, std::move(std::get<ProcessHandle>(result))).first->second;
  if (!watch(events_, worker.descriptor(), launch.worker + kFirstWorker)) {
    refusal.error_number = errno;
    refusal.text = "watch a worker";
    (void)worker.send_signal(SIGKILL);
    (void)reap(worker);
    workers_.erase(launch.worker);
    return tell(refusal);
  }
  return tell({.kind = ReportKind::started, .worker = launch.worker, .pid = worker.pid()},
              worker.descriptor());
}

bool SpawnerLoop::note_end(std::uint64_t worker) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return true;
  // Closing it would not do: the pool has a copy, for which epoll would go on telling.
  (void)epoll_ctl(events_.get(), EPOLL_CTL_DEL, found->second.descriptor(), nullptr);
  const auto end = reap(found->second);
  const pid_t pid = found->second.pid();
  workers_.erase(found);
  return tell(
      {.kind = ReportKind::ended, .worker = worker, .pid = pid, .end = end.value_or(ProcessEnd())});
}

bool SpawnerLoop::tell(const Report& report, int descriptor) {
  const std::string bytes = encode_report(report);
  const std::span<const int> descriptors(&descriptor, descriptor == -1 ? 0U : 1U);
  for (;;) {
    const PacketOutcome outcome = send_packet(socket_.get(), bytes, descriptors);
    if (outcome != PacketOutcome::would_block) return outcome == PacketOutcome::done;
    std::array<pollfd, 2> waits{{{.fd = socket_.get(), .events = POLLOUT, .revents = 0},
                                 {.fd = pool_.descriptor(), .events = POLLIN, .revents = 0}}};
    (void)poll(waits.data(), waits.size(), -1);
    if (waits[1].revents != 0) return false;
  }
}

void SpawnerLoop::end_all() noexcept {
  for (const auto& [number, worker] : workers_) (void)worker.send_signal(SIGKILL);
  for (const auto& [number, worker] : workers_) (void)reap(worker);
  workers_.clear();
}

}  // namespace muster
