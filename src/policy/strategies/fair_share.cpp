// fair_share.cpp: least run time of late, with what is pending charged at its estimate, or at what
// tasks take on average.
//
// As long as nothing is known of any worker all charges are alike, and it goes round in turn.
#include <algorithm>
#include <cmath>
#include <vector>

#include "policy/strategies/built_in.hpp"
#include "policy/strategies/history.hpp"
#include "policy/strategies/least_in_turn.hpp"

namespace muster {
namespace {

class FairShare final : public Strategy {
 public:
  std::string_view name() const override { return to_string(BuiltIn::fair_share); }

  std::optional<Selection> select(std::span<const WorkerInfo> workers,
                                  const TaskInfo& /*task*/) override {
    for (const WorkerInfo& worker : workers) consumed_.join(worker.id);
    loads_.clear();
    for (const WorkerInfo& worker : workers) {
      loads_.push_back(load_of(worker));
      loads_.back().consumed = Duration(std::llround(consumed_.of(worker.id)));
    }
    share_average(loads_);
    const WorkerInfo* const picked = turn_.pick(workers, [&](const WorkerInfo& worker) {
      return cost(BuiltIn::fair_share, loads_[static_cast<std::size_t>(&worker - workers.data())]);
    });
    if (picked == nullptr) return std::nullopt;
    const auto microseconds = static_cast<std::uint64_t>(consumed_.of(picked->id) / 1000);
    return Selection{picked->id, "least run time: " + std::to_string(microseconds) +
                                     " us of late, " + std::to_string(pending(*picked)) +
                                     " pending"};
  }

  void on_task_complete(std::size_t worker, Duration duration) override {
    consumed_.add(worker, static_cast<double>(std::max(duration, Duration::zero()).count()));
  }
  void on_worker_added(const WorkerInfo& worker) override { consumed_.join(worker.id); }
  void on_worker_removed(std::size_t worker) override { consumed_.leave(worker); }

  void reset() override {
    turn_.reset();
    consumed_.clear();
  }

 private:
  LeastInTurn turn_;
  History consumed_;               // nanoseconds
  std::vector<WorkerLoad> loads_;  // of one selection
};

}  // namespace

std::unique_ptr<Strategy> make_fair_share() {
  return std::make_unique<FairShare>();
}

}  // namespace muster
