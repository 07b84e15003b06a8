// sweep_cells.cpp: posts and spawns by the number of workers, with the CPU time beside the wall
// time: workers that search and wake each other in vain show in the one, lost parallelism in the
// other.
#include <string>

#include "threads/cells.hpp"
#include "threads/pools.hpp"
#include "threads/posting.hpp"

namespace muster::bench {
namespace {

constexpr unsigned kCrews[] = {1, 2, 4, 8, 16};

// 131 071 tasks a tree.
constexpr unsigned kTreeDepth = 16;

Sample costs_of(const Work& work) {
  const double ns_per_task = 1e9 / static_cast<double>(work.tasks);
  Sample sample = speed_of(work);
  sample.figures = {work.used.wall_seconds * ns_per_task, work.used.cpu_seconds * ns_per_task};
  return sample;
}

template <class Pools, class Run>
Cell sweep_cell(const std::string& group, unsigned workers, const Run& run) {
  const std::string name = std::to_string(workers) + (workers == 1 ? " worker" : " workers");
  return {.group = group,
          .name = name,
          .contenders = Pools::all(run),
          .columns = {{group + kWallSuffix, name}, {group + kCpuSuffix, name}}};
}

}  // namespace

std::vector<Cell> sweep_cells() {
  std::vector<Cell> cells;
  for (const unsigned workers : kCrews) {
    const auto post = [workers]<class Pool>(std::uint64_t items) {
      return costs_of(post_tasks<Pool>({.workers = workers, .producers = 1}, items));
    };
    const auto spawn = [workers]<class Pool>(std::uint64_t items) {
      return costs_of(spawn_trees<Pool>({.workers = workers, .depth = kTreeDepth}, items));
    };
    cells.push_back(sweep_cell<PostPools>(kSweepPostGroup, workers, post));
    cells.push_back(sweep_cell<SpawnPools>(kSweepSpawnGroup, workers, spawn));
  }
  return cells;
}

}  // namespace muster::bench
