// chooser.cpp: loads for the built-ins, infos for the others.
#include "processes/chooser.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/base/quick_clock.hpp>
#include <muster/error.hpp>

namespace muster {
namespace {

constinit thread_local bool asks = false;

class Asking {
 public:
  Asking() noexcept : before_(std::exchange(asks, true)) {}
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() { asks = before_; }

 private:
  const bool before_;
};

}  // namespace

Chooser::Chooser(const StrategyChoice& strategy, std::vector<double> weights, std::uint64_t seed)
    : turns_(std::move(weights)), random_(seed) {
  set_strategy(strategy, {});
}

void Chooser::set_strategy(const StrategyChoice& strategy, Members all) {
  custom_ = custom_of(strategy);
  built_in_ = built_in_of(strategy).value_or(BuiltIn::least_busy);
  turns_.reset();
  tell("reset()", [](Strategy& custom) { custom.reset(); });
  for (const auto& member : all) {
    if (member->takes_tasks()) note_added(*member);
  }
}

std::string Chooser::strategy_name() const {
  return std::string(custom_ != nullptr ? custom_->name() : to_string(built_in_));
}

Member& Chooser::choose_of_many(const ProcessTask& task, Candidates among, Members all) {
  const bool takes_turns = custom_ == nullptr && is_weighted(built_in_);
  if (custom_ != nullptr || looks_back(built_in_) || (takes_turns && turns_.are_measured())) {
    update_recent(all);
  }
  if (takes_turns) return take_turn(among, all);
  if (custom_ == nullptr && built_in_ == BuiltIn::round_robin) return next_of(among, all.size());
  if (custom_ != nullptr) {
    if (Member* const chosen = ask(task, among, all.size())) return *chosen;
    ++fallbacks_;
  }
  if (built_in_ == BuiltIn::fair_share) return weigh_shares(among);
  return *among[muster::choose(built_in_, among.size(), turn_, random_,
                               [&](std::size_t i) { return load_of(*among[i]); })];
}

// Turns of those who are not free are lost to them.
Member& Chooser::take_turn(Candidates among, Members all) {
  for (std::size_t tries = 0; tries < WeightedSchedule::kMostTurns; ++tries) {
    Member* const next = all[turns_.next(built_in_, all.size(), recent_)].get();
    if (std::find(among.begin(), among.end(), next) != among.end()) return *next;
  }
  return *among[0];
}

// Whoever comes next by its number.
Member& Chooser::next_of(Candidates among, std::size_t members) {
  const auto distance = [&](const Member* member) {
    return (member->id + members - turn_.next % members) % members;
  };
  Member& next = **std::min_element(
      among.begin(), among.end(),
      [&](const Member* one, const Member* other) { return distance(one) < distance(other); });
  turn_.next = next.id + 1;
  return next;
}

// What a task takes on average is the same for all that are compared: all, or some random ones of
// many.
Member& Chooser::weigh_shares(Candidates among) {
  const std::size_t size = among.size() <= kLookAtAll ? among.size() : kLooks;
  std::array<Member*, kLookAtAll> field{};
  std::array<WorkerLoad, kLookAtAll> loads{};
  for (std::size_t i = 0; i < size; ++i) {
    field[i] = among[size == among.size() ? i : random_.below(among.size())];
    loads[i] = load_of(*field[i]);
  }
  share_average({loads.data(), size});
  return *field[muster::choose(built_in_, size, turn_, random_,
                               [&loads](std::size_t i) { return loads[i]; })];
}

WorkerLoad Chooser::load_of(const Member& member) const {
  WorkerLoad load;
  if (looks_back(built_in_)) load = recent_.load(member.id, member.totals());
  load.pending = member.in_flight;
  load.idle = member.in_flight == 0;
  load.average = member.average_task;
  if (built_in_ == BuiltIn::least_elu) {
    load.utilisation = static_cast<float>(member.utilisation(quick_now()));
  }
  return load;
}

// Null: it has no usable answer.
Member* Chooser::ask(const ProcessTask& task, Candidates among, std::size_t members) {
  const Time now = quick_now();
  const std::vector<double> weights = this->weights(members);
  std::vector<WorkerInfo> infos;
  for (const Member* const member : among) {
    infos.push_back(info_of(*member, weights[member->id], now));
  }
  const ExecOptions& options = task.order.options;
  std::optional<Selection> selection;
  tell("select()", [&](Strategy& custom) {
    selection = custom.select(infos, {.id = task.order.id,
                                      .name = task.order.name,
                                      .priority = options.priority,
                                      .affinity = options.affinity});
  });
  for (Member* const member : among) {
    if (selection && member->id == selection->worker) return member;
  }
  return nullptr;
}

WorkerInfo Chooser::info_of(const Member& member, double weight, Time now) {
  return {.id = member.id,
          .state = member.state,
          .tasks_done = member.tasks,
          .active = std::min(member.in_flight, 1U),
          .queued = member.in_flight - std::min(member.in_flight, 1U),
          .average_task_time = member.average_task,
          .last_task_time = member.last_task,
          .idle_time = member.in_flight == 0 ? now - member.idle_since : Duration::zero(),
          .weight = weight,
          .utilisation = member.utilisation(now)};
}

void Chooser::update_recent(Members all) {
  const Time now = quick_now();
  if (!recent_.is_due(now, all.size())) return;
  std::vector<RecentWork::Totals> totals;
  totals.reserve(all.size());
  for (const auto& member : all) totals.push_back(member->totals());
  recent_.update(now, totals);
}

std::vector<double> Chooser::weights(std::size_t members) const {
  return turns_.weights(members, recent_);
}

// A strategy cannot break the pool.
template <class Call>
void Chooser::tell(const char* what, const Call& call) noexcept {
  if (custom_ == nullptr) return;
  const Asking asking;
  try {
    call(*custom_);
  } catch (...) {
    MUSTER_LOG(LogLevel::warning,
               "a strategy threw in " << what << ": " << message_of(std::current_exception()));
  }
}

void Chooser::tell_done(const Member& member, Duration took) noexcept {
  tell("on_task_complete()", [&](Strategy& custom) { custom.on_task_complete(member.id, took); });
}

void Chooser::note_added(const Member& member) noexcept {
  tell("on_worker_added()", [&](Strategy& custom) {
    custom.on_worker_added(info_of(member, weights(member.id + 1).back(), member.idle_since));
  });
}

void Chooser::note_removed(const Member& member) noexcept {
  tell("on_worker_removed()", [&](Strategy& custom) { custom.on_worker_removed(member.id); });
}

bool Chooser::is_asking() noexcept {
  return asks;
}

}  // namespace muster
