// least_elu.cpp: lowest utilisation of the worker's loop.
//
// Utilisation follows late: by it alone, a whole burst would go to one worker. So what is pending
// shares the time in which the worker is not busy. One that came with an estimate counts by that,
// in tasks of average length.
#include <cmath>
#include <vector>

#include "policy/strategies/built_in.hpp"
#include "policy/strategies/least_in_turn.hpp"

namespace muster {
namespace {

class LeastElu final : public Strategy {
 public:
  std::string_view name() const override { return to_string(BuiltIn::least_elu); }

  std::optional<Selection> select(std::span<const WorkerInfo> workers,
                                  const TaskInfo& /*task*/) override {
    loads_.clear();
    for (const WorkerInfo& worker : workers) loads_.push_back(load_of(worker));
    share_average(loads_);
    const WorkerInfo* const picked = turn_.pick(workers, [&](const WorkerInfo& worker) {
      return cost(BuiltIn::least_elu, loads_[static_cast<std::size_t>(&worker - workers.data())]);
    });
    if (picked == nullptr) return std::nullopt;
    return Selection{picked->id, "least utilised: busy for " +
                                     std::to_string(std::lround(picked->utilisation * 100)) +
                                     " % of the time, " + std::to_string(pending(*picked)) +
                                     " pending"};
  }

  void reset() override { turn_.reset(); }

 private:
  LeastInTurn turn_;
  std::vector<WorkerLoad> loads_;  // of one selection
};

}  // namespace

std::unique_ptr<Strategy> make_least_elu() {
  return std::make_unique<LeastElu>();
}

}  // namespace muster
