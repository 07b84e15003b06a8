// thread_pool.hpp: a crew of threads for tasks from anywhere and for parallel algorithms.
//
//     muster::ThreadPool pool({.workers = 4});
//     pool.post([] { write_log(); });                              // fire and forget
//     muster::Future<int> answer = pool.submit([] { return 42; });
//     long sum = pool.run([&] { return fork_join_sum(data); });    // see join.hpp
//     pool.parallel_for(0, n, [&](std::size_t i) { out[i] = f(in[i]); });
//     pool.every(1s, [&] { sample(); });                           // see timer.hpp
//
// Each worker has an inbox; who has nothing to do takes from the others, so no worker sleeps while
// a task waits, but for those with a key (AffinityClass). Tasks have no order; none is overtaken
// for ever. What a task posts is run next by the same worker, warm from its caches, unless taken.
//
// Thread safety: any member from any thread, except construction and destruction.
// Lifetime: the destructor stops the pool: it runs whatever was accepted, then joins its threads.
// After fork() the child has none of those threads: there the pool, and futures of tasks that have
// not ended, throw Stopped; make a new pool.
// Design notes: docs/design/thread_pool.md, docs/design/fork_join.md, docs/design/roster.md
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/error.hpp>
#include <muster/future.hpp>
#include <muster/join.hpp>
#include <muster/observe/notice_hub.hpp>
#include <muster/observe/snapshot.hpp>
#include <muster/sync/closure.hpp>
#include <muster/task_options.hpp>
#include <muster/thread_pool_options.hpp>
#include <muster/threads/guarded_task.hpp>
#include <muster/threads/schedule_awaiter.hpp>
#include <muster/threads/splitting.hpp>
#include <muster/threads/timer_call.hpp>
#include <muster/timer.hpp>

