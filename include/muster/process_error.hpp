// process_error.hpp: why a task that was given to a worker process has no result.
//
// Beside these a future may say TimedOut, Cancelled, Expired, Dropped or Stopped, see error.hpp.
//
// Thread safety: immutable after construction; copying never throws and shares the contents.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <muster/base/api.hpp>
#include <muster/error.hpp>
#include <muster/processes/exit_status.hpp>

namespace muster {

// The task threw in its worker, in every attempt that it was given.
class MUSTER_API RemoteError : public Error {
 public:
  // `what` is what it threw, in words.
  struct Contents {
    std::string name;
    std::string what;
    unsigned attempts = 1;
  };
  explicit RemoteError(Contents contents);
  RemoteError(const RemoteError&) = default;
  RemoteError& operator=(const RemoteError&) = default;
  ~RemoteError() override;

  [[nodiscard]] const std::string& remote_what() const noexcept { return contents_->what; }
  [[nodiscard]] unsigned attempts() const noexcept { return contents_->attempts; }

 private:
  std::shared_ptr<const Contents> contents_;
};

// The worker died while it ran the task, in the last attempt that it was given.
class MUSTER_API WorkerCrashed : public Error {
 public:
  struct Contents {
    std::string name;
    ExitStatus exit;
    unsigned attempts = 1;
    std::string why = {};  // if more is known than how it ended
  };
  explicit WorkerCrashed(Contents contents);
  WorkerCrashed(const WorkerCrashed&) = default;
  WorkerCrashed& operator=(const WorkerCrashed&) = default;
  ~WorkerCrashed() override;

  [[nodiscard]] const ExitStatus& exit() const noexcept { return contents_->exit; }
  [[nodiscard]] unsigned attempts() const noexcept { return contents_->attempts; }

 private:
  std::shared_ptr<const Contents> contents_;
};

}  // namespace muster
