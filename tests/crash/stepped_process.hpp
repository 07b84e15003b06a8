// stepped_process.hpp: a process that is led from instruction to instruction, and killed.
//
//     SteppedProcess child([&] { operation(); });
//     while (steps-- > 0 && child.step() == Stepped::on) {}
//     child.kill();
//
// The child is a copy of this process. It begins in front of the operation and stops behind it.
//
// Thread safety: one thread, the one that made it.
#pragma once

#include <functional>
#include <sys/types.h>

namespace muster::testing {

enum class Stepped {
  on,        // one instruction was executed
  finished,  // the operation is over; the child waits to be killed
  refused,   // the system does not let us lead a process
};

class SteppedProcess {
 public:
  // Returns when the child stands in front of the operation.
  explicit SteppedProcess(const std::function<void()>& operation);
  ~SteppedProcess() { kill(); }
  SteppedProcess(const SteppedProcess&) = delete;
  SteppedProcess& operator=(const SteppedProcess&) = delete;

  Stepped step();

  // Returns when the kernel has reported the death.
  void kill();

 private:
  Stepped await_stop();

  pid_t pid_ = -1;
  bool finished_ = false;
  bool refused_ = false;
};

}  // namespace muster::testing
