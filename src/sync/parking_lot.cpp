// parking_lot.cpp: the three steps of falling asleep, and waking.
#include <bit>
#include <string>

#include <muster/base/assert.hpp>
#include <muster/error.hpp>
#include <muster/sync/fence.hpp>
#include <muster/sync/futex.hpp>
#include <muster/sync/parking_lot.hpp>

namespace muster {
namespace {

std::size_t checked(std::size_t workers) {
  if (workers >= 1 && workers <= ParkingLot::kMaxWorkers) return workers;
  throw InvalidArgument({.field = "workers",
                         .value = std::to_string(workers),
                         .rule = "must be from 1 to " + std::to_string(ParkingLot::kMaxWorkers)});
}

}  // namespace

ParkingLot::ParkingLot(std::size_t workers)
    : workers_(checked(workers)),
      words_((workers_ + kBits - 1) / kBits),
      parked_(std::make_unique<CacheAligned<Atomic<std::uint64_t>>[]>(words_)),
      epochs_(std::make_unique<CacheAligned<Atomic<std::uint32_t>>[]>(workers_)) {}

ParkingLot::Ticket ParkingLot::announce(std::size_t worker) noexcept {
  MUSTER_DEBUG_ASSERT(worker < workers_);
  // Before the bit is set: a waker bumps the epoch only after seeing the bit, so this value is
  // older than any bump meant for us. relaxed: the release below keeps it in front of the bit.
  const std::uint32_t epoch = epochs_[worker].value.load(relaxed);
  const std::uint64_t bit = std::uint64_t{1} << (worker % kBits);
  // sync(epoch-before-bit): pairs with the fetch_and in wake_one(), which bumps the epoch
  // afterwards.
  parked_[worker / kBits].value.fetch_or(bit, release);
  // sync(announce-or-publish): pairs with the fence in wake_one(). Without it this worker could
  // miss the work while the publisher misses the bit.
  full_fence_after_rmw();
  return {.worker = worker, .epoch = epoch};
}

void ParkingLot::withdraw(Ticket ticket) noexcept {
  if (!clear_bit(ticket.worker)) wake_one();
}

ParkOutcome ParkingLot::park(Ticket ticket, std::optional<Time> deadline) noexcept {
  Atomic<std::uint32_t>& epoch = epochs_[ticket.worker].value;
  FutexOutcome slept = FutexOutcome::woken;
  // relaxed: a stale epoch only leads into futex_wait, which compares the true one.
  while (epoch.load(relaxed) == ticket.epoch && slept != FutexOutcome::timed_out) {
    slept = futex_wait(epoch, ticket.epoch, deadline);
    if (slept == FutexOutcome::changed) break;
  }
  const bool picked = !clear_bit(ticket.worker);
  return slept == FutexOutcome::timed_out && !picked ? ParkOutcome::timed_out : ParkOutcome::woken;
}

bool ParkingLot::wake_one() noexcept {
  // sync(announce-or-publish): pairs with the fence in announce().
  full_fence();
  for (std::size_t word = 0; word < words_; ++word) {
    Atomic<std::uint64_t>& parked = parked_[word].value;
    // relaxed: the fence above decides what must be seen; a stale bit is found out by the
    // fetch_and.
    std::uint64_t seen = parked.load(relaxed);
    while (seen != 0) {
      // The lowest first: the same few workers stay warm and the others stay asleep.
      const std::uint64_t bit = seen & (~seen + 1);
      // sync(epoch-before-bit): the sleeper has read its epoch; only now may it be bumped.
      const std::uint64_t before = parked.fetch_and(~bit, acquire);
      if ((before & bit) != 0) {
        wake(word * kBits + static_cast<std::size_t>(std::countr_zero(bit)));
        return true;
      }
      seen = before;
    }
  }
  return false;
}

bool ParkingLot::wake_this(std::size_t worker) noexcept {
  MUSTER_DEBUG_ASSERT(worker < workers_);
  full_fence();  // sync(announce-or-publish): as in wake_one()
  const std::uint64_t bit = std::uint64_t{1} << (worker % kBits);
  Atomic<std::uint64_t>& parked = parked_[worker / kBits].value;
  // relaxed: as in wake_one().
  if ((parked.load(relaxed) & bit) == 0) return false;
  // sync(epoch-before-bit): as in wake_one().
  if ((parked.fetch_and(~bit, acquire) & bit) == 0) return false;
  wake(worker);
  return true;
}

void ParkingLot::wake_all() noexcept {
  // sync(announce-or-publish): what tells workers to stop counts as published work.
  full_fence();
  // Whatever the bits say: a bit may be gone because a waker is about to bump, or not set yet.
  for (std::size_t worker = 0; worker < workers_; ++worker) wake(worker);
}

std::size_t ParkingLot::parked_approx() const noexcept {
  std::size_t parked = 0;
  for (std::size_t word = 0; word < words_; ++word) {
    // relaxed: a racy count by contract.
    parked += static_cast<std::size_t>(std::popcount(parked_[word].value.load(relaxed)));
  }
  return parked;
}

void ParkingLot::wake(std::size_t worker) noexcept {
  // relaxed: the kernel compares the true value, and the sleeper looks for work after a fence of
  // its own.
  epochs_[worker].value.fetch_add(1, relaxed);
  futex_wake_one(epochs_[worker].value);
}

// False if a waker had already taken the bit.
bool ParkingLot::clear_bit(std::size_t worker) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << (worker % kBits);
  // relaxed: says only whether a wake was spent on us; a read-modify-write never reads a stale
  // value.
  return (parked_[worker / kBits].value.fetch_and(~bit, relaxed) & bit) != 0;
}

}  // namespace muster
