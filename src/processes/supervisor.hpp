// supervisor.hpp: what runs a ProcessPool: who waits, who is given what, and what becomes of it.
//
// Three kinds of threads meet here. Any thread calls exec(); the *loop* starts and buries workers,
// watches their health and serves all times; and whoever has the collector's *seat* takes results
// out of the workers' rings and gives their workers more: a thread that waits for a result, or the
// *clerk* if none does. See seat.hpp for how they are woken.
//
// What every task passes through is marked [[gnu::hot]], and what few do [[gnu::cold]] or kept out
// of line: so the former stand close together, here and in the layers below. After a silence that
// decides how soon a task is back.
//
// Thread safety: public members from any thread.
// Design note: docs/design/process_pool.md
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <muster/base/random.hpp>
#include <muster/future.hpp>
#include <muster/observe/histogram.hpp>
#include <muster/observe/notice_hub.hpp>
#include <muster/observe/rates.hpp>
#include <muster/observe/snapshot.hpp>
#include <muster/policy/admission.hpp>
#include <muster/policy/hash_ring.hpp>
#include <muster/process_pool_options.hpp>
#include <muster/processes/output_capture.hpp>
#include <muster/processes/spawner.hpp>
#include <muster/queues/ring_supervisor.hpp>
#include <muster/sync/mutex.hpp>

#include "processes/bell.hpp"
#include "processes/chooser.hpp"
#include "processes/dead_letters.hpp"
#include "processes/kick.hpp"
#include "processes/member.hpp"
#include "processes/member_lists.hpp"
#include "processes/seat.hpp"
#include "processes/task_timeout.hpp"
#include "processes/verdicts.hpp"
#include "processes/waiting_tasks.hpp"
#include "processes/watched_rings.hpp"

namespace muster {

class Supervisor final : public std::enable_shared_from_this<Supervisor>, private Seat::Results {
 public:
  // Starts nothing. Requires: valid options.
  explicit Supervisor(ProcessPoolOptions options);

  // Requires: stop() was called, or start() was not.
  ~Supervisor();

  // Starts the workers and returns when the first is ready. Throws if none becomes so.
  void start();

  enum class Entry { by_policy, if_room };

  // None: there is no room, and it was to come in only if there was.
  [[gnu::hot]] std::optional<Future<Bytes>> exec(std::string_view name, Bytes&& payload,
                                                 ExecOptions&& options, Entry entry);

  std::vector<Future<Bytes>> exec_many(std::string_view name, std::span<const Bytes> payloads,
                                       const ExecOptions& options);

  // Safe twice, and unstarted. Throws WouldDeadlock if called by what follows a task of the pool.
  StopResult stop(const StopOptions& options);

  // From ProcessTask.
  [[gnu::hot]] void attend(const Seat::Errand& errand, Time deadline);
  void stir() noexcept { bell_.ring(); }
  bool cancel(ProcessTask& task);

  [[nodiscard]] ProcessPoolMetrics metrics() const;
  [[nodiscard]] std::optional<WorkerStatus> worker_status(unsigned worker) const;
  [[nodiscard]] PoolSnapshot snapshot() const;
  [[nodiscard]] std::vector<TaskStatus> tasks(std::size_t limit) const;
  [[nodiscard]] NoticeHub& notices() noexcept { return notices_; }
  void change_workers(std::int64_t by);
  void set_strategy(const StrategyChoice& strategy);
  [[nodiscard]] std::string strategy() const;

  [[nodiscard]] std::vector<DeadLetter> dead_letters() const;
  std::optional<Future<Bytes>> replay(std::uint64_t id);
  bool discard(std::uint64_t id);

 private:
  static constexpr const char* kNobodyIsLeft =
      "all workers have died, and none is replaced, since auto_restart is off";
  static constexpr const char* kStoppedTooEarly = "the pool was stopped before the task began";

