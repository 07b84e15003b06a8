// error.cpp: the messages of muster's exceptions, and the one home of their type information.
#include <system_error>
#include <utility>

#include <muster/base/assert.hpp>
#include <muster/error.hpp>

namespace muster {
namespace {

std::string list(const std::vector<BadField>& bad_fields) {
  MUSTER_ASSERT(!bad_fields.empty(), "InvalidArgument needs a reason");
  std::string text = "invalid argument: ";
  std::string_view separator;
  for (const BadField& bad : bad_fields) {
    text.append(separator).append(bad.field).append(" is ").append(bad.value);
    text.append(" but ").append(bad.rule);
    separator = "; ";
  }
  return text;
}

std::string explain(const std::string& attempt, int error_number, const std::string& advice) {
  std::string text = "cannot " + attempt + ": " + std::generic_category().message(error_number) +
                     " (errno " + std::to_string(error_number) + ")";
  if (!advice.empty()) text += "; " + advice;
  return text;
}

}  // namespace

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::system_failure:
      return "system_failure";
    case ErrorCode::stopped:
      return "stopped";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::expired:
      return "expired";
    case ErrorCode::timed_out:
      return "timed_out";
    case ErrorCode::queue_full:
      return "queue_full";
    case ErrorCode::dropped:
      return "dropped";
    case ErrorCode::would_deadlock:
      return "would_deadlock";
    case ErrorCode::malformed:
      return "malformed";
    case ErrorCode::task_failed:
      return "task_failed";
    case ErrorCode::worker_crashed:
      return "worker_crashed";
    case ErrorCode::store_failed:
      return "store_failed";
  }
  return "unknown";
}

Error::Error(ErrorCode code, const std::string& message)
    : std::runtime_error(message), code_(code) {}
Error::~Error() = default;

InvalidArgument::InvalidArgument(BadField bad_field)
    : InvalidArgument(std::vector<BadField>{std::move(bad_field)}) {}
InvalidArgument::InvalidArgument(std::vector<BadField> bad_fields)
    : Error(ErrorCode::invalid_argument, list(bad_fields)),
      bad_fields_(std::make_shared<const std::vector<BadField>>(std::move(bad_fields))) {}
InvalidArgument::~InvalidArgument() = default;

SystemFailure::SystemFailure(const std::string& attempt, int error_number,
                             const std::string& advice)
    : Error(ErrorCode::system_failure, explain(attempt, error_number, advice)),
      error_number_(error_number) {}
SystemFailure::~SystemFailure() = default;

Stopped::~Stopped() = default;
Cancelled::~Cancelled() = default;
Expired::~Expired() = default;
TimedOut::~TimedOut() = default;
QueueFull::~QueueFull() = default;
Dropped::~Dropped() = default;
WouldDeadlock::~WouldDeadlock() = default;

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "it threw something that is no std::exception";
  }
}

}  // namespace muster
