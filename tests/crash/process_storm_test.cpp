// process_storm_test.cpp: a process pool among signals: nothing is lost, nothing settled twice.
//
// 100 000 tasks, while workers are killed, stopped and continued at random and some run out of
// memory. Each task leaves a mark in a ledger that all processes have mapped, before it gives its
// number back. In the end each future has its number, or says why not; whatever has a number was
// run at least once; and what failed is there as a dead letter.
//
// MUSTER_STORM_TASKS and MUSTER_STORM_SEED change the number and repeat a storm.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <map>
#include <memory>
#include <poll.h>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/process_pool.hpp>
#include <muster/worker_main.hpp>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr const char* kLedgerVariable = "STORM_LEDGER";

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

// How often each task was begun.
class Ledger {
 public:
  Ledger(const std::string& path, std::uint64_t tasks)
      : tasks_(tasks), file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(tasks)) != 0) {
      throw std::runtime_error("no ledger");
    }
    marks_ = static_cast<std::atomic<std::uint8_t>*>(
        mmap(nullptr, tasks, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
  }
  ~Ledger() {
    munmap(marks_, tasks_);
    close(file_);
  }
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  void mark(std::uint64_t task) { marks_[task].fetch_add(1); }
  unsigned marks(std::uint64_t task) const { return marks_[task].load(); }

 private:
  const std::uint64_t tasks_;
  const int file_;
  std::atomic<std::uint8_t>* marks_ = nullptr;
};

