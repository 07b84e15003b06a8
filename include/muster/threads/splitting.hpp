// splitting.hpp: a loop that divides itself when somebody else has nothing to do.
//
// A range is worked off in chunks from its beginning. Before each chunk the worker looks whether
// work is wanted, and only then splits off the second half of what is left. So a loop that nobody
// helps with costs as much as a plain one, and uneven work is divided again and again. Chunks are a
// share of what is left, so they shrink towards the end, where balance counts.
//
// Thread safety: a value; what it calls runs on several workers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include <muster/join.hpp>

namespace muster {

class Splitting {
 public:
  // `grain`: calls in a row; 0 chooses.
  Splitting(unsigned workers, std::size_t grain) noexcept
      : shares_(std::size_t{workers} * kChunksPerWorker), grain_(grain) {}

  template <class Body>
  void for_each(std::size_t first, std::size_t last, const Body& body) const {
    while (first < last) {
      const std::size_t step = chunk(last - first);
      if (last - first > step && must_split()) {
        const std::size_t middle = first + (last - first) / 2;
        join([&] { for_each(first, middle, body); }, [&] { for_each(middle, last, body); });
        return;
      }
      for (const std::size_t end = first + step; first < end; ++first) body(first);
    }
  }

  template <class T, class Map, class Combine>
  T reduce(std::size_t first, std::size_t last, const T& init, const Map& map,
           const Combine& combine) const {
    T sum = init;
    while (first < last) {
      const std::size_t step = chunk(last - first);
      if (last - first > step && must_split()) {
        const std::size_t middle = first + (last - first) / 2;
        auto [left, right] = join([&] { return reduce(first, middle, init, map, combine); },
                                  [&] { return reduce(middle, last, init, map, combine); });
        return combine(combine(std::move(sum), std::move(left)), std::move(right));
      }
      for (const std::size_t end = first + step; first < end; ++first) {
        sum = combine(std::move(sum), map(first));
      }
    }
    return sum;
  }

 private:
  static constexpr std::size_t kChunksPerWorker = 16;

  static bool must_split() noexcept {
    if (current_fork_stack != nullptr) return current_fork_stack->must_split();
    return current_player != nullptr && current_player->flip();
  }

  [[nodiscard]] std::size_t chunk(std::size_t left) const noexcept {
    return std::min(left, grain_ != 0 ? grain_ : std::max<std::size_t>(left / shares_, 1));
  }

  std::size_t shares_;
  std::size_t grain_;
};

}  // namespace muster
