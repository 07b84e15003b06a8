// seq_index.cpp: a search that begins small, and gaps that are closed when they are many.
#include "jobs/seq_index.hpp"

#include <algorithm>
#include <utility>

#include <muster/base/assert.hpp>

namespace muster {
namespace {

// Fewer gaps are not worth it.
constexpr std::size_t kManyGaps = 64;

}  // namespace

bool SeqIndex::add(JobSeq seq, Place place) {
  MUSTER_DEBUG_ASSERT(place != kNowhere);
  if (run_.empty() || seq > run_.back().seq) {
    if (!late_.empty() && late_.contains(seq)) return false;
    run_.push_back({seq, place});
    return true;
  }
  if (find(seq) != kNowhere) return false;
  late_.emplace(seq, place);
  return true;
}

SeqIndex::Place SeqIndex::find(JobSeq seq) const {
  if (const std::optional<std::size_t> at = in_run(seq); at && run_[*at].place != kNowhere) {
    return run_[*at].place;
  }
  const auto found = late_.find(seq);
  return found == late_.end() ? kNowhere : found->second;
}

SeqIndex::Place SeqIndex::remove(JobSeq seq) {
  if (const std::optional<std::size_t> at = in_run(seq); at && run_[*at].place != kNowhere) {
    const Place place = std::exchange(run_[*at].place, kNowhere);
    ++gone_;
    close_gaps();
    return place;
  }
  const auto found = late_.find(seq);
  if (found == late_.end()) return kNowhere;
  const Place place = found->second;
  late_.erase(found);
  return place;
}

// Within the first 1, 2, 4, ... of the run.
std::optional<std::size_t> SeqIndex::in_run(JobSeq seq) const {
  if (run_.empty() || seq > run_.back().seq) return std::nullopt;
  std::size_t end = 1;
  while (end < run_.size() && run_[end - 1].seq < seq) end *= 2;
  const auto first = run_.begin() + static_cast<std::ptrdiff_t>(end / 2);
  const auto last = run_.begin() + static_cast<std::ptrdiff_t>(std::min(end, run_.size()));
  const auto found = std::ranges::lower_bound(first, last, seq, {}, &Entry::seq);
  if (found == run_.end() || found->seq != seq) return std::nullopt;
  return static_cast<std::size_t>(found - run_.begin());
}

void SeqIndex::close_gaps() {
  while (!run_.empty() && run_.front().place == kNowhere) {
    run_.pop_front();
    --gone_;
  }
  if (gone_ < kManyGaps || 2 * gone_ < run_.size()) return;
  std::erase_if(run_, [](const Entry& entry) { return entry.place == kNowhere; });
  gone_ = 0;
}

}  // namespace muster
