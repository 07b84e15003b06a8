// shared_sleepers.hpp: where participants of a shared ring sleep, and how one of them is found.
//
// The steps of ParkingLot (sync/parking_lot.hpp) between processes: a bit says "I am about to sleep
// or asleep", a word of one's own is what one sleeps on.
//
//     auto ticket = sleepers.announce(me);
//     if (look_once_more()) sleepers.withdraw(ticket);
//     else sleepers.park(ticket, timeout_ns);
//
// A bit belongs to one participant, so whoever sweeps a dead one can clear it; a count could not be
// repaired. What a death may still lose is a wake: the dead one took a bit and did not come to
// wake, or was woken and did not come to take. So the sweep ends by waking everybody, whatever
// their bits.
//
// A view: copies share the memory. Needs nothing but the compiler and shared_futex.hpp.
// Thread safety: wakers from anywhere; announce, withdraw and park by the participant itself.
// Ordering: a wake orders no memory by itself; the ring that the work comes through does.
// Design note: docs/protocol.md, docs/design/parking_lot.md
#pragma once

#include <cstdint>

#include <muster/base/api.hpp>
#include <muster/queues/shared_layout.hpp>
#include <muster/sync/shared_futex.hpp>

namespace muster {

class MUSTER_API SharedSleepers {
 public:
  struct Parts {
    Atomic<std::uint64_t>* bitmap;
    ParticipantRecord* participants;
    std::uint32_t count;
  };

  // Proof of having announced; used up by withdraw or park.
  struct Ticket {
    ParticipantIndex sleeper;
    std::uint32_t epoch;
  };

  SharedSleepers() = default;
  explicit SharedSleepers(const Parts& parts) noexcept : parts_(parts) {}

  // Says that one will sleep unless one finds something now. Look once more after this.
  [[nodiscard]] Ticket announce(ParticipantIndex sleeper) const noexcept;

  // For one whom another announces: to be had before one looks, and to park with afterwards.
  [[nodiscard]] Ticket ticket(ParticipantIndex sleeper) const noexcept {
    // relaxed: as in announce(), but for what is looked at under a lock anyway.
    return {.sleeper = sleeper, .epoch = parts_.participants[sleeper].epoch.load(relaxed)};
  }

  // Found something after all. A wake that was spent on us meanwhile is passed on.
  void withdraw(const Ticket& ticket) const noexcept;

  // Sleeps until woken, or so long (kForever: without end). Look again after either.
  [[gnu::hot]] SleepOutcome park(const Ticket& ticket, std::int64_t timeout_ns) const noexcept;

  // After publishing something: wakes up to `most` sleepers, and says how many there were.
  [[gnu::hot]] std::uint32_t wake(std::uint32_t most) const noexcept;

  // For whoever sweeps: nobody wakes the dead one any more.
  void forget(ParticipantIndex dead) const noexcept { clear_bit(dead); }

  // Wakes every participant, asleep or about to sleep, whatever it waits for.
  void wake_all() const noexcept;

  // Racy: how many have announced and were not picked yet.
  [[nodiscard]] std::uint32_t asleep_approx() const noexcept;

 private:
  static constexpr std::uint32_t kBits = 64;

  [[nodiscard]] std::uint32_t words() const noexcept { return (parts_.count + kBits - 1) / kBits; }
  bool clear_bit(ParticipantIndex sleeper) const noexcept;
  void bump(std::uint32_t sleeper) const noexcept;
  [[nodiscard]] bool wake_one_in(std::uint32_t word) const noexcept;

  // Fixed at construction.
  Parts parts_{};
};

}  // namespace muster
