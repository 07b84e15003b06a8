// owner_file.hpp: who has a store, and what it was running when it died.
//
//     "jobs.db-owner":  pid, as text | 65 536 numbers of jobs, one for each instance
//
// The file is locked as long as its process lives, whatever it dies of. It is not a file of
// SQLite's, which loses its locks when somebody else closes one of those. The numbers are mapped
// memory: to note one is a store, and the kernel keeps it when the process is killed. If the power
// goes they may be lost or old; that costs a job one attempt too few or too many at most.
//
// Thread safety: note() by the one who runs that instance.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <muster/jobs/job.hpp>
#include <muster/sync/atomic.hpp>

namespace muster {

class OwnerFile {
 public:
  // Throws StoreFailure: with the pid, if another process has the store; if it cannot be locked, or
  // there is no room for all of it.
  explicit OwnerFile(const std::string& store_path);
  ~OwnerFile();
  OwnerFile(const OwnerFile&) = delete;
  OwnerFile& operator=(const OwnerFile&) = delete;

  void note(std::uint32_t runner, JobSeq seq) noexcept {
    running_[runner].store(seq, relaxed);  // relaxed: read by another process, when we are dead
  }

  // What our predecessor had noted. All are 0 from then on.
  [[nodiscard]] std::vector<JobSeq> take_noted();

 private:
  void lock(const std::string& store_path);
  void write_pid(const std::string& store_path);

  std::string path_;
  int descriptor_ = -1;
  std::span<Atomic<JobSeq>> running_;
};

}  // namespace muster
