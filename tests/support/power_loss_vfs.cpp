// power_loss_vfs.cpp: SQLite's way to a disk that loses power.
#include "support/power_loss_vfs.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

#include <muster/base/assert.hpp>

namespace muster::testing {
// Lives in the memory that SQLite sets aside for an open file.
struct OpenFile : sqlite3_file {
  PowerLossVfs* vfs = nullptr;
  std::unique_ptr<char[]> base_memory;
  sqlite3_file* base = nullptr;

  // Both null for a temporary file.
  SharedFile file;
  DiskFolder* folder = nullptr;

  // SQLite's VFS for Unix syncs the folder of a file that may be new only with journals and WALs,
  // and only once.
  bool folder_sync_due = false;
};
static_assert(alignof(OpenFile) <= 8, "SQLite's memory is aligned to 8");

int PowerLossVfs::open(const char* path, OpenFile& file, int flags, int* flags_out) {
  const MutexLock lock(mutex_);
  if (off_) return SQLITE_IOERR;
  const bool temporary = path == nullptr || (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
  if (!temporary) {
    file.folder = &folder_named(std::filesystem::path(path).parent_path());
    file.file = file.folder->find(path);
  }
  if (const int code = base_->xOpen(base_, path, file.base, flags, flags_out); code != SQLITE_OK) {
    return code;
  }
  ++open_files_;
  if (temporary) return SQLITE_OK;
  if (file.file == nullptr) {
    file.file = std::make_shared<DiskFile>(Bytes());
    file.folder->set(path, file.file);
  }
  constexpr int kJournals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;
  file.folder_sync_due = (flags & SQLITE_OPEN_CREATE) != 0 && (flags & kJournals) != 0;
  return SQLITE_OK;
}

int PowerLossVfs::close(OpenFile& file) {
  const MutexLock lock(mutex_);
  --open_files_;
  return file.base->pMethods->xClose(file.base);
}

void PowerLossVfs::turn_off() {
  if (std::exchange(off_, true)) return;
  for (auto& [path, mapped] : mapped_) mapped->look();
}

bool PowerLossVfs::begin_operation() {
  if (!off_ && operations_left_ && --*operations_left_ == 0) turn_off();
  if (!off_) ++figures_.operations;
  return !off_;
}

int PowerLossVfs::write(OpenFile& file, std::span<const char> bytes, sqlite3_int64 at) {
  const MutexLock lock(mutex_);
  if (file.file != nullptr ? !begin_operation() : off_) return SQLITE_IOERR;
  const int code =
      file.base->pMethods->xWrite(file.base, bytes.data(), static_cast<int>(bytes.size()), at);
  if (code != SQLITE_OK || file.file == nullptr) return code;
  file.file->write(static_cast<std::size_t>(at), bytes);
  ++figures_.writes;
  figures_.bytes_written += bytes.size();
  return SQLITE_OK;
}

int PowerLossVfs::truncate(OpenFile& file, sqlite3_int64 size) {
  const MutexLock lock(mutex_);
  if (file.file != nullptr ? !begin_operation() : off_) return SQLITE_IOERR;
  const int code = file.base->pMethods->xTruncate(file.base, size);
  if (code != SQLITE_OK || file.file == nullptr) return code;
  file.file->truncate(static_cast<std::size_t>(size));
  ++figures_.truncations;
  return SQLITE_OK;
}

int PowerLossVfs::sync(OpenFile& file) {
  const MutexLock lock(mutex_);
  if (file.file == nullptr) return off_ ? SQLITE_IOERR : SQLITE_OK;
  if (!begin_operation()) return SQLITE_IOERR;
  if (const int code = sync_file(*file.file); code != SQLITE_OK) return code;
  if (std::exchange(file.folder_sync_due, false)) sync_folder(*file.folder);
  return SQLITE_OK;
}

int PowerLossVfs::sync_file(DiskFile& file) {
  if (good_syncs_left_ > 0 && --good_syncs_left_ == 0) return SQLITE_IOERR_FSYNC;
  if (options_.syncs == Syncs::honoured) file.sync();
  ++figures_.syncs;
  if (syncs_left_ && --*syncs_left_ == 0) turn_off();
  return SQLITE_OK;
}

bool PowerLossVfs::sync_mapped(const std::string& path) {
  const MutexLock lock(mutex_);
  std::shared_ptr<MappedFile>& mapped = mapped_[path];
  if (mapped == nullptr) {
    // Whatever it holds the first time is durable.
    const std::filesystem::path real = std::filesystem::canonical(path);
    mapped = std::make_shared<MappedFile>(path, folder_named(real.parent_path()).find(real));
  }
  if (!begin_operation()) return false;
  mapped->look();
  return sync_file(mapped->file()) == SQLITE_OK;
}

int PowerLossVfs::remove(const char* path, FolderSync folder_sync) {
  const MutexLock lock(mutex_);
  if (!begin_operation()) return SQLITE_IOERR;
  DiskFolder& folder = folder_named(std::filesystem::path(path).parent_path());
  static_cast<void>(folder.find(path));  // while its contents can still be read
  if (const int code = base_->xDelete(base_, path, 0); code != SQLITE_OK) return code;
  folder.set(path, nullptr);
  if (folder_sync == FolderSync::asked_for) sync_folder(folder);
  ++figures_.deletions;
  return SQLITE_OK;
}

void PowerLossVfs::sync_folder(DiskFolder& folder) {
  if (options_.syncs == Syncs::honoured) folder.sync();
  ++figures_.folder_syncs;
}

DiskFolder& PowerLossVfs::folder_named(const std::filesystem::path& path) {
  std::unique_ptr<DiskFolder>& folder = folders_[path];
  if (folder == nullptr) folder = std::make_unique<DiskFolder>();
  return *folder;
}

void PowerLossVfs::cut_at_operation(std::uint64_t number) {
  MUSTER_ASSERT(number > 0);
  const MutexLock lock(mutex_);
  operations_left_ = number;
  syncs_left_.reset();
}

void PowerLossVfs::cut_power_after(SyncPoint sync) {
  MUSTER_ASSERT(sync.number > 0);
  const MutexLock lock(mutex_);
  syncs_left_ = sync.number;
  operations_left_.reset();
}

void PowerLossVfs::cut_power() {
  const MutexLock lock(mutex_);
  turn_off();
}

void PowerLossVfs::fail_at(SyncPoint sync) {
  MUSTER_ASSERT(sync.number > 0);
  const MutexLock lock(mutex_);
  good_syncs_left_ = sync.number;
}

bool PowerLossVfs::power_is_off() const {
  const MutexLock lock(mutex_);
  return off_;
}

void PowerLossVfs::restore_after_power_loss(Random& random, const std::filesystem::path& folder,
                                            LossModel model) {
  const MutexLock lock(mutex_);
  MUSTER_ASSERT(open_files_ == 0, "a connection is still open");
  // SQLite names files by their real paths.
  folder_named(std::filesystem::canonical(folder)).restore(random, model);
  mapped_.clear();
  off_ = false;
  operations_left_.reset();
  syncs_left_.reset();
}

PowerLossFigures PowerLossVfs::figures() const {
  const MutexLock lock(mutex_);
  return figures_;
}

// What SQLite calls.
struct SqliteCalls {
  static PowerLossVfs& self(sqlite3_vfs* vfs) { return *static_cast<PowerLossVfs*>(vfs->pAppData); }
  static OpenFile& opened(sqlite3_file* file) { return *static_cast<OpenFile*>(file); }

  // The base does it by itself.
  template <auto Method, class Result, class... Arguments>
  static Result pass(sqlite3_vfs* vfs, Arguments... arguments) {
    sqlite3_vfs* const base = self(vfs).base_;
    return (base->*Method)(base, arguments...);
  }
  template <auto Method, class Result, class... Arguments>
  static Result pass_file(sqlite3_file* file, Arguments... arguments) {
    sqlite3_file* const base = opened(file).base;
    return (base->pMethods->*Method)(base, arguments...);
  }

  // The base does it while there is power.
  template <auto Method, class... Arguments>
  static int powered(sqlite3_vfs* vfs, Arguments... arguments) {
    return self(vfs).power_is_off() ? SQLITE_IOERR : pass<Method, int>(vfs, arguments...);
  }
  template <auto Method, class... Arguments>
  static int powered_file(sqlite3_file* file, Arguments... arguments) {
    if (opened(file).vfs->power_is_off()) return SQLITE_IOERR;
    return pass_file<Method, int>(file, arguments...);
  }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* memory, int flags,
                  int* flags_out);
  static int remove(sqlite3_vfs* vfs, const char* path, int syncs_folder) {
    using FolderSync = PowerLossVfs::FolderSync;
    return self(vfs).remove(path,
                            syncs_folder != 0 ? FolderSync::asked_for : FolderSync::not_asked_for);
  }

  static int close(sqlite3_file* file) {
    const int code = opened(file).vfs->close(opened(file));
    std::destroy_at(&opened(file));
    return code;
  }
  static int write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 at) {
    const std::span span(static_cast<const char*>(bytes), static_cast<std::size_t>(count));
    return opened(file).vfs->write(opened(file), span, at);
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    return opened(file).vfs->truncate(opened(file), size);
  }
  static int sync(sqlite3_file* file, int /*flags*/) {
    return opened(file).vfs->sync(opened(file));
  }

