// task.hpp: coroutines on thread pools.
//
//     muster::Task<Image> load(muster::ThreadPool& io, muster::ThreadPool& cpu, Path path) {
//       co_await io.schedule();                      // from here on on a worker of `io`
//       Bytes bytes = read(path);
//       co_await cpu.schedule();                     // and from here on on one of `cpu`
//       Mask mask = co_await cpu.submit(find_mask);  // a Future, without holding up a thread
//       co_return blend(decode(bytes), mask);
//     }
//
//     Image image = muster::sync_wait(load(io, cpu, path));            // from ordinary code
//     muster::Future<Image> later = muster::spawn(cpu, load(io, cpu, path));
//     Image other = co_await load(io, cpu, path);                      // from another coroutine
//
// A Task is lazy: it begins when it is awaited, on that thread, and whoever awaits it goes on where
// it ends. What it throws comes out of the co_await. To run several at once, spawn them and await
// their futures.
//
// After pool.stop() `co_await pool.schedule()` throws Stopped, except on the pool's own workers
// while they run what was accepted. A coroutine that waits in a queue is not lost when the pool
// discards its tasks: Stopped is thrown from its co_await, on the worker that drops it.
//
// Thread safety: a Task belongs to one thread at a time.
// Ordering: what a coroutine did before a co_await is visible to it afterwards, on any thread.
// Lifetime: a Task that was not begun may be dropped, which destroys its arguments. What it refers
// to must outlive it: arguments taken by reference, and the lambda if it is one. A pool is not a
// local variable for a coroutine that runs on it: no pool may end on its own worker.
// Design note: docs/design/coroutines.md
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <muster/base/assert.hpp>
#include <muster/error.hpp>
#include <muster/future.hpp>
#include <muster/sync/executor.hpp>
#include <muster/sync/future_state.hpp>
#include <muster/sync/suspension.hpp>
#include <muster/thread_pool.hpp>

namespace muster {

template <class T>
class Task;

namespace detail {

template <class T>
class TaskAwaiter;
template <class T>
class TaskState;

// Told that a task has ended which no coroutine awaits. May destroy it.
class TaskListener {
 public:
  virtual void on_end() noexcept = 0;

 protected:
  ~TaskListener() = default;
};

class TaskPromiseBase {
 public:
  static std::suspend_always initial_suspend() noexcept { return {}; }
  static auto final_suspend() noexcept { return End(); }
  void unhandled_exception() noexcept { error_ = std::current_exception(); }

  // Either of them before it is resumed for the first time.
  void set_awaiting(std::coroutine_handle<> awaiting) noexcept { awaiting_ = awaiting; }
  void set_listener(TaskListener& listener) noexcept { listener_ = &listener; }

 protected:
  void rethrow_error() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  struct End {
    static bool await_ready() noexcept { return false; }
    template <class Promise>
    static void await_suspend(std::coroutine_handle<Promise> ended) noexcept {
      const TaskPromiseBase& promise = ended.promise();
      if (promise.listener_ != nullptr) return promise.listener_->on_end();
      resume_in_place_of(ended, promise.awaiting_);
    }
    static void await_resume() noexcept {}
  };

  std::coroutine_handle<> awaiting_;
  TaskListener* listener_ = nullptr;
  std::exception_ptr error_;
};

template <class T>
class TaskPromise final : public TaskPromiseBase {
 public:
  Task<T> get_return_object() noexcept;

  template <class U = T>
    requires std::is_constructible_v<T, U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }

  // Requires: ended. Once.
  T take() {
    rethrow_error();
    return std::move(
        *value_);  // NOLINT(bugprone-unchecked-optional-access): ended without an error
  }

 private:
  std::optional<T> value_;
};

template <>
class TaskPromise<void> final : public TaskPromiseBase {
 public:
  Task<void> get_return_object() noexcept;
  void return_void() noexcept {}
  void take() const { rethrow_error(); }
};

}  // namespace detail

