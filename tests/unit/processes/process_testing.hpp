// process_testing.hpp: waits for processes, pipes, spawners and pools, with a limit that fails the
// test; and what tests of pools say again and again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <muster/bytes.hpp>
#include <muster/future.hpp>
#include <muster/policy/retry.hpp>
#include <muster/process_pool.hpp>
#include <muster/processes/file_descriptor.hpp>
#include <muster/processes/spawner.hpp>

namespace muster {

inline constexpr int kPatienceMs = 30'000;

// For what other processes do there is nothing to wait on but time.
inline void pause_for(std::chrono::milliseconds time) {
  (void)poll(nullptr, 0, static_cast<int>(time.count()));
}

template <class Condition>
void wait_until(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (!condition()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it did not come about";
    pause_for(std::chrono::milliseconds(1));
  }
}

inline void await_readable(int descriptor) {
  pollfd wait{.fd = descriptor, .events = POLLIN, .revents = 0};
  if (poll(&wait, 1, kPatienceMs) != 1) throw std::runtime_error("nothing came");
}

inline SpawnerEvent receive(Spawner& spawner) {
  for (;;) {
    if (auto event = spawner.try_receive()) return std::move(*event);
    await_readable(spawner.descriptor());
  }
}

// Throws std::bad_variant_access if something else comes.
template <class Event>
Event receive(Spawner& spawner) {
  return std::get<Event>(receive(spawner));
}

struct Pipe {
  FileDescriptor to_read;
  FileDescriptor to_write;
};

inline Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// All that comes until the last writer has closed its end.
inline std::string read_to_end(const FileDescriptor& pipe) {
  std::string all;
  char buffer[4096];
  for (;;) {
    await_readable(pipe.get());
    const ssize_t count = read(pipe.get(), buffer, sizeof buffer);
    if (count <= 0) return all;
    all.append(buffer, static_cast<std::size_t>(count));
  }
}

// As many lines as asked for, and not a byte more.
inline std::string read_lines(const FileDescriptor& pipe, std::size_t lines) {
  std::string all;
  while (lines > 0) {
    await_readable(pipe.get());
    char byte = 0;
    if (read(pipe.get(), &byte, 1) != 1) return all;
    all += byte;
    if (byte == '\n') --lines;
  }
  return all;
}

// All of a file; nothing if there is none.
inline std::string read_all(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::size_t count_descriptors(const std::string& process) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/" + process + "/fd")) {
    ++count;
  }
  return count;
}

// A worker of ours, as its tests are mostly about.
inline LaunchOptions test_worker(std::vector<std::string> arguments) {
  return {.program = TEST_WORKER, .arguments = std::move(arguments)};
}

inline ProcessHandle start(Spawner& spawner, std::uint64_t worker, const LaunchOptions& options) {
  if (spawner.launch(worker, options) != LaunchOutcome::sent) throw std::runtime_error("not sent");
  return receive<WorkerStarted>(spawner).process;
}

// Retries at once, so that tests need not wait.
inline RetryOptions at_once(unsigned attempts) {
  return {.max_attempts = attempts, .delay = fixed(Duration::zero()), .jitter = 0};
}

// Teaches the pool that tasks are short, so that workers are given some ahead.
inline void run_short_tasks(ProcessPool& pool, const ExecOptions& options = {}) {
  for (int i = 0; i < 200; ++i) (void)pool.exec("echo", {}, options).get();
}

inline pid_t parent_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
  }
  throw std::runtime_error("no such process");
}

inline void await_ready(const ProcessPool& pool, unsigned workers) {
  wait_until([&] { return pool.metrics().ready == workers; });
}

// Waits for news of a kind.
template <class News>
News await_news(NoticeStream& stream) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (std::chrono::steady_clock::now() < deadline) {
    const auto notice = stream.next(std::chrono::seconds(1));
    if (!notice) continue;
    if (const auto* const news = std::get_if<News>(&notice->news)) return *news;
  }
  throw std::runtime_error("no such news");
}

// What get() throws, in words.
template <class Exception>
std::string thrown_by(Future<Bytes> future) {
  try {
    (void)future.get();
  } catch (const Exception& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace muster
