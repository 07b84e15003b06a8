// journal.hpp: new jobs that are not in the database yet.
//
//     head | batch | batch | ... | free
//
// Mapped memory: to add a batch is to copy some bytes, and the kernel keeps them when the process
// is killed; sync() makes them survive the power (what is to be synced is written by a call of the
// kernel instead, so that it knows what to sync). So new jobs can be acknowledged without a
// transaction, and get into the database later. What is in both is told by its number: the database
// has all up to its highest.
//
// Each batch has a hash with a salt, which changes when the file is cleared: whoever opens it finds
// what was added since then, up to the first batch that is not whole.
//
// Thread safety: none but that of sync(), which may run beside all others; its user guards it.
// Lifetime: what for_each() shows is valid until clear().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/store.hpp"

namespace muster {

class Journal {
 public:
  struct Options {
    std::size_t bytes = 1U << 20U;  // of the file: a multiple of the machine's pages, not less
                                    // than it has

    // For tests: instead of the kernel's call. False: the disk has failed.
    std::function<bool(const std::string& path)> sync = {};
  };

  // Opens or makes the file `path` of the store `store_path`. Throws StoreFailure.
  Journal(const std::string& store_path, std::string path, Options options);
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

  // All of them, numbered from `first` on, or none: there is no room. `first` is above all that
  // were ever added.
  [[nodiscard]] bool add(JobSeq first, std::span<const NewJob> jobs, Durability durability);

  // The number of the last job; 0: there is none.
  [[nodiscard]] JobSeq last() const noexcept { return last_; }

  // Some of its jobs were added to survive the power.
  [[nodiscard]] bool has_synced() const noexcept { return has_synced_; }

  // In the order they were added.
  void for_each(const std::function<void(const Noted& job)>& each) const;

  // All of it is in the database, as durable as it has to be.
  void clear() noexcept;

  // Whether something was added since this was last asked.
  [[nodiscard]] bool take_unsynced() noexcept;

  // What was added before survives the power. False: the disk has failed.
  [[nodiscard]] bool sync() const;

 private:
  void take_up();

  const std::string path_;
  const Options options_;
  int descriptor_ = -1;
  char* memory_ = nullptr;
  std::uint64_t salt_ = 0;
  std::size_t used_ = 0;  // bytes, behind the head
  JobSeq last_ = 0;
  bool has_synced_ = false;
  bool is_unsynced_ = false;
  std::vector<char> scratch_;
};

}  // namespace muster
