// least_elu.cpp: lowest utilisation of the worker's loop.
//
// Utilisation follows late: by it alone, a whole burst would go to one worker. So what is pending
// shares the time in which the worker is not busy, and the largest part is the best.
#include <algorithm>
#include <cmath>

#include "policy/strategies/built_in.hpp"
#include "policy/strategies/least_in_turn.hpp"

namespace muster {
namespace {

// However busy a worker was, it has some time left, of which more pending tasks get less each.
constexpr double kLeastFree = 1.0 / 1024;

class LeastElu final : public Strategy {
 public:
  std::string_view name() const override { return to_string(BuiltIn::least_elu); }

  std::optional<Selection> select(std::span<const WorkerInfo> workers,
                                  const TaskInfo& /*task*/) override {
    const WorkerInfo* const picked = turn_.pick(workers, [](const WorkerInfo& worker) {
      const double free = std::max(1 - worker.utilisation, kLeastFree);
      return -free / static_cast<double>(pending(worker) + 1);
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
};

}  // namespace

std::unique_ptr<Strategy> make_least_elu() {
  return std::make_unique<LeastElu>();
}

}  // namespace muster
