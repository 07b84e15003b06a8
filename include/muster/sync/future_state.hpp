// future_state.hpp: what a Future and its task share.
//
// A state is settled once: with a value, or with an exception. It knows how to begin its task, so
// that a worker who waits for it can run it instead of waiting.
//
// Thread safety: settle() by whoever has claimed the task, once; the rest by any thread.
// Ordering: what was done before settling is visible to whoever sees is_settled().
// Lifetime: counted references; usually two, one for the Future and one for the task.
// Design note: docs/design/future_state.md
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/blocking.hpp>
#include <muster/sync/executor.hpp>
#include <muster/sync/plain.hpp>

namespace muster {

// Throws InvalidArgument if `duration` is negative; a very long one means "never".
MUSTER_API Time deadline_after(Duration duration);

// Something to do when a state is settled, once.
class MUSTER_API FutureCallback {
 public:
  FutureCallback() = default;
  FutureCallback(const FutureCallback&) = delete;
  FutureCallback& operator=(const FutureCallback&) = delete;
  virtual ~FutureCallback();

  // On the thread that settles; or at once, if that has happened.
  virtual void on_settled() noexcept = 0;

 private:
  friend class FutureStateBase;
  Plain<FutureCallback*> next_;
};

// Goes along with a task, if somebody wants to know when it begins and how it ends. Belongs to
// whoever claims the task.
class MUSTER_API Escort {
 public:
  Escort() = default;
  Escort(const Escort&) = delete;
  Escort& operator=(const Escort&) = delete;

  // On the thread that is about to run the task.
  virtual void begin() noexcept = 0;

  // When it is settled: null, or what with. If it did not begin, it never will. May destroy this.
  virtual void end(const std::exception_ptr& error) noexcept = 0;

 protected:
  virtual ~Escort();
};

class MUSTER_API FutureStateBase {
 public:
  explicit FutureStateBase(ExecutorId home, std::uint32_t references = 2) noexcept
      : references_(references), home_(home) {}
  FutureStateBase(const FutureStateBase&) = delete;
  FutureStateBase& operator=(const FutureStateBase&) = delete;

  [[nodiscard]] bool is_settled() const noexcept {
    return phase_.load(acquire) == settled;  // sync(settled): pairs with the exchange in settle()
  }

  // False if `deadline` passed first. A worker begins the awaited task itself, if that is of its
  // own pool, and is stood in for if it has to wait for long.
  [[gnu::hot]] bool wait(std::optional<Time> deadline);

  // Runs the task unless somebody has begun or cancelled it.
  void run_if_unclaimed() noexcept {
    const std::uintptr_t before = claim_.exchange(kClaimed, relaxed);  // relaxed: as in claim()
    if (before == kUnclaimed) return run();
    if (before != kClaimed) run_escorted(escort_of(before));
  }

  // From now on it goes along. False: the task has begun or was cancelled.
  [[nodiscard]] bool set_escort(Escort& escort) noexcept;

  // False: whoever has claimed the task has it.
  [[nodiscard]] bool withdraw_escort(Escort& escort) noexcept;

  // A worker waits for this: does what can be done for it right here. A task runs only on threads
  // of its own pool.
  virtual void help() noexcept {
    if (is_home()) run_if_unclaimed();
  }

  // Somebody is about to sleep until `goal` is settled: this, or something that waits for this.
  // Whoever can bring the result about himself does so, and returns when one of the two is settled,
  // `deadline` has passed, or somebody else sees to it. Throws WouldDeadlock if that would wait for
  // itself.
  virtual void attend(const FutureStateBase& goal, Time deadline) {
    (void)goal;
    (void)deadline;
  }

  // What somebody who attends to this may be waiting for is settled, though this is not: he is to
  // look.
  virtual void stir() noexcept {}

  // `callback` lives until it has been called.
  void add_callback(FutureCallback& callback) noexcept {
    if (!try_add_callback(callback)) callback.on_settled();
  }

  // False: it is settled, and `callback` will not be called.
  [[nodiscard]] bool try_add_callback(FutureCallback& callback) noexcept;

  // The executor of its task, and of what follows.
  [[nodiscard]] ExecutorId home() const noexcept { return home_; }

  // What it was settled with; null for a value. Requires: settled.
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_.get(); }

  // False if the task has begun.
  virtual bool cancel();

  // Settles it with `error` unless the task has begun.
  void abandon(std::exception_ptr error) noexcept;

  // relaxed: whoever adds one has one.
  void add_reference() noexcept { references_.fetch_add(1, relaxed); }
  [[gnu::hot]] void drop_reference() noexcept;

  // What its options call the task, or nothing.
  [[nodiscard]] virtual std::string name() const { return {}; }

  // What messages call the task.
  [[nodiscard]] virtual std::string describe() const { return "the task"; }

 protected:
  virtual ~FutureStateBase();

  // Runs the task and settles. Requires: claimed by the caller.
  virtual void run() noexcept = 0;

