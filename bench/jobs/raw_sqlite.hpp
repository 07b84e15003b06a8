// raw_sqlite.hpp: a yardstick: rows of jobs written by a plain loop over a prepared statement.
//
// In the very tables of muster's store, with its indexes and pragmas: the store is made by muster,
// and opened by SQLite. Every transaction is synced, unless it is only to be written.
//
// Thread safety: one thread.
#pragma once

#include <memory>
#include <span>
#include <sqlite3.h>

#include <muster/jobs/enqueue_options.hpp>
#include <muster/jobs/job.hpp>

#include "jobs/places.hpp"

namespace muster::bench {

class RawSqlite {
 public:
  // Throws std::runtime_error, as insert() does, with what SQLite says.
  explicit RawSqlite(const Place& place, Durability durability = Durability::synced);

  // In one transaction.
  void insert(std::span<const EncodedJob> jobs);

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;

  void check(int code) const;
  [[nodiscard]] Statement prepare(const char* sql) const;
  void step(sqlite3_stmt* statement) const;
  void insert(const EncodedJob& job, std::int64_t now);

  std::unique_ptr<sqlite3, Close> database_;
  Statement begin_;
  Statement commit_;
  Statement insert_;
  Statement await_;
  std::int64_t last_ = 0;
};

}  // namespace muster::bench
