// test_tasks.cpp: tasks that behave, and tasks that do not.
#include "test_tasks.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <new>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include <muster/base/quick_clock.hpp>

namespace muster {
namespace {

void wait_for_ever() {
  for (;;) pause();
}

// Appends a line; whole, whoever else does so.
void write_line(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::app) << text + '\n';
}

// Dies in its first attempts, of a signal.
int die_until(TaskContext& context, std::uint32_t attempt) {
  if (context.attempt() < attempt) (void)std::raise(SIGKILL);
  return static_cast<int>(context.attempt());
}

int fail_until(TaskContext& context, std::uint32_t attempt) {
  if (context.attempt() < attempt) throw std::runtime_error("not yet");
  return static_cast<int>(context.attempt());
}

// Writes all over the memory that it shares with its pool. Found by its name in the maps.
void go_mad() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("muster-worker") == std::string::npos) continue;
    const std::uintptr_t begin = std::stoull(line, nullptr, 16);
    // The header and rings, and not the unreserved part behind them.
    std::memset(reinterpret_cast<void*>(begin + 4096), 0xA5, 4096);
    return;
  }
}

void nap_in_handler(int) {
  (void)poll(nullptr, 0, 1500);
}

// Computes for a second and a half, in which nothing else in this process gets anywhere; nor do its
// heartbeats, therefore.
void work_without_heartbeat() {
  struct sigaction action{};
  action.sa_handler = nap_in_handler;
  (void)sigaction(SIGUSR1, &action, nullptr);
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    const pid_t id = std::stoi(thread.path().filename());
    if (id != gettid()) (void)tgkill(getpid(), id, SIGUSR1);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  while (std::chrono::steady_clock::now() < end) {
  }
}

// What the kernel holds this process to.
std::string limits() {
  rlimit cpu{};
  rlimit files{};
  (void)getrlimit(RLIMIT_CPU, &cpu);
  (void)getrlimit(RLIMIT_NOFILE, &files);
  int adjusted = 0;
  std::ifstream("/proc/self/oom_score_adj") >> adjusted;
  return "cpu " + std::to_string(cpu.rlim_cur) + ", files " + std::to_string(files.rlim_cur) +
         ", nice " + std::to_string(getpriority(PRIO_PROCESS, 0)) + ", oom " +
         std::to_string(adjusted) + ", privileges " +
         std::to_string(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

void add_bad_ones(Registry& registry) {
  registry.add("throw", [](const std::string& what) { throw std::runtime_error(what); });
  registry.add("throw_number", [] { throw 42; });
  registry.add("signal", [](int number) { (void)std::raise(number); });
  registry.add("exit", [](int code) { std::_Exit(code); });
  registry.add("hang", wait_for_ever);
  registry.add("mad", go_mad);
  registry.add("work_without_heartbeat", work_without_heartbeat);
  registry.add("die_until", die_until);
  registry.add("fail_until", fail_until);
  registry.add("eat", [](std::uint64_t bytes) {
    std::vector<char> memory(bytes, 'x');
    return static_cast<int>(memory[bytes / 2]);
  });
  registry.add("devour", [] {  // down to the last byte, and holds it
    std::vector<void*> all;
    all.reserve(10'000'000);
    const auto take_all = [&all](std::size_t size) {
      for (void* more = std::malloc(size); more != nullptr; more = std::malloc(size)) {
        all.push_back(more);
      }
    };
    for (const std::size_t size : {1U << 20, 1U << 12, 64U, 8U}) take_all(size);
    (void)poll(nullptr, 0, 100);
    for (void* const one : all) std::free(one);
    throw std::bad_alloc();
  });
  registry.add("leak", [](std::uint64_t bytes) {
    std::memset(std::malloc(bytes), 'x', bytes);  // NOLINT: it is to leak
  });
}

}  // namespace

Registry make_test_registry() {
  Registry registry;
  registry.add("echo", [](const Bytes& bytes) { return bytes; });
  registry.add("part", [](const Bytes& bytes) { return bytes.part(10, bytes.size() - 20); });
  registry.add("reverse", [](const Bytes& bytes) {
    std::string text = bytes.to_string();
    std::ranges::reverse(text);
    return Bytes(std::move(text));
  });
  registry.add("pid", [] { return static_cast<int>(getpid()); });
  registry.add("sum", [](int a, int b) { return a + b; });
  registry.add("size", [](const Bytes& bytes) { return bytes.size(); });
  registry.add("make", [](std::uint64_t bytes) { return std::string(bytes, 'm'); });
  registry.add("limits", limits);
  registry.add("attempt", [](TaskContext& context) { return context.attempt(); });
  registry.add("worker", [](TaskContext& context) { return context.worker(); });
  registry.add("sleep_ms", [](int time) { (void)poll(nullptr, 0, time); });
  registry.add("progress", [](TaskContext& context, double fraction) {
    context.progress(fraction);
    wait_for_ever();
  });
  registry.add("until_cancelled", [](TaskContext& context) {
    while (!context.cancelled()) (void)poll(nullptr, 0, 1);
    return std::string("seen");
  });
  registry.add("print", [](TaskContext& context, const std::string& text, bool is_error) {
    (is_error ? std::cerr : std::cout) << text << std::endl;
    return context.worker();
  });
  registry.add("getenv", [](const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  });
  registry.add("cwd", [] {
    char path[4096];
    return std::string(getcwd(path, sizeof path));
  });
  registry.add("note",
               [](const std::string& path, const std::string& text) { write_line(path, text); });
  registry.add("write", [](const std::string& path) {
    return (std::ofstream(path) << "text" << std::flush).good();
  });
  registry.add("truncate", [](const std::string& path) { return truncate(path.c_str(), 0) == 0; });
  const auto speed = std::make_shared<TickScale::Speed>(0);
  registry.on_start([speed] { *speed = counter_speed(); });
  registry.add("counter_speed_at_start", [speed] { return *speed; });
  add_bad_ones(registry);
  if (const char* const capability = std::getenv("TEST_CAPABILITY")) {
    registry.capabilities({capability});
  }
  if (const char* const failure = std::getenv("TEST_START_FAILURE")) {
    registry.on_start([failure] { throw std::runtime_error(failure); });
  }
  if (const char* const path = std::getenv("TEST_AFTER_TASK")) {
    registry.after_task([path](const TaskContext& context) {
      write_line(path, "after " + std::string(context.name()));
    });
  }
  return registry;
}

}  // namespace muster
