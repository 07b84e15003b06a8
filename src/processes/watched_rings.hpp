// watched_rings.hpp: the rings in which results may come, for who looks at them without the pool's
// mutex while it spins.
//
// Thread safety: by whoever has the collector's seat; update() with the supervisor's mutex, too.
// Lifetime: holds its own share of the segments: a worker may die while its ring is looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "processes/member_lists.hpp"

namespace muster {

class WatchedRings {
 public:
  // Writes down those of all members that have tasks.
  void update(const MemberLists& lists) {
    if (changes_ == lists.changes_approx()) return;
    const std::vector<Member*>& busy = lists.busy();
    if (segments_.size() < busy.size()) segments_.resize(busy.size());
    for (std::size_t i = 0; i < busy.size(); ++i) {
      // Most often it is the same as before; to share it costs more than to look.
      if (segments_[i] != busy[i]->segment) segments_[i] = busy[i]->segment;
    }
    count_ = busy.size();
    changes_ = lists.changes_approx();
  }

  // True also if they are not up to date.
  [[nodiscard]] bool may_have_results(const MemberLists& lists) const {
    if (changes_ != lists.changes_approx()) return true;
    for (std::size_t i = 0; i < count_; ++i) {
      if (segments_[i]->ring().has_done()) return true;
    }
    return false;
  }

 private:
  std::vector<std::shared_ptr<const WorkerSegment>> segments_;
  std::size_t count_ = 0;      // of these; the others are left for next time
  std::uint64_t changes_ = 0;  // of the list, when these were written down
};

}  // namespace muster
