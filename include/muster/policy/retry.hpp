// retry.hpp: whether an attempt that failed is followed by another, and when.
//
//     const RetryOptions options{.max_attempts = 5, .delay = exponential(1s, 5min)};
//     if (const auto delay = delay_before_retry(options, {.kind = FailureKind::crash,
//                                                         .attempt = 2}, random.real())) {
//       run_again_at(now + *delay);
//     } else {
//       bury();
//     }
//
// One policy for all pools whose tasks can be tried again.
//
// Thread safety: values and pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/error.hpp>

namespace muster {

// How an attempt failed.
enum class FailureKind {
  error,    // it ended, and said that it failed
  crash,    // whoever ran it died
  timeout,  // it took longer than it may
};

MUSTER_API std::string_view to_string(FailureKind kind);

// How long to wait after each attempt. A value; made by fixed(), linear() or exponential(), or from
// a function of the attempt that failed, counted from 1.
class MUSTER_API RetryDelay {
 public:
  using Function = std::function<Duration(unsigned attempt)>;

  // Not here but in retry.cpp, or GCC warns of members that are not used in user's code.
  ~RetryDelay();
  RetryDelay(const RetryDelay&);
  RetryDelay(RetryDelay&&) noexcept;
  RetryDelay& operator=(const RetryDelay&);
  RetryDelay& operator=(RetryDelay&&) noexcept;

  // NOLINTNEXTLINE(google-explicit-constructor): an option is given as a lambda
  RetryDelay(Function function) : shape_(Shape::custom), function_(std::move(function)) {}

  // Never less than zero. `attempt` counts from 1. Throws what a given function throws.
  [[nodiscard]] Duration after(unsigned attempt) const;

  // Adds every problem, as of a field with this name.
  void check(std::string_view field, std::vector<BadField>& bad) const;

 private:
  enum class Shape : std::uint8_t { fixed, linear, exponential, custom };

  RetryDelay(Shape shape, Duration step, Duration longest)
      : shape_(shape), step_(step), longest_(longest) {}
  friend MUSTER_API RetryDelay fixed(Duration delay);
  friend MUSTER_API RetryDelay linear(Duration step, Duration longest);
  friend MUSTER_API RetryDelay exponential(Duration first, Duration longest);

  Shape shape_;
  Duration step_{};     // the first delay
  Duration longest_{};  // and none is longer
  Function function_;
};

// Always the same.
[[nodiscard]] MUSTER_API RetryDelay fixed(Duration delay);

// step, 2 step, 3 step, ... but none longer than `longest`.
[[nodiscard]] MUSTER_API RetryDelay linear(Duration step, Duration longest);

// first, 2 first, 4 first, ... but none longer than `longest`.
[[nodiscard]] MUSTER_API RetryDelay exponential(Duration first, Duration longest);

// Which failures are worth another attempt.
struct RetryOn {
  bool error = true;
  bool crash = true;
  bool timeout = true;
};

struct RetryOptions {
  // With the first one, from 1. 1: none is repeated.
  unsigned max_attempts = 3;

  RetryDelay delay = exponential(std::chrono::seconds(1), std::chrono::minutes(5));

  // Each delay is longer by a random share of it, at most this one: from 0 to 1. Without it, what
  // failed together comes back together.
  double jitter = 0.1;

  RetryOn retry_on = {};
};

// Every problem with the options; empty: none.
MUSTER_API std::vector<BadField> validate(const RetryOptions& options);

struct Failure {
  FailureKind kind = FailureKind::error;
  unsigned attempt = 1;  // which one has failed, counted from 1
};

// None: there is no next attempt. `luck` is from 0 to 1, and decides the jitter. Throws what a
// given function of delays throws.
[[nodiscard]] MUSTER_API std::optional<Duration> delay_before_retry(const RetryOptions& options,
                                                                    const Failure& failure,
                                                                    double luck);

}  // namespace muster
