// task_context.cpp: the one home of its type information, and which progress there can be.
#include <string>

#include <muster/error.hpp>
#include <muster/task_context.hpp>

namespace muster {

TaskContext::~TaskContext() = default;

void TaskContext::progress(double fraction) {
  // So written that what is not a number is refused.
  if (!(fraction >= 0 && fraction <= 1)) {
    throw InvalidArgument({"fraction", std::to_string(fraction), "must be from 0 to 1"});
  }
  report_progress(fraction);
}

}  // namespace muster
