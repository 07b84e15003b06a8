// lent_blocks.hpp: which blocks its owner may write to, of those that it lends to somebody else.
//
//     owner                                          whom they are lent to
//     if (const auto block = blocks.take()) {
//       write(*block);
//       send("read block 3");  ------------------->  read(3);
//     }                                              LentBlocks::give_back(returns[3]);
//
// A block belongs to one side for good, so to take one no shared memory is touched as long as some
// are known to be free. For each there is a word that counts how often it came back: only whom it
// is lent to writes there, and the owner looks when it has run out. How the other side hears of a
// block, and that it has no two messages of it, is up to whoever lends it. If the borrower dies,
// all of it is thrown away.
//
// Thread safety: take() and put_back() by one thread at a time; give_back() by any.
// Ordering: who takes a block comes after all that was done with it before it was given back.
// Lifetime: the words outlive it.
// Design note: docs/protocol.md, "Lent blocks"
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <muster/sync/atomic.hpp>

namespace muster {

class LentBlocks {
 public:
  using Returns = Atomic<std::uint32_t>;

  // As many blocks as words, all of them free.
  explicit LentBlocks(std::span<Returns> returns) : returns_(returns), seen_(returns.size()) {
    free_.reserve(returns.size());
    for (std::uint32_t block = 0; block < returns.size(); ++block) {
      seen_[block] = returns[block].load(relaxed);  // relaxed: nothing is lent yet
      free_.push_back(block);
    }
  }

  // One that may be written to, of those that were used last if it can be. Nothing if all are lent.
  [[nodiscard]] std::optional<std::uint32_t> take() noexcept {
    if (free_.empty()) look();
    if (free_.empty()) return std::nullopt;
    const std::uint32_t block = free_.back();
    free_.pop_back();
    return block;
  }

  // What take() gives, if it need not look for it.
  [[nodiscard]] std::optional<std::uint32_t> next() const noexcept {
    return free_.empty() ? std::nullopt : std::optional(free_.back());
  }

  // One that was taken, and not lent after all.
  void put_back(std::uint32_t block) noexcept { free_.push_back(block); }

  // By whom it was lent to, once.
  static void give_back(Returns& word) noexcept {
    // relaxed: of this word nobody else writes now.
    const std::uint32_t before = word.load(relaxed);
    word.store(before + 1, release);  // sync(block-back): pairs with the load in look()
  }

 private:
  void look() noexcept {
    for (std::uint32_t block = 0; block < returns_.size(); ++block) {
      // sync(block-back): pairs with the store in give_back().
      const std::uint32_t now = returns_[block].load(acquire);
      if (now == seen_[block]) continue;
      seen_[block] = now;
      free_.push_back(block);
    }
  }

  // Fixed at construction.
  const std::span<Returns> returns_;

  // Owner only.
  std::vector<std::uint32_t> seen_;  // how often each came back, as far as it was looked at
  std::vector<std::uint32_t> free_;  // never more than there are, so that it does not allocate
};

}  // namespace muster
