// process_pool_launch_test.cpp: what workers are started with: environment, limits, bars, outputs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <linux/landlock.h>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <muster/base/cpu_topology.hpp>
#include <muster/base/quick_clock.hpp>
#include <muster/process_pool.hpp>

#include "process_testing.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST(ProcessPoolLaunch, AreHeldToWhatTheOptionsSay) {
  const int nice = std::min(getpriority(PRIO_PROCESS, 0) + 3, 19);
  ProcessPool pool({.workers = 1,
                    .limits = {.cpu_time = 100s, .open_files = 50},
                    .nice = 3,
                    .oom_score_adj = 700,
                    .no_new_privileges = true});
  EXPECT_EQ(pool.call<std::string>("limits").get(),
            "cpu 100, files 50, nice " + std::to_string(nice) + ", oom 700, privileges 1");
}

TEST(ProcessPoolLaunch, ThereIsOneForEachCpuUnlessToldHowMany) {
  const ProcessPool pool;
  EXPECT_EQ(pool.metrics().workers, detect_cpus().worker_count());
}

TEST(ProcessPoolLaunch, HaveTheEnvironmentDirectoryAndHooksTheyAreGiven) {
  const std::string path = testing::TempDir() + "muster_after_" + std::to_string(getpid());
  std::remove(path.c_str());
  {
    ProcessPool pool({.workers = 1,
                      .environment = {{"COLOUR", "blue"}, {"TEST_AFTER_TASK", path}},
                      .working_directory = "/usr"});
    EXPECT_EQ(pool.call<std::string>("getenv", std::string("COLOUR")).get(), "blue");
    EXPECT_EQ(pool.call<std::string>("cwd").get(), "/usr");
    EXPECT_EQ(pool.call<std::string>("getenv", std::string("MUSTER_WORKER")).get(), "");
  }
  EXPECT_EQ(read_all(path), "after getenv\nafter cwd\nafter getenv\n");
  std::remove(path.c_str());
}

// Else each of them would read a clock at twice the price until it has found out.
TEST(ProcessPoolLaunch, AreToldWhatIsKnownOfTheCounter) {
  const Time deadline =
      Time::clock::now() + 100ms;  // or there is no counter, and both know nothing
  while (counter_speed() == 0 && quick_now() < deadline) {
  }
  const auto known = static_cast<double>(counter_speed());
  ProcessPool pool({.workers = 1});
  const auto told = pool.call<TickScale::Speed>("counter_speed_at_start").get();
  EXPECT_NEAR(static_cast<double>(told), known, known / 1000);
}

TEST(ProcessPoolLaunch, WhatTheyPrintIsHandedOverWithTheirNumberAndStream) {
  std::mutex mutex;
  std::map<std::string, std::pair<std::uint64_t, OutputStream>> lines;
  std::map<std::string, std::uint64_t> printed_by;
  {
    ProcessPool pool({.workers = 2, .on_output = [&](const OutputLine& line) {
                        const std::lock_guard lock(mutex);
                        lines[std::string(line.text)] = {line.worker, line.stream};
                      }});
    await_ready(pool, 2);
    for (unsigned i = 0; i < 20; ++i) {
      const std::string text = std::to_string(i);
      printed_by[text] = pool.call<std::uint64_t>("print", text, i % 2 == 0).get();
    }
  }
  const std::lock_guard lock(mutex);
  EXPECT_EQ(lines.size(), printed_by.size());
  std::set<std::uint64_t> workers;
  for (const auto& [text, worker] : printed_by) {
    const bool is_error = std::stoi(text) % 2 == 0;
    EXPECT_EQ(lines[text].first, worker) << text;
    EXPECT_EQ(lines[text].second == OutputStream::standard_error, is_error) << text;
    workers.insert(worker);
  }
  EXPECT_EQ(workers.size(), 2U);
}

// With the pool's lock held that would be the end of both.
TEST(ProcessPoolLaunch, WhoIsToldWhatTheyPrintMayAskThePool) {
  std::atomic<ProcessPool*> its_pool = nullptr;
  std::atomic<std::uint64_t> starts = 0;
  ProcessPool pool({.workers = 1, .on_output = [&](const OutputLine&) {
                      its_pool.wait(nullptr);
                      starts = its_pool.load()->metrics().starts;
                    }});
  its_pool = &pool;
  its_pool.notify_all();
  (void)pool.call<std::uint64_t>("print", std::string("text"), false).get();
  EXPECT_TRUE(pool.stop());
  EXPECT_EQ(starts, 1U);
}

TEST(ProcessPoolLaunch, OneThatHangsSaysWhereBeforeItIsKilled) {
  for (const bool is_traced : {true, false}) {
    std::mutex mutex;
    std::string all;
    {
      ProcessPool pool({.workers = 1,
                        .on_output =
                            [&](const OutputLine& line) {
                              const std::lock_guard lock(mutex);
                              all.append(line.text) += '\n';
                            },
                        .trace_before_kill = is_traced,
                        .retry = at_once(1)});
      EXPECT_THROW((void)pool.exec("hang", {}, {.timeout = 20ms}).get(), TimedOut);
      EXPECT_EQ(pool.worker_status(0)->last_exit->kind, ExitKind::timeout);
    }
    EXPECT_EQ(all.find("processes_test") != std::string::npos, is_traced) << all;
  }
}

bool can_bar_truncation() {
  return syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 3;
}

TEST(ProcessPoolLaunch, CanBeBarredFromWritingFiles) {
  const std::string folder = testing::TempDir() + "muster_bar_" + std::to_string(getpid());
  const std::string inside = folder + "/note";
  const std::string outside = folder + "_outside";
  ASSERT_TRUE(std::filesystem::create_directory(folder));
  ProcessPool pool({.workers = 1, .writable_paths = {{folder}}, .retry = at_once(1)});
  EXPECT_EQ(pool.call<bool>("write", inside).get(), true);
  EXPECT_EQ(pool.call<bool>("write", outside).get(), false);
  EXPECT_EQ(pool.call<bool>("write", std::string("/dev/null")).get(), true);
  EXPECT_FALSE(std::filesystem::exists(outside));
  std::ofstream(outside) << "text";
  EXPECT_EQ(pool.call<bool>("truncate", inside).get(), true);
  EXPECT_EQ(pool.call<bool>("truncate", outside).get(), !can_bar_truncation());
  std::filesystem::remove_all(folder);
  std::filesystem::remove(outside);
  EXPECT_THROW(ProcessPool({.workers = 1, .writable_paths = {{"/no/such/folder"}}}), SystemFailure);
  EXPECT_THROW(ProcessPool({.workers = 1, .writable_paths = {{""}}}), InvalidArgument);
}

}  // namespace
}  // namespace muster
