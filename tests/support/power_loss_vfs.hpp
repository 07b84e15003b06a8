// power_loss_vfs.hpp: a disk for SQLite that loses power when a test says so.
//
//     PowerLossVfs vfs;
//     vfs.cut_at_operation(17);
//     work_until_it_fails(folder / "jobs.db", vfs.name());  // closes its connections
//     vfs.restore_after_power_loss(random, folder, LossModel::torn_sectors);
//     check(folder / "jobs.db");
//
// A VFS around the usual one. Files are real and hold what was written, so that everybody reads
// what was written last; which of it a sync has made durable is kept beside. Once the power is cut
// every operation fails, and a restore makes the files what a disk could hold then:
//  - Contents: what was there at the last sync of that file; of what was written since, each sector
//    of 512 bytes has got as far as it may, whatever the others did, and may be torn there.
//  - Size: what it was at some moment since the last sync of that file. Where it has grown and no
//    sector has landed there are zeros.
//  - Names: each is what it was at some moment since its folder was last synced, so that files come
//    back that were deleted, and vanish that were created. A folder is synced by what SQLite does
//    on Unix: by the first sync of a journal or WAL that may have been created, and by a deletion
//    that asks for it.
//  - The shared memory of a WAL is gone.
//
// Not modelled: that bytes suffer that nobody wrote to (SQLITE_IOCAP_POWERSAFE_OVERWRITE is held),
// that a disk lies about some syncs, that what is durable decays, and renaming, which SQLite never
// does. There is no memory-mapped reading. Temporary files are neither counted nor kept.
//
// Nothing is really synced, and memory holds every known file and whatever was written to it since
// its last sync: for tests, and for counting what a workload asks of a disk, but not for timing it.
//
// Thread safety: any thread may do anything, SQLite's threads included.
// Lifetime: outlives every connection opened through it. Its name must not be taken.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sqlite3.h>
#include <string>

#include <muster/base/random.hpp>
#include <muster/sync/mutex.hpp>

#include "support/lossy_disk.hpp"

namespace muster::testing {

enum class Syncs {
  honoured,
  ignored,  // makes nothing durable: shows that a test notices
};

struct PowerLossOptions {
  std::string name = "power-loss";
  Syncs syncs = Syncs::honoured;
};

struct SyncPoint {
  std::uint64_t number = 1;
};

// What was done since the beginning, without what there was no power for.
struct PowerLossFigures {
  std::uint64_t operations = 0;  // as cut_at_operation() counts them
  std::uint64_t writes = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t truncations = 0;
  std::uint64_t deletions = 0;
  std::uint64_t syncs = 0;
  std::uint64_t folder_syncs = 0;  // come with a sync or a deletion, and cost as much again
};

struct OpenFile;

class PowerLossVfs {
 public:
  explicit PowerLossVfs(PowerLossOptions options = {});
  ~PowerLossVfs();
  PowerLossVfs(const PowerLossVfs&) = delete;
  PowerLossVfs& operator=(const PowerLossVfs&) = delete;

  // For sqlite3_open_v2(), or as file:path?vfs=name.
  [[nodiscard]] const std::string& name() const { return options_.name; }

  // Of these two, the one called last holds. An operation is a write, a truncation, a deletion or a
  // sync; counted from now on, and the first is 1.
  void cut_at_operation(std::uint64_t number) MUSTER_EXCLUDES(mutex_);  // that one fails
  void cut_power_after(SyncPoint sync) MUSTER_EXCLUDES(mutex_);         // that one has succeeded

  // At once.
  void cut_power() MUSTER_EXCLUDES(mutex_);

  // That one, counted from now on, reports an error and makes nothing durable; the power stays on.
  void fail_at(SyncPoint sync) MUSTER_EXCLUDES(mutex_);

  [[nodiscard]] bool power_is_off() const MUSTER_EXCLUDES(mutex_);

  // What somebody else does to make durable what he has written to a file by mapped memory: an
  // operation and a sync, as above. False: it has failed. What it holds the first time is durable;
  // then what it holds when the power goes may have got there or not, sector by sector.
  [[nodiscard]] bool sync_mapped(const std::string& path) MUSTER_EXCLUDES(mutex_);

  // Makes the files in `folder` what is left of them, and turns the power on. All connections must
  // be closed. What is left can be chosen again and again from the same loss, whatever was done to
  // the files meanwhile by another VFS, until this one opens or deletes a file there.
  // The same seed makes the same choices if the operations were the same.
  void restore_after_power_loss(Random& random, const std::filesystem::path& folder,
                                LossModel model) MUSTER_EXCLUDES(mutex_);

  [[nodiscard]] PowerLossFigures figures() const MUSTER_EXCLUDES(mutex_);

 private:
  friend struct SqliteCalls;
  enum class FolderSync { not_asked_for, asked_for };

  // What SQLite asks for; each returns SQLite's code.
  int open(const char* path, OpenFile& file, int flags, int* flags_out) MUSTER_EXCLUDES(mutex_);
  int close(OpenFile& file) MUSTER_EXCLUDES(mutex_);
  int write(OpenFile& file, std::span<const char> bytes, sqlite3_int64 at) MUSTER_EXCLUDES(mutex_);
  int truncate(OpenFile& file, sqlite3_int64 size) MUSTER_EXCLUDES(mutex_);
  int sync(OpenFile& file) MUSTER_EXCLUDES(mutex_);
  int remove(const char* path, FolderSync folder_sync) MUSTER_EXCLUDES(mutex_);

  // False if there is no power for it.
  bool begin_operation() MUSTER_REQUIRES(mutex_);
  void turn_off() MUSTER_REQUIRES(mutex_);
  // As by xSync.
  int sync_file(DiskFile& file) MUSTER_REQUIRES(mutex_);
  void sync_folder(DiskFolder& folder) MUSTER_REQUIRES(mutex_);
  DiskFolder& folder_named(const std::filesystem::path& path) MUSTER_REQUIRES(mutex_);

  // Fixed at construction.
  const PowerLossOptions options_;
  sqlite3_vfs* const base_;
  sqlite3_vfs vfs_{};

  // Guarded by mutex_, and so is whatever stands in the folders.
  mutable Mutex mutex_;
  std::map<std::filesystem::path, std::unique_ptr<DiskFolder>> folders_ MUSTER_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<MappedFile>> mapped_ MUSTER_GUARDED_BY(mutex_);
  std::uint64_t open_files_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool off_ MUSTER_GUARDED_BY(mutex_) = false;
  std::optional<std::uint64_t> operations_left_ MUSTER_GUARDED_BY(mutex_);
  std::optional<std::uint64_t> syncs_left_ MUSTER_GUARDED_BY(mutex_);
  std::uint64_t good_syncs_left_ MUSTER_GUARDED_BY(mutex_) =
      0;  // with the bad one; 0: all are good
  PowerLossFigures figures_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::testing
