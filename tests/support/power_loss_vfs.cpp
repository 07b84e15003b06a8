// power_loss_vfs.cpp: what is durable, what was written since, and SQLite's way to both.
#include "support/power_loss_vfs.hpp"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include <muster/base/assert.hpp>

namespace muster::testing {
namespace {

constexpr std::size_t kSectorBytes = 512;

using Bytes = std::vector<char>;

void place(Bytes& content, std::size_t at, std::span<const char> bytes) {
  if (content.size() < at + bytes.size()) content.resize(at + bytes.size());
  std::ranges::copy(bytes, content.data() + at);
}

Bytes read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  Bytes bytes(std::filesystem::file_size(path));
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  MUSTER_ASSERT(in.good(), "reading", path);
  return bytes;
}

void write_bytes(const std::string& path, std::span<const char> bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  MUSTER_ASSERT(out.good(), "writing", path);
}

}  // namespace

// A file without its name: one that is deleted may still be open, or come back.
class DiskFile {
 public:
  explicit DiskFile(Bytes durable) : durable_(std::move(durable)) {}

  void write(std::size_t at, std::span<const char> bytes) {
    changes_.push_back({Change::Kind::write, at, Bytes(bytes.begin(), bytes.end())});
  }
  void truncate(std::size_t size) { changes_.push_back({Change::Kind::truncate, size, {}}); }
  void sync() {
    apply_all_changes(durable_);
    changes_.clear();
  }

  [[nodiscard]] const Bytes& durable() const { return durable_; }

  [[nodiscard]] Bytes after_loss(Random& random, LossModel model) const {
    Bytes content = durable_;
    if (model == LossModel::keep_all) {
      apply_all_changes(content);
    } else if (model != LossModel::drop_all) {
      apply_some_changes(content, random, model);
    }
    return content;
  }

 private:
  struct Change {
    enum class Kind { write, truncate };

    Kind kind;
    std::size_t at;
    Bytes bytes;
  };

  // The sectors that got stuck: later writes to one do not overtake an earlier one, since the
  // operating system writes the whole sector as it has it.
  using Stuck = std::set<std::size_t>;

  void apply_all_changes(Bytes& content) const {
    for (const Change& change : changes_) {
      if (change.kind == Change::Kind::truncate) {
        content.resize(change.at);
      } else {
        place(content, change.at, change.bytes);
      }
    }
  }

  void apply_some_changes(Bytes& content, Random& random, LossModel model) const {
    // Different each time, so that now nearly everything lands and now nearly nothing.
    const double luck = random.real();
    // How far the size has got. Half the time all the way: a file that stays short hides whatever
    // became of the sectors behind its end.
    const std::size_t sized =
        random.chance(0.5) ? changes_.size() : random.below(changes_.size() + 1);
    std::size_t size = content.size();
    Stuck stuck;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      const Change& change = changes_[i];
      if (change.kind == Change::Kind::write) {
        if (i < sized) size = std::max(size, change.at + change.bytes.size());
        for (std::size_t from = 0; from < change.bytes.size();) {
          const std::size_t at = change.at + from;
          const std::size_t length =
              std::min(kSectorBytes - at % kSectorBytes, change.bytes.size() - from);
          const auto piece = std::span(change.bytes).subspan(from, length);
          from += length;
          if (stuck.contains(at / kSectorBytes)) continue;
          if (random.chance(luck)) {
            place(content, at, piece);
          } else {
            stuck.insert(at / kSectorBytes);
            place_torn(content, at, piece, random, model);
          }
        }
      } else if (i < sized) {
        content.resize(change.at);
        size = change.at;
      }
    }
    content.resize(size);
  }

  static void place_torn(Bytes& content, std::size_t at, std::span<const char> piece,
                         Random& random, LossModel model) {
    if (model == LossModel::random_subset || random.chance(0.5)) return;
    if (model == LossModel::torn_sectors) {
      return place(content, at, piece.first(random.below(piece.size())));
    }
    Bytes garbage(piece.size());
    for (char& byte : garbage) byte = static_cast<char>(random.below(256));
    place(content, at, garbage);
  }

  Bytes durable_;
  std::vector<Change> changes_;
};

using SharedFile = std::shared_ptr<DiskFile>;

// One that somebody has mapped, and what was last seen in it.
struct MappedFile {
  SharedFile file;
  Bytes seen;
};

// The names in a folder.
class DiskFolder {
 public:
  // What the name means now; null if there is no such file. Asks the folder about a name that is
  // new here: whatever was there before this disk knew of it is durable.
  SharedFile find(const std::string& path) {
    if (restored_) {
      meanings_.clear();
      restored_ = false;
    }
    const bool exists = std::filesystem::exists(path);
    Meanings& meanings = meanings_[path];
    if (meanings.empty()) {
      meanings.push_back(exists ? std::make_shared<DiskFile>(read_bytes(path)) : nullptr);
    }
    MUSTER_ASSERT(exists == (meanings.back() != nullptr), "another VFS has created or deleted",
                  path);
    return meanings.back();
  }

  // find() was called for `path` before.
  void set(const std::string& path, SharedFile meaning) {
    meanings_.at(path).push_back(std::move(meaning));
  }

  void sync() {
    for (auto& [path, meanings] : meanings_) meanings.erase(meanings.begin(), meanings.end() - 1);
  }

  void restore(Random& random, LossModel model) {
    std::map<std::string, Bytes> left;
    for (const auto& [path, meanings] : meanings_) {
      remove_with_companions(path);
      const SharedFile& file = meanings[chosen(meanings.size(), random, model)];
      if (file != nullptr) left[path] = file->after_loss(random, model);
    }
    for (const auto& [path, bytes] : left) write_bytes(path, bytes);
    restored_ = true;
  }

 private:
  // Since the last sync of the folder, in order; the first is durable.
  using Meanings = std::vector<SharedFile>;

  static std::size_t chosen(std::size_t count, Random& random, LossModel model) {
    if (model == LossModel::drop_all) return 0;
    if (model == LossModel::keep_all) return count - 1;
    return random.below(count);
  }

  // The shared memory among them, and what another VFS may have made of an earlier choice.
  static void remove_with_companions(const std::string& path) {
    std::filesystem::remove(path);
    for (const char* const companion : {"-journal", "-shm", "-wal"}) {
      std::filesystem::remove(path + companion);
    }
  }

  std::map<std::string, Meanings> meanings_;
  bool restored_ = false;
};

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

namespace {

// What was written to it since, in each sector from the first byte that has changed to the last.
void look_at(const std::string& path, MappedFile& mapped) {
  Bytes now = read_bytes(path);
  for (std::size_t at = 0; at < now.size(); at += kSectorBytes) {
    const std::size_t end = std::min(at + kSectorBytes, now.size());
    const auto differs = [&](std::size_t place) { return now[place] != mapped.seen[place]; };
    std::size_t first = at;
    while (first < end && !differs(first)) ++first;
    if (first == end) continue;
    std::size_t last = end - 1;
    while (!differs(last)) --last;
    mapped.file->write(first, std::span(now).subspan(first, last + 1 - first));
  }
  mapped.seen = std::move(now);
}

}  // namespace

void PowerLossVfs::turn_off() {
  if (std::exchange(off_, true)) return;
  for (auto& [path, mapped] : mapped_) look_at(path, *mapped);
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
    mapped = std::make_shared<MappedFile>(folder_named(real.parent_path()).find(real.string()));
    mapped->seen = mapped->file->durable();
  }
  if (!begin_operation()) return false;
  look_at(path, *mapped);
  return sync_file(*mapped->file) == SQLITE_OK;
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
