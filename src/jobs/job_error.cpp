// job_error.cpp: the words.
#include <muster/jobs/job_error.hpp>

namespace muster {
namespace {

std::string message_of(const StoreFailure::Words& words) {
  const std::string advice = words.advice.empty() ? "" : "; " + words.advice;
  return "cannot " + words.attempt + ": " + words.reason + advice;
}

}  // namespace

StoreFailure::StoreFailure(const Words& words)
    : Error(ErrorCode::store_failed, message_of(words)) {}

StoreFailure::~StoreFailure() = default;

UnreadableEvent::~UnreadableEvent() = default;

}  // namespace muster
