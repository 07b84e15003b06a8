// placer.cpp: looking at the workers, and planning.
#include "threads/placer.hpp"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/simulation.hpp>
#include <muster/sync/player.hpp>

#include "threads/crew.hpp"

namespace muster {

constinit thread_local Placer::Plan Placer::current_plan;

namespace {

// If there are thieves, queues of this length are long, whichever is longer: all posters would
// crowd around one inbox for the sake of a difference that thieves even out anyway.
constexpr std::size_t kLongQueue = 64;

// Of a plan, so many are chosen, which evens out what can be seen; if there are thieves, the rest
// come in turn.
constexpr std::uint32_t kChosen = 32;

// A call to a strategy of the user's, on this thread. One may lead to another, of another pool.
class Asking {
 public:
  explicit Asking(const Placer& placer) : placer_(placer), outer_(std::exchange(innermost, this)) {}
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() { innermost = outer_; }

  static bool goes_on(const Placer& placer) noexcept {
    const Asking* each = innermost;
    while (each != nullptr && &each->placer_ != &placer) each = each->outer_;
    return each != nullptr;
  }

 private:
  static constinit thread_local const Asking* innermost;
  const Placer& placer_;
  const Asking* const outer_;
};

constinit thread_local const Asking* Asking::innermost = nullptr;

// Different for every pool and every strategy of it; never 0.
std::uint64_t next_version() {
  static Atomic<std::uint64_t> last = 0;
  return last.fetch_add(1, relaxed) + 1;  // relaxed: a number
}

RecentWork::Totals totals_of(const Worker& worker, Time now) {
  return {.done = worker.counters().done.load(relaxed),  // relaxed: a count
          .busy = worker.times().busy_until(now)};
}

}  // namespace

Placer::Placer(const Crew& crew, const ThreadPoolOptions& options)
    : crew_(crew),
      plans_age_(!options.stealing.enabled),
      version_(next_version()),
      charges_(options.max_workers + options.max_spare_workers),
      turns_(options.weights) {
  set_strategy(options.strategy);
}

std::string Placer::set_strategy(const StrategyChoice& strategy) {
  if (is_asking()) throw WouldDeadlock("set_strategy() from within the pool's strategy");
  const std::optional<BuiltIn> built_in = built_in_of(strategy);
  std::shared_ptr<Strategy> custom = custom_of(strategy);
  std::string name(built_in ? to_string(*built_in) : custom->name());
  {
    const MutexLock ask_lock(ask_mutex_);
    has_failed_ = false;
    introduced_ = 0;
    const Asking asking(*this);
    try {
      if (custom != nullptr) custom->reset();
    } catch (...) {
      log_failure("reset()");
    }
    const MutexLock lock(mutex_);
    std::swap(name, name_);
    std::swap(custom, custom_);
    turns_.reset();
    // relaxed: a plan made meanwhile is as good as one made before; so for all three.
    built_in_.store(built_in.value_or(BuiltIn::least_busy), relaxed);
    has_custom_.store(custom_ != nullptr, relaxed);  // relaxed: as above
    version_.store(next_version(), relaxed);         // relaxed: as above
  }
  custom.reset();  // the one before, with no lock held
  meet_workers();
  return name;
}

bool Placer::is_asking() const noexcept {
  return Asking::goes_on(*this);
}

std::string Placer::strategy_name() {
  const MutexLock lock(mutex_);
  return name_;
}

std::size_t Placer::pick_anew(std::size_t workers, const TaskInfo& task) {
  Plan& plan = current_plan;
  const std::uint64_t version = version_.load(relaxed);  // relaxed: as in set_strategy()
  if (plan.version != version) {
    // Each thread begins somewhere else.
    plan = {.version = version,
            .random = Random(version + reinterpret_cast<std::uintptr_t>(&plan))};
    plan.turn.next = plan.random.below(workers);
  }
  const BuiltIn strategy = built_in_.load(relaxed);  // relaxed: as in set_strategy()
  if (has_custom()) {
    if (const std::optional<std::size_t> worker = ask(task)) return *worker;
    make_plan(workers, strategy, 1, plan);
    return plan.workers[plan.next++];
  }
  if (Simulation* const world = crew_.options().simulation; world != nullptr) {
    plan.random = world->random().split();
    plan.turn.next = plan.random.below(workers);
    make_plan(workers, strategy, 1, plan);
    return plan.workers[plan.next++];
  }
  // What was planned was planned for others.
  if (task.estimated_duration && weighs_time()) return pick_one(workers, strategy, plan);
  const bool is_used_up = plan.next == plan.size;
  const bool may_age = plans_age_ && !is_weighted(strategy);  // turns stay what they are
  const Time now = may_age ? current_time() : Time{};
  const bool is_old = may_age && now - plan.made > kPlanAge;
  if (is_used_up || is_old || plan.workers[plan.next] >= workers) {
    // Turns that were planned and not taken come next again.
    if (!is_used_up && plan.next > 0) plan.turn.next = plan.workers[plan.next - 1] + std::size_t{1};
    const auto longest = static_cast<std::uint32_t>(may_age ? kLongestAgingPlan : kLongestPlan);
    make_plan(workers, strategy, is_old ? 1 : std::clamp(plan.size * 2, 1U, longest), plan);
    plan.made = now;
  }
  return plan.workers[plan.next++];
}

void Placer::make_plan(std::size_t workers, BuiltIn strategy, std::uint32_t size, Plan& plan) {
  plan.next = 0;
  plan.size = size;
  if (is_weighted(strategy)) return take_turns(workers, strategy, plan);
  Field field;
  look(workers, strategy, plan.random, field);
  const std::uint32_t chosen_ones = plans_age_ ? size : std::min(size, kChosen);
  for (std::uint32_t i = 0; i < chosen_ones; ++i) {
    const std::size_t chosen = choose(strategy, field.size, plan.turn, plan.random,
                                      [&](std::size_t each) { return field.loads[each]; });
    plan.workers[i] = field.workers[chosen];
    ++field.loads[chosen].pending;
    field.loads[chosen].idle = false;
  }
  std::size_t next = chosen_ones < size ? plan.turn.next : 0;
  for (std::uint32_t i = chosen_ones; i < size; ++i) {
    next = next < field.size ? next : 0;
    plan.workers[i] = field.workers[next++];
  }
  if (chosen_ones < size) plan.turn.next = next;
}

// For one task by itself.
std::size_t Placer::pick_one(std::size_t workers, BuiltIn strategy, Plan& plan) {
  Field field;
  look(workers, strategy, plan.random, field);
  return field.workers[choose(strategy, field.size, plan.turn, plan.random,
                              [&](std::size_t each) { return field.loads[each]; })];
}

// Who has not been there for long begins with the least of the others.
void Placer::find_utilisations(Field& field) const {
  const Time now = current_time();
  float least = 1;
  bool is_known = false;
  for (std::size_t i = 0; i < field.size; ++i) {
    const WorkerTimes& times = crew_.worker(field.workers[i])->times();
    field.loads[i].utilisation = static_cast<float>(times.steady_utilisation(now));
    if (!times.recent.is_full(now)) continue;
    least = std::min(least, field.loads[i].utilisation);
    is_known = true;
  }
  for (std::size_t i = 0; is_known && i < field.size; ++i) {
    field.loads[i].utilisation = std::max(field.loads[i].utilisation, least);
  }
}

// All, or some random ones of many.
void Placer::look(std::size_t workers, BuiltIn strategy, Random& random, Field& field) {
  if (workers <= kLookAtAll) {
    field.size = workers;
    for (std::size_t i = 0; i < workers; ++i) field.workers[i] = static_cast<std::uint16_t>(i);
  } else {
    field.size = kLooks;
    for (std::size_t i = 0; i < kLooks; ++i) {
      field.workers[i] = static_cast<std::uint16_t>(random.below(workers));
    }
  }
  if (looks_back(strategy)) {
    const Time now = current_time();
    const MutexLock lock(mutex_);
    update_recent(workers, now);
    for (std::size_t i = 0; i < field.size; ++i) {
      const std::size_t index = field.workers[i];
      field.loads[i] = recent_.load(index, totals_of(*crew_.worker(index), now));
    }
  }
  if (strategy == BuiltIn::least_elu) find_utilisations(field);
  for (std::size_t i = 0; i < field.size; ++i) {
    Worker& worker = *crew_.worker(field.workers[i]);
    const std::size_t pending = worker.pending_approx();
    field.loads[i].pending =
        static_cast<std::uint32_t>(plans_age_ ? pending : std::min(pending, kLongQueue));
    field.loads[i].idle = pending == 0;
  }
  if (strategy != BuiltIn::fair_share && strategy != BuiltIn::least_elu) return;
  for (std::size_t i = 0; i < field.size; ++i) {
    const Charges::Sum charged = charges_.of(field.workers[i]);
    field.loads[i].average = crew_.worker(field.workers[i])->times().average_time();
    field.loads[i].estimated = charged.tasks;
    field.loads[i].estimates = charged.time;
  }
  share_average({field.loads.data(), field.size});
}

// The weighted ones take turns from one table for all threads, so the shares are exact.
void Placer::take_turns(std::size_t workers, BuiltIn strategy, Plan& plan) {
  const MutexLock lock(mutex_);
  if (turns_.are_measured()) update_recent(workers, current_time());
  for (std::uint32_t i = 0; i < plan.size; ++i) {
    plan.workers[i] = static_cast<std::uint16_t>(turns_.next(strategy, workers, recent_));
  }
}

void Placer::update_recent(std::size_t workers, Time now) {
  if (!recent_.is_due(now, workers)) return;
  std::vector<RecentWork::Totals> totals;
  totals.reserve(workers);
  for (std::size_t i = 0; i < workers; ++i) totals.push_back(totals_of(*crew_.worker(i), now));
  recent_.update(now, totals);
}

std::vector<double> Placer::weights(std::size_t workers) {
  const MutexLock lock(mutex_);
  return turns_.weights(workers, recent_);
}

// None: it had no usable answer.
std::optional<std::size_t> Placer::ask(const TaskInfo& task) {
  const std::optional<std::size_t> worker = answer_for(task);
  if (!worker) fallbacks_.fetch_add(1, relaxed);  // relaxed: a count
  return worker;
}

std::optional<std::size_t> Placer::answer_for(TaskInfo task) {
  if (is_asking()) return std::nullopt;  // it posts to its own pool
  const MutexLock lock(ask_mutex_);
  if (custom_ == nullptr) return std::nullopt;  // just exchanged
  const std::size_t workers = crew_.staff().serving();
  look_at_all(workers);
  task.id = ++tasks_asked_;
  const Asking asking(*this);
  try {
    introduce(workers);
    const std::optional<Selection> selection = custom_->select(infos_, task);
    if (selection && selection->worker < workers) return selection->worker;
  } catch (...) {
    log_failure("select()");
  }
  return std::nullopt;
}

// For a strategy of the user's.
void Placer::look_at_all(std::size_t workers) {
  const Time now = current_time();
  const MutexLock lock(mutex_);
  update_recent(workers, now);
  const std::vector<double> weights = turns_.weights(workers, recent_);
  infos_.clear();
  for (std::size_t i = 0; i < workers; ++i) {
    Worker& worker = *crew_.worker(i);
    const bool is_busy = worker.counters().busy.load(relaxed) != 0;  // relaxed: racy by contract
    const Charges::Sum charged = charges_.of(i);
    infos_.push_back({.id = i,
                      .state = is_busy ? WorkerState::busy : WorkerState::ready,
                      .tasks_done = worker.counters().done.load(relaxed),  // relaxed: a count
                      .active = is_busy ? 1U : 0U,
                      .queued = static_cast<std::uint32_t>(worker.queued_approx()),
                      .estimated = charged.tasks,
                      .estimated_time = charged.time,
                      .average_task_time = worker.times().average_time(),
                      .last_task_time = worker.times().last_time(),
                      .idle_time = is_busy ? Duration::zero() : worker.times().idle_time(now),
                      .weight = weights[i],
                      .utilisation = worker.times().utilisation(now)});
  }
}

// What is being handled. A strategy that throws may do so for each task: to say it once is enough.
void Placer::log_failure(const char* of) noexcept {
  if (std::exchange(has_failed_, true)) return;
  MUSTER_LOG(LogLevel::warning, "a strategy's "
                                    << of << " failed: " << message_of(std::current_exception())
                                    << "; this is not said again, but counted");
}

// They come and go at the end.
void Placer::introduce(std::size_t workers) {
  while (introduced_ < workers) custom_->on_worker_added({.id = introduced_++});
  while (introduced_ > workers) custom_->on_worker_removed(--introduced_);
}

template <class Call>
void Placer::tell(const Call& call) noexcept {
  if (!has_custom() || is_asking()) return;
  const MutexLock lock(ask_mutex_);
  if (custom_ == nullptr) return;
  const Asking asking(*this);
  try {
    introduce(crew_.staff().serving());
    call(*custom_, introduced_);
  } catch (...) {
    log_failure("hook");
  }
}

void Placer::drop_plans() noexcept {
  version_.store(next_version(), relaxed);  // relaxed: as in set_strategy()
}

void Placer::meet_workers() noexcept {
  tell([](Strategy&, std::size_t) {});
}

void Placer::note_done(std::size_t worker, Duration took) noexcept {
  // Spares, and one that has left while it ran, are none of its.
  tell([&](Strategy& strategy, std::size_t workers) {
    if (worker < workers) strategy.on_task_complete(worker, took);
  });
}

}  // namespace muster
