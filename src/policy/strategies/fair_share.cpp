// fair_share.cpp: least run time of late, with what is pending charged at its average.
//
// As long as nothing is known of any worker all charges are alike, and it goes round in turn.
#include <algorithm>

#include "policy/strategies/built_in.hpp"
#include "policy/strategies/history.hpp"
#include "policy/strategies/least_in_turn.hpp"

namespace muster {
namespace {

// What a task takes on average where that is known; of a worker without past, what others' take.
Duration typical_task_time(std::span<const WorkerInfo> workers) {
  Duration sum{};
  Duration::rep known = 0;
  for (const WorkerInfo& worker : workers) {
    if (worker.average_task_time <= Duration::zero()) continue;
    sum += worker.average_task_time;
    ++known;
  }
  return known > 0 ? sum / known : Duration{1};
}

class FairShare final : public Strategy {
 public:
  std::string_view name() const override { return to_string(BuiltIn::fair_share); }

  std::optional<Selection> select(std::span<const WorkerInfo> workers,
                                  const TaskInfo& /*task*/) override {
    for (const WorkerInfo& worker : workers) consumed_.join(worker.id);
    const Duration typical = typical_task_time(workers);
    const WorkerInfo* const picked = turn_.pick(workers, [this, typical](const WorkerInfo& worker) {
      const Duration task_time =
          worker.average_task_time > Duration::zero() ? worker.average_task_time : typical;
      // A busy worker pays for one more: nobody knows how long it will go on.
      const std::uint64_t charged = pending(worker) > 0 ? pending(worker) + 1 : 0;
      return consumed_.of(worker.id) +
             static_cast<double>(charged) * static_cast<double>(task_time.count());
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
  History consumed_;  // nanoseconds
};

}  // namespace

std::unique_ptr<Strategy> make_fair_share() {
  return std::make_unique<FairShare>();
}

}  // namespace muster
