// places.hpp: stores for samples, each empty and of its own, and gone with it.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"

namespace muster::bench {

enum class StoreKind { sqlite, postgres };

// As cells are named.
std::string to_text(StoreKind kind);

class Place {
 public:
  // Throws std::runtime_error if there is no server.
  explicit Place(StoreKind kind);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // For Jobs::open().
  [[nodiscard]] const std::string& url() const { return url_; }

  // Of the database. SQLite only.
  [[nodiscard]] std::string file() const { return folder_->file("jobs.db"); }

  // Lets everything reach the disk, and the server find out what its tables look like, so that
  // neither happens in the middle of what comes next.
  void rest() const;

  // By whoever writes it, since it has been there: SQLite in this process, to its files; the server
  // to its log.
  [[nodiscard]] std::uint64_t written_bytes() const;

  // Row versions that the server will have to clean up. Of PostgreSQL, and once all sessions that
  // made them are over.
  [[nodiscard]] std::uint64_t dead_tuples() const;

 private:
  // Fixed at construction.
  const StoreKind kind_;
  std::optional<testing::TemporaryFolder> folder_;
  std::string url_;
  std::uint64_t written_before_ = 0;
};

// Whether there is a server for them, where they need one. If not, stderr says why, once.
bool can_have(StoreKind kind);

// Whether muster can use such stores. If not, stderr says why, once; nothing is measured then.
bool muster_has(StoreKind kind);

// All that it has.
std::vector<StoreKind> stores_of_muster();

}  // namespace muster::bench