std::string large(std::uint64_t task) {
  return std::string(100'000, static_cast<char>('a' + task % 26));
}

Registry make_storm_registry() {
  Registry registry;
  registry.add("work", [](std::uint64_t task) {
    static Ledger ledger(std::getenv(kLedgerVariable), number_from("MUSTER_STORM_TASKS", 100'000));
    ledger.mark(task);
    return task;
  });
  registry.add("work_large", [](std::uint64_t task, const std::string& payload) {
    static Ledger ledger(std::getenv(kLedgerVariable), number_from("MUSTER_STORM_TASKS", 100'000));
    ledger.mark(task);
    if (payload != large(task)) throw std::runtime_error("the payload is another");
    return task;
  });
  registry.add("devour", [](std::uint64_t task) {  // quickly: before the next kill
    std::vector<std::unique_ptr<std::byte[]>> all;
    for (;;) all.push_back(std::make_unique_for_overwrite<std::byte[]>((task % 8 + 8) << 20));
  });
  return registry;
}

constexpr std::size_t kTaskBytes = sizeof(std::uint64_t);

constexpr int kTooLong = 400;  // ms; twice what is taken for a zombie

// Signals to workers, until told to stop.
class Weather {
 public:
  Weather(ProcessPool& pool, unsigned workers, std::uint64_t seed)
      : pool_(pool), workers_(workers), random_(seed), thread_([this] { rage(); }) {}
  ~Weather() {
    ends_ = true;
    thread_.join();
  }
  Weather(const Weather&) = delete;
  Weather& operator=(const Weather&) = delete;

 private:
  void rage() {
    while (!ends_) {
      (void)poll(nullptr, 0, static_cast<int>(random_.below(4)));
      const auto status = pool_.worker_status(static_cast<unsigned>(random_.below(workers_)));
      if (!status || status->pid <= 0) continue;
      // A number may pass to a stranger between the look and the signal, but not within a storm.
      if (random_.below(2) == 0) {
        (void)kill(status->pid, SIGKILL);
        continue;
      }
      const bool is_long = stops_++ % 20 == 2;
      (void)kill(status->pid, SIGSTOP);
      (void)poll(nullptr, 0, is_long ? kTooLong : static_cast<int>(random_.below(30)));
      (void)kill(status->pid, SIGCONT);
    }
  }

  ProcessPool& pool_;
  const unsigned workers_;
  Random random_;
  unsigned stops_ = 0;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

constexpr unsigned kWorkers = 3;
constexpr unsigned kAttempts = 4;

ProcessPoolOptions options_for(std::uint64_t tasks, const std::string& ledger) {
  return {.workers = kWorkers,
          .environment = {{kLedgerVariable, ledger}},
          .limits = {.memory_bytes = std::uint64_t{256} << 20},
          .retry = {.max_attempts = kAttempts, .delay = fixed(1ms)},
          .max_dead_letters = tasks,
          .health = {.heartbeat = 20ms,
                     .warning = 50ms,
                     .zombie = 200ms,
                     .busy_zombie = 200ms,
                     .terminate_grace = 10ms},
          .respawn = {.deaths_before_ready = 1'000'000, .deaths_after_ready = 1'000'000}};
}

using Futures = std::vector<Future<std::uint64_t>>;

Futures send_tasks(ProcessPool& pool, std::uint64_t tasks, std::uint64_t seed) {
  Random random(seed);
  Futures futures;
  futures.reserve(tasks);
  for (std::uint64_t task = 0; task < tasks; ++task) {
    const bool is_hungry = random.below(2000) == 0;
    if (is_hungry || task % 50 != 0) {
      futures.push_back(pool.call<std::uint64_t>(is_hungry ? "devour" : "work", task));
    } else {
      futures.push_back(pool.call<std::uint64_t>("work_large", task, large(task)));
    }
    // Lets the weather have its turn.
    while (task % 100 == 0 && pool.metrics().crashes < task / 250) (void)poll(nullptr, 0, 1);
  }
  return futures;
}

struct Outcome {
  std::uint64_t values = 0;
  std::map<std::string, std::uint64_t> errors;  // by kind
  std::map<std::uint64_t, std::string> failed;  // and what their futures said
};

Outcome await_all(Futures& futures) {
  Outcome outcome;
  for (std::uint64_t task = 0; task < futures.size(); ++task) {
    try {
      EXPECT_EQ(futures[task].get(), task);
      ++outcome.values;
    } catch (const WorkerCrashed& crash) {
      ++outcome.errors[describe(crash.exit())];
      outcome.failed[task] = crash.what();
    } catch (const RemoteError& error) {
      ++outcome.errors[error.remote_what()];
      outcome.failed[task] = error.what();
    }
  }
  return outcome;
}

// Whatever has a result was run, and no task more often than it was tried.
void check(const Ledger& ledger, std::uint64_t tasks, const Outcome& outcome) {
  for (std::uint64_t task = 0; task < tasks; ++task) {
    ASSERT_LE(ledger.marks(task), kAttempts) << "task " << task << " was run more often than tried";
    if (outcome.failed.contains(task)) continue;
    ASSERT_GE(ledger.marks(task), 1U) << "task " << task << " has a result and was never run";
  }
}

// Whatever failed is a dead letter that says what its future says.
void check(const std::vector<DeadLetter>& letters, const Outcome& outcome) {
  std::map<std::uint64_t, std::string> said;
  for (const DeadLetter& letter : letters) {
    // The number is the first argument, whatever comes behind it.
    const auto task = decode_result<std::uint64_t>(letter.payload.part(0, kTaskBytes));
    EXPECT_TRUE(said.emplace(task, letter.what).second) << "task " << task << " died twice";
  }
  EXPECT_EQ(said, outcome.failed);
}

TEST(ProcessStorm, EveryTaskIsRunAndSettledOnceOrSaysWhyNot) {
  const std::uint64_t tasks = number_from("MUSTER_STORM_TASKS", 100'000);
  const std::uint64_t seed = number_from("MUSTER_STORM_SEED", std::random_device()());
  std::cout << "seed " << seed << '\n';
  const std::string path = testing::TempDir() + "muster_storm_" + std::to_string(getpid());
  const Ledger ledger(path, tasks);
  ProcessPool pool(options_for(tasks, path));
  Outcome outcome;
  {
    const Weather weather(pool, kWorkers, seed);
    Futures futures = send_tasks(pool, tasks, seed + 1);
    outcome = await_all(futures);
  }
  check(ledger, tasks, outcome);
  check(pool.dead_letters(), outcome);
  const ProcessPoolMetrics metrics = pool.metrics();
  EXPECT_EQ(metrics.submitted, tasks);
  EXPECT_EQ(metrics.completed + metrics.failed, tasks);
  EXPECT_EQ(metrics.completed, outcome.values);
  EXPECT_GT(metrics.crashes, 0U) << "there was no storm";
  EXPECT_GT(metrics.zombies, 0U) << "nobody was stopped for too long";
  EXPECT_GT(outcome.errors["std::bad_alloc"], 0U) << "nobody ran out of memory";
  std::cout << outcome.values << " results, " << metrics.crashes << " crashes, " << metrics.zombies
            << " zombies, " << metrics.retries << " retries\n";
  for (const auto& [kind, count] : outcome.errors) std::cout << count << " x " << kind << '\n';
  std::remove(path.c_str());
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  muster::worker_main(argc, argv, muster::make_storm_registry());
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
