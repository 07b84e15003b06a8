// error.hpp: the exceptions that muster throws. All derive from Error and carry a code.
//
// An ordinary outcome (full, empty, timed out) is a return value, never an exception, and a broken
// invariant aborts (MUSTER_ASSERT). What is left: the caller asked for something impossible
// (InvalidArgument, WouldDeadlock), the world failed (SystemFailure), there was no room
// (QueueFull), or a task was accepted and will give no result (Stopped, Cancelled, Expired,
// TimedOut, Dropped); those reach whoever waits for it.
//
//     try {
//       ThreadPool pool(options);
//     } catch (const muster::InvalidArgument& error) {
//       for (const muster::BadField& bad : error.bad_fields()) show(bad.field, bad.rule);
//     }
//
// Thread safety: immutable after construction; copying never throws and shares the contents.
#pragma once

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <muster/base/api.hpp>

namespace muster {

// What kind of failure it is, for code that must branch without naming exception types. The layers
// above append their own; the order carries no meaning.
enum class ErrorCode {
  invalid_argument,
  system_failure,
  stopped,
  cancelled,
  expired,
  timed_out,
  queue_full,
  dropped,
  would_deadlock,
  malformed,
  task_failed,
  worker_crashed,
  store_failed,
};

MUSTER_API std::string_view to_string(ErrorCode code);

class MUSTER_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message);
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  ~Error() override;

  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

// One thing wrong with an option or an argument. `rule` reads on from "but":
// {"workers", "5000", "must be at most 4096"}.
struct BadField {
  std::string field;
  std::string value;
  std::string rule;

  bool operator==(const BadField&) const = default;
};

// An option or argument breaks its rule; nothing was started. Lists every problem at once:
// "invalid argument: workers is 5000 but must be at most 4096; steal_max is 0 but ...".
class MUSTER_API InvalidArgument : public Error {
 public:
  explicit InvalidArgument(BadField bad_field);

  // At least one; usually what validate(options) returned.
  explicit InvalidArgument(std::vector<BadField> bad_fields);

  InvalidArgument(const InvalidArgument&) = default;
  InvalidArgument& operator=(const InvalidArgument&) = default;
  ~InvalidArgument() override;

  const std::vector<BadField>& bad_fields() const noexcept { return *bad_fields_; }

 private:
  // Shared, because copying an exception must not throw.
  std::shared_ptr<const std::vector<BadField>> bad_fields_;
};

// The operating system refused. `attempt` reads on from "cannot", `advice` says what to do and may
// be empty: `cannot open "x.db": No space left on device (errno 28); free space and retry`.
class MUSTER_API SystemFailure : public Error {
 public:
  SystemFailure(const std::string& attempt, int error_number, const std::string& advice);
  SystemFailure(const SystemFailure&) = default;
  SystemFailure& operator=(const SystemFailure&) = default;
  ~SystemFailure() override;

  // The errno value.
  int error_number() const noexcept { return error_number_; }

 private:
  int error_number_;
};

// The pool has been stopped: it takes no more tasks, or has dropped this one.
class MUSTER_API Stopped : public Error {
 public:
  explicit Stopped(const std::string& message) : Error(ErrorCode::stopped, message) {}
  Stopped(const Stopped&) = default;
  Stopped& operator=(const Stopped&) = default;
  ~Stopped() override;
};

// The task was cancelled before it began.
class MUSTER_API Cancelled : public Error {
 public:
  explicit Cancelled(const std::string& message) : Error(ErrorCode::cancelled, message) {}
  Cancelled(const Cancelled&) = default;
  Cancelled& operator=(const Cancelled&) = default;
  ~Cancelled() override;
};

// The task had not begun by its deadline, so it never will.
class MUSTER_API Expired : public Error {
 public:
  explicit Expired(const std::string& message) : Error(ErrorCode::expired, message) {}
  Expired(const Expired&) = default;
  Expired& operator=(const Expired&) = default;
  ~Expired() override;
};

// The task had begun, but had not ended when its timeout passed.
class MUSTER_API TimedOut : public Error {
 public:
  explicit TimedOut(const std::string& message) : Error(ErrorCode::timed_out, message) {}
  TimedOut(const TimedOut&) = default;
  TimedOut& operator=(const TimedOut&) = default;
  ~TimedOut() override;
};

// As many tasks wait as the pool lets wait, so it did not take this one.
class MUSTER_API QueueFull : public Error {
 public:
  explicit QueueFull(const std::string& message) : Error(ErrorCode::queue_full, message) {}
  QueueFull(const QueueFull&) = default;
  QueueFull& operator=(const QueueFull&) = default;
  ~QueueFull() override;
};

// The pool let go of the task before it began, because too many waited.
class MUSTER_API Dropped : public Error {
 public:
  explicit Dropped(const std::string& message) : Error(ErrorCode::dropped, message) {}
  Dropped(const Dropped&) = default;
  Dropped& operator=(const Dropped&) = default;
  ~Dropped() override;
};

// A worker was about to wait for something that cannot happen before it goes on.
class MUSTER_API WouldDeadlock : public Error {
 public:
  explicit WouldDeadlock(const std::string& message) : Error(ErrorCode::would_deadlock, message) {}
  WouldDeadlock(const WouldDeadlock&) = default;
  WouldDeadlock& operator=(const WouldDeadlock&) = default;
  ~WouldDeadlock() override;
};

// What it says; for messages. Requires: not null.
[[nodiscard]] MUSTER_API std::string message_of(const std::exception_ptr& error);

}  // namespace muster