  // Tasks: supervisor_tasks.cpp
  [[gnu::cold]] void check_command(std::string_view name, std::span<const Bytes> payloads) const;
  NewTask make_task(std::string_view name, Bytes&& payload, ExecOptions&& options);
  [[nodiscard]] FoundMethod find_method(const TaskOrder& order) MUSTER_REQUIRES(mutex_);
  [[nodiscard, gnu::cold]] std::vector<BadField> problems_of(const TaskOrder& order,
                                                             bool is_method_known) const
      MUSTER_REQUIRES(mutex_);
  [[nodiscard]] bool may_have(const std::string& capability) const MUSTER_REQUIRES(mutex_);
  std::optional<std::uint32_t> known_method(const std::string& name) MUSTER_REQUIRES(mutex_);
  void submit(TaskRef task, FoundMethod method, std::exception_ptr refusal) MUSTER_REQUIRES(mutex_);
  void accept(TaskRef task) MUSTER_REQUIRES(mutex_);
  [[gnu::hot]] void enqueue(TaskRef task) MUSTER_REQUIRES(mutex_);
  [[gnu::hot]] void note_end(Member& member, const ProcessTask& task, Duration took)
      MUSTER_REQUIRES(mutex_);
  [[gnu::hot]] void conclude(TaskRef task, Bytes&& value) MUSTER_REQUIRES(mutex_);
  void pass(TaskRef task) MUSTER_REQUIRES(mutex_);
  [[gnu::cold]] void after_failure(TaskRef task, Mishap mishap) MUSTER_REQUIRES(mutex_);
  void bury(TaskRef task, const Mishap& mishap) MUSTER_REQUIRES(mutex_);
  void settle_with(TaskRef task, std::exception_ptr error) MUSTER_REQUIRES(mutex_);
  bool cancel_in_flight(ProcessTask& task) MUSTER_REQUIRES(mutex_);
  void drop_waiting(const char* why) MUSTER_REQUIRES(mutex_);

  // Admission: supervisor_admission.cpp
  [[nodiscard]] bool is_open() const MUSTER_REQUIRES(mutex_) {
    return state_ == PoolState::ready || state_ == PoolState::initializing;
  }
  [[nodiscard]] bool is_closed() const MUSTER_REQUIRES(mutex_) {
    return !is_open() || nobody_is_left();
  }
  [[nodiscard, gnu::cold]] std::exception_ptr why_closed() const MUSTER_REQUIRES(mutex_);
  [[nodiscard]] std::size_t backlog() const MUSTER_REQUIRES(mutex_);
  [[nodiscard]] bool has_room() const MUSTER_REQUIRES(mutex_);
  std::exception_ptr find_room(std::string_view name) MUSTER_REQUIRES(mutex_);
  [[gnu::cold]] std::exception_ptr make_room(std::string_view name) MUSTER_REQUIRES(mutex_);
  bool wait_for_room(Time deadline) MUSTER_REQUIRES(mutex_);
  bool drop_oldest() MUSTER_REQUIRES(mutex_);
  std::exception_ptr dropped(std::string_view name, WhenFull policy);
  [[gnu::hot]] void note_backlog() MUSTER_REQUIRES(mutex_);

  // Placing: supervisor_placing.cpp
  std::optional<unsigned> home_of(const ProcessTask& task) const MUSTER_REQUIRES(mutex_);
  Member* choose_for(const ProcessTask& task) MUSTER_REQUIRES(mutex_);
  void feed(Member& member, Time now) MUSTER_REQUIRES(mutex_);
  [[gnu::noinline]] void feed_waiting(Member& member, Time now) MUSTER_REQUIRES(mutex_);
  [[gnu::hot]] bool send(Member& member, TaskRef& task, std::optional<Time> now)
      MUSTER_REQUIRES(mutex_);
  std::optional<SharedBlocks::Number> lend(const Member& member, const Bytes& payload)
      MUSTER_REQUIRES(mutex_);
  [[gnu::hot]] void note_sent(Member& member, ProcessTask& task, Time now) MUSTER_REQUIRES(mutex_);
  [[gnu::hot]] TaskRef take_back(Member& member, Flight& flight) MUSTER_REQUIRES(mutex_);
  void order_to_stop(Member& member) MUSTER_REQUIRES(mutex_);
  void update_lists(Member& member) MUSTER_REQUIRES(mutex_);
  [[gnu::hot]] static void refuse_strategies();

  // Command workers: supervisor_commands.cpp
  [[gnu::noinline]] bool send_command(Member& member, TaskRef& task, std::optional<Time> at)
      MUSTER_REQUIRES(mutex_);
  TaskRef take_command_task(Member& member, std::uint64_t id) MUSTER_REQUIRES(mutex_);
  void handle(Member& member, CommandEvent event) MUSTER_REQUIRES(mutex_);
  void handle_all(Member& member, std::vector<CommandEvent> events) MUSTER_REQUIRES(mutex_);
  void note_command_end(Member& member, const ProcessTask& task) MUSTER_REQUIRES(mutex_);
  void after_return(TaskRef task) MUSTER_REQUIRES(mutex_);
  bool may_read_commands() MUSTER_REQUIRES(mutex_) { return !capture_ || capture_->has_room(); }
  void serve_commands(Time now) MUSTER_REQUIRES(mutex_);

