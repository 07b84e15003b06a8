// supervisor_loop.cpp: starting, stopping, and what happens at its time.
#include <algorithm>
#include <bit>
#include <chrono>
#include <csignal>
#include <poll.h>
#include <string>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/processes/process_figures.hpp>

#include "processes/look_ahead.hpp"
#include "processes/supervisor.hpp"

namespace muster {
namespace {

// Of who waits: a wake may be missed if a worker has spoilt the bell.
constexpr Duration kLongestSleep = std::chrono::seconds(1);

// The loop that is late by more was stopped, with all of its process or all of its machine.
constexpr Duration kNoticeable = std::chrono::milliseconds(250);

// Users may still be looking at half of the results' blocks.
WorkerSegment::Sizes sizes_for(const ProcessPoolOptions& options) {
  const unsigned most = std::max(options.prefetch, kMostAhead) + 1;  // and the order to stop
  return {
      .ring = {.slots = std::bit_ceil(most), .participants = 2, .parties = RingParties::pair},
      .blocks = {.count = 2 * options.prefetch + 2,
                 .bytes = (options.max_payload_bytes + kCacheLine - 1) / kCacheLine * kCacheLine}};
}

std::uint64_t a_seed() {
  return static_cast<std::uint64_t>(Time::clock::now().time_since_epoch().count());
}

// When its worker began it, as far as that can be known. None: it waits there behind others, or has
// ended, and nobody has taken its result yet.
std::optional<Time> begun(const Member& member, ProcessTask& task, Time now) {
  if (member.command != nullptr) {
    // The oldest is held to be the one at hand, from when the one before it had ended.
    const bool is_at_hand = member.command->session().oldest() == task.order.id;
    return is_at_hand ? std::optional(std::max(task.progress.began, member.last_result))
                      : std::nullopt;
  }
  const auto flight = std::ranges::find_if(
      member.flights, [&task](const Flight& each) { return each.task && &*each.task == &task; });
  if (flight == member.flights.end()) return std::nullopt;
  const auto slot = static_cast<SlotIndex>(flight - member.flights.begin());
  const SlotWord word = member.segment->ring().word(slot);
  const bool waits_or_is_over = word.state == SlotState::ready || word.state == SlotState::done;
  if (waits_or_is_over && word.generation == flight->generation) return std::nullopt;
  // Who lies about its beginning, or says nothing, gains one more time only.
  if (task.progress.noticed == Time{}) task.progress.noticed = now;
  const WorkerReading reading = member.read();
  return reading.task == task.order.id ? std::min(reading.started, task.progress.noticed)
                                       : task.progress.noticed;
}

}  // namespace

Supervisor::Supervisor(ProcessPoolOptions options)
    : options_(std::move(options)),
      segment_sizes_(sizes_for(options_)),
      recycles_by_task_(options_.recycling.max_tasks || options_.recycling.max_growth_bytes),
      watermarks_(options_.admission),
      bell_(Bell::create()),
      seat_(bell_.sleepers(), *this,
            {.idle = idle_time_of_waiter(options_.idle),
             .longest_sleep = kLongestSleep,
             .often = std::chrono::microseconds(50),
             .nap = std::chrono::microseconds(30),
             .long_nap = std::chrono::microseconds(200)}),
      ring_(options_.affinity.virtual_nodes),
      chooser_(options_.strategy, options_.weights, a_seed()),
      random_(a_seed()),
      respawn_(options_.respawn),
      dead_letters_(options_.max_dead_letters),
      rates_(std::chrono::seconds(1), Time::clock::now()) {
  if (options_.scaling) scaler_.emplace(*options_.scaling);
}

Supervisor::~Supervisor() = default;

void Supervisor::start() {
  {
    const MutexLock lock(mutex_);
    if (state_ != PoolState::uninitialized) return;
    state_ = PoolState::initializing;
  }
  auto spawner = std::make_unique<Spawner>(SpawnerOptions{.start_timeout = options_.start_timeout});
  {
    const MutexLock lock(mutex_);
    spawner_ = std::move(spawner);
    if (const auto& on_output = options_.on_output) {
      constexpr std::uint64_t kMember = (std::uint64_t{1} << kRunShift) - 1;
      capture_ =
          std::make_unique<OutputCapture>(OutputOptions{.on_line =
                                                            [on_output](OutputLine line) {
                                                              line.worker &= kMember;
                                                              on_output(line);
                                                            },
                                                        .on_room = [this] { kick_.give(); }});
    }
    target_ = options_.workers;
    apply_target("start");
  }
  loop_ = std::thread([this] { run_loop(); });
  clerk_ = std::thread([this] { serve_as_clerk(); });
  const Time deadline =
      later(later(Time::clock::now(), options_.start_timeout), std::chrono::seconds(1));
  std::string failure;
  {
    const MutexLock lock(mutex_);
    while (state_ == PoolState::initializing && respawn_.pauses() == 0 &&
           changed_.wait_until(mutex_, deadline)) {
    }
    if (state_ == PoolState::ready) return;
    failure = start_failure_.empty() ? "none was ready in time" : start_failure_;
  }
  stop({.mode = Stop::discard});
  throw SystemFailure("start a worker: " + failure, ECHILD,
                      "see that its main() calls worker_main()");
}

StopResult Supervisor::stop(const StopOptions& options) {
  refuse_strategies();
  if (is_collecting()) {
    throw WouldDeadlock(
        "a process pool cannot be stopped by what follows one of its tasks; let "
        "that run on another pool, or stop it elsewhere");
  }
  const Time deadline = options.timeout ? deadline_after(*options.timeout) : Time::max();
  Verdicts verdicts;
  {
    const MutexLock lock(mutex_);
    if (state_ == PoolState::uninitialized) state_ = PoolState::shut_down;
    if (state_ != PoolState::shut_down) state_ = PoolState::shutting_down;
    room_.notify_all();
    if (options.mode == Stop::discard) {
      discards_ = true;
      target_ = 0;
      drop_waiting(kStoppedTooEarly);
      for (const auto& member : members_) kill(*member, EndReason::asked);
    }
    verdicts = take_verdicts();
  }
  pronounce(std::move(verdicts));
  {
    const MutexLock lock(mutex_);
    while (unsettled_ > 0 && Time::clock::now() < deadline) {
      if (deadline == Time::max()) {
        changed_.wait(mutex_);
      } else {
        changed_.wait_until(mutex_, deadline);
      }
    }
    if (unsettled_ > 0) return {.unfinished = unsettled_};
  }
  end_workers(deadline);
  return {};
}

// Requires: nothing is left to do, and nothing will come.
void Supervisor::end_workers(Time deadline) {
  const MutexLock one_at_a_time(ending_);
  {
    const MutexLock lock(mutex_);
    if (state_ == PoolState::shut_down) return;
    target_ = 0;
    for (const auto& member : members_) retire(*member);
    kick_.give();
    const Time patience = std::min(deadline, Time::clock::now() + options_.health.terminate_grace);
    while (!is_quiet() && changed_.wait_until(mutex_, patience)) {
    }
    for (const auto& member : members_) kill(*member, EndReason::asked);
    while (!is_quiet()) changed_.wait(mutex_);
    state_ = PoolState::shut_down;
    clerk_stops_ = true;
    kick_.give();
  }
  bell_.sleepers().wake_all();
  if (loop_.joinable()) loop_.join();
  if (clerk_.joinable()) clerk_.join();
  Verdicts verdicts;
  std::unique_ptr<OutputCapture> capture;
  {
    const MutexLock lock(mutex_);
    spawner_.reset();
    capture = std::move(capture_);
    verdicts = take_verdicts();  // what the clerk did not come to
  }
  pronounce(std::move(verdicts));
  capture.reset();  // which waits for on_output, and that may ask the pool something
}

bool Supervisor::is_quiet() const {
  return std::none_of(members_.begin(), members_.end(),
                      [](const auto& member) { return member->has_process(); });
}

void Supervisor::run_loop() {
  Time until{};
  for (;;) {
    bool has_verdicts = false;
    {
      const MutexLock lock(mutex_);
      if (state_ == PoolState::shut_down) return;
      const Time now = Time::clock::now();
      if (until > Time{} && now - until > kNoticeable) stall_ = {.end = now, .length = now - until};
      receive_spawner_events();
      for (const auto& member : members_) {
        if (member->control) read_hello(*member);
      }
      serve_commands(now);
      serve_times(now);
      until = next_due(now);
      has_verdicts = !verdicts_.empty();
    }
    if (has_verdicts) bell_.ring();  // what follows a task must not hold up the loop
    wait_for_events(until);
  }
}

void Supervisor::wait_for_events(Time until) {
  std::vector<pollfd> events;
  const auto watch = [&events](int descriptor, short what = POLLIN) {
    events.push_back({.fd = descriptor, .events = what, .revents = 0});
  };
  watch(kick_.descriptor());
  {
    const MutexLock lock(mutex_);
    if (spawner_ != nullptr) watch(spawner_->descriptor());
    for (const auto& member : members_) {
      if (member->control) watch(member->control.get());
      if (member->command == nullptr || !member->has_process()) continue;
      const int output = member->command->output();
      if (output >= 0 && may_read_commands()) watch(output);
      if (member->command->has_unsent()) watch(member->command->input(), POLLOUT);
    }
  }
  const Duration left = until - Time::clock::now();
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  (void)poll(events.data(), events.size(),
             static_cast<int>(std::clamp<std::int64_t>(milliseconds, 0, 60'000)));
  kick_.take();
}

Time Supervisor::next_due(Time now) const {
  Time next = next_health_;
  const auto consider = [&next](Time due) { next = std::min(next, due); };
  if (!delayed_.empty()) consider(delayed_.next());
  if (!timeouts_.empty()) consider(timeouts_.next());
  if (more_memory_) consider(*more_memory_);
  if (scaler_) consider(next_scaling_);
  for (const auto& member : members_) {
    if (member->command != nullptr && member->has_process()) {
      if (const auto look = member->command->session().next_look()) consider(*look);
    }
    if (const auto kill_at = member->kill_at) consider(*kill_at);
    if (member->state == WorkerState::warming)
      consider(later(member->launched, options_.start_timeout));
    if (is_missing(*member)) consider(std::max(respawn_.next_spawn(now), now));
  }
  return next;
}

void Supervisor::serve_times(Time now) {
  serve_task_times(now);
  if (more_memory_ && now >= *more_memory_) {
    more_memory_.reset();
    feed_idle(now);
  }
  if (now >= next_health_) {
    look_after_health(now);
    next_health_ = now + options_.health.heartbeat / 2;
  }
  if (scaler_ && now >= next_scaling_ && state_ == PoolState::ready) {
    scale(now);
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): else there is no scaler
    next_scaling_ = now + options_.scaling->check_every;
  }
  for (const auto& member : members_) {
    const bool is_late = member->state == WorkerState::warming &&
                         now >= later(member->launched, options_.start_timeout);
    if (is_late) kill(*member, EndReason::timeout);
    if (const auto kill_at = member->kill_at; kill_at && now >= *kill_at) {
      member->process.send_signal(SIGKILL);
      member->kill_at.reset();
    }
  }
  launch_missing(now);
}

void Supervisor::serve_task_times(Time now) {
  while (!delayed_.empty() && delayed_.next() <= now) {
    enqueue(delayed_.pop());
    note_backlog();
  }
  while (!timeouts_.empty() && timeouts_.next() <= now) check_timeout(timeouts_.pop(), now);
}

// It may have waited there behind others.
void Supervisor::check_timeout(TaskRef task, Time now) {
  Member& member = *members_[task->progress.worker];
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): or it would not be here
  const Duration allowed = *task->order.options.timeout;
  const Time due = time_is_over_at(begun(member, *task, now), allowed, stall_, now);
  if (due > now) {
    timeouts_.push(due, std::move(task));
    return;
  }
  ++counts_.timeouts;
  kill(member, EndReason::timeout);
}

void Supervisor::look_after_health(Time now) {
  for (const auto& member : members_) {
    if (member->health) look_after(*member, now);
  }
  if (!lists_.busy().empty()) bell_.ring();  // in case a worker has spoilt it
}

void Supervisor::look_after(Member& member, Time now) {
  if (member.command != nullptr) {
    if (const auto figures = read_process_figures(RealFiles(), member.process.pid())) {
      member.command_reading.cpu_time = figures->cpu_time;
      if (!member.tells_memory) member.command_reading.anonymous_bytes = figures->anonymous_bytes;
    }
  }
  const WorkerReading reading = member.read();
  VitalSigns signs{.beats = reading.beats, .cpu_time = reading.cpu_time};
  if (member.command != nullptr) signs.beats = member.beats + 1;  // its session looks after it
  if (signs.beats != member.beats) {
    member.beats = signs.beats;
    if (member.first_memory == 0) member.first_memory = reading.anonymous_bytes;
    if (member.history.size() == Member::kHistory) member.history.pop_front();
    member.history.push_back({.time = now,
                              .state = member.state,
                              .anonymous_bytes = reading.anonymous_bytes,
                              .cpu_time = reading.cpu_time,
                              .tasks = member.tasks,
                              .task = reading.task,
                              .progress = reading.progress});
  } else if (member.process) {
    // A second opinion: it may be busy, or its core be dumped, and its heart still.
    if (const auto figures = read_process_figures(RealFiles(), member.process.pid())) {
      signs.cpu_time = figures->cpu_time;
      signs.dumps_core = figures->dumps_core;
    }
  }
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): only those with health are looked after
  act_on(member, member.health->look(signs, now));
  recycle_if_due(member, reading.anonymous_bytes, now);
}

void Supervisor::act_on(Member& member, HealthAction action) {
  switch (action) {
    case HealthAction::none:
    case HealthAction::recovered:
      return;
    case HealthAction::warn:
      notices_.tell([&] { return HeartbeatMissed{member.id, member.health->silence()}; });
      return;
    case HealthAction::terminate:
      notices_.tell([&] { return ZombieFound{member.id, member.health->silence()}; });
      ++counts_.zombies;
      member.state = WorkerState::zombie;
      end_process(member, EndReason::silence);
      return;
    case HealthAction::kill:
      kill(member, member.past.reason);
      return;
  }
}

// One at a time, until its successor is ready: the others must be able to do its work.
void Supervisor::recycle_if_due(Member& member, std::uint64_t memory, Time now) {
  if (!member.takes_tasks()) return;
  const bool another_goes = std::ranges::any_of(members_, [this](const auto& other) {
    this->mutex_.is_held();
    return other->is_recycled && (other->has_process() || is_missing(*other));
  });
  if (another_goes) return;
  const std::uint64_t growth = memory > member.first_memory ? memory - member.first_memory : 0;
  const RecycleReason reason = reason_to_recycle(
      options_.recycling,
      {.tasks = member.tasks, .growth_bytes = growth, .age = now - member.ready_since},
      member.luck);
  if (reason == RecycleReason::none) return;
  notices_.tell([&] { return WorkerRecycled{member.id, std::string(to_string(reason))}; });
  ++counts_.recycled;
  member.is_recycled = true;
  recall(member);
  retire(member);
}

void Supervisor::scale(Time now) {
  ScalingInput input{.now = now, .workers = target_, .queued = waiting_.size()};
  Duration times{};
  int timed = 0;
  for (const auto& member : members_) {
    if (!member->takes_tasks()) continue;
    times += member->average_task;
    timed += member->average_task == Duration::zero() ? 0 : 1;
    if (member->in_flight > 0) {
      ++input.active;
      continue;
    }
    ++input.idle;
    input.longest_idle = std::max(input.longest_idle, now - member->idle_since);
  }
  if (timed > 0) input.average_task_time = times / timed;
  input.arrivals = counts_.submitted;
  input.completions = counts_.completed + counts_.failed;
  try {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): only if there is a scaler
    const ScalingDecision decision = scaler_->decide(input);
    if (decision.change == 0) return;
    target_ = static_cast<unsigned>(static_cast<int>(target_) + decision.change);
    apply_target(decision.reason);
  } catch (const std::exception& error) {
    MUSTER_LOG(LogLevel::warning, "the pool is not scaled: " << error.what());
  }
}

void Supervisor::change_workers(std::int64_t by) {
  refuse_strategies();
  const MutexLock lock(mutex_);
  if (!is_open()) throw Stopped("the pool was stopped, and its workers are not changed any more");
  const std::int64_t wanted = target_ + by;
  if (wanted < 1 || wanted > kMaxWorkers) {
    throw InvalidArgument({"count", std::to_string(by > 0 ? by : -by),
                           "must leave between 1 and " + std::to_string(kMaxWorkers) +
                               " workers; there are " + std::to_string(target_)});
  }
  target_ = static_cast<unsigned>(wanted);
  apply_target("asked for");
}

}  // namespace muster
