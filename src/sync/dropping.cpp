// dropping.cpp: the innermost reason of each thread.
#include <utility>

#include <muster/error.hpp>
#include <muster/sync/dropping.hpp>

namespace muster {
namespace {

constinit thread_local Dropping* innermost = nullptr;

}  // namespace

Dropping::Dropping() noexcept : outer_(std::exchange(innermost, this)) {}

Dropping::~Dropping() {
  innermost = outer_;
}

std::exception_ptr Dropping::error_for(const std::string& what, const std::string& name) {
  Dropping* const reason = std::exchange(innermost, nullptr);
  const std::string message = what + " was dropped before it began: ";
  if (reason == nullptr) return std::make_exception_ptr(Stopped(message + "its pool stopped"));
  reason->task_name_ = name;
  return std::make_exception_ptr(Dropped(message + "too many tasks wait in its pool"));
}

}  // namespace muster
