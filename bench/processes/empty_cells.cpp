// empty_cells.cpp: tasks that do nothing, a thousand of them under way at any time.
#include <chrono>
#include <vector>

#include "processes/cells.hpp"
#include "processes/peers.hpp"
#include "processes/ready_pool.hpp"
#include "processes/tasks.hpp"

namespace muster::bench {
namespace {

constexpr std::size_t kOutstanding = 1000;

// The oldest is waited for before the next is sent.
void flood(ProcessPool& pool, std::uint64_t tasks) {
  std::vector<Future<Bytes>> sent(kOutstanding);
  for (std::uint64_t task = 0; task < tasks; ++task) {
    Future<Bytes>& place = sent[task % kOutstanding];
    if (task >= kOutstanding) (void)place.get();
    place = pool.exec(kEmptyTask);
  }
  for (Future<Bytes>& future : sent) {
    if (future.valid()) (void)future.get();
  }
}

Contender muster_with(const std::string& name, unsigned prefetch) {
  return {name, [prefetch](std::uint64_t tasks) -> Sample {
            ProcessPool pool({.workers = kWorkers, .prefetch = prefetch});
            wake_up(pool, kWorkers);
            const auto start = std::chrono::steady_clock::now();
            flood(pool, tasks);
            const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
            return {.items = tasks, .seconds = time.count()};
          }};
}

}  // namespace

std::vector<Cell> empty_cells() {
  std::vector<Contender> contenders{muster_with(kMuster, 1), muster_with(kMusterAhead, 32)};
  for (Contender& peer : peers_that_flood()) contenders.push_back(std::move(peer));
  return {{.group = kEmptyGroup, .name = "2 workers", .contenders = std::move(contenders)}};
}

}  // namespace muster::bench
