// weighted_round_robin.cpp: turns in proportion to weight, in runs.
//
// The worker with the least weight has runs of one, others as many times that as they weigh more.
// Fractions are saved up for the next run, so that shares are exact in the long run.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <muster/policy/weights.hpp>

#include "policy/strategies/built_in.hpp"

namespace muster {
namespace {

bool takes_turns(const WorkerInfo& worker) {
  return takes_tasks(worker.state) && worker.weight > 0 && std::isfinite(worker.weight);
}

class WeightedRoundRobin final : public Strategy {
 public:
  std::string_view name() const override { return to_string(BuiltIn::weighted_round_robin); }

  std::optional<Selection> select(std::span<const WorkerInfo> workers,
                                  const TaskInfo& /*task*/) override {
    const WorkerInfo* current = left_ > 0 ? find_current(workers) : nullptr;
    if (current == nullptr) current = begin_run(workers);
    if (current == nullptr) return std::nullopt;
    --left_;
    return Selection{current->id, "its turn; " + std::to_string(left_) + " more in this run"};
  }

  void on_worker_removed(std::size_t worker) override { saved_.erase(worker); }

  void reset() override {
    saved_.clear();
    last_.reset();
    left_ = 0;
  }

 private:
  const WorkerInfo* find_current(std::span<const WorkerInfo> workers) const {
    for (const WorkerInfo& worker : workers) {
      if (last_ && worker.id == *last_ && takes_turns(worker)) return &worker;
    }
    return nullptr;
  }

  const WorkerInfo* begin_run(std::span<const WorkerInfo> workers) {
    const WorkerInfo* first = nullptr;
    const WorkerInfo* next = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const WorkerInfo& worker : workers) {
      if (!takes_turns(worker)) continue;
      least = std::min(least, worker.weight);
      if (first == nullptr || worker.id < first->id) first = &worker;
      const bool is_behind = last_ && worker.id > *last_;
      if (is_behind && (next == nullptr || worker.id < next->id)) next = &worker;
    }
    if (next == nullptr) next = first;
    if (next == nullptr) return nullptr;
    constexpr double kRounding = 1e-9;
    constexpr double kLongestRun = WeightedSchedule::kMostTurns;
    double& saved = saved_[next->id];
    saved += std::min(next->weight / least, kLongestRun);
    left_ = static_cast<std::uint64_t>(saved + kRounding);
    saved -= static_cast<double>(left_);
    last_ = next->id;
    return next;
  }

  std::map<std::size_t, double> saved_;  // fractions of a turn
  std::optional<std::size_t> last_;      // whose run it is, or was
  std::uint64_t left_ = 0;               // turns of that run
};

}  // namespace

std::unique_ptr<Strategy> make_weighted_round_robin() {
  return std::make_unique<WeightedRoundRobin>();
}

}  // namespace muster
