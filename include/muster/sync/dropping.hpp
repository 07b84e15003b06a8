// dropping.hpp: the reason why a task is destroyed without having run.
//
// What stands for a submitted task in a queue settles its future when it is destroyed unrun. It
// asks here for the error: Stopped, for it is pools that stop who do so, unless whoever destroys it
// has said that there is no room.
//
//     Dropping dropping;             // for want of room, on this thread
//     task.reset();                  // its future says Dropped
//     tell_of(dropping.task_name());
//
// Thread safety: each thread has its own.
#pragma once

#include <exception>
#include <string>

#include <muster/base/api.hpp>

namespace muster {

class MUSTER_API Dropping {
 public:
  Dropping() noexcept;
  Dropping(const Dropping&) = delete;
  Dropping& operator=(const Dropping&) = delete;
  ~Dropping();

  // What the task was called; empty if it had no name.
  [[nodiscard]] const std::string& task_name() const noexcept { return task_name_; }

  // For whoever is destroyed unrun: what to tell those who wait. A Dropping is for one task only;
  // what that drags along is destroyed as ever.
  // `what`: "the task", or `task "resize"`.
  static std::exception_ptr error_for(const std::string& what, const std::string& name);

 private:
  Dropping* const outer_;
  std::string task_name_;
};

}  // namespace muster