  // What workers are given ahead: supervisor_ahead.cpp
  static constexpr int kNoPriority = 1 << 16;  // above all
  [[nodiscard]] unsigned room_of(const Member& member) const MUSTER_REQUIRES(mutex_);
  [[gnu::hot]] void note_pace(Member& member, Time now) MUSTER_REQUIRES(mutex_);
  [[gnu::noinline]] void recall(Member& member) MUSTER_REQUIRES(mutex_);
  bool ends_unbegun(TaskRef& task) MUSTER_REQUIRES(mutex_);
  void recall_less_urgent(int priority) MUSTER_REQUIRES(mutex_);
  void recall_from_held_up(Time now) MUSTER_REQUIRES(mutex_);
  void share_with(Member& idle, Time now) MUSTER_REQUIRES(mutex_);

  // Results: supervisor_results.cpp
  unsigned take_results() MUSTER_REQUIRES(mutex_);
  [[gnu::cold]] void punish(Member& member) MUSTER_REQUIRES(mutex_);
  [[gnu::hot]] unsigned take_results_of(Member& member, Time now) MUSTER_REQUIRES(mutex_);
  void feed_idle(Time now) MUSTER_REQUIRES(mutex_);
  [[gnu::hot]] bool take_result(Member& member, const Settling& settling, Time now)
      MUSTER_REQUIRES(mutex_);
  static std::optional<Bytes> value_of(const Member& member, const ProcessTask& task,
                                       const TaskResult& result);
  static std::optional<Bytes> keep_or_copy(const Member& member,
                                           const SharedBlocks::Stated& stated);
  [[gnu::hot]] std::size_t collect() override;
  [[nodiscard]] bool has_results() const override;
  [[nodiscard]] bool has_results_approx() const override;
  [[nodiscard]] bool is_collecting() const noexcept;  // by this thread
  void serve_as_clerk();
  [[nodiscard, gnu::hot]] bool have_results() const MUSTER_REQUIRES(mutex_);
  Verdicts take_verdicts() MUSTER_REQUIRES(mutex_);
  void pronounce(Verdicts verdicts);

  // Workers: supervisor_workers.cpp
  void launch(Member& member) MUSTER_REQUIRES(mutex_);
  void prepare_ring(Member& member, LaunchOptions& launch) MUSTER_REQUIRES(mutex_);
  void prepare_command(Member& member, LaunchOptions& launch) MUSTER_REQUIRES(mutex_);
  [[nodiscard]] bool is_missing(const Member& member) const MUSTER_REQUIRES(mutex_);
  void launch_missing(Time now) MUSTER_REQUIRES(mutex_);
  bool has_spawner(Time now) MUSTER_REQUIRES(mutex_);
  void note_death(Stage stage, Time now) MUSTER_REQUIRES(mutex_);
  void disinherit(const Member& member) MUSTER_REQUIRES(mutex_);
  void receive_spawner_events() MUSTER_REQUIRES(mutex_);
  void on_started(WorkerStarted& started) MUSTER_REQUIRES(mutex_);
  void on_refused(const WorkerRefused& refused) MUSTER_REQUIRES(mutex_);
  void on_ended(Member& member, const std::optional<ProcessEnd>& end) MUSTER_REQUIRES(mutex_);
  void on_spawner_lost() MUSTER_REQUIRES(mutex_);
  void read_hello(Member& member) MUSTER_REQUIRES(mutex_);
  void become_ready(Member& member) MUSTER_REQUIRES(mutex_);
  void know_abilities_of(Member& member) MUSTER_REQUIRES(mutex_);
  void take_back_flights(Member& member, const ExitStatus& status) MUSTER_REQUIRES(mutex_);
  void retire(Member& member) MUSTER_REQUIRES(mutex_);
  void end_process(Member& member, EndReason reason) MUSTER_REQUIRES(mutex_);
  void kill(Member& member, EndReason reason) MUSTER_REQUIRES(mutex_);
  Member* member_of_run(std::uint64_t run) MUSTER_REQUIRES(mutex_);
  void apply_target(const std::string& reason) MUSTER_REQUIRES(mutex_);

  // Times: supervisor_loop.cpp
  void run_loop();
  Time next_due(Time now) const MUSTER_REQUIRES(mutex_);
  void serve_times(Time now) MUSTER_REQUIRES(mutex_);
  void serve_task_times(Time now) MUSTER_REQUIRES(mutex_);
  void check_timeout(TaskRef task, Time now) MUSTER_REQUIRES(mutex_);
  void look_after_health(Time now) MUSTER_REQUIRES(mutex_);
  void look_after(Member& member, Time now) MUSTER_REQUIRES(mutex_);
  void act_on(Member& member, HealthAction action) MUSTER_REQUIRES(mutex_);
  void recycle_if_due(Member& member, std::uint64_t memory, Time now) MUSTER_REQUIRES(mutex_);
  void scale(Time now) MUSTER_REQUIRES(mutex_);
  void wait_for_events(Time until);
  bool is_quiet() const MUSTER_REQUIRES(mutex_);
  [[nodiscard, gnu::hot]] bool nobody_is_left() const MUSTER_REQUIRES(mutex_);
  void end_workers(Time deadline);

