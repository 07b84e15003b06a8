// round_robin.cpp: the next idle worker, or the next in turn if none is.
#include "policy/strategies/built_in.hpp"
#include "policy/strategies/least_in_turn.hpp"

namespace muster {
namespace {

class RoundRobin final : public Strategy {
 public:
  std::string_view name() const override { return to_string(BuiltIn::round_robin); }

  std::optional<Selection> select(std::span<const WorkerInfo> workers,
                                  const TaskInfo& /*task*/) override {
    const auto is_idle = [](const WorkerInfo& worker) { return pending(worker) == 0; };
    const WorkerInfo* const picked = turn_.pick(
        workers, [is_idle](const WorkerInfo& worker) { return is_idle(worker) ? 0 : 1; });
    if (picked == nullptr) return std::nullopt;
    return Selection{picked->id, is_idle(*picked) ? "the next that is idle"
                                                  : "the next in turn, since none is idle"};
  }

  void reset() override { turn_.reset(); }

 private:
  LeastInTurn turn_;
};

}  // namespace

std::unique_ptr<Strategy> make_round_robin() {
  return std::make_unique<RoundRobin>();
}

}  // namespace muster
