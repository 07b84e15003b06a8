// job_error.hpp: what may go wrong with jobs and with where they are kept.
//
// Thread safety: immutable after construction; copying never throws and shares the contents.
#pragma once

#include <exception>
#include <string>

#include <muster/base/api.hpp>
#include <muster/error.hpp>
#include <muster/policy/retry.hpp>

namespace muster {

// The store could not do it; nothing of what was asked for has happened. `attempt` reads on from
// "cannot": `cannot commit 12 changes to "jobs.db": disk full; free space and retry`.
class MUSTER_API StoreFailure : public Error {
 public:
  struct Words {
    std::string attempt = {};
    std::string reason = {};
    std::string advice = {};  // may be empty
  };
  explicit StoreFailure(const Words& words);
  StoreFailure(const StoreFailure&) = default;
  StoreFailure& operator=(const StoreFailure&) = default;
  ~StoreFailure() override;
};

// What is kept of an event does not match its pool's type any more: trying again would not help.
class MUSTER_API UnreadableEvent : public Error {
 public:
  explicit UnreadableEvent(const std::string& message) : Error(ErrorCode::malformed, message) {}
  UnreadableEvent(const UnreadableEvent&) = default;
  UnreadableEvent& operator=(const UnreadableEvent&) = default;
  ~UnreadableEvent() override;
};

// Why an attempt failed, for those who decide whether there is another, and for dead letters.
struct JobError {
  FailureKind kind = FailureKind::error;
  std::string what = {};
  unsigned attempt = 1;

  // What the handler threw; null if it crashed, took too long, or died with its process.
  std::exception_ptr exception = {};
};

}  // namespace muster
