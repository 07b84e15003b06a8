// least_busy.cpp: fewest tasks active and queued.
#include "policy/strategies/built_in.hpp"
#include "policy/strategies/least_in_turn.hpp"

namespace muster {
namespace {

class LeastBusy final : public Strategy {
 public:
  std::string_view name() const override { return to_string(BuiltIn::least_busy); }

  std::optional<Selection> select(std::span<const WorkerInfo> workers,
                                  const TaskInfo& /*task*/) override {
    const WorkerInfo* const picked = turn_.pick(
        workers, [](const WorkerInfo& worker) { return static_cast<double>(pending(worker)); });
    if (picked == nullptr) return std::nullopt;
    return Selection{picked->id,
                     "least busy: " + std::to_string(pending(*picked)) + " active or queued"};
  }

  void reset() override { turn_.reset(); }

 private:
  LeastInTurn turn_;
};

}  // namespace

std::unique_ptr<Strategy> make_least_busy() {
  return std::make_unique<LeastBusy>();
}

}  // namespace muster
