// busy_window.cpp: work that spans several parts, and what is read off them.
#include <algorithm>

#include <muster/observe/busy_window.hpp>

namespace muster {

// The current part is the one in which it ends.
void BusyWindow::add_to_several(const Work& work) noexcept {
  const Duration end = work.end.time_since_epoch();
  const auto times = static_cast<Duration::rep>(work.times);
  current_ = end / part_;
  current_begin_ = current_ * part_;
  const Duration begin = std::min(work.begin.time_since_epoch(), end);
  // What is older than all words is of no interest any more.
  const std::int64_t oldest = current_ - static_cast<std::int64_t>(kWords) + 1;
  for (std::int64_t number = std::max(begin / part_, oldest); number <= current_; ++number) {
    const Duration from = std::max(begin, number * part_);
    const Duration to = std::min(end, (number + 1) * part_);
    add_to(number, (to - from) * times);
  }
}

Duration BusyWindow::begin_of(Time now) const noexcept {
  return std::max(now.time_since_epoch() - kParts * part_, start_);
}

double BusyWindow::utilisation(Time now, Time begun) const noexcept {
  const Duration length = now.time_since_epoch() - begin_of(now);
  if (length <= Duration::zero()) return 0;
  return std::min(spent_until(now, begun) / static_cast<double>(length.count()), 1.0);
}

double BusyWindow::steady_utilisation(Time now, Time begun) const noexcept {
  const Duration length = kParts * part_;
  return std::min(spent_until(now, begun) / static_cast<double>(length.count()), 1.0);
}

double BusyWindow::spent_until(Time now, Time begun) const noexcept {
  const Duration end = now.time_since_epoch();
  const Duration begin = begin_of(now);
  if (begin >= end) return 0;
  const std::int64_t first = begin / part_;
  double spent = 0;
  for (std::int64_t number = first; number <= end / part_; ++number) {
    const std::uint64_t word =
        words_[static_cast<std::uint64_t>(number) % kWords].load(relaxed);  // relaxed: a figure
    const double part = static_cast<double>(spent_in(word, number));
    const Duration left = (first + 1) * part_ - begin;  // of the oldest
    const bool is_whole = number != first || begin == start_;
    spent += is_whole
                 ? part
                 : part * static_cast<double>(left.count()) / static_cast<double>(part_.count());
  }
  return spent +
         static_cast<double>((end - std::clamp(begun.time_since_epoch(), begin, end)).count());
}

}  // namespace muster
