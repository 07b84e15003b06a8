// spawner_test.cpp: workers are started, given what they are to have, and reaped.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <set>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/system_files.hpp>
#include <muster/error.hpp>

#include "process_testing.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

// What a worker says until it ends, given its options but for the output.
std::string output_of(Spawner& spawner, LaunchOptions options) {
  Pipe pipe = make_pipe();
  options.standard_output = pipe.to_write.get();
  const ProcessHandle process = start(spawner, 1, options);
  pipe.to_write.reset();
  std::string output = read_to_end(pipe.to_read);
  (void)receive<WorkerEnded>(spawner);
  return output;
}

bool has_line(const std::string& text, const std::string& line) {
  return ('\n' + text).find('\n' + line + '\n') != std::string::npos;
}

TEST(Spawner, StartsAWorkerAndTellsOfItsEnd) {
  Spawner spawner({});
  const ProcessHandle process = start(spawner, 42, test_worker({"exit", "7"}));
  EXPECT_GT(process.pid(), 0);
  const auto ended = receive<WorkerEnded>(spawner);
  EXPECT_EQ(ended.worker, 42U);
  EXPECT_EQ(ended.end, (ProcessEnd{.by_signal = false, .number = 7}));
  EXPECT_TRUE(process.is_dead());
  EXPECT_FALSE(process.send_signal(SIGKILL)) << "it is reaped, so there is nothing to kill";
  EXPECT_EQ(spawner.try_receive().has_value(), false);
}

TEST(Spawner, IsTheWorkersParentSoThatNobodyElseCanTakeItsEnd) {
  Spawner spawner({});
  const ProcessHandle process = start(spawner, 1, test_worker({"wait"}));
  EXPECT_EQ(process.try_reap(), std::nullopt);
  siginfo_t info{};
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(process.pid()), &info, WEXITED | WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  process.send_signal(SIGTERM);
  EXPECT_EQ(receive<WorkerEnded>(spawner).end.number, SIGTERM);
}

TEST(Spawner, TellsWhoAskedThatAProgramDoesNotExist) {
  Spawner spawner({});
  ASSERT_EQ(spawner.launch(5, {.program = "/no/such/program"}), LaunchOutcome::sent);
  const auto refused = receive<WorkerRefused>(spawner);
  EXPECT_EQ(refused.worker, 5U);
  EXPECT_STREQ(refused.failure().what(),
               "cannot run \"/no/such/program\" as a worker: No such file or directory (errno 2)");
  EXPECT_EQ(start(spawner, 5, test_worker({"exit", "0"})).pid() > 0, true) << "it lives on";
}

TEST(Spawner, TellsWhatCouldNotBeDone) {
  Spawner spawner({});
  const auto refusal = [&spawner](const LaunchOptions& options) {
    EXPECT_EQ(spawner.launch(1, options), LaunchOutcome::sent);
    return receive<WorkerRefused>(spawner);
  };
  EXPECT_EQ(refusal({.program = "/etc/passwd"}).error_number, EACCES);
  const auto missing = refusal({.program = TEST_WORKER, .working_directory = "/no/such"});
  EXPECT_EQ(missing.attempt, "enter a worker's directory \"/no/such\"");
  EXPECT_EQ(missing.error_number, ENOENT);
  const ProcessHandle first = start(spawner, 1, test_worker({"wait"}));
  EXPECT_EQ(refusal(test_worker({"wait"})).error_number, EEXIST);
}

TEST(Spawner, FindsProgramsByTheirNames) {
  Spawner spawner({});
  EXPECT_EQ(output_of(spawner, {.program = "echo", .arguments = {"hello", "you"}}), "hello you\n");
}

