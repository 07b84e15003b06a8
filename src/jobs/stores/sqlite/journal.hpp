// journal.hpp: new jobs that are written, and not in the database yet.
//
//     "jobs.db-written":  head | batch | batch | ... | free
//
// Mapped memory: to append is to copy some bytes and to store how many there are, and the kernel
// keeps them when the process is killed. So a job can be acknowledged as `written` without a
// transaction; it gets into the database with the next one. What is in both is told by its number:
// the database has all up to its highest. If the power goes, a batch may be there in part; its hash
// tells.
//
// Thread safety: none; its user guards it.
// Lifetime: what for_each() shows is valid until clear().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <muster/sync/atomic.hpp>

#include "jobs/store.hpp"

namespace muster {

class Journal {
 public:
  // Opens or makes the file of a store. Throws StoreFailure.
  explicit Journal(const std::string& store_path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // A job with its number.
  struct Noted {
    JobSeq seq = 0;
    PoolNumber pool = 0;
    std::int16_t priority = 0;
    std::uint32_t turn = 0;
    WallTime enqueued_at{};
    WallTime run_at{};
    std::string_view id = {};
    std::optional<std::string_view> key = {};
    std::string_view event = {};
  };

  // All of them, numbered from `first` on, or none: there is no room.
  [[nodiscard]] bool add(JobSeq first, std::span<const NewJob> jobs);

  [[nodiscard]] bool is_empty() const;

  // In the order they were added.
  void for_each(const std::function<void(const Noted& job)>& each) const;

  // All of it is in the database.
  void clear();

 private:
  struct Head {
    std::uint64_t magic;
    Atomic<std::uint64_t> used;  // bytes, behind the head
  };

  [[nodiscard]] Head& head() const;

  std::string path_;
  int descriptor_ = -1;
  char* memory_ = nullptr;
};

}  // namespace muster
