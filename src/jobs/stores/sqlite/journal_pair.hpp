// journal_pair.hpp: two journals of a store that take turns.
//
//     "jobs.db-written1", "jobs.db-written2"
//
// New jobs are added to one of them. When that is full and the other is free they change places,
// and what is in the full one is to be moved into the database, while jobs are added to the other.
//
// Thread safety: none but that of sync(), as of Journal, and that full() does not change until it
// is cleared.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "jobs/stores/sqlite/journal.hpp"

namespace muster {

class JournalPair {
 public:
  JournalPair(const std::string& store_path, const Journal::Options& options);

  // As Journal::add(). False: there is no room in either.
  [[nodiscard]] bool add(JobSeq first, std::span<const NewJob> jobs, Durability durability);

  // The number of the last job; 0: there is none.
  [[nodiscard]] JobSeq last() const noexcept;

  // Of both, in the order they were added.
  void for_each(const std::function<void(const Journal::Noted& job)>& each) const;

  // To which nothing is added any more, until it is cleared; null: there is none.
  [[nodiscard]] const Journal* full() const noexcept;

  // Up to which jobs are in the database: if only the process dies, and also if the power goes.
  // What nobody has synced need not be in a log that is.
  struct Moved {
    JobSeq written = 0;
    JobSeq synced = 0;
  };
  void clear(const Moved& moved) noexcept;

  // As of Journal, for each.
  using Unsynced = std::array<bool, 2>;
  Unsynced take_unsynced() noexcept;

  // False: the disk has failed.
  [[nodiscard]] bool sync(const Unsynced& which) const;

 private:
  std::array<Journal, 2> journals_;
  std::size_t current_ = 0;
};

}  // namespace muster
