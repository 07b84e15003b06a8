// connections.hpp: the two connections to a store, with every statement that they use.
#pragma once

#include <string>

#include "jobs/stores/sqlite/database.hpp"
#include "jobs/stores/sqlite/schema.hpp"
#include "jobs/stores/sqlite/sqlite_store.hpp"

namespace muster {

inline std::int64_t as_number(WallTime time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

inline WallTime as_time(std::int64_t number) {
  return WallTime(std::chrono::duration_cast<WallTime::duration>(std::chrono::nanoseconds(number)));
}

struct SqliteStore::Writer {
  explicit Writer(const Options& options) : database({.path = options.path, .vfs = options.vfs}) {
    if (options.max_pages > 0) {
      database.run("PRAGMA max_page_count = " + std::to_string(options.max_pages));
    }
  }

 private:
  // Before any statement is compiled.
  static Database& prepared(Database& opened) {
    opened.run("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 4000");
    migrate(opened);
    return opened;
  }

 public:
  Database database;
  Statement begin{prepared(database), "BEGIN IMMEDIATE"};
  Statement commit{database, "COMMIT"};
  Statement rollback{database, "ROLLBACK"};
  Statement insert{database,
                   "INSERT INTO job(seq, pool, state, priority, attempts, turn, enqueued_at, at,"
                   " id, key, event) VALUES(?1, ?2, 0, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9)"
                   " ON CONFLICT(pool, id) DO NOTHING"};
  Statement find_id{database, "SELECT seq, turn FROM job WHERE pool = ?1 AND id = ?2"};
  Statement settle{database,
                   "UPDATE job SET state = ?1, attempts = ?2, at = ?3, result = ?4"
                   " WHERE seq = ?5 AND state = 0"};
  Statement fail{database,
                 "INSERT OR REPLACE INTO failure(seq, attempt, kind, at, what)"
                 " VALUES(?1, ?2, ?3, ?4, ?5)"};
  Statement judge{database,
                  "UPDATE job SET state = ?1, at = ?2, attempts = CASE ?1 WHEN 0 THEN 0 ELSE"
                  " attempts END WHERE seq = ?3 AND state = ?4"};
  Statement forgive{database, "DELETE FROM failure WHERE seq = ?1"};
  Statement count{database,
                  "INSERT INTO instance(pool, number, processed) VALUES(?1, ?2, ?3)"
                  " ON CONFLICT DO UPDATE SET processed = processed + excluded.processed"};
  Statement pause_one{database,
                      "INSERT INTO instance(pool, number, paused) VALUES(?1, ?2, ?3)"
                      " ON CONFLICT DO UPDATE SET paused = excluded.paused"};
  Statement pause_pool{database, "UPDATE pool SET paused = ?1 WHERE number = ?2"};
  Statement pause_none{database, "UPDATE instance SET paused = 0 WHERE pool = ?1"};
  Statement look{database,
                 "SELECT seq, state, at, event IS NOT NULL FROM job WHERE seq > ?1"
                 " ORDER BY seq LIMIT ?2"};
  Statement remove{database, "DELETE FROM job WHERE seq = ?1"};
  Statement empty{database, "UPDATE job SET event = NULL, result = NULL WHERE seq = ?1"};
};

struct SqliteStore::Reader {
  explicit Reader(const Options& options)
      : database({.path = options.path, .mode = Database::Mode::read, .vfs = options.vfs}) {}

  Database database;
  Statement begin{database, "BEGIN"};
  Statement end{database, "COMMIT"};
  Statement waiting{database,
                    "SELECT seq, priority, attempts, turn, enqueued_at, at, id, key FROM job"
                    " WHERE pool = ?1 AND state = 0 ORDER BY seq"};
  Statement body{database, "SELECT id, enqueued_at, event FROM job WHERE seq = ?1"};
  Statement find{database,
                 "SELECT seq, priority, attempts, turn, enqueued_at, at, id, key, state FROM job"
                 " WHERE pool = ?1 AND id = ?2"};
  Statement result{database, "SELECT result FROM job WHERE seq = ?1"};
  Statement dead{database,
                 "SELECT seq, priority, enqueued_at, at, id, key, event FROM job"
                 " WHERE pool = ?1 AND seq > ?2 AND state = 2 ORDER BY seq LIMIT ?3"};
  Statement failures{database,
                     "SELECT attempt, kind, at, what FROM failure WHERE seq = ?1 ORDER BY attempt"};
};

}  // namespace muster
