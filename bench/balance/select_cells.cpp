// select_cells.cpp: chooses again and again among workers whose loads change with every choice.
//
// Each worker has two tasks on average and a cache line of its own, as in a pool. The oldest task
// ends whenever one is placed; so nobody is idle for long, and no look around ends early. Counting
// the load is part of the time.
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <muster/policy/choice.hpp>
#include <muster/policy/decaying.hpp>
#include <muster/sync/cache_line.hpp>

#include "balance/cells.hpp"
#include "support/keep.hpp"

namespace muster::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kTasksPerWorker = 2;

struct alignas(kCacheLine) Worker {
  std::uint32_t pending = 0;
  float utilisation = 0;
  Decaying used;
  Decaying consumed;
  Duration average{1000};
};

class Load {
 public:
  explicit Load(std::size_t workers) : workers_(workers), placed_(kTasksPerWorker * workers) {
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      placed_[i] = i % workers;
      ++workers_[i % workers].pending;
    }
    let_escape(workers_.data());
  }

  [[nodiscard]] std::size_t workers() const { return workers_.size(); }

  [[nodiscard]] WorkerLoad of(std::size_t number) const {
    const Worker& worker = workers_[number];
    return {.pending = worker.pending,
            .idle = worker.pending == 0,
            .used = worker.used.at(round_),
            .consumed = Duration(static_cast<Duration::rep>(worker.consumed.at(round_))),
            .average = worker.average,
            .utilisation = worker.utilisation};
  }

  // Places a task, and ends the oldest.
  void place(std::size_t number) {
    ++workers_[number].pending;
    std::size_t& oldest = placed_[next_];
    Worker& done = workers_[oldest];
    --done.pending;
    done.used.add(1, round_);
    done.consumed.add(1000 + static_cast<double>(oldest), round_);
    done.utilisation = done.utilisation < 0.9F ? done.utilisation + 0.01F : 0.1F;
    oldest = number;
    if (++next_ == placed_.size()) {
      next_ = 0;
      ++round_;
    }
  }

  // Throws if tasks came from nowhere, or were lost.
  void verify() const {
    std::uint64_t pending = 0;
    for (const Worker& worker : workers_) pending += worker.pending;
    if (pending != placed_.size()) throw std::runtime_error("select: the count of tasks is wrong");
  }

 private:
  std::vector<Worker> workers_;
  std::vector<std::size_t> placed_;  // with whom, a ring
  std::size_t next_ = 0;
  std::uint64_t round_ = 0;
};

template <class Choose>
Sample time_choices(std::size_t workers, std::uint64_t items, const Choose& choose_among) {
  Load load(workers);
  Rotation turn;
  Random random(items);
  const Clock::time_point start = Clock::now();
  for (std::uint64_t i = 0; i < items; ++i) {
    load.place(choose_among(load, turn, random));
    do_something_else();
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  load.verify();
  return {
      .items = items, .seconds = seconds, .figures = {seconds * 1e9 / static_cast<double>(items)}};
}

Contender by_load(BuiltIn strategy, std::size_t workers) {
  return {std::string(to_string(strategy)), [strategy, workers](std::uint64_t items) {
            return time_choices(
                workers, items, [strategy](const Load& load, Rotation& turn, Random& random) {
                  return choose(strategy, load.workers(), turn, random,
                                [&load](std::size_t worker) { return load.of(worker); });
                });
          }};
}

// Weights that no short table meets exactly.
Contender by_weight(BuiltIn strategy, TurnOrder order, std::size_t workers) {
  std::vector<double> weights(workers);
  Random random(1);
  for (double& weight : weights) weight = 1 + random.real();
  const auto schedule = std::make_shared<const WeightedSchedule>(order, weights);
  return {std::string(to_string(strategy)), [schedule, workers](std::uint64_t items) {
            return time_choices(
                workers, items,
                [&schedule](const Load& /*load*/, Rotation& turn, Random& /*random*/) {
                  return choose(*schedule, turn);
                });
          }};
}

Contender contender(BuiltIn strategy, std::size_t workers) {
  switch (strategy) {
    case BuiltIn::weighted_round_robin:
      return by_weight(strategy, TurnOrder::in_runs, workers);
    case BuiltIn::interleaved_weighted:
      return by_weight(strategy, TurnOrder::interleaved, workers);
    default:
      return by_load(strategy, workers);
  }
}

}  // namespace

std::vector<Cell> select_cells() {
  std::vector<Cell> cells;
  for (const std::size_t workers : kWorkerCounts) {
    std::vector<Contender> contenders;
    contenders.reserve(kBuiltIns.size());
    for (const BuiltIn strategy : kBuiltIns) contenders.push_back(contender(strategy, workers));
    cells.push_back({.group = kSelectGroup,
                     .name = among(workers),
                     .contenders = std::move(contenders),
                     .columns = {{kSelectGroup, among(workers)}}});
  }
  return cells;
}

}  // namespace muster::bench
