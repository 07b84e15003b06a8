// body_reader.cpp: when to look anew, and away.
#include "jobs/stores/sqlite/body_reader.hpp"

#include <algorithm>
#include <string>

#include "jobs/stores/store_time.hpp"

namespace muster {

BodyReader::BodyReader(const Database::Place& place) : database_(place) {}

// By one statement: one for each would take half as long again.
std::vector<JobBody> BodyReader::read(std::span<const JobSeq> seqs, std::size_t small) {
  std::vector<JobBody> bodies;
  if (seqs.empty()) return bodies;
  bodies.reserve(seqs.size());
  std::string list = "[";
  for (const JobSeq seq : seqs) list += (list.size() > 1 ? "," : "") + std::to_string(seq);
  list += ']';
  const MutexLock lock(mutex_);
  look_at(std::ranges::max(seqs));
  {
    const Reading reading(bodies_.bind(1, std::string_view(list)));
    while (bodies_.step()) {
      if (bodies_.bytes(3) > small && bodies_.integer(0) != seqs.front()) continue;
      bodies.push_back({.seq = bodies_.integer(0),
                        .id = bodies_.text(1),
                        .enqueued_at = as_time(bodies_.integer(2)),
                        .event = bodies_.text(3),
                        .key = bodies_.optional_text(4)});
    }
  }
  if (looks_ == Looks::short_ones) look_away();
  return bodies;
}

// Numbers are given out in order: what is older than the newest is in a state, too, if it is there
// at all.
void BodyReader::look_at(JobSeq newest) {
  if (database_.is_in_transaction() && newest <= newest_) return;
  look_away();
  begin_.run();
  const Reading reading(last_);
  newest_ = last_.step() ? last_.integer(0) : 0;
}

void BodyReader::look_away() {
  if (database_.is_in_transaction()) end_.run();
}

void BodyReader::set_looks(Looks looks) {
  const MutexLock lock(mutex_);
  looks_ = looks;
  if (looks == Looks::short_ones) look_away();
}

}  // namespace muster
