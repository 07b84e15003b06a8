// ring_story.hpp: how a ring came to hold what it holds, once for the native side and once for the
// module.
//
// Played on zeroed memory it leaves the same bytes on both, or the layouts differ. At the end task
// 0 is settled, 1 is done, 2 is claimed by somebody who holds an extent besides, 3 to 7 are ready
// and 5 of them is called off. ring_test.mjs knows these numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <muster/queues/ring_extents.hpp>
#include <muster/queues/ring_producer.hpp>
#include <muster/queues/ring_supervisor.hpp>
#include <muster/queues/ring_worker.hpp>

namespace muster::story {

// No size is a power of two, and participants do not fit into one word of a bitmap.
inline constexpr RingGeometry kGeometry{
    .slots = 20, .participants = 70, .extents = 9, .extent_bytes = 192};

inline constexpr ParticipantIndex kSupervisor = 0;
inline constexpr ParticipantIndex kProducer = 1;
inline constexpr ParticipantIndex kWorker = 2;
inline constexpr ParticipantIndex kDead = 69;

inline constexpr std::uint32_t kTasks = 8;
inline constexpr std::uint64_t kFirstId = std::uint64_t{1} << 40;
inline constexpr std::uint32_t kLongPayload = 150;
inline constexpr std::uint32_t kShortPayload = 20;

// Short ones in the slot, long ones in an extent. `contents` is a task or a result.
template <class Contents>
bool fill(const RingExtents& extents, Contents& contents, std::uint32_t bytes, std::uint8_t value) {
  contents.payload_bytes = bytes;
  if (bytes <= contents.payload.size()) {
    std::ranges::fill(std::span(contents.payload).first(bytes), std::byte{value});
    return true;
  }
  const Allocated extent = extents.allocate();
  contents.extent = extent.tag;
  std::ranges::fill(extents.memory(extent.tag).first(bytes), std::byte{value});
  return extent.outcome == TakeOutcome::taken;
}

inline bool submit_all(const SharedRing& ring) {
  const RingProducer producer(ring, kProducer);
  const RingExtents extents(ring, kProducer);
  bool good = true;
  for (std::uint8_t i = 0; i < kTasks; ++i) {
    TaskContents contents{.priority = static_cast<std::int16_t>(-i),
                          .flags = static_cast<std::uint16_t>(i * 3),
                          .timestamp = kFirstId * i,
                          .method = 1000U + i,
                          .id = kFirstId + i};
    good = fill(extents, contents, i % 2 == 0 ? kShortPayload : kLongPayload, i) && good;
    const Submitted submitted = producer.submit(contents);
    good = submitted.outcome == SubmitOutcome::submitted && good;
    if (i == 5) good = producer.cancel(submitted.place) == CancelOutcome::cancelled && good;
  }
  return good;
}

// The first with a short result, the second with a long one.
inline bool run_two(const SharedRing& ring) {
  const RingWorker worker(ring, kWorker);
  const RingExtents extents(ring, kWorker);
  bool good = true;
  for (const std::uint32_t bytes : {kShortPayload, kLongPayload}) {
    const Claim claim = worker.claim();
    TaskResult result{.status = 7};
    good = fill(extents, result, bytes, 99) && good;
    good = worker.complete(claim, result) == HandOver::done && good;
    worker.record({.busy_ns = 3, .idle_ns = 1});
  }
  worker.set_state(2);
  return good;
}

// True if every step ended as it should.
inline bool play(const SharedRing& ring) {
  bool good = true;
  for (const ParticipantIndex index : {kSupervisor, kProducer, kWorker, kDead}) {
    good = ring.occupy(index, 100U + index) && good;
  }
  good = submit_all(ring) && run_two(ring) && good;
  good = RingWorker(ring, kDead).claim().outcome == TakeOutcome::taken && good;
  good = RingExtents(ring, kDead).allocate().outcome == TakeOutcome::taken && good;
  const RingSupervisor supervisor(ring, kSupervisor);
  return supervisor.release(supervisor.collect()) == HandOver::done && good;
}

}  // namespace muster::story
