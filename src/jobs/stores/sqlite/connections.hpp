// connections.hpp: two of the connections to a store, with every statement that they use.
#pragma once

#include <string>

#include "jobs/stores/sqlite/database.hpp"
#include "jobs/stores/sqlite/schema.hpp"
#include "jobs/stores/sqlite/sqlite_store.hpp"
#include "jobs/stores/store_time.hpp"

namespace muster {

struct SqliteStore::Writer {
  explicit Writer(const Options& options) : database({.path = options.path, .vfs = options.vfs}) {
    if (options.max_pages > 0) {
      database.run("PRAGMA max_page_count = " + std::to_string(options.max_pages));
    }
  }

 private:
  // Before any statement is compiled.
  static Database& prepared(Database& opened) {
    opened.keep_log();
    opened.run("PRAGMA synchronous = NORMAL");
    migrate(opened);
    return opened;
  }

 public:
  Database database;
  Statement begin{prepared(database), "BEGIN IMMEDIATE"};
  Statement commit{database, "COMMIT"};
  Statement rollback{database, "ROLLBACK"};
  Statement insert{database,
                   "INSERT INTO job(seq, pool, priority, turn, enqueued_at, run_at, id, key, event)"
                   " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT(pool, id) DO NOTHING"};
  Statement find_id{database, "SELECT seq, turn FROM job WHERE pool = ?1 AND id = ?2"};
  Statement await{database,
                  "INSERT INTO waiting(pool, seq, at, attempts)"
                  " SELECT pool, seq, run_at, 0 FROM job WHERE seq > ?1"};
  Statement await_again{database,
                        "INSERT INTO waiting(pool, seq, at, attempts)"
                        " SELECT pool, seq, ?2, 0 FROM job WHERE seq = ?1"};
  Statement retry{database,
                  "UPDATE waiting SET at = ?3, attempts = ?4 WHERE pool = ?1 AND seq = ?2"};
  Statement finish{database, "DELETE FROM waiting WHERE pool = ?1 AND seq BETWEEN ?2 AND ?3"};
  Statement complete{database, "INSERT INTO completed(at, seqs) VALUES(?1, ?2)"};
  Statement end{database,
                "INSERT INTO ended(seq, pool, state, at, attempts) VALUES(?1, ?2, ?3, ?4, ?5)"};
  Statement note{database, "INSERT OR REPLACE INTO note(seq, result, log) VALUES(?1, ?2, ?3)"};
  Statement unnote{database, "DELETE FROM note WHERE seq = ?1"};

  // Of those that came before this batch, one that is over and no dead letter.
  Statement find_replaced{
      database,
      "SELECT seq FROM job WHERE pool = ?1 AND id = ?2 AND enqueued_at < ?3 AND seq <= ?4"
      " AND NOT EXISTS (SELECT 1 FROM waiting WHERE waiting.pool = ?1 AND waiting.seq = job.seq)"
      " AND NOT EXISTS (SELECT 1 FROM ended WHERE ended.seq = job.seq AND state = 2)"};
  Statement remember{database,
                     "INSERT INTO memo(name, number) VALUES(?1, ?2)"
                     " ON CONFLICT DO UPDATE SET number = max(number, excluded.number)"};
  Statement correct{database, "INSERT OR REPLACE INTO memo(name, number) VALUES(?1, ?2)"};
  Statement fail{database,
                 "INSERT OR REPLACE INTO failure(seq, attempt, kind, at, what)"
                 " VALUES(?1, ?2, ?3, ?4, ?5)"};
  Statement cancel{database,
                   "INSERT INTO ended(seq, pool, state, at, attempts)"
                   " SELECT seq, pool, 3, ?2, attempts FROM waiting"
                   " WHERE pool = (SELECT pool FROM job WHERE seq = ?1) AND seq = ?1"
                   " RETURNING pool"};
  Statement discard{database, "UPDATE ended SET state = 3, at = ?2 WHERE seq = ?1 AND state = 2"};
  Statement replay{database, "DELETE FROM ended WHERE seq = ?1 AND state = 2"};
  Statement forgive{database, "DELETE FROM failure WHERE seq = ?1"};
  Statement count{database,
                  "INSERT INTO instance(pool, number, processed) VALUES(?1, ?2, ?3)"
                  " ON CONFLICT DO UPDATE SET processed = processed + excluded.processed"};
  Statement pause_one{database,
                      "INSERT INTO instance(pool, number, paused) VALUES(?1, ?2, ?3)"
                      " ON CONFLICT DO UPDATE SET paused = excluded.paused"};
  Statement pause_pool{database, "UPDATE pool SET paused = ?1 WHERE number = ?2"};
  Statement resume_pool{database, "UPDATE pool SET paused = 0 WHERE number = ?1 AND paused = 1"};
  Statement pause_none{database, "UPDATE instance SET paused = 0 WHERE pool = ?1"};

