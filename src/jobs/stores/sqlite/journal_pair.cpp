// journal_pair.cpp: which of the two is being filled.
#include "jobs/stores/sqlite/journal_pair.hpp"

#include <algorithm>

namespace muster {

JournalPair::JournalPair(const std::string& store_path, const Journal::Options& options)
    : journals_{Journal(store_path, store_path + "-written1", options),
                Journal(store_path, store_path + "-written2", options)},
      current_(journals_[0].last() < journals_[1].last() ? 1 : 0) {}

bool JournalPair::add(JobSeq first, std::span<const NewJob> jobs, Durability durability) {
  if (journals_[current_].add(first, jobs, durability)) return true;
  const std::size_t other = 1 - current_;
  const bool may_change = journals_[current_].last() != 0 && journals_[other].last() == 0;
  if (!may_change || !journals_[other].add(first, jobs, durability)) return false;
  current_ = other;
  return true;
}

JobSeq JournalPair::last() const noexcept {
  return std::max(journals_[0].last(), journals_[1].last());
}

void JournalPair::for_each(const std::function<void(const Journal::Noted& job)>& each) const {
  journals_[1 - current_].for_each(each);
  journals_[current_].for_each(each);
}

const Journal* JournalPair::full() const noexcept {
  const Journal& other = journals_[1 - current_];
  return other.last() == 0 ? nullptr : &other;
}

void JournalPair::clear(const Moved& moved) noexcept {
  for (Journal& journal : journals_) {
    const JobSeq up_to = journal.has_synced() ? moved.synced : moved.written;
    if (journal.last() != 0 && journal.last() <= up_to) journal.clear();
  }
}

JournalPair::Unsynced JournalPair::take_unsynced() noexcept {
  return {journals_[0].take_unsynced(), journals_[1].take_unsynced()};
}

bool JournalPair::sync(const Unsynced& which) const {
  return (!which[0] || journals_[0].sync()) && (!which[1] || journals_[1].sync());
}

}  // namespace muster
