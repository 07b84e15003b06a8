// worker_end_test.cpp: processes that really die, and who dies with whom.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <spawn.h>
#include <sstream>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/system_files.hpp>
#include <muster/processes/exit_status.hpp>

#include "process_testing.hpp"

namespace muster {
namespace {

constexpr WorkerPast kAtWork{.was_ready = true};

TEST(WorkerEnd, IsToldAsItWas) {
  const struct {
    std::vector<std::string> arguments;
    WorkerPast past;
    ExitKind kind;
    int number;
  } cases[] = {
      {{"exit", "7"}, kAtWork, ExitKind::exit_code, 7},
      {{"exit", "0"}, kAtWork, ExitKind::exit_code, 0},
      {{"exit", "85"}, kAtWork, ExitKind::recycled, 85},
      {{"exit", "3"}, {}, ExitKind::never_ready, 3},
      {{"signal", std::to_string(SIGSEGV)}, kAtWork, ExitKind::signal, SIGSEGV},
      {{"signal", std::to_string(SIGSEGV)}, {}, ExitKind::never_ready, SIGSEGV},
      {{"abort"}, kAtWork, ExitKind::signal, SIGABRT},
  };
  Spawner spawner({});
  for (const auto& [arguments, past, kind, number] : cases) {
    (void)start(spawner, 1, test_worker(arguments));
    const ExitStatus status = classify(receive<WorkerEnded>(spawner).end, past);
    EXPECT_EQ(to_string(status.kind), to_string(kind)) << arguments.front();
    EXPECT_EQ(status.end->number, number) << arguments.front();
  }
}

TEST(WorkerEnd, OfOneThatMayHaveNoMoreMemoryIsItsOwn) {
  Spawner spawner({});
  const Pipe errors = make_pipe();
  LaunchOptions options = test_worker({"memory"});
  options.limits.memory_bytes = 64 << 20;
  options.standard_error = errors.to_write.get();
  (void)start(spawner, 1, options);
  const ExitStatus status = classify(receive<WorkerEnded>(spawner).end, kAtWork);
  EXPECT_EQ(describe(status).substr(0, 28), "killed by signal 6 (SIGABRT)") << "of bad_alloc";
}

TEST(WorkerEnd, BySigkillFromOutsideIsTakenForALackOfMemory) {
  Spawner spawner({});
  const ProcessHandle process = start(spawner, 1, test_worker({"wait"}));
  ASSERT_EQ(kill(process.pid(), SIGKILL), 0);
  const ExitStatus status = classify(receive<WorkerEnded>(spawner).end, kAtWork);
  EXPECT_EQ(status.kind, ExitKind::out_of_memory);
}

TEST(WorkerEnd, OfOneThatTookTooLongAndWouldNotListenIsATimeout) {
  Spawner spawner({});
  Pipe output = make_pipe();
  LaunchOptions options = test_worker({"stubborn"});
  options.standard_output = output.to_write.get();
  const ProcessHandle process = start(spawner, 1, options);
  EXPECT_EQ(read_lines(output.to_read, 1), "ready\n");
  EXPECT_TRUE(process.send_signal(SIGTERM));
  EXPECT_TRUE(process.send_signal(SIGKILL));
  const WorkerPast past{.was_ready = true, .was_killed = true, .reason = EndReason::timeout};
  const ExitStatus status = classify(receive<WorkerEnded>(spawner).end, past);
  EXPECT_EQ(describe(status), "took too long: killed by signal 9 (SIGKILL)");
}

TEST(WorkerEnd, TakesItsOwnChildrenAlong) {
  Spawner spawner({});
  Pipe output = make_pipe();
  LaunchOptions options = test_worker({"leave-child"});
  options.standard_output = output.to_write.get();
  (void)start(spawner, 1, options);
  output.to_write.reset();
  (void)receive<WorkerEnded>(spawner);
  (void)read_to_end(output.to_read);  // ends when the child is dead too
}

TEST(WorkerEnd, ComesWithThatOfTheSpawnersOwner) {
  Pipe output = make_pipe();
  pid_t spawner_pid = 0;
  {
    Spawner spawner({});
    spawner_pid = spawner.process().pid();
    LaunchOptions options = test_worker({"children"});
    options.standard_output = output.to_write.get();
    for (std::uint64_t worker = 0; worker < 5; ++worker) (void)start(spawner, worker, options);
    output.to_write.reset();
    EXPECT_EQ(read_lines(output.to_read, 5).size(), 5 * std::string("ready\n").size());
  }
  EXPECT_EQ(read_to_end(output.to_read), "") << "five workers and their children are dead";
  EXPECT_EQ(RealFiles().read("/proc/" + std::to_string(spawner_pid) + "/status"), std::nullopt)
      << "the spawner is reaped";
}

TEST(SpawnerDeath, IsNoticedAndLeavesNoWorker) {
  Spawner spawner({});
  std::vector<ProcessHandle> workers;
  for (std::uint64_t worker = 0; worker < 5; ++worker) {
    workers.push_back(start(spawner, worker, test_worker({"wait"})));
  }
  ASSERT_TRUE(spawner.process().send_signal(SIGKILL));
  (void)receive<SpawnerLost>(spawner);
  for (const ProcessHandle& worker : workers) await_readable(worker.descriptor());
  EXPECT_EQ(spawner.launch(9, test_worker({"wait"})), LaunchOutcome::lost);
  EXPECT_FALSE(spawner.try_receive()) << "it is told once";
  Spawner next({});
  EXPECT_FALSE(start(next, 0, test_worker({"wait"})).is_dead());
}

TEST(SpawnerDeath, LeavesNoZombieToAPoolThatOrphansAreLeftTo) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  {
    const Spawner spawner({});
    Spawner other({});
    const ProcessHandle worker = start(other, 1, test_worker({"wait"}));
    other.process().send_signal(SIGKILL);
    await_readable(worker.descriptor());
    EXPECT_EQ(worker.try_reap(), (ProcessEnd{.by_signal = true, .number = SIGKILL}));
    EXPECT_EQ(worker.try_reap(), std::nullopt);
    EXPECT_FALSE(worker.send_signal(SIGKILL)) << "it is gone for good";
    EXPECT_FALSE(spawner.process().is_dead());
  }
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

TEST(SpawnerDeath, DoesNotHideTheEndsThatItHadSeen) {
  Spawner spawner({});
  (void)start(spawner, 1, test_worker({"exit", "7"}));
  await_readable(spawner.descriptor());
  ASSERT_EQ(spawner.launch(2, test_worker({"wait"})), LaunchOutcome::sent);
  spawner.process().send_signal(SIGKILL);
  await_readable(spawner.process().descriptor());
  EXPECT_EQ(receive<WorkerEnded>(spawner).end.number, 7);
  while (!std::holds_alternative<SpawnerLost>(receive(spawner))) {
  }
}

// What a process shares with others, each as "DEVICE INODE PATH" of the kernel's list.
std::set<std::string> shared_mappings(const std::string& process) {
  std::set<std::string> all;
  std::ifstream maps("/proc/" + process + "/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string range, rights, offset, device, inode, path;
    words >> range >> rights >> offset >> device >> inode;
    std::getline(words >> std::ws, path);
    if (rights.ends_with('s')) all.insert(device + ' ' + inode + ' ' + path);
  }
  return all;
}

std::vector<std::string> who_maps(const std::set<std::string>& mappings) {
  std::vector<std::string> processes;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::set<std::string> theirs = shared_mappings(name);
    const bool has_one = std::ranges::any_of(
        theirs, [&](const std::string& mapping) { return mappings.contains(mapping); });
    if (has_one) processes.push_back(name);
  }
  return processes;
}

// A process of its own with a pool in it. Its output is shared by all that it starts, so that the
// pipe ends when the last of them is dead.
class PoolProcess {
 public:
  explicit PoolProcess(std::vector<std::string> arguments) {
    Pipe input = make_pipe();
    input_ = std::move(input.to_write);
    Pipe output = make_pipe();
    output_ = std::move(output.to_read);
    arguments.insert(arguments.begin(), TEST_POOL);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.to_read.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output.to_write.get(), STDOUT_FILENO);
    pid_t pid = -1;
    const int error = posix_spawn(&pid, TEST_POOL, &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::runtime_error("no pool");
    process_ = ProcessHandle::open(pid);
    if (read_lines(output_, 1) != "ready\n") throw std::runtime_error("the pool is not ready");
  }

