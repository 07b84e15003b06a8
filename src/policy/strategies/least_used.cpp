// least_used.cpp: fewest tasks done of late. What is pending will have been done soon, and counts.
#include <cmath>

#include "policy/strategies/built_in.hpp"
#include "policy/strategies/history.hpp"
#include "policy/strategies/least_in_turn.hpp"

namespace muster {
namespace {

class LeastUsed final : public Strategy {
 public:
  std::string_view name() const override { return to_string(BuiltIn::least_used); }

  std::optional<Selection> select(std::span<const WorkerInfo> workers,
                                  const TaskInfo& /*task*/) override {
    for (const WorkerInfo& worker : workers) done_.join(worker.id);
    const WorkerInfo* const picked = turn_.pick(workers, [this](const WorkerInfo& worker) {
      return done_.of(worker.id) + static_cast<double>(pending(worker));
    });
    if (picked == nullptr) return std::nullopt;
    return Selection{picked->id,
                     "least used: about " + std::to_string(std::lround(done_.of(picked->id))) +
                         " done of late, " + std::to_string(pending(*picked)) + " pending"};
  }

  void on_task_complete(std::size_t worker, Duration /*duration*/) override {
    done_.add(worker, 1);
  }
  void on_worker_added(const WorkerInfo& worker) override { done_.join(worker.id); }
  void on_worker_removed(std::size_t worker) override { done_.leave(worker); }

  void reset() override {
    turn_.reset();
    done_.clear();
  }

 private:
  LeastInTurn turn_;
  History done_;
};

}  // namespace

std::unique_ptr<Strategy> make_least_used() {
  return std::make_unique<LeastUsed>();
}

}  // namespace muster
