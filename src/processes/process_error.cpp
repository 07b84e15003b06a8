// process_error.cpp: what went wrong in a worker, in words.
#include <utility>

#include <muster/process_error.hpp>

namespace muster {
namespace {

std::string after(unsigned attempts) {
  return attempts == 1 ? "" : " (attempt " + std::to_string(attempts) + ", the last)";
}

}  // namespace

RemoteError::RemoteError(Contents contents)
    : Error(ErrorCode::task_failed, "task \"" + contents.name + "\" failed in its worker" +
                                        after(contents.attempts) + ": " + contents.what),
      contents_(std::make_shared<const Contents>(std::move(contents))) {}

RemoteError::~RemoteError() = default;

WorkerCrashed::WorkerCrashed(Contents contents)
    : Error(ErrorCode::worker_crashed,
            "the worker that ran task \"" + contents.name + "\" died" + after(contents.attempts) +
                ": " + (contents.why.empty() ? describe(contents.exit) : contents.why)),
      contents_(std::make_shared<const Contents>(std::move(contents))) {}

WorkerCrashed::~WorkerCrashed() = default;

}  // namespace muster