  void send_signal(int number) { process_.send_signal(number); }
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  std::string next_line() { return read_lines(output_, 1); }

  void kill_hard() {
    process_.send_signal(SIGKILL);
    await_readable(process_.descriptor());
    (void)process_.try_reap();
  }

  // What is said until none is left.
  std::string rest() { return read_to_end(output_); }

 private:
  FileDescriptor input_;
  FileDescriptor output_;
  ProcessHandle process_;
};

TEST(PoolDeath, ByKillMinus9LeavesNoProcess) {
  PoolProcess pool({"10"});
  pool.kill_hard();
  EXPECT_EQ(pool.rest(), "");
}

TEST(PoolDeath, InTheMidstOfTasksLeavesNoProcess) {
  for (int round = 0; round < 5; ++round) {
    PoolProcess pool({"tasks"});
    pool.kill_hard();
    EXPECT_EQ(pool.rest(), "");
  }
}

// All that they share is anonymous, and goes with the last who has it.
TEST(PoolDeath, LeavesNoSharedMemory) {
  PoolProcess pool({"tasks"});
  const std::set<std::string> shared = shared_mappings(std::to_string(pool.pid()));
  EXPECT_FALSE(shared.empty());
  for (const std::string& one : shared) {
    EXPECT_NE(one.find(" /memfd:"), std::string::npos) << one;
  }
  EXPECT_FALSE(who_maps(shared).empty()) << "the workers do, too";
  pool.kill_hard();
  EXPECT_EQ(pool.rest(), "");
  EXPECT_EQ(who_maps(shared), std::vector<std::string>{});
}

TEST(PoolDeath, AtAnyMomentLeavesNoProcess) {
  for (int round = 0; round < 10; ++round) {
    PoolProcess pool({"busy"});
    pool.kill_hard();
    EXPECT_EQ(pool.rest(), "");
  }
}

TEST(PoolDeath, IsSeenThoughAChildOfThePoolsKeepsTheSocket) {
  PoolProcess pool({"3", "leak"});
  pool.kill_hard();
  EXPECT_EQ(pool.rest(), "");
}

// It is behind by a multiple of what the task may take, and so may its worker be.
TEST(PoolStopped, ForAWhileKillsNobody) {
  for (const bool is_worker_stopped : {false, true}) {
    PoolProcess pool({"patient"});
    const pid_t worker = std::stoi(pool.next_line());
    if (is_worker_stopped) {
      ASSERT_EQ(kill(worker, SIGSTOP), 0);
    }
    pool.send_signal(SIGSTOP);
    pause_for(std::chrono::seconds(2));
    pool.send_signal(SIGCONT);
    if (is_worker_stopped) {
      pause_for(std::chrono::milliseconds(100));  // in which the pool could do wrong
      ASSERT_EQ(kill(worker, SIGCONT), 0);
    }
    EXPECT_EQ(pool.next_line(), "done\n");
  }
}

}  // namespace
}  // namespace muster
