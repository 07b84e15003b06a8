// roster.cpp: counting searchers in and out.
#include <muster/sync/fence.hpp>
#include <muster/threads/roster.hpp>

namespace muster {

void Roster::begin_search() noexcept {
  // relaxed: until it is seen, publishers wake somebody in vain.
  searching_.fetch_add(1, relaxed);
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

bool Roster::notify() noexcept {
  // sync(counted-out): or a searcher could count itself out and miss the work while we count on
  // it; and sync(announce-or-publish) for the sleepers.
  full_fence();
  // relaxed: the fence decides what must be seen.
  if (searching_.load(relaxed) != 0) return false;
  if (!lot_.empty_approx()) return lot_.wake_one();
  // relaxed: as in set_absent().
  if (recruit_ != nullptr && absent_.load(relaxed) != 0) [[unlikely]]
    recruit_();
  return false;
}

}  // namespace muster
