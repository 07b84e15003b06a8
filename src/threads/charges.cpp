// charges.cpp: a charge is made with a task, and lifted with it.
#include "threads/charges.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "threads/crew.hpp"

namespace muster {
namespace {

// What is longer counts as this, so that sums of a million fit.
constexpr Duration kLongestEstimate = std::chrono::hours(1);

}  // namespace

class Charges::Charge {
 public:
  Charge(Charges& charges, std::size_t worker, Duration estimate) noexcept
      : charges_(&charges), worker_(worker), estimate_(estimate) {
    charges.add(worker, estimate);
  }
  Charge(Charge&& other) noexcept
      : charges_(std::exchange(other.charges_, nullptr)),
        worker_(other.worker_),
        estimate_(other.estimate_) {}
  Charge& operator=(Charge&&) = delete;
  ~Charge() {
    if (charges_ != nullptr) charges_->lift(worker_, estimate_);
  }

  // On the thread that runs the task.
  void follow() noexcept {
    const Worker* const self = Worker::current();
    const bool is_ours = self != nullptr && &self->crew().placer().charges() == charges_;
    if (!is_ours || self->index() == worker_) return;
    charges_->lift(worker_, estimate_);
    worker_ = self->index();
    charges_->add(worker_, estimate_);
  }

 private:
  Charges* charges_;  // null: moved from
  std::size_t worker_;
  Duration estimate_;
};

// relaxed, all: figures.
void Charges::add(std::size_t worker, Duration estimate) noexcept {
  accounts_[worker].tasks.fetch_add(1, relaxed);                // relaxed: as above
  accounts_[worker].time.fetch_add(estimate.count(), relaxed);  // relaxed: as above
}

void Charges::lift(std::size_t worker, Duration estimate) noexcept {
  accounts_[worker].time.fetch_sub(estimate.count(), relaxed);  // relaxed: as above
  accounts_[worker].tasks.fetch_sub(1, relaxed);                // relaxed: as above
}

Closure Charges::charge(std::size_t worker, Duration estimate, Closure&& task) {
  Charge charge(*this, worker, std::min(estimate, kLongestEstimate));
  return Closure([charge = std::move(charge), task = std::move(task)]() mutable {
    charge.follow();
    std::move(task)();
  });
}

}  // namespace muster
