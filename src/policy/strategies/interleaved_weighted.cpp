// interleaved_weighted.cpp: turns in proportion to weight, each worker's evenly spaced.
//
// With each turn everyone earns their share of it, and who has earned the most has it.
#include <cmath>
#include <map>

#include "policy/strategies/built_in.hpp"

namespace muster {
namespace {

bool takes_turns(const WorkerInfo& worker) {
  return takes_tasks(worker.state) && worker.weight > 0 && std::isfinite(worker.weight);
}

class InterleavedWeighted final : public Strategy {
 public:
  std::string_view name() const override { return to_string(BuiltIn::interleaved_weighted); }

  std::optional<Selection> select(std::span<const WorkerInfo> workers,
                                  const TaskInfo& /*task*/) override {
    double sum = 0;
    for (const WorkerInfo& worker : workers) sum += takes_turns(worker) ? worker.weight : 0;
    const WorkerInfo* picked = nullptr;
    double most = 0;
    for (const WorkerInfo& worker : workers) {
      if (!takes_turns(worker)) continue;
      const double earned = earned_[worker.id] += worker.weight / sum;
      if (picked != nullptr && earned <= most + kRounding) continue;
      picked = &worker;
      most = earned;
    }
    if (picked == nullptr) return std::nullopt;
    earned_[picked->id] -= 1;
    return Selection{picked->id, "its turn, by its weight of " + std::to_string(picked->weight)};
  }

  void on_worker_removed(std::size_t worker) override { earned_.erase(worker); }
  void reset() override { earned_.clear(); }

 private:
  // What differs by less counts as equal, and the first comes first.
  static constexpr double kRounding = 1e-9;

  std::map<std::size_t, double> earned_;  // in turns
};

}  // namespace

std::unique_ptr<Strategy> make_interleaved_weighted() {
  return std::make_unique<InterleavedWeighted>();
}

}  // namespace muster