  // What is over: of one state and emptied or not, in a span of time.
  Statement old_ended{database,
                      "SELECT seq FROM ended WHERE state = ?1 AND emptied = ?2 AND at >= ?3"
                      " AND at < ?4 ORDER BY at LIMIT ?5"};
  Statement old_completed{database,
                          "SELECT number, seqs FROM completed WHERE emptied = ?1 AND at >= ?2"
                          " AND at < ?3 ORDER BY at LIMIT ?4"};
  Statement remove{database, "DELETE FROM job WHERE seq BETWEEN ?1 AND ?2"};
  Statement empty{database, "UPDATE job SET event = NULL WHERE seq BETWEEN ?1 AND ?2"};
  Statement remove_ended{database, "DELETE FROM ended WHERE seq = ?1"};
  Statement empty_ended{database,
                        "UPDATE ended SET emptied = 1,"
                        " state = CASE state WHEN 2 THEN 3 ELSE state END WHERE seq = ?1"};
  Statement remove_completed{database, "DELETE FROM completed WHERE number = ?1"};
  Statement empty_completed{database, "UPDATE completed SET emptied = 1 WHERE number = ?1"};
  Statement remember_highest{database, "UPDATE highest SET seq = max(seq, ?1)"};
};

struct SqliteStore::Reader {
  explicit Reader(const Options& options)
      : database({.path = options.path, .mode = Database::Mode::read, .vfs = options.vfs}) {}

  Database database;
  Statement waiting{database,
                    "SELECT waiting.seq, priority, attempts, turn, 0, at, '', key"
                    " FROM waiting CROSS JOIN job ON job.seq = waiting.seq"
                    " WHERE waiting.pool = ?1 ORDER BY waiting.seq"};
  Statement find{database,
                 "SELECT seq, priority, attempts, turn, enqueued_at, coalesce(at, enqueued_at), id,"
                 " key, state FROM jobs WHERE pool = ?1 AND id = ?2"};
  Statement remains{database, "SELECT result, log FROM note WHERE seq = ?1"};
  Statement recall{database, "SELECT number FROM memo WHERE name = ?1"};
  Statement dead{database,
                 "SELECT ended.seq, priority, enqueued_at, at, id, key, event"
                 " FROM ended CROSS JOIN job ON job.seq = ended.seq"
                 " WHERE ended.pool = ?1 AND ended.seq > ?2 AND state = 2"
                 " ORDER BY ended.seq LIMIT ?3"};
  Statement failures{database,
                     "SELECT attempt, kind, at, what FROM failure WHERE seq = ?1 ORDER BY attempt"};
};

template <class Work>
void SqliteStore::change(const Work& work) {
  refuse_if_spoilt();
  writer_->begin.run();
  try {
    work();
    writer_->commit.run();
  } catch (...) {
    if (writer_->database.is_in_transaction()) writer_->rollback.run();
    throw;
  }
}

template <class Work>
void SqliteStore::transact(const Work& work) {
  last_before_ = last_;
  try {
    change([&] {
      writing_.is_held();
      journals_.for_each([this](const Journal::Noted& job) {
        writing_.is_held();
        put_noted(job);
      });
      await_noted();
      work();
    });
  } catch (...) {
    last_ = last_before_;
    throw;
  }
  in_database_.store(last_, release);  // sync(in-database): pairs with the load in need()
  journals_.clear({.written = last_});
  (void)journals_.take_unsynced();  // it is in the log now, which will be synced
  commits_.fetch_add(1, release);   // sync(log-commits): pairs with the load in sync_log()
  shorten_log();
}

}  // namespace muster