TEST(Spawner, GivesAWorkerWhatItIsToHaveAndNothingElse) {
  (void)std::signal(SIGPIPE, SIG_IGN);
  Spawner spawner({});
  Pipe input = make_pipe();
  ASSERT_EQ(write(input.to_write.get(), "some\n", 5), 5);
  input.to_write.reset();
  LaunchOptions options = test_worker({"show"});
  options.environment = {{"COLOUR", "blue = sky"}, {"PATH", "/nowhere"}};
  options.working_directory = "/usr";
  options.standard_input = input.to_read.get();
  options.descriptors = {input.to_read.get(), input.to_read.get()};
  options.limits = {.memory_bytes = 1 << 30, .cpu_time = 100s, .open_files = 50};
  options.nice = 3;
  options.oom_score_adj = 500;
  options.no_new_privileges = true;
  const std::string output = output_of(spawner, options);
  (void)std::signal(SIGPIPE, SIG_DFL);
  for (const char* const line :
       {"descriptors 0 1 2 3 4", "memory 1073741824 1073741824", "cpu 100 105", "files 50 50",
        "SigBlk:\t0000000000000000", "ignored", "NoNewPrivs:\t1", "oom_score_adj 500", "group own",
        "death_signal 9", "directory /usr", "env COLOUR=blue = sky", "env PATH=/nowhere",
        "input some", "end"}) {
    EXPECT_TRUE(has_line(output, line)) << line << "\nis not in\n" << output;
  }
  const int niceness = std::min(getpriority(PRIO_PROCESS, 0) + 3, 19);
  EXPECT_TRUE(has_line(output, "nice " + std::to_string(niceness))) << output;
  EXPECT_EQ(output.find("MUSTER_SPAWNER"), std::string::npos);
}

TEST(Spawner, LeavesAWorkerWhatNothingWasSaidAbout) {
  ASSERT_EQ(setenv("MUSTER_TEST_INHERITED", "yes", 1), 0);
  Spawner spawner({});
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const std::string output = output_of(spawner, test_worker({"show"}));
  EXPECT_TRUE(has_line(output, "descriptors 0 1 2")) << output;
  EXPECT_TRUE(has_line(output, "env MUSTER_TEST_INHERITED=yes")) << output;
  EXPECT_TRUE(has_line(output, "NoNewPrivs:\t0")) << output;
  EXPECT_TRUE(has_line(
      output, "files " + std::to_string(files.rlim_cur) + ' ' + std::to_string(files.rlim_max)))
      << output;
  EXPECT_EQ(output.find("input"), std::string::npos);
  LaunchOptions bare = test_worker({"show"});
  bare.inherit_environment = false;
  bare.environment = {{"ONLY", "this"}};
  const std::string alone = output_of(spawner, bare);
  EXPECT_TRUE(has_line(alone, "env ONLY=this"));
  EXPECT_EQ(alone.find("INHERITED"), std::string::npos);
}

TEST(Spawner, HandsOverDescriptorsInTheirOrder) {
  Spawner spawner({});
  Pipe first = make_pipe();
  Pipe second = make_pipe();
  LaunchOptions options = test_worker({"write", "to the first"});
  options.descriptors = {first.to_write.get(), second.to_write.get()};
  (void)start(spawner, 1, options);
  first.to_write.reset();
  second.to_write.reset();
  EXPECT_EQ(read_to_end(first.to_read), "to the first");
  EXPECT_EQ(read_to_end(second.to_read), "");
}

TEST(Spawner, RunsThisProgramIfNoneIsNamed) {
  Spawner spawner({});
  const std::string output = output_of(spawner, {.arguments = {"--gtest_list_tests"}});
  EXPECT_NE(output.find("RunsThisProgramIfNoneIsNamed"), std::string::npos);
}

