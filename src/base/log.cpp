// log.cpp: holds the hook and calls it. Delivering shares a lock, replacing excludes: that is what
// lets set_log_hook() promise that the old hook is out of use when it returns.
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include <muster/base/assert.hpp>
#include <muster/base/log.hpp>

namespace muster {
namespace {

struct HookHolder {
  // Guarded by mutex.
  std::shared_mutex mutex;
  LogHook hook;
};

HookHolder& holder() {
  // Never destroyed: threads may log while the program exits.
  static HookHolder& only = *new HookHolder;
  return only;
}

// A hook that logs must neither lock twice nor call itself without end.
thread_local bool inside_hook = false;

void deliver(const LogRecord& record) noexcept {
  if (inside_hook) return;
  inside_hook = true;
  try {
    const std::shared_lock lock(holder().mutex);
    if (holder().hook) holder().hook(record);
  } catch (...) {  // NOLINT(bugprone-empty-catch): there is nobody to tell, see below
    // The hook's own trouble must not become the trouble of the code that logs.
  }
  inside_hook = false;
}

}  // namespace

namespace detail {

constinit std::atomic<bool> has_log_hook = false;

LogMessage::~LogMessage() {
  deliver({.level = level_, .message = text_.view(), .location = location_});
}

}  // namespace detail

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "unknown";
}

LogHook set_log_hook(LogHook hook) {
  MUSTER_ASSERT(!inside_hook, "a log hook called set_log_hook()");
  const std::unique_lock lock(holder().mutex);
  // relaxed: only a hint; the hook itself is published by the lock
  detail::has_log_hook.store(static_cast<bool>(hook), std::memory_order_relaxed);
  return std::exchange(holder().hook, std::move(hook));
}

void log_to_stderr(const LogRecord& record) {
  std::string_view file = record.location.file_name();
  file.remove_prefix(file.rfind('/') + 1);
  std::string line = "muster ";
  line.append(to_string(record.level)).append(": ").append(file).append(":");
  line.append(std::to_string(record.location.line())).append(": ").append(record.message);
  line += '\n';
  std::fputs(line.c_str(), stderr);
}

}  // namespace muster
