// fork_join_cells.cpp: algorithms in which tasks wait for their children.
//
// A contender has run(work), which enters from outside and blocks; both(f, g) and
// each_child(count, body) for the inside; for_each_index(count, body), a parallel loop, from
// outside. A kernel prepares its data, runs on any of them, and verifies the result.
#include <string>

#include "support/usage.hpp"
#include "threads/cells.hpp"
#include "threads/kernels/fib.hpp"
#include "threads/kernels/matmul.hpp"
#include "threads/kernels/mergesort.hpp"
#include "threads/kernels/queens.hpp"
#include "threads/kernels/skynet.hpp"
#include "threads/kernels/uneven.hpp"
#include "threads/pools.hpp"

namespace muster::bench {
namespace {

template <class Kernel, class Pool>
Sample run_kernel(std::uint64_t items) {
  constexpr std::uint64_t kWarmUpCalls = 10'000;
  Kernel kernel(items);
  Pool pool(kWorkers);
  Fib(kWarmUpCalls).run(pool);  // every worker awake

  const Usage start = usage_now();
  kernel.run(pool);
  const double seconds = (usage_now() - start).wall_seconds;
  kernel.verify();
  const double per_item = seconds / static_cast<double>(kernel.items());
  return {
      .items = kernel.items(), .seconds = seconds, .figures = {per_item * Kernel::kUnitsPerSecond}};
}

template <class Kernel, class Pools = ForkJoinPools>
Cell kernel_cell() {
  constexpr unsigned kRoundsOfSlow = 7;
  const auto run = []<class Pool>(std::uint64_t items) { return run_kernel<Kernel, Pool>(items); };
  Cell cell{.group = kForkJoinGroup,
            .name = Kernel::kName,
            .contenders = Pools::all(run),
            .columns = {{kForkJoinGroup, Kernel::kColumn}},
            .items = Kernel::kFixedItems};
  if (cell.items > 0) cell.most_rounds = kRoundsOfSlow;
  return cell;
}

}  // namespace

std::vector<Cell> fork_join_cells() {
  return {kernel_cell<Fib, ForkInTwoPools>(),
          kernel_cell<Skynet>(),
          kernel_cell<Queens>(),
          kernel_cell<Uneven>(),
          kernel_cell<Matmul>(),
          kernel_cell<Mergesort, ForkInTwoPools>()};
}

}  // namespace muster::bench