TEST(Spawner, ManyWorkersLeaveNoZombieAndNoDescriptor) {
  Spawner spawner({});
  const std::string pid = std::to_string(spawner.process().pid());
  const std::size_t ours = count_descriptors("self");
  const std::size_t theirs = count_descriptors(pid);
  std::uint64_t ended = 0;
  const auto take = [&ended](const SpawnerEvent& event) {
    ended += std::holds_alternative<WorkerEnded>(event) ? 1 : 0;
  };
  for (std::uint64_t worker = 0; worker < MANY_SPAWNS; ++worker) {
    while (spawner.launch(worker, test_worker({"exit", "0"})) == LaunchOutcome::full) {
      take(receive(spawner));
    }
    while (const auto event = spawner.try_receive()) take(*event);
  }
  while (ended < MANY_SPAWNS) take(receive(spawner));
  EXPECT_EQ(count_descriptors("self"), ours);
  EXPECT_EQ(count_descriptors(pid), theirs);
  EXPECT_EQ(RealFiles().read("/proc/" + pid + "/task/" + pid + "/children"), "");
}

TEST(Spawner, SaysThatItIsFullInsteadOfWaiting) {
  Spawner spawner({});
  LaunchOptions large = {.program = "/no/such/program"};
  large.arguments.assign(1, std::string(60'000, 'x'));
  std::uint64_t sent = 0;
  while (spawner.launch(sent, large) == LaunchOutcome::sent) ASSERT_LT(++sent, 100'000U);
  std::set<std::uint64_t> refused;
  while (refused.size() < sent) refused.insert(receive<WorkerRefused>(spawner).worker);
  EXPECT_EQ(spawner.launch(sent, large), LaunchOutcome::sent);
}

TEST(Spawner, RefusesOptionsThatCannotBeRight) {
  Spawner spawner({});
  const auto fields = [&spawner](const LaunchOptions& options) {
    std::vector<std::string> names;
    try {
      (void)spawner.launch(1, options);
    } catch (const InvalidArgument& error) {
      for (const BadField& bad : error.bad_fields()) names.push_back(bad.field);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(fields({.program = std::string("a\0b", 3)}), Names{"program"});
  EXPECT_EQ(fields({.environment = {{"A=B", ""}}}), Names{"environment"});
  EXPECT_EQ(fields({.standard_output = 9999}), Names{"standard_output"});
  EXPECT_EQ(fields({.descriptors = {-1}}), Names{"descriptors"});
  EXPECT_EQ(fields({.descriptors = std::vector<int>(33, 0)}), Names{"descriptors"});
  EXPECT_EQ(fields({.limits = {.memory_bytes = 0, .cpu_time = 0s, .open_files = 2}}),
            (Names{"memory_bytes", "cpu_time", "open_files"}));
  EXPECT_EQ(fields({.nice = 40, .oom_score_adj = 1001}), (Names{"nice", "oom_score_adj"}));
  EXPECT_EQ(fields({.arguments = {std::string(70'000, 'x')}}), Names{"arguments and environment"});
}

TEST(Spawner, AProgramThatDoesNotBecomeASpawnerIsToldApart) {
  const auto message = [](const SpawnerOptions& options) -> std::string {
    try {
      const Spawner spawner(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(message({.program = "/no/such/program"}),
            "cannot start \"/no/such/program\" as a spawner: No such file or directory (errno 2)");
  EXPECT_EQ(message({.program = "/bin/true"}),
            "cannot start \"/bin/true\" as a spawner: Connection reset by peer (errno 104); "
            "call muster::spawner_main() first in its main()");
  EXPECT_EQ(message({.program = TEST_WORKER, .start_timeout = 20ms}),
            "cannot start \"" TEST_WORKER
            "\" as a spawner: Connection timed out (errno 110); "
            "call muster::spawner_main() first in its main()");
  EXPECT_NE(message({.start_timeout = 0s}).find("start_timeout"), std::string::npos);
  ASSERT_EQ(setenv("MUSTER_SPAWNER", "1", 1), 0);
  EXPECT_NE(message({}).find("cannot start a spawner from a spawner"), std::string::npos);
  ASSERT_EQ(unsetenv("MUSTER_SPAWNER"), 0);
}

}  // namespace
}  // namespace muster
