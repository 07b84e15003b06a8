// fake_context.hpp: the context of a task that no worker runs.
#pragma once

#include <vector>

#include <muster/task_context.hpp>

namespace muster::testing {

class FakeContext final : public TaskContext {
 public:
  explicit FakeContext(const TaskFacts& facts) : TaskContext(facts) {}

  void cancel() { is_cancelled_ = true; }
  const std::vector<double>& reported() const { return reported_; }

 private:
  void report_progress(double fraction) noexcept override { reported_.push_back(fraction); }
  bool is_cancelled() const noexcept override { return is_cancelled_; }

  std::vector<double> reported_;
  bool is_cancelled_ = false;
};

}  // namespace muster::testing