namespace muster {

class Crew;

class MUSTER_API ThreadPool {
 public:
  // Throws InvalidArgument naming every bad field, or SystemFailure if a thread cannot be started.
  explicit ThreadPool(const ThreadPoolOptions& options = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Runs `task` on a worker, some time. Allocates nothing for a callable of up to 48 bytes. What it
  // throws goes to on_error. Throws Stopped after stop(). If too many tasks wait already, it does
  // what the options' `admission` says: waits for room, throws QueueFull, drops a task, or runs
  // this one right here.
  template <class F>
    requires std::is_invocable_v<std::decay_t<F>&>
  void post(F&& task) {
    check_callable(task);
    if constexpr (Closure::kNeverThrows<F>) {
      // From inside it is made where it will wait: to move it there costs more than to queue it.
      if (Closure* const place = place_inside()) {
        std::construct_at(place, std::forward<F>(task));
        return post_from(place);
      }
    }
    post_closure(Closure(std::forward<F>(task)));
  }

  // The same with options. Throws InvalidArgument naming a bad one.
  template <detail::TaskWithOptions F>
  void post(const TaskOptions& options, F&& task) {
    check_callable(task);
    check(options);
    post_with(options, detail::posted_task(*crew_, options, std::forward<F>(task)));
  }

  // The same, but never waits, drops or runs anything: false if too many tasks wait. What was moved
  // in is gone then; pass an lvalue to keep it.
  template <class F>
    requires std::is_invocable_v<std::decay_t<F>&>
  [[nodiscard]] bool try_post(F&& task) {
    check_callable(task);
    return try_post_with({}, Closure(std::forward<F>(task)));
  }
  template <detail::TaskWithOptions F>
  [[nodiscard]] bool try_post(const TaskOptions& options, F&& task) {
    check_callable(task);
    check(options);
    return try_post_with(options, detail::posted_task(*crew_, options, std::forward<F>(task)));
  }

  // As post(), with a result. After stop() the future holds Stopped; QueueFull or Dropped if there
  // was no room.
  template <class F>
    requires std::is_invocable_v<std::decay_t<F>&>
  [[nodiscard]] auto submit(F&& task) {
    using Result = std::invoke_result_t<std::decay_t<F>&>;
    static_assert(!std::is_reference_v<Result>, "a task gives a value or a pointer");
    check_callable(task);
    auto* const state = new SubmittedTask<Result, std::decay_t<F>>(id_, std::forward<F>(task));
    Future<Result> future{FutureRef<FutureState<Result>>(state)};
    submit_state(nullptr, state);
    return future;
  }

  // The same with options. Throws InvalidArgument naming a bad one.
  template <detail::TaskWithOptions F>
  [[nodiscard]] auto submit(const TaskOptions& options, F&& task) {
    check_callable(task);
    check(options);
    auto* const state = detail::submitted_task(*crew_, id_, options, std::forward<F>(task));
    Future<detail::TaskResult<F>> future{FutureRef(state)};
    submit_state(&options, state);
    return future;
  }

  // The same, but never waits, drops or runs anything: nothing if too many tasks wait.
  template <class F>
    requires std::is_invocable_v<std::decay_t<F>&>
  [[nodiscard]] auto try_submit(F&& task) {
    return try_submit(TaskOptions{}, std::forward<F>(task));
  }
  template <detail::TaskWithOptions F>
  [[nodiscard]] auto try_submit(const TaskOptions& options, F&& task) {
    check_callable(task);
    check(options);
    auto* const state = detail::submitted_task(*crew_, id_, options, std::forward<F>(task));
    std::optional<Future<detail::TaskResult<F>>> future{FutureRef(state)};
    if (!try_submit_state(options, state)) future.reset();
    return future;
  }

  // One future for each callable of the range, in its order.
  template <std::ranges::input_range Range>
  [[nodiscard]] auto submit_bulk(Range&& tasks) {
    return submit_each(std::forward<Range>(tasks),
                       [this]<class F>(F&& task) { return this->submit(std::forward<F>(task)); });
  }
  template <std::ranges::input_range Range>
  [[nodiscard]] auto submit_bulk(const TaskOptions& options, Range&& tasks) {
    return submit_each(std::forward<Range>(tasks),
                       [&]<class F>(F&& task) { return submit(options, std::forward<F>(task)); });
  }

  // Runs `task` after `delay`, or every `period`; timer.hpp says how. Throws InvalidArgument if the
  // delay is negative or the period not positive, Stopped after stop(). A very long one is never.
  template <class F>
    requires std::is_invocable_v<std::decay_t<F>&>
  Timer after(Duration delay, F&& task) {
    check_callable(task);
    return start_after(delay, detail::timer_call(std::forward<F>(task)));
  }
  template <class F>
    requires std::is_invocable_v<std::decay_t<F>&>
  Timer every(Duration period, F&& task) {
    check_callable(task);
    return start_every(period, detail::timer_call(std::forward<F>(task)));
  }

  // Runs `f` on a worker and waits for what it gives: the way into join() from outside. On a worker
  // of this pool it is a plain call. Throws what `f` throws, or Stopped.
  template <class F>
  std::invoke_result_t<F&> run(F&& f) {
    if (is_inside()) return std::invoke(f);
    return submit([&f]() -> std::invoke_result_t<F&> { return std::invoke(f); }).get();
  }

  // co_await pool.schedule(): the coroutine goes on on a worker. Throws Stopped. See task.hpp.
  [[nodiscard]] ScheduleAwaiter schedule() const noexcept { return ScheduleAwaiter(crew_); }

  // Calls body(i) for each i from `first` up to `last`, in any order, in parallel, and waits. If
  // calls throw, one of their exceptions comes out, and some calls may not be made.
  // `grain`: how many calls are made in a row; 0 chooses.
  template <class Body>
  void parallel_for(std::size_t first, std::size_t last, const Body& body, std::size_t grain = 0) {
    if (first >= last) return;
    run([&] { Splitting(worker_count(), grain).for_each(first, last, body); });
  }

  // combine(... combine(init, map(first)) ..., map(last - 1)), where `combine` must be associative;
  // it is called in order, in parallel. `init` is the neutral element: it may be used several
  // times.
  template <class T, class Map, class Combine>
  T parallel_reduce(std::size_t first, std::size_t last, const T& init, const Map& map,
                    const Combine& combine, std::size_t grain = 0) {
    if (first >= last) return init;
    return run([&]() -> T {
      return Splitting(worker_count(), grain).reduce(first, last, init, map, combine);
    });
  }

  // Until every task that was accepted before or meanwhile is done; timers that are not due are not
  // waited for. Throws WouldDeadlock on a thread of this pool, and from within its strategy.
  void wait_idle();

  // Takes no more tasks, drops the timers that are not due, runs all tasks that were accepted, also
  // those that they post, and ends the threads. Harmless when called again, also with another mode.
  // Throws WouldDeadlock on a thread of this pool and from within its strategy, InvalidArgument if
  // the timeout is negative.
  StopResult stop(const StopOptions& options = {});

  // Workers there are or are coming, without spares.
  [[nodiscard]] unsigned worker_count() const noexcept;

  // Makes it so many workers, from anywhere, also from a task of this pool. New ones are there when
  // it returns, unless they warm up or it was called on a thread of this pool; then they come a
  // little later. Those that are too many get no task any more, hand theirs over and leave after
  // the one they run. Throws InvalidArgument unless it is from 1 to `max_workers`, and
  // within the limits of `scaling` if that is on; Stopped after stop(); SystemFailure if a thread
  // cannot be started, with as many workers as could be had.
  void resize(unsigned workers);

  [[nodiscard]] ThreadPoolStats stats() const;

  // Other tasks from outside are placed by it from now on; those that wait stay where they are.
  // Throws InvalidArgument as the constructor does, and WouldDeadlock from within a strategy.
  void set_strategy(const StrategyChoice& strategy);

  // The name of the one that is used.
  [[nodiscard]] std::string strategy() const;

  // Where tasks with this key go: its worker, then whose it would be if that one left, and so on.
  [[nodiscard]] std::vector<unsigned> workers_for(std::string_view key, std::size_t most = 1);

  // What happens in the pool from now on: tasks that fail or are dropped, back-pressure, workers
  // that come and go. Holds so many notices, and loses the oldest if nobody takes them. See
  // muster/observe/notice_hub.hpp.
  [[nodiscard]] NoticeStream notices(std::size_t capacity = 1024);

  // All figures of this moment, in the same form for every kind of pool. Rates and utilisations are
  // those of the options' `snapshot_window`, whoever else asks.
  [[nodiscard]] PoolSnapshot snapshot();

  // Counts of stats() begin again from 0.
  void reset_stats();

  // True on a worker of this pool.
  [[nodiscard]] bool is_inside() const noexcept;

  // The number by which futures know this pool.
  [[nodiscard]] ExecutorId executor_id() const noexcept { return id_; }

 private:
  template <class F>
  static void check_callable(const F& task) {
    if constexpr (!std::is_function_v<F> && requires { task == nullptr; }) {
      if (task == nullptr) refuse_empty_callable();
    }
  }
  static void check(const TaskOptions& options);

  // Moves the callables out of a range that nobody else has, and copies those of others.
  template <class Range, class Submit>
  static auto submit_each(Range&& tasks, const Submit& submit_one) {
    using Task = std::ranges::range_value_t<Range>;
    std::vector<std::invoke_result_t<const Submit&, Task>> futures;
    if constexpr (std::ranges::sized_range<Range>) futures.reserve(std::ranges::size(tasks));
    for (auto&& task : tasks) {
      if constexpr (std::is_lvalue_reference_v<Range>) {
        futures.push_back(submit_one(task));
      } else {
        futures.push_back(submit_one(std::move(task)));
      }
    }
    return futures;
  }

  [[noreturn]] static void refuse_empty_callable();
  friend class Strand;
  friend class TaskGroup;

  void post_closure(Closure&& task);
  Closure* place_inside();  // where a worker makes a task, before post_from(); others: null
  static void post_from(Closure* place);
  bool try_post_with(const TaskOptions& options, Closure&& task);
  bool try_submit_state(const TaskOptions& options, FutureStateBase* state);

  // For what keeps a list of tasks: traces one of them; posts what stands in for them, and finds
  // room in any case. Throws Stopped.
  void trace(Closure& task) const;
  void post_stand_in(Closure&& task);
  void post_with(const TaskOptions& options, Closure&& task);
  void submit_state(const TaskOptions* options, FutureStateBase* state);  // null: none
  Timer start_after(Duration delay, std::unique_ptr<detail::TimerCall> call);
  Timer start_every(Duration period, std::unique_ptr<detail::TimerCall> call);

  const std::shared_ptr<Crew> crew_;
  const ExecutorId id_;
};

}  // namespace muster