template <class T = void>
class [[nodiscard]] Task {
  static_assert(!std::is_reference_v<T>, "a task gives a value or a pointer");

 public:
  using promise_type = detail::TaskPromise<T>;

  // Nothing to await: valid() is false.
  Task() noexcept = default;
  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, {})) {}
  Task& operator=(Task&& other) noexcept {
    const Task old(std::exchange(coroutine_, std::exchange(other.coroutine_, {})));
    return *this;
  }
  ~Task() {
    if (coroutine_) coroutine_.destroy();
  }

  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(coroutine_); }

  // Begins it, and gives what it gives. Requires valid(), which it is not afterwards.
  [[nodiscard]] auto operator co_await() noexcept {
    MUSTER_ASSERT(valid(), "co_await of a Task that is not valid; it was awaited or moved from");
    return detail::TaskAwaiter<T>(std::move(*this));
  }

 private:
  friend promise_type;
  friend detail::TaskAwaiter<T>;
  friend detail::TaskState<T>;

  explicit Task(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

namespace detail {

template <class T>
Task<T> TaskPromise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

inline Task<void> TaskPromise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

// Keeps a task as long as it is awaited, in the frame of the coroutine that awaits it.
template <class T>
class TaskAwaiter {
 public:
  explicit TaskAwaiter(Task<T>&& task) noexcept : task_(std::move(task)) {}

  static bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> awaiting) noexcept {
    task_.coroutine_.promise().set_awaiting(awaiting);
    resume_in_place_of(awaiting, task_.coroutine_);
  }
  T await_resume() { return task_.coroutine_.promise().take(); }

 private:
  Task<T> task_;
};

// The future of a task. Beside those who hold it, the coroutine has a reference until it ends.
template <class T>
class TaskState final : public FutureState<T>, private TaskListener {
 public:
  TaskState(ExecutorId home, std::uint32_t holders, Task<T>&& task) noexcept
      : FutureState<T>(home, holders + 1), task_(std::move(task)) {
    MUSTER_ASSERT(task_.valid(), "a Task that is not valid; it was awaited or moved from");
  }

 private:
  void run() noexcept override {
    task_.coroutine_.promise().set_listener(*this);
    resume(task_.coroutine_);  // from here on it belongs to whichever thread resumes it
  }

  void on_end() noexcept override {
    try {
      if constexpr (std::is_void_v<T>) {
        task_.coroutine_.promise().take();
        this->value_.emplace();
      } else {
        this->value_.emplace(task_.coroutine_.promise().take());
      }
      task_ = Task<T>();
      this->settle();
    } catch (...) {
      task_ = Task<T>();
      this->settle_with(std::current_exception());
    }
    this->drop_reference();
  }

  void drop_task() noexcept override {
    task_ = Task<T>();
    this->drop_reference();
  }

  Task<T> task_;
};

}  // namespace detail

// Begins the task on this thread, waits until it has ended, and gives what it gives. On a worker of
// a pool that worker is held up: better co_await there.
template <class T>
T sync_wait(Task<T> task) {
  auto* const state = new detail::TaskState<T>(0, 1, std::move(task));
  Future<T> future{FutureRef<FutureState<T>>(state)};
  state->run_if_unclaimed();
  return future.get();
}

// Begins the task on a worker of the pool. After stop() the future holds Stopped.
template <class T>
[[nodiscard]] Future<T> spawn(ThreadPool& pool, Task<T> task) {
  auto* const state = new detail::TaskState<T>(pool.executor_id(), 2, std::move(task));
  Future<T> future{FutureRef<FutureState<T>>(state)};
  try {
    pool.post(QueuedTask(state));
  } catch (const Stopped&) {  // NOLINT(bugprone-empty-catch): see below
    // What stands in the queue for the task is destroyed unrun, which settles the future.
  }
  return future;
}

}  // namespace muster