  // Destroys what the task has captured. Requires: claimed by the caller, and not run.
  virtual void drop_task() noexcept = 0;

  // True on the threads that its task belongs on.
  [[nodiscard]] bool is_home() const noexcept {
    return current_employer != nullptr && current_employer->executor_id() == home_;
  }

  // True for one caller. Requires: it has no escort.
  bool claim() noexcept {
    // relaxed: who claims touches only what was there before the state was shared.
    return claim_.exchange(kClaimed, relaxed) == kUnclaimed;
  }

  [[gnu::hot]] void settle() noexcept;
  void settle_with(std::exception_ptr error) noexcept {
    set_error(std::move(error));
    settle();
  }

  // What it is going to be settled with. Requires: claimed by the caller.
  void set_error(std::exception_ptr error) noexcept { error_.set(std::move(error)); }
  void rethrow_error() const {
    if (error() != nullptr) std::rethrow_exception(error());
  }

 private:
  enum Phase : std::uint32_t { pending, awaited, settled };

  // What claim_ holds: one of these, or the address of the escort of a task that is not claimed.
  static constexpr std::uintptr_t kUnclaimed = 0;
  static constexpr std::uintptr_t kClaimed = 1;

  // False if `deadline` passed first.
  bool sleep(Time deadline);

  Escort& escort_of(std::uintptr_t claimed) const noexcept;
  void run_escorted(Escort& escort) noexcept;
  bool end_unrun(std::exception_ptr error) noexcept;

  // Any thread.
  Atomic<std::uint32_t> references_;
  Atomic<std::uint32_t> phase_ = pending;  // those who wait sleep on it
  Atomic<std::uintptr_t> claim_ = kUnclaimed;
  Atomic<FutureCallback*> callbacks_ = nullptr;  // newest first; a mark once they were called

  // Fixed at construction.
  const ExecutorId home_;

  // Before settling whoever has claimed the task, afterwards the Future's holder.
  Plain<std::exception_ptr> error_;
};

template <class T>
class FutureState : public FutureStateBase {
 public:
  using FutureStateBase::FutureStateBase;

  // Requires: settled. Throws what the task threw. Once.
  T take() {
    rethrow_error();
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): settled without an error
    if constexpr (!std::is_void_v<T>) return std::move(*value_);
  }

 protected:
  // What the task gives; for void anything will do.
  std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>> value_;
};

// Holds one reference to a state.
template <class State>
class FutureRef {
 public:
  FutureRef() noexcept = default;
  explicit FutureRef(State* adopted) noexcept : state_(adopted) {}
  FutureRef(FutureRef&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  FutureRef& operator=(FutureRef&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~FutureRef() {
    if (state_ != nullptr) state_->drop_reference();
  }

  // One more, to the same state. Requires: not empty.
  [[nodiscard]] FutureRef another() const noexcept {
    state_->add_reference();
    return FutureRef(state_);
  }

  [[nodiscard]] State* release() noexcept { return std::exchange(state_, nullptr); }  // now yours
  explicit operator bool() const noexcept { return state_ != nullptr; }
  State* operator->() const noexcept { return state_; }
  State& operator*() const noexcept { return *state_; }

 private:
  State* state_ = nullptr;
};

// A task that gives T, in one allocation with the state of its Future.
template <class T, class F>
class SubmittedTask final : public FutureState<T> {
 public:
  template <class G>
  SubmittedTask(ExecutorId home, G&& callable)
      : FutureState<T>(home), callable_(std::forward<G>(callable)) {}

 private:
  void run() noexcept override {
    try {
      if constexpr (std::is_void_v<T>) {
        std::invoke(*callable_);  // NOLINT(bugprone-unchecked-optional-access): claimed once
      } else {
        // NOLINTNEXTLINE(bugprone-unchecked-optional-access): claimed once
        this->value_.emplace(std::invoke(*callable_));
      }
      callable_.reset();
      this->settle();
    } catch (...) {
      callable_.reset();
      this->settle_with(std::current_exception());
    }
  }
  void drop_task() noexcept override { callable_.reset(); }

  std::optional<F> callable_;
};

// What a queue holds of a submitted task. Abandoned if it is destroyed without having run.
class MUSTER_API QueuedTask {
 public:
  explicit QueuedTask(FutureStateBase* adopted) noexcept : state_(adopted) {}
  void operator()() noexcept { state_->run_if_unclaimed(); }
  ~QueuedTask();
  QueuedTask(QueuedTask&& other) noexcept = default;

  [[nodiscard]] FutureStateBase* future_state() const noexcept { return &*state_; }

 private:
  FutureRef<FutureStateBase> state_;
};

// The same of what follows a task that was accepted.
class QueuedContinuation : public QueuedTask {
 public:
  static constexpr bool kMustRun = true;
  using QueuedTask::QueuedTask;
};

}  // namespace muster
