// ring_memory.hpp: a shared ring in memory of its own, for tests.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

#include <gtest/gtest.h>

#include <muster/queues/ring_extents.hpp>
#include <muster/queues/ring_producer.hpp>
#include <muster/queues/ring_supervisor.hpp>
#include <muster/queues/ring_worker.hpp>
#include <muster/queues/shared_ring.hpp>

namespace muster::testing {

// Bytes that begin at a cache line, as a mapping does.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t size)
      : bytes_(static_cast<std::byte*>(::operator new(size, std::align_val_t{kCacheLine}))),
        size_(size) {}
  ~AlignedBytes() { ::operator delete(bytes_, std::align_val_t{kCacheLine}); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;

  [[nodiscard]] std::span<std::byte> span() const { return {bytes_, size_}; }

 private:
  std::byte* const bytes_;
  const std::size_t size_;
};

class RingMemory {
 public:
  explicit RingMemory(const RingGeometry& geometry)
      : bytes_(static_cast<std::size_t>(SharedRing::bytes_for(geometry))) {
    EXPECT_EQ(ring_.format(bytes_.span(), geometry), AttachOutcome::attached);
  }

  [[nodiscard]] const SharedRing& ring() const { return ring_; }
  [[nodiscard]] std::span<std::byte> span() const { return bytes_.span(); }
  [[nodiscard]] RingExtents extents(ParticipantIndex index) const { return {ring_, index}; }
  [[nodiscard]] RingProducer producer(ParticipantIndex index = 0) const { return {ring_, index}; }
  [[nodiscard]] RingWorker worker(ParticipantIndex index = 1) const { return {ring_, index}; }
  [[nodiscard]] RingSupervisor supervisor(ParticipantIndex index = 0) const {
    return {ring_, index};
  }

 private:
  AlignedBytes bytes_;
  SharedRing ring_;
};

}  // namespace muster::testing
