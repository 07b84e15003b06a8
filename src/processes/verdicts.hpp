// verdicts.hpp: tasks that have ended and whose futures are not told yet, the oldest first.
//
// They hang on each other, so that none needs memory at the moment it ends.
//
// Thread safety: none; its user guards it.
#pragma once

#include <cstddef>
#include <utility>

#include "processes/process_task.hpp"

namespace muster {

class Verdicts {
 public:
  Verdicts() = default;
  Verdicts(Verdicts&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)),
        last_(std::exchange(other.last_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Verdicts& operator=(Verdicts&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Verdicts() {
    while (!empty()) (void)pop();
  }

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // Requires: it is in no other list.
  void push(TaskRef task) noexcept {
    ProcessTask* const added = task.release();
    (first_ == nullptr ? first_ : last_->next_verdict) = added;
    last_ = added;
    ++size_;
  }

  // Requires: not empty.
  [[nodiscard]] TaskRef pop() noexcept {
    --size_;
    return TaskRef(std::exchange(first_, std::exchange(first_->next_verdict, nullptr)));
  }

 private:
  ProcessTask* first_ = nullptr;
  ProcessTask* last_ = nullptr;  // of no meaning without a first
  std::size_t size_ = 0;
};

}  // namespace muster
