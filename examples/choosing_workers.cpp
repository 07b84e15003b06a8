// choosing_workers.cpp: who gets which task: by weights, by a strategy of one's own, by key.
//
//     ./dev run choosing_workers
#include <chrono>
#include <cstddef>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <muster/strategy.hpp>
#include <muster/thread_pool.hpp>

namespace {

using namespace std::chrono_literals;

void print(const char* title, const muster::ThreadPool& pool) {
  std::cout << title << " (" << pool.strategy() << "):";
  for (const auto& worker : pool.stats().workers) std::cout << ' ' << worker.completed;
  std::cout << '\n';
}

// Returns when all are done; prints who has done how many.
void run_tasks(const char* title, muster::ThreadPool& pool, const muster::TaskOptions& options) {
  pool.reset_stats();
  for (int i = 0; i < 1200; ++i) pool.post(options, [] {});
  pool.wait_idle();
  print(title, pool);
}

}  // namespace

int main() {
  // Without stealing, so that each task stays where it was placed.
  muster::ThreadPool pool({.workers = 3,
                           .strategy = muster::BuiltIn::interleaved_weighted,
                           .weights = {2, 1, 1},  // without: by the speed of recent work
                           .stealing = {.enabled = false}});
  run_tasks("2 : 1 : 1", pool, {});

  pool.set_strategy("fair-share");  // while tasks run
  run_tasks("alike", pool, {});
  run_tasks("known", pool, {.estimated_duration = 20us});

  auto big_ones_apart = muster::strategy_from(
      "big ones apart",
      [](auto workers, const muster::TaskInfo& task) -> std::optional<std::size_t> {
        if (task.name == "big") return workers.size() - 1;
        return std::nullopt;  // the pool chooses, and counts it
      });
  pool.set_strategy(std::move(big_ones_apart));
  run_tasks("big ones", pool, {.name = "big"});
  run_tasks("others", pool, {});
  std::cout << pool.stats().strategy_fallbacks << " of them were placed by the pool\n";

  // All tasks of a key go to one worker, in order.
  for (const std::string key : {"user 1", "user 2", "user 3"}) {
    std::cout << key << " belongs to worker " << pool.workers_for(key).front() << '\n';
  }
  run_tasks("user 1", pool, {.affinity = "user 1"});
}
