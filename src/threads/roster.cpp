// roster.cpp: counting searchers in and out.
#include <muster/sync/backoff.hpp>
#include <muster/sync/fence.hpp>
#include <muster/threads/roster.hpp>

namespace muster {
namespace {

// Before a sleeper is woken: a quarter of what that costs; or about as much.
constexpr unsigned kUsualLooks = looks(16);
constexpr unsigned kAlertLooks = looks(64);

}  // namespace

std::size_t Roster::begin_search() noexcept {
  // relaxed: until it is seen, publishers wake somebody in vain.
  return searching_.fetch_add(1, relaxed);
}

bool Roster::end_search() noexcept {
  // relaxed: the fence below decides what must be seen.
  const bool last = searching_.fetch_sub(1, relaxed) == 1;
  // sync(counted-out): pairs with the fence in notify(). Who still counted on us has published
  // before, and the caller finds it when it looks for more.
  if (last) full_fence_after_rmw();
  return last;
}

ParkingLot::Ticket Roster::give_up(std::size_t worker) noexcept {
  // relaxed: a fence follows in announce(), sync(counted-out), and the caller's look after that.
  searching_.fetch_sub(1, relaxed);
  return lot_.announce(worker);
}

void Roster::stay(ParkingLot::Ticket ticket) noexcept {
  lot_.withdraw(ticket);
}

ParkOutcome Roster::sleep(ParkingLot::Ticket ticket, std::optional<Time> deadline) noexcept {
  return lot_.park(ticket, deadline);
}

bool Roster::notify_from_outside() noexcept {
  // sync(counted-out), sync(serving-or-pushed): as in notify(); looks that come later see no less.
  full_fence();
  if (searching_approx() != 0) return false;
  const auto somebody_is_awake = [this] {
    // relaxed: as in set_absent() and set_workers().
    return lot_.parked_approx() + absent_.load(relaxed) < workers_.load(relaxed);
  };
  if (!lot_.empty_approx() && somebody_is_awake()) {
    const unsigned most = alertness_ == Alertness::high ? kAlertLooks : kUsualLooks;
    for (unsigned look = 0; look < most; ++look) {
      spin_pause();
      if (searching_approx() != 0) return false;
    }
  }
  return wake_or_recruit();
}

bool Roster::notify_worker(std::size_t worker) noexcept {
  if (lot_.wake_this(worker)) return true;
  // relaxed: as in set_absent().
  if (recruit_ != nullptr && absent_.load(relaxed) != 0 && all_busy_approx()) recruit_();
  return false;
}

bool Roster::wake_or_recruit() noexcept {
  if (!lot_.empty_approx()) return lot_.wake_one();
  // relaxed: as in set_absent().
  if (recruit_ != nullptr && absent_.load(relaxed) != 0) [[unlikely]]
    recruit_();
  return false;
}

}  // namespace muster
