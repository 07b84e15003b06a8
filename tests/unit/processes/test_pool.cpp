// test_pool.cpp: a process with a spawner and workers, to be killed in the midst of it.
//
// test_pool WORKERS: starts so many, says "ready", and waits.
// test_pool WORKERS leak: before that it forks a child that keeps what it has, but for its output,
// until its input ends.
// test_pool busy: says "ready", and starts workers as fast as it can.
// test_pool patient: runs a task of 200 ms that may take 400, says "ready" when it has begun, then
// the process of its worker, and what became of it.
// test_pool tasks: the same with a whole ProcessPool, whose workers are busy, idle or just
// starting.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <poll.h>
#include <string>
#include <unistd.h>
#include <variant>
#include <vector>

#include <muster/process_pool.hpp>
#include <muster/processes/spawner.hpp>
#include <muster/worker_main.hpp>

namespace {

using muster::Spawner;

muster::SpawnerEvent receive(Spawner& spawner) {
  for (;;) {
    if (auto event = spawner.try_receive()) return std::move(*event);
    pollfd wait{.fd = spawner.descriptor(), .events = POLLIN, .revents = 0};
    (void)poll(&wait, 1, -1);
  }
}

void start_one(Spawner& spawner, std::uint64_t worker) {
  while (spawner.launch(worker, {.program = TEST_WORKER, .arguments = {"wait"}}) ==
         muster::LaunchOutcome::full) {
    (void)receive(spawner);
  }
}

[[noreturn]] void be_busy(Spawner& spawner) {
  std::cout << "ready" << std::endl;
  for (std::uint64_t worker = 0;; ++worker) {
    start_one(spawner, worker);
    auto event = receive(spawner);
    if (auto* const started = std::get_if<muster::WorkerStarted>(&event);
        started && worker % 2 == 0) {
      started->process.send_signal(SIGKILL);
    }
  }
}

// It holds our end of the socket, so that the spawner does not see that end when we die.
void fork_keeper() {
  if (fork() != 0) return;
  (void)close(STDOUT_FILENO);
  (void)close(STDERR_FILENO);
  for (char byte = 0; read(STDIN_FILENO, &byte, 1) > 0;) {
  }
  _exit(EXIT_SUCCESS);
}

[[noreturn]] void run_tasks() {
  muster::ProcessPool pool({.workers = 4, .retry = {.max_attempts = 1}});
  std::vector<muster::Future<muster::Bytes>> hang;
  hang.push_back(pool.exec("hang"));
  (void)pool.exec("echo").get();
  std::cout << "ready" << std::endl;
  for (;;) {
    (void)pool.exec("echo", std::string(100'000, 'x')).get();
    try {
      (void)pool.exec("die").get();
    } catch (const muster::WorkerCrashed&) {
    }
  }
}

[[noreturn]] void be_patient() {
  using namespace std::chrono_literals;
  muster::ProcessPool pool({.workers = 1, .retry = {.max_attempts = 1}});
  auto task = pool.exec("nap", {}, {.timeout = 400ms});
  while (pool.worker_status(0)->task == 0) {
  }
  std::cout << "ready\n" << pool.worker_status(0)->pid << std::endl;
  try {
    std::cout << task.get().text() << std::endl;
  } catch (const muster::Error& error) {
    std::cout << error.what() << std::endl;
  }
  std::exit(EXIT_SUCCESS);
}

muster::Registry make_registry() {
  muster::Registry registry;
  registry.add("echo", [](const muster::Bytes& bytes) { return bytes; });
  registry.add("hang", [] {
    for (;;) pause();
  });
  registry.add("nap", [] {
    (void)poll(nullptr, 0, 200);
    return muster::Bytes("done");
  });
  registry.add("die", [] { (void)std::raise(SIGKILL); });
  return registry;
}

}  // namespace

int main(int argc, char** argv) {
  muster::worker_main(argc, argv, make_registry());
  if (argc > 1 && argv[1] == std::string("tasks")) run_tasks();
  if (argc > 1 && argv[1] == std::string("patient")) be_patient();
  Spawner spawner({});
  const std::string what = argc > 1 ? argv[1] : "1";
  if (what == "busy") be_busy(spawner);
  const auto workers = std::strtoull(argv[1], nullptr, 10);
  for (std::uint64_t worker = 0; worker < workers; ++worker) start_one(spawner, worker);
  for (std::uint64_t started = 0; started < workers;) {
    started += std::holds_alternative<muster::WorkerStarted>(receive(spawner)) ? 1 : 0;
  }
  if (argc > 2) fork_keeper();
  std::cout << "ready" << std::endl;
  for (;;) pause();
}
