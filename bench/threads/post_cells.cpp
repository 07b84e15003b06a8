// post_cells.cpp: empty tasks, from outside and from inside.
#include <string>

#include "threads/cells.hpp"
#include "threads/pools.hpp"
#include "threads/posting.hpp"

namespace muster::bench {
namespace {

constexpr unsigned kProducers[] = {1, 4};

// A million tasks, and one.
constexpr unsigned kTreeDepth = 19;

Cell post_cell(unsigned producers) {
  const auto run = [producers]<class Pool>(std::uint64_t items) {
    return speed_of(post_tasks<Pool>({.workers = kWorkers, .producers = producers}, items));
  };
  return {.group = kPostGroup,
          .name = std::to_string(producers) + (producers == 1 ? " producer" : " producers"),
          .contenders = PostPools::all(run)};
}

Cell submit_cell() {
  const auto run = []<class Pool>(std::uint64_t items) {
    return speed_of(submit_tasks<Pool>(kWorkers, items));
  };
  return {.group = kSubmitGroup, .name = "1 producer", .contenders = PostPools::all(run)};
}

Cell spawn_cell() {
  const auto run = []<class Pool>(std::uint64_t items) {
    return speed_of(spawn_trees<Pool>({.workers = kWorkers, .depth = kTreeDepth}, items));
  };
  return {.group = kSpawnGroup, .name = "binary tree", .contenders = SpawnPools::all(run)};
}

}  // namespace

std::vector<Cell> post_cells() {
  std::vector<Cell> cells;
  for (const unsigned producers : kProducers) cells.push_back(post_cell(producers));
  cells.push_back(submit_cell());
  cells.push_back(spawn_cell());
  return cells;
}

}  // namespace muster::bench
