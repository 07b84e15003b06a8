// kick.hpp: wakes a thread that waits in poll() or epoll_wait().
//
// Thread safety: any thread.
#pragma once

#include <muster/processes/file_descriptor.hpp>

namespace muster {

class Kick {
 public:
  // Throws SystemFailure.
  Kick();

  void give() const noexcept;

  // Readable after give(), until take().
  [[nodiscard]] int descriptor() const noexcept { return event_.get(); }
  void take() const noexcept;

 private:
  const FileDescriptor event_;
};

}  // namespace muster