  // Fixed at construction.
  const ProcessPoolOptions options_;
  const WorkerSegment::Sizes segment_sizes_;
  const bool recycles_by_task_;  // whether a worker has to go is asked behind each of its tasks
  const Watermarks watermarks_;

  // Any thread.
  NoticeHub notices_;
  Kick kick_;  // wakes the loop
  Bell bell_;

  // Held by whoever ends the workers, for others to wait. Taken before mutex_.
  Mutex ending_;

  Seat seat_;             // taken before mutex_
  WatchedRings watched_;  // by whoever has the seat

  // Guarded by mutex_.
  mutable Mutex mutex_;
  ConditionVariable changed_;  // states of pool and workers, and that nothing is left to do
  PoolState state_ MUSTER_GUARDED_BY(mutex_) = PoolState::uninitialized;
  std::string start_failure_ MUSTER_GUARDED_BY(mutex_);  // why the last worker did not get ready
  std::unique_ptr<OutputCapture> capture_ MUSTER_GUARDED_BY(mutex_);
  std::unique_ptr<Spawner> spawner_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Member>> members_ MUSTER_GUARDED_BY(mutex_);
  MemberLists lists_;                              // guarded by mutex_, but for a hint
  unsigned target_ MUSTER_GUARDED_BY(mutex_) = 0;  // workers there should be
  std::uint64_t next_run_ MUSTER_GUARDED_BY(mutex_) = 1;
  std::shared_ptr<const Abilities> abilities_ MUSTER_GUARDED_BY(mutex_);  // of the last to be ready
  std::uint64_t editions_ MUSTER_GUARDED_BY(mutex_) = 0;                  // of abilities
  KnownMethod last_method_ MUSTER_GUARDED_BY(mutex_);  // often the next one's, too
  HashRing ring_ MUSTER_GUARDED_BY(mutex_);
  Chooser chooser_ MUSTER_GUARDED_BY(mutex_);
  Random random_ MUSTER_GUARDED_BY(mutex_);
  Respawn respawn_ MUSTER_GUARDED_BY(mutex_);
  std::optional<Scaler> scaler_ MUSTER_GUARDED_BY(mutex_);
  PoolSnapshot::Scaling scaling_ MUSTER_GUARDED_BY(mutex_);  // but for how many there are
  Time next_health_ MUSTER_GUARDED_BY(mutex_){};
  Time next_scaling_ MUSTER_GUARDED_BY(mutex_){};
  WaitingTasks waiting_ MUSTER_GUARDED_BY(mutex_);
  TasksByTime delayed_ MUSTER_GUARDED_BY(mutex_);
  TasksByTime timeouts_ MUSTER_GUARDED_BY(mutex_);             // of those that workers have
  std::optional<Time> more_memory_ MUSTER_GUARDED_BY(mutex_);  // is looked for then
  Stall stall_ MUSTER_GUARDED_BY(mutex_);                      // of the loop
  ConditionVariable room_;                                     // there is, or the pool is stopped
  unsigned blocked_ MUSTER_GUARDED_BY(mutex_) = 0;             // callers that wait for it
  PoolSnapshot::BackPressure pressure_ MUSTER_GUARDED_BY(mutex_);
  BackPressure back_pressure_ MUSTER_GUARDED_BY(mutex_) = BackPressure::off;
  DeadLetters dead_letters_ MUSTER_GUARDED_BY(mutex_);
  Verdicts verdicts_ MUSTER_GUARDED_BY(mutex_);  // to be said without the lock
  std::uint64_t next_task_ MUSTER_GUARDED_BY(mutex_) = 1;
  std::uint64_t unsettled_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::uint64_t first_tasks_ MUSTER_GUARDED_BY(mutex_) = 0;  // of their workers
  ProcessPoolMetrics counts_ MUSTER_GUARDED_BY(mutex_);      // what is counted, not what is now
  PoolSnapshot::Affinity affinity_ MUSTER_GUARDED_BY(mutex_);
  Histogram queue_wait_ MUSTER_GUARDED_BY(mutex_);
  Histogram run_ MUSTER_GUARDED_BY(mutex_);
  mutable Rates rates_;
  bool discards_ MUSTER_GUARDED_BY(mutex_) = false;  // what waits or fails is dropped
  bool clerk_stops_ MUSTER_GUARDED_BY(mutex_) = false;

  std::thread loop_;
  std::thread clerk_;
};

}  // namespace muster
