// history.hpp: what each worker did of late, for strategies that weigh the past.
//
// A round is over when as many tasks have ended as there are workers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include <muster/policy/decaying.hpp>

namespace muster {

class History {
 public:
  // A worker that was never heard of begins with the least of the others' sums, so that it is not
  // flooded until it has caught up with their past.
  void join(std::size_t worker) {
    if (sums_.contains(worker)) return;
    double least = 0;
    if (!sums_.empty()) {
      least = sums_.begin()->second.at(round_);
      for (const auto& [ignored, sum] : sums_) least = std::min(least, sum.at(round_));
    }
    sums_.emplace(worker, Decaying(least, round_));
  }

  void leave(std::size_t worker) { sums_.erase(worker); }

  // The last tasks of a worker that has left count for nobody.
  void add(std::size_t worker, double amount) {
    const auto sum = sums_.find(worker);
    if (sum == sums_.end()) return;
    sum->second.add(amount, round_);
    if (++ended_ >= sums_.size()) {
      ended_ = 0;
      ++round_;
    }
  }

  [[nodiscard]] double of(std::size_t worker) const { return sums_.at(worker).at(round_); }

  void clear() { *this = {}; }

 private:
  std::unordered_map<std::size_t, Decaying> sums_;
  std::uint64_t round_ = 0;
  std::size_t ended_ = 0;  // in this round
};

}  // namespace muster
