// dead_letters.hpp: tasks that have failed for good, as many as one wants to keep.
//
// Thread safety: none; its user guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <muster/process_pool_options.hpp>

namespace muster {

class DeadLetters {
 public:
  explicit DeadLetters(std::size_t most) : most_(most) {}

  // The oldest goes if there are too many.
  void add(DeadLetter letter) {
    if (most_ == 0) return;
    if (letters_.size() == most_) letters_.pop_front();
    letters_.push_back(std::move(letter));
  }

  // Null if it is not there.
  [[nodiscard]] const DeadLetter* find(std::uint64_t id) const noexcept {
    for (const DeadLetter& letter : letters_) {
      if (letter.id == id) return &letter;
    }
    return nullptr;
  }

  // Takes one out; nothing if it is not there.
  [[nodiscard]] std::optional<DeadLetter> take(std::uint64_t id) {
    for (auto letter = letters_.begin(); letter != letters_.end(); ++letter) {
      if (letter->id != id) continue;
      std::optional<DeadLetter> taken(std::move(*letter));
      letters_.erase(letter);
      return taken;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::vector<DeadLetter> all() const { return {letters_.begin(), letters_.end()}; }
  [[nodiscard]] std::size_t size() const noexcept { return letters_.size(); }

 private:
  const std::size_t most_;
  std::deque<DeadLetter> letters_;  // oldest first
};

}  // namespace muster
