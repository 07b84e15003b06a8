// timer_queue.hpp: what is to happen at which time. Decides, and knows no clock and no thread.
//
//     TimerQueue<Alarm> queue;
//     queue.add(now + 5s, alarm);
//     sleep_until(queue.next_due());
//     while (auto due = queue.pop_due(clock.now())) ring(*due);
//
// Earlier times come first, and equal ones in the order in which they were added. Time::max() is
// never.
//
// Thread safety: none.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <muster/base/clock.hpp>

namespace muster {

// Names what was added, also after it is gone.
struct TimerKey {
  Time due;
  std::uint64_t number = 0;  // 0 names nothing

  auto operator<=>(const TimerKey&) const = default;
};

// `delay` from `now` on; a very long one is never. Requires: neither is negative.
[[nodiscard]] inline Time time_after(Time now, Duration delay) noexcept {
  return delay > Time::max() - now ? Time::max() : now + delay;
}

// The first tick after `now`, of those that follow `due` every `period`: what was missed is left
// out, and nothing drifts. Requires: `due` is not after `now`, the period is positive.
[[nodiscard]] inline Time next_tick(Time due, Duration period, Time now) noexcept {
  if (time_after(now, period) == Time::max()) return Time::max();
  return due + ((now - due) / period + 1) * period;
}

template <class Item>
class TimerQueue {
 public:
  TimerKey add(Time due, Item item) {
    const TimerKey key{due, ++last_number_};
    items_.emplace(key, std::move(item));
    return key;
  }

  // Nothing if it was taken out before.
  std::optional<Item> remove(const TimerKey& key) noexcept {
    const auto found = items_.find(key);
    return found == items_.end() ? std::nullopt : std::optional<Item>(take(found));
  }

  // When pop_due() will give something. Nothing: not before something is added.
  [[nodiscard]] std::optional<Time> next_due() const noexcept {
    if (items_.empty() || items_.begin()->first.due == Time::max()) return std::nullopt;
    return items_.begin()->first.due;
  }

  struct Due {
    TimerKey key;
    Item item;
  };
  // What was due first of all that is due at `now`; one at a time.
  std::optional<Due> pop_due(Time now) noexcept {
    const std::optional<Time> next = next_due();
    if (!next || *next > now) return std::nullopt;
    const TimerKey key = items_.begin()->first;
    return Due{key, take(items_.begin())};
  }

  // Due or not.
  std::optional<Item> pop_any() noexcept {
    return items_.empty() ? std::nullopt : std::optional<Item>(take(items_.begin()));
  }

 private:
  using Items = std::map<TimerKey, Item>;

  Item take(typename Items::iterator position) noexcept {
    return std::move(items_.extract(position).mapped());
  }

  Items items_;
  std::uint64_t last_number_ = 0;
};

}  // namespace muster
