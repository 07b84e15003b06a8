// suspension.cpp: resuming coroutines, in turn, and those that were dropped.
#include <exception>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/error.hpp>
#include <muster/sync/suspension.hpp>

namespace muster {
namespace {

class Turns;
constinit thread_local Turns* innermost = nullptr;

// A call of resume(), on the stack of its thread.
class Turns {
 public:
  explicit Turns(std::coroutine_handle<> first) noexcept : now(first), outer_(innermost) {
    innermost = this;
  }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  ~Turns() { innermost = outer_; }

  std::coroutine_handle<> now;
  std::coroutine_handle<> next;

 private:
  Turns* const outer_;
};

}  // namespace

void Suspension::throw_dropped() {
  throw Stopped("the coroutine was dropped before it could go on: its pool stopped");
}

void Resumption::operator()() {
  Suspension& suspension = *std::exchange(suspension_, nullptr);
  suspension.phase_ = Suspension::Phase::over;
  detail::resume(suspension.coroutine_);
}

void Resumption::drop() noexcept {
  if (suspension_->phase_ == Suspension::Phase::over) return;  // withdrawn
  suspension_->phase_ = Suspension::Phase::dropped;
  try {
    detail::resume(suspension_->coroutine_);
  } catch (const std::exception& exception) {
    MUSTER_LOG(LogLevel::error, "a coroutine that was dropped threw: " << exception.what());
  } catch (...) {
    MUSTER_LOG(LogLevel::error, "a coroutine that was dropped threw no std::exception");
  }
}

namespace detail {

void resume(std::coroutine_handle<> coroutine) {
  for (Turns turns(coroutine); turns.now;) {
    turns.now.resume();
    turns.now = std::exchange(turns.next, {});
  }
}

void resume_in_place_of(std::coroutine_handle<> suspended, std::coroutine_handle<> next) {
  if (innermost != nullptr && innermost->now == suspended) {
    innermost->next = next;
  } else {
    resume(next);  // `suspended` was resumed by somebody else's means
  }
}

}  // namespace detail

}  // namespace muster
