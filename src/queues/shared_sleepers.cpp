// shared_sleepers.cpp: the steps of falling asleep and of waking, between processes.
#include <bit>

#include <muster/queues/shared_sleepers.hpp>
#include <muster/sync/fence.hpp>

namespace muster {

SharedSleepers::Ticket SharedSleepers::announce(ParticipantIndex sleeper) const noexcept {
  // Before the bit is set: a waker bumps the epoch only after seeing the bit, so this value is
  // older than any bump meant for us. relaxed: the release below keeps it in front of the bit.
  const std::uint32_t epoch = parts_.participants[sleeper].epoch.load(relaxed);
  const std::uint64_t bit = std::uint64_t{1} << (sleeper % kBits);
  // sync(shared-epoch-before-bit): pairs with the fetch_and in wake_one_in(), behind which the
  // epoch is bumped.
  parts_.bitmap[sleeper / kBits].fetch_or(bit, release);
  // sync(shared-announce-or-publish): pairs with the fence in wake(). Without it the sleeper could
  // miss what was published while the publisher misses the bit.
  full_fence_after_rmw();
  return {.sleeper = sleeper, .epoch = epoch};
}

void SharedSleepers::withdraw(const Ticket& ticket) const noexcept {
  if (!clear_bit(ticket.sleeper)) wake(1);
}

SleepOutcome SharedSleepers::park(const Ticket& ticket, std::int64_t timeout_ns) const noexcept {
  Atomic<std::uint32_t>& epoch = parts_.participants[ticket.sleeper].epoch;
  SleepOutcome slept = SleepOutcome::woken;
  // relaxed: an old epoch only leads into the system call, which compares the true one.
  while (epoch.load(relaxed) == ticket.epoch && slept != SleepOutcome::timed_out) {
    slept = shared_futex_wait(epoch, ticket.epoch, timeout_ns);
  }
  const bool picked = !clear_bit(ticket.sleeper);
  return picked ? SleepOutcome::woken : slept;
}

std::uint32_t SharedSleepers::wake(std::uint32_t most) const noexcept {
  // sync(shared-announce-or-publish): pairs with the fence in announce().
  full_fence();
  std::uint32_t woken = 0;
  for (std::uint32_t word = 0; word < words(); ++word) {
    while (woken < most && wake_one_in(word)) ++woken;
  }
  return woken;
}

bool SharedSleepers::wake_one_in(std::uint32_t word) const noexcept {
  Atomic<std::uint64_t>& bitmap = parts_.bitmap[word];
  // relaxed: the fence in wake() decides what must be seen; an old bit is found out below.
  std::uint64_t seen = bitmap.load(relaxed);
  while (seen != 0) {
    // The lowest first: the same few stay warm and the others asleep.
    const std::uint64_t bit = seen & (~seen + 1);
    // sync(shared-epoch-before-bit): the sleeper has read its epoch; only now may it be bumped.
    const std::uint64_t before = bitmap.fetch_and(~bit, acquire);
    if ((before & bit) != 0) {
      bump(word * kBits + static_cast<std::uint32_t>(std::countr_zero(bit)));
      return true;
    }
    seen = before;
  }
  return false;
}

void SharedSleepers::wake_all() const noexcept {
  // sync(shared-announce-or-publish): whatever the sweep has published.
  full_fence();
  for (std::uint32_t sleeper = 0; sleeper < parts_.count; ++sleeper) bump(sleeper);
}

std::uint32_t SharedSleepers::asleep_approx() const noexcept {
  std::uint32_t asleep = 0;
  for (std::uint32_t word = 0; word < words(); ++word) {
    // relaxed: a racy count by contract.
    asleep += static_cast<std::uint32_t>(std::popcount(parts_.bitmap[word].load(relaxed)));
  }
  return asleep;
}

void SharedSleepers::bump(std::uint32_t sleeper) const noexcept {
  if (sleeper >= parts_.count) return;  // a wild write set a bit that is nobody's
  Atomic<std::uint32_t>& epoch = parts_.participants[sleeper].epoch;
  // relaxed: the kernel compares the true value, and the sleeper looks behind a fence of its own.
  epoch.fetch_add(1, relaxed);
  shared_futex_wake(epoch);
}

// False if a waker had already taken the bit.
bool SharedSleepers::clear_bit(ParticipantIndex sleeper) const noexcept {
  const std::uint64_t bit = std::uint64_t{1} << (sleeper % kBits);
  // relaxed: says only whether a wake was spent on us; a read-modify-write sees the newest value.
  return (parts_.bitmap[sleeper / kBits].fetch_and(~bit, relaxed) & bit) != 0;
}

}  // namespace muster
