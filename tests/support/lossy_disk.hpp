// lossy_disk.hpp: what is durable of files and folders, what was done to them since, and what of
// that may be left when the power goes. The rules are in power_loss_vfs.hpp.
//
// Thread safety: as any value; its user guards it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <muster/base/assert.hpp>
#include <muster/base/random.hpp>

namespace muster::testing {

// What becomes of that which was not synced.
enum class LossModel {
  drop_all,         // nothing of it is left
  keep_all,         // all of it is there, as if only the process had died
  random_subset,    // a sector has some of the writes to it, up to one of them
  torn_sectors,     // and of the next one perhaps the first bytes
  garbage_sectors,  // and instead of the next one perhaps garbage
};

inline constexpr std::size_t kSectorBytes = 512;

using Bytes = std::vector<char>;

inline void place(Bytes& content, std::size_t at, std::span<const char> bytes) {
  if (content.size() < at + bytes.size()) content.resize(at + bytes.size());
  std::ranges::copy(bytes, content.data() + at);
}

inline Bytes read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  Bytes bytes(std::filesystem::file_size(path));
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  MUSTER_ASSERT(in.good(), "reading", path);
  return bytes;
}

inline void write_bytes(const std::string& path, std::span<const char> bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  MUSTER_ASSERT(out.good(), "writing", path);
}

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

// One that somebody has mapped. What it holds when this is made is durable.
class MappedFile {
 public:
  MappedFile(std::string path, SharedFile file)
      : path_(std::move(path)), file_(std::move(file)), seen_(file_->durable()) {}

  // Notes what was written to it since, in each sector from the first byte that has changed to the
  // last.
  void look() {
    Bytes now = read_bytes(path_);
    for (std::size_t at = 0; at < now.size(); at += kSectorBytes) {
      const std::size_t end = std::min(at + kSectorBytes, now.size());
      const auto differs = [&](std::size_t place) { return now[place] != seen_[place]; };
      std::size_t first = at;
      while (first < end && !differs(first)) ++first;
      if (first == end) continue;
      std::size_t last = end - 1;
      while (!differs(last)) --last;
      file_->write(first, std::span(now).subspan(first, last + 1 - first));
    }
    seen_ = std::move(now);
  }

  [[nodiscard]] DiskFile& file() const { return *file_; }

 private:
  const std::string path_;
  const SharedFile file_;
  Bytes seen_;
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

}  // namespace muster::testing
