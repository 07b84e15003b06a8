// lock_waits.cpp: a perf event with a filter.
#include "threads/lock_waits.hpp"

#include <cerrno>
#include <fstream>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace muster::bench {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

int open_event() {
  const char* const path = "/sys/kernel/tracing/events/syscalls/sys_enter_futex/id";
  std::ifstream file(path);
  std::uint64_t id = 0;
  if (!(file >> id)) fail(path);

  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.size = sizeof(attributes);
  attributes.config = id;
  attributes.inherit = 1;  // threads that are started later
  const long event = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (event < 0) fail("perf_event_open");

  const std::string filter = "op == " + std::to_string(FUTEX_WAIT_PRIVATE);
  if (ioctl(static_cast<int>(event), PERF_EVENT_IOC_SET_FILTER, filter.c_str()) != 0) {
    const int error = errno;
    close(static_cast<int>(event));
    errno = error;
    fail("PERF_EVENT_IOC_SET_FILTER");
  }
  return static_cast<int>(event);
}

}  // namespace

LockWaits::LockWaits() : event_(open_event()) {}

LockWaits::~LockWaits() {
  close(event_);
}

bool LockWaits::can_be_counted() {
  try {
    const LockWaits probe;
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

std::uint64_t LockWaits::count() const {
  std::uint64_t count = 0;
  if (read(event_, &count, sizeof(count)) != sizeof(count)) fail("read a perf event");
  return count;
}

}  // namespace muster::bench
