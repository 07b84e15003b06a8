// flood_cells.cpp: empty tasks from outside, placed by each strategy. What does it cost to choose,
// and to look at the clock?
//
// The yardstick is a pool that does neither: weights are given and equal, so workers come in turn,
// and nothing is timed.
#include <memory>
#include <string>
#include <vector>

#include <muster/thread_pool.hpp>

#include "balance/cells.hpp"
#include "threads/posting.hpp"

namespace muster::bench {
namespace {

constexpr unsigned kWorkers = 2;

struct Placing {
  BuiltIn strategy = BuiltIn::interleaved_weighted;
  Timing timing = Timing::sampled;
  bool weighs = true;  // weights are measured
};

ThreadPoolOptions options_of(const Placing& placing) {
  ThreadPoolOptions options{
      .workers = kWorkers, .strategy = placing.strategy, .timing = placing.timing};
  if (!placing.weighs) options.weights = {1, 1};
  return options;
}

// As posting.hpp wants it: made from a number of workers alone.
template <const Placing& kPlacing>
class PlacingPool {
 public:
  explicit PlacingPool(unsigned) : pool_(options_of(kPlacing)) {}

  template <class Task>
  void post(Task task) {
    pool_.post(std::move(task));
  }

 private:
  ThreadPool pool_;
};

template <BuiltIn kStrategy, Timing kTiming>
struct Of {
  static constexpr Placing kPlacing{.strategy = kStrategy, .timing = kTiming};
};

template <Timing kTiming>
struct InTurn {
  static constexpr Placing kPlacing{.timing = kTiming, .weighs = false};
};

template <class How>
Contender contender(std::string name, unsigned producers) {
  return {std::move(name), [producers](std::uint64_t items) {
            const Crew crew{.workers = kWorkers, .producers = producers};
            return speed_of(post_tasks<PlacingPool<How::kPlacing>>(crew, items));
          }};
}

template <Timing kTiming>
void add_strategies(const std::string& suffix, unsigned producers, std::vector<Contender>& to) {
  const auto add = [&]<BuiltIn kStrategy>() {
    to.push_back(
        contender<Of<kStrategy, kTiming>>(std::string(to_string(kStrategy)) + suffix, producers));
  };
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    (add.template operator()<kBuiltIns[kIndex]>(), ...);
  }(std::make_index_sequence<kBuiltIns.size()>());
}

}  // namespace

std::vector<Cell> flood_cells() {
  std::vector<Cell> cells;
  for (const unsigned producers : {1U, 4U}) {
    Cell cell{.group = kFloodGroup, .name = from_producers(producers), .contenders = {}};
    cell.contenders.push_back(contender<InTurn<Timing::off>>(kInTurnUntimed, producers));
    cell.contenders.push_back(contender<InTurn<Timing::sampled>>(kInTurn, producers));
    add_strategies<Timing::sampled>("", producers, cell.contenders);
    add_strategies<Timing::full>(kTimedFully, producers, cell.contenders);
    cells.push_back(std::move(cell));
  }
  return cells;
}

}  // namespace muster::bench
