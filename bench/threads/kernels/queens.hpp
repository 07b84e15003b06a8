// queens.hpp: in how many ways do twelve queens stand on a board without threatening each other?
// Every queen is a task; the tree is irregular, and most of its nodes have few children.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "threads/kernels/repeated.hpp"

namespace muster::bench {

// The rows above are settled; a set bit is a column in which the next row is threatened.
struct Board {
  static constexpr unsigned kSize = 12;
  static constexpr std::uint32_t kFull = (1U << kSize) - 1;

  std::uint32_t columns;
  std::uint32_t falling;
  std::uint32_t rising;

  [[nodiscard]] bool is_done() const { return columns == kFull; }
  [[nodiscard]] std::uint32_t free() const { return kFull & ~(columns | falling | rising); }
  [[nodiscard]] Board with(std::uint32_t queen) const {
    return {columns | queen, (falling | queen) << 1, (rising | queen) >> 1};
  }
};

struct Solutions {
  std::uint64_t found;
  std::uint64_t boards;  // looked at, this one included
};

template <class Pool>
Solutions place_queens(const Board& board) {
  if (board.is_done()) return {1, 1};
  std::uint32_t free = board.free();
  const auto count = static_cast<std::size_t>(std::popcount(free));
  std::array<Board, Board::kSize> children;
  for (std::size_t child = 0; child < count; ++child) {
    children[child] = board.with(free & -free);
    free &= free - 1;
  }
  std::array<Solutions, Board::kSize> solutions;
  Pool::each_child(
      count, [&](std::size_t child) { solutions[child] = place_queens<Pool>(children[child]); });
  Solutions sum{0, 1};
  for (std::size_t child = 0; child < count; ++child) {
    sum.found += solutions[child].found;
    sum.boards += solutions[child].boards;
  }
  return sum;
}

class Queens : public Repeated {
 public:
  static constexpr const char* kName = "nqueens";
  static constexpr const char* kColumn = "nqueens ns/board";

  // Items are boards.
  explicit Queens(std::uint64_t items) : Repeated(items, kBoards) {}

  template <class Pool>
  void run(Pool& pool) {
    result_ = run_all(pool, [] { return place_queens<Pool>(Board{}); });
  }

  void verify() const {
    if (result_.found != kSolutions || result_.boards != kBoards) {
      throw std::runtime_error("a queen was lost");
    }
  }

 private:
  static constexpr std::uint64_t kSolutions = 14'200;
  static constexpr std::uint64_t kBoards = 856'189;

  Solutions result_{};
};

}  // namespace muster::bench