  static int control(sqlite3_file* file, int request, void* argument) {
    switch (request) {
      case SQLITE_FCNTL_CHUNK_SIZE:
      case SQLITE_FCNTL_SIZE_HINT:
      case SQLITE_FCNTL_MMAP_SIZE:
        return SQLITE_NOTFOUND;  // would change the file past this disk, or read past it
      default:
        return pass_file<&sqlite3_io_methods::xFileControl, int>(file, request, argument);
    }
  }

  // Nothing else that the base may promise would be kept here.
  static int characteristics(sqlite3_file* file) {
    return pass_file<&sqlite3_io_methods::xDeviceCharacteristics, int>(file) &
           SQLITE_IOCAP_POWERSAFE_OVERWRITE;
  }

  static const sqlite3_io_methods kFileMethods;
};

constexpr sqlite3_io_methods SqliteCalls::kFileMethods = {
    .iVersion = 2,  // has shared memory, but cannot map files
    .xClose = close,
    .xRead = powered_file<&sqlite3_io_methods::xRead>,
    .xWrite = write,
    .xTruncate = truncate,
    .xSync = sync,
    .xFileSize = powered_file<&sqlite3_io_methods::xFileSize>,
    .xLock = pass_file<&sqlite3_io_methods::xLock>,
    .xUnlock = pass_file<&sqlite3_io_methods::xUnlock>,
    .xCheckReservedLock = pass_file<&sqlite3_io_methods::xCheckReservedLock>,
    .xFileControl = control,
    .xSectorSize = pass_file<&sqlite3_io_methods::xSectorSize>,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = pass_file<&sqlite3_io_methods::xShmMap>,
    .xShmLock = pass_file<&sqlite3_io_methods::xShmLock>,
    .xShmBarrier = pass_file<&sqlite3_io_methods::xShmBarrier>,
    .xShmUnmap = pass_file<&sqlite3_io_methods::xShmUnmap>,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int SqliteCalls::open(sqlite3_vfs* vfs, const char* path, sqlite3_file* memory, int flags,
                      int* flags_out) {
  auto* const file = new (memory) OpenFile{};
  file->vfs = &self(vfs);
  file->base_memory =
      std::make_unique<char[]>(static_cast<std::size_t>(file->vfs->base_->szOsFile));
  file->base = reinterpret_cast<sqlite3_file*>(file->base_memory.get());
  const int code = file->vfs->open(path, *file, flags, flags_out);
  if (code == SQLITE_OK) {
    file->pMethods = &kFileMethods;
  } else {
    std::destroy_at(file);
    memory->pMethods = nullptr;  // nothing to close
  }
  return code;
}

PowerLossVfs::PowerLossVfs(PowerLossOptions options)
    : options_(std::move(options)), base_(sqlite3_vfs_find(nullptr)) {
  MUSTER_ASSERT(base_ != nullptr);
  MUSTER_ASSERT(sqlite3_vfs_find(name().c_str()) == nullptr, "a second VFS named", name());
  vfs_.iVersion = 2;
  vfs_.szOsFile = sizeof(OpenFile);
  vfs_.mxPathname = base_->mxPathname;
  vfs_.zName = name().c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = SqliteCalls::open;
  vfs_.xDelete = SqliteCalls::remove;
  vfs_.xAccess = SqliteCalls::powered<&sqlite3_vfs::xAccess>;
  vfs_.xFullPathname = SqliteCalls::pass<&sqlite3_vfs::xFullPathname>;
  vfs_.xDlOpen = SqliteCalls::pass<&sqlite3_vfs::xDlOpen>;
  vfs_.xDlError = SqliteCalls::pass<&sqlite3_vfs::xDlError>;
  vfs_.xDlSym = SqliteCalls::pass<&sqlite3_vfs::xDlSym>;
  vfs_.xDlClose = SqliteCalls::pass<&sqlite3_vfs::xDlClose>;
  vfs_.xRandomness = SqliteCalls::pass<&sqlite3_vfs::xRandomness>;
  vfs_.xSleep = SqliteCalls::pass<&sqlite3_vfs::xSleep>;
  vfs_.xCurrentTime = SqliteCalls::pass<&sqlite3_vfs::xCurrentTime>;
  vfs_.xGetLastError = SqliteCalls::pass<&sqlite3_vfs::xGetLastError>;
  vfs_.xCurrentTimeInt64 = SqliteCalls::pass<&sqlite3_vfs::xCurrentTimeInt64>;
  const int code = sqlite3_vfs_register(&vfs_, 0);
  MUSTER_ASSERT(code == SQLITE_OK);
}

PowerLossVfs::~PowerLossVfs() {
  MUSTER_ASSERT(open_files_ == 0, "a connection is still open");
  sqlite3_vfs_unregister(&vfs_);
}

}  // namespace muster::testing
