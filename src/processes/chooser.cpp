// chooser.cpp: loads for the built-ins, infos for the others.
#include "processes/chooser.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/error.hpp>

namespace muster {
namespace {

// What workers did of late is brought up to date so often at most.
constexpr Duration kUpdateEvery = std::chrono::milliseconds(10);

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

bool is_weighted(BuiltIn strategy) {
  return strategy == BuiltIn::weighted_round_robin || strategy == BuiltIn::interleaved_weighted;
}

bool looks_back(BuiltIn strategy) {
  return strategy == BuiltIn::least_used || strategy == BuiltIn::fair_share;
}

// Null: choice.hpp knows it.
std::shared_ptr<Strategy> object_for(const StrategyChoice& choice) {
  if (const auto built_in = built_in_of(choice)) {
    return is_weighted(*built_in) ? make_strategy(*built_in) : nullptr;
  }
  if (const auto* const name = std::get_if<std::string>(&choice)) return make_strategy(*name);
  return std::get<std::shared_ptr<Strategy>>(choice);
}

}  // namespace

Chooser::Chooser(const StrategyChoice& strategy, std::vector<double> weights, std::uint64_t seed)
    : given_weights_(std::move(weights)), random_(seed) {
  set_strategy(strategy, {});
}

void Chooser::set_strategy(const StrategyChoice& strategy, Members all) {
  object_ = object_for(strategy);
  built_in_ = built_in_of(strategy).value_or(BuiltIn::least_busy);
  tell("reset()", [](Strategy& object) { object.reset(); });
  for (const auto& member : all) {
    if (member->takes_tasks()) note_added(*member);
  }
}

std::string Chooser::strategy_name() const {
  return std::string(object_ != nullptr ? object_->name() : to_string(built_in_));
}

Member& Chooser::choose(const ProcessTask& task, std::span<Member* const> among, Members all,
                        Time now) {
  if (among.size() == 1) return *among[0];
  if (object_ != nullptr || looks_back(built_in_)) update_recent(all, now);
  if (object_ != nullptr) return ask(task, among, now);
  loads_.clear();
  for (const Member* const member : among) {
    WorkerLoad load;
    if (looks_back(built_in_)) load = recent_.load(member->id, member->totals());
    load.pending = member->in_flight;
    load.idle = member->in_flight == 0;
    load.average = member->average_task;
    if (built_in_ == BuiltIn::least_elu) {
      load.utilisation = static_cast<float>(member->read().utilisation);
    }
    loads_.push_back(load);
  }
  if (built_in_ == BuiltIn::fair_share) share_average(loads_);
  return *among[muster::choose(built_in_, among.size(), turn_, random_,
                               [this](std::size_t i) { return loads_[i]; })];
}

Member& Chooser::ask(const ProcessTask& task, std::span<Member* const> among, Time now) {
  std::vector<WorkerInfo> infos;
  for (const Member* const member : among) infos.push_back(info_of(*member, now));
  const ExecOptions& options = task.order.options;
  std::optional<Selection> selection;
  tell("select()", [&](Strategy& object) {
    selection = object.select(infos, {.id = task.order.id,
                                      .name = task.order.name,
                                      .priority = options.priority,
                                      .affinity = options.affinity});
  });
  for (Member* const member : among) {
    if (selection && member->id == selection->worker) return *member;
  }
  ++fallbacks_;
  return **std::min_element(among.begin(), among.end(), [](const Member* one, const Member* other) {
    return one->in_flight < other->in_flight;
  });
}

WorkerInfo Chooser::info_of(const Member& member, Time now) const {
  const std::vector<double> weights = this->weights(member.id + 1);
  return {.id = member.id,
          .state = member.state,
          .tasks_done = member.tasks,
          .active = std::min(member.in_flight, 1U),
          .queued = member.in_flight - std::min(member.in_flight, 1U),
          .average_task_time = member.average_task,
          .last_task_time = member.last_task,
          .idle_time = member.in_flight == 0 ? now - member.idle_since : Duration::zero(),
          .weight = weights[member.id],
          .utilisation = member.read().utilisation};
}

void Chooser::update_recent(Members all, Time now) {
  // One that has just come begins where the others are, before it is looked at.
  const bool knows_all = all.size() <= recent_.worker_count();
  if (knows_all && now - recent_time_ < kUpdateEvery) return;
  recent_time_ = now;
  std::vector<RecentWork::Totals> totals;
  totals.reserve(all.size());
  for (const auto& member : all) totals.push_back(member->totals());
  recent_.update(now, totals);
}

std::vector<double> Chooser::weights(std::size_t members) const {
  return weights_for(members, given_weights_, recent_);
}

// A strategy cannot break the pool.
template <class Call>
void Chooser::tell(const char* what, const Call& call) noexcept {
  if (object_ == nullptr) return;
  const Asking asking;
  try {
    call(*object_);
  } catch (...) {
    MUSTER_LOG(LogLevel::warning,
               "a strategy threw in " << what << ": " << message_of(std::current_exception()));
  }
}

void Chooser::note_done(const Member& member, Duration took) noexcept {
  tell("on_task_complete()", [&](Strategy& object) { object.on_task_complete(member.id, took); });
}

void Chooser::note_added(const Member& member) noexcept {
  tell("on_worker_added()",
       [&](Strategy& object) { object.on_worker_added(info_of(member, member.idle_since)); });
}

void Chooser::note_removed(const Member& member) noexcept {
  tell("on_worker_removed()", [&](Strategy& object) { object.on_worker_removed(member.id); });
}

bool Chooser::is_asking() noexcept {
  return asks;
}

}  // namespace muster
