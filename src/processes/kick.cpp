// kick.cpp: an eventfd.
#include "processes/kick.hpp"

#include <cerrno>
#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

#include <muster/error.hpp>

namespace muster {

Kick::Kick() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw SystemFailure("make an eventfd", errno, "close descriptors");
}

void Kick::give() const noexcept {
  const std::uint64_t one = 1;
  (void)!write(event_.get(), &one, sizeof one);  // full: it is readable already
}

void Kick::take() const noexcept {
  std::uint64_t count = 0;
  (void)!read(event_.get(), &count, sizeof count);  // nothing there: taken already
}

}  // namespace muster
