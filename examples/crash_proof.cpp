// crash_proof.cpp: tasks on worker processes, some of which crash.
#include <chrono>
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include <muster/process_pool.hpp>
#include <muster/worker_main.hpp>

using namespace std::chrono_literals;

namespace {

// What the workers can do. The third is a bug waiting for its input.
muster::Registry make_registry() {
  muster::Registry registry;
  registry.add("length", [](const std::string& text) { return text.size(); });
  registry.add("sum", [](const std::vector<int>& numbers) {
    long sum = 0;
    for (const int number : numbers) sum += number;
    return sum;
  });
  registry.add("parse", [](const std::string& text) {
    if (text.find('%') != std::string::npos) (void)std::raise(SIGSEGV);
    return text.size();
  });
  registry.add("hang", [] {
    for (;;) pause();
  });
  return registry;
}

}  // namespace

int main(int argc, char** argv) {
  muster::worker_main(argc, argv, make_registry());  // does not return in a worker

  muster::ProcessPool pool(
      {.workers = 2, .retry = {.max_attempts = 2, .delay = muster::fixed(0s)}});

  std::cout << "length: " << pool.call<std::size_t>("length", "twelve bytes").get() << '\n';
  std::cout << "sum: " << pool.call<long>("sum", std::vector<int>{1, 2, 3}).get() << '\n';

  // A crash costs its task, which is tried again, and nothing else.
  auto bad = pool.call<std::size_t>("parse", "100 %");
  auto good = pool.call<std::size_t>("parse", "all well");
  std::cout << "parse: " << good.get() << '\n';
  try {
    (void)bad.get();
  } catch (const muster::WorkerCrashed& error) {
    std::cout << error.what() << '\n';
  }

  // So does one that never ends.
  try {
    (void)pool.exec("hang", {}, {.timeout = 100ms}).get();
  } catch (const muster::TimedOut& error) {
    std::cout << error.what() << '\n';
  }

  for (const muster::DeadLetter& letter : pool.dead_letters()) {
    std::cout << "dead letter: " << letter.name << ", " << letter.attempts << " attempts\n";
  }
}
