// busy_window.hpp: for what share of the last second, say, a worker was busy.
//
//     BusyWindow window(1s, now);
//     window.add({.begin = began, .end = ended});              // the worker, after each task
//     window.utilisation(now);                                 // anybody, as often as they like
//
// The time is cut into tenths of the window. What has been spent in each of the last ones stands in
// a word of its own; of the oldest, which the window has half left, the same part counts.
//
// Thread safety: add() by one thread, the worker's; utilisation() by any. No reader changes
// anything, so it is the same for all of them.
#pragma once

#include <array>
#include <cstdint>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/sync/atomic.hpp>

namespace muster {

class BusyWindow {
 public:
  // The longest there may be, so that a tenth of it fits into its word.
  static constexpr Duration kLongest{3'600'000'000'000};

  // Requires: 10 ns to kLongest. Looks no further back than `start`.
  BusyWindow(Duration length, Time start) noexcept
      : part_(length / kParts), start_(start.time_since_epoch()) {}

  struct Work {
    Time begin{};
    Time end{};
    std::uint64_t times = 1;  // how many like it this one stands for
  };

  void add(const Work& work) noexcept {
    const Duration end = work.end.time_since_epoch();
    if (work.begin <= work.end && work.begin.time_since_epoch() >= current_begin_ &&
        end < current_begin_ + part_) [[likely]] {
      return add_to(current_, (work.end - work.begin) * static_cast<Duration::rep>(work.times));
    }
    add_to_several(work);
  }

  // It has been there for all of the window.
  [[nodiscard]] bool is_full(Time now) const noexcept {
    return now.time_since_epoch() - start_ >= kParts * part_;
  }

  // From 0 to 1. `begun`: when what it does now began, if it does something.
  [[nodiscard]] MUSTER_API double utilisation(Time now, Time begun) const noexcept;
  [[nodiscard]] double utilisation(Time now) const noexcept { return utilisation(now, now); }

  // The same, as if it had been there and idle before its start: a task that has just taken all of
  // its short life so far says little.
  [[nodiscard]] MUSTER_API double steady_utilisation(Time now, Time begun) const noexcept;

 private:
  static constexpr std::int64_t kParts = 10;
  static constexpr std::size_t kWords = 16;  // more than parts: none is overwritten while it counts

  // The number of a part, as far as it fits, and how much of that was spent, in one word.
  static constexpr unsigned kSpentBits = 40;
  static constexpr std::uint64_t kMostSpent = (std::uint64_t{1} << kSpentBits) - 1;
  static constexpr std::uint64_t kNumbers = std::uint64_t{1} << (64U - kSpentBits);

  [[nodiscard]] Duration begin_of(Time now) const noexcept;
  [[nodiscard]] double spent_until(Time now, Time begun) const noexcept;  // ns

  MUSTER_API void add_to_several(const Work& work) noexcept;
  void add_to(std::int64_t number, Duration spent) noexcept {
    Atomic<std::uint64_t>& word = word_of(number);
    const std::uint64_t before = spent_in(word.load(relaxed), number);  // relaxed: a figure
    const std::uint64_t after = before + static_cast<std::uint64_t>(spent.count());
    const auto tag = static_cast<std::uint64_t>(number) % kNumbers;
    // relaxed: a figure.
    word.store(tag << kSpentBits | (after < kMostSpent ? after : kMostSpent), relaxed);
  }

  Atomic<std::uint64_t>& word_of(std::int64_t number) noexcept {
    return words_[static_cast<std::uint64_t>(number) % kWords];
  }
  // 0 if the word is another part's.
  static std::uint64_t spent_in(std::uint64_t word, std::int64_t number) noexcept {
    const bool is_its = word >> kSpentBits == static_cast<std::uint64_t>(number) % kNumbers;
    return is_its ? word & kMostSpent : 0;
  }

  // Fixed at construction.
  const Duration part_;
  const Duration start_;

  // The worker only.
  std::int64_t current_ = 0;
  Duration current_begin_ = Duration::min() / 2;

  // Any thread reads.
  std::array<Atomic<std::uint64_t>, kWords> words_{};
};

}  // namespace muster
