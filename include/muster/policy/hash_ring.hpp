// hash_ring.hpp: which worker a key belongs to, so that few keys move when workers come and go.
//
//     HashRing ring;
//     ring.add(std::array<std::size_t, 3>{0, 1, 2});
//     const std::optional<std::size_t> worker = ring.worker_of(hash_key("user:42"));
//
// Consistent hashing: hashes lie on a ring, each worker has a number of points there, and a key
// belongs to the next point at or after its hash. A worker that joins takes over an even part of
// everybody's keys, one that leaves hands its own to everybody, and no other key moves. The ring
// depends on who is in it only, not on the order in which they came.
//
// A lookup takes O(1) on average, whatever the number of workers: a table says where in the sorted
// points to begin. add and remove go through all points.
//
// Thread safety: any number of threads may look up; nobody else may be there while one changes it.
// Design note: docs/design/affinity.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <muster/base/api.hpp>

namespace muster {

class HashRing {
 public:
  // Throws InvalidArgument unless there is at least one virtual node, and 65 536 at most.
  MUSTER_API explicit HashRing(std::size_t virtual_nodes = 150);

  enum class Change { done, nothing_to_do };

  // nothing_to_do: they were there already, or it was not there. Many are added at the price of
  // one.
  MUSTER_API Change add(std::span<const std::size_t> workers);
  Change add(std::size_t worker) { return add({&worker, 1}); }
  MUSTER_API Change remove(std::size_t worker);

  // Whom a key belongs to, by its hash. None: the ring is empty.
  [[nodiscard]] MUSTER_API std::optional<std::size_t> worker_of(std::uint64_t hash) const;

  // The key's worker, then who it would belong to if that one left, and so on: `most` of them, or
  // all there are. Slower than worker_of().
  [[nodiscard]] MUSTER_API std::vector<std::size_t> preferences(std::uint64_t hash,
                                                                std::size_t most) const;

  [[nodiscard]] std::size_t worker_count() const noexcept { return workers_.size(); }

 private:
  struct Point {
    std::uint64_t position;
    std::size_t worker;

    // Two workers may meet in one position; then the lower number has it, whoever came first.
    bool operator<(const Point& other) const noexcept {
      return position != other.position ? position < other.position : worker < other.worker;
    }
  };

  std::size_t index_of(std::uint64_t hash) const;
  void divide();

  // Fixed at construction.
  std::size_t points_per_worker_;

  // Both are sorted.
  std::vector<std::size_t> workers_;
  std::vector<Point> points_;

  // The ring cut into equal parts, about as many as there are points: for each part the index of
  // the first point in it or after it. The part of a hash is told by its upper bits.
  std::vector<std::uint32_t> first_in_part_;
  int part_shift_ = 0;
};

}  // namespace muster
