// timer_call.hpp: what a timer calls: a callable of any type, to be called any number of times.
//
// Thread safety: none; the timer calls it from one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <muster/base/api.hpp>

namespace muster::detail {

class MUSTER_API TimerCall {
 public:
  TimerCall() = default;
  TimerCall(const TimerCall&) = delete;
  TimerCall& operator=(const TimerCall&) = delete;
  virtual ~TimerCall();

  virtual void call() = 0;
};

template <class F>
class TimerCallOf final : public TimerCall {
 public:
  explicit TimerCallOf(F callable) : callable_(std::move(callable)) {}
  void call() override { std::invoke(callable_); }

 private:
  F callable_;
};

template <class F>
std::unique_ptr<TimerCall> timer_call(F&& callable) {
  return std::make_unique<TimerCallOf<std::decay_t<F>>>(std::forward<F>(callable));
}

}  // namespace muster::detail
