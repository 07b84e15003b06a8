// seq_index.hpp: where jobs stand in a lane, by number.
//
// They come in the order of their numbers, nearly all, and go in about the same. So they stand in a
// sorted run, and who looks for one begins at the front: with millions there, a step in a hash
// table of all would be a cache miss, and here the next ones are neighbours. What comes late stands
// beside it.
//
// Thread safety: as any value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include <boost/unordered/unordered_flat_map.hpp>

#include <muster/jobs/job.hpp>

namespace muster {

class SeqIndex {
 public:
  using Place = std::uint32_t;
  static constexpr Place kNowhere = UINT32_MAX;

  // False: it is there already, and stays as it is. Requires: a place.
  bool add(JobSeq seq, Place place);

  // kNowhere: it is not there.
  [[nodiscard]] Place find(JobSeq seq) const;

  // Where it was, or kNowhere.
  Place remove(JobSeq seq);

  [[nodiscard]] std::size_t size() const noexcept { return run_.size() - gone_ + late_.size(); }

  // Each place, in no order.
  template <class Use>
  void for_each(const Use& use) const {
    for (const Entry& entry : run_) {
      if (entry.place != kNowhere) use(entry.place);
    }
    for (const auto& [seq, place] : late_) use(place);
  }

 private:
  struct Entry {
    JobSeq seq = 0;
    Place place = kNowhere;  // it has gone
  };

  [[nodiscard]] std::optional<std::size_t> in_run(JobSeq seq) const;
  void close_gaps();

  std::deque<Entry> run_;  // by seq; the first has not gone
  std::size_t gone_ = 0;   // of them
  boost::unordered_flat_map<JobSeq, Place> late_;
};

}  // namespace muster
