// schema.cpp: one entry per version.
#include "jobs/stores/sqlite/schema.hpp"

#include <array>
#include <string>

#include <muster/jobs/job_error.hpp>

namespace muster {
namespace {

// "mstr", as `file` and others see it in the header of the database.
constexpr std::int64_t kApplicationId = 0x6D737472;

// Times are nanoseconds since 1970. In the first two versions a job was one row, and `at` was when
// it may be run if its state was 0 (available), else when it ended.
constexpr std::array kVersions = {
    R"(
CREATE TABLE pool(
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  paused INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE instance(
  pool INTEGER NOT NULL,
  number INTEGER NOT NULL,
  paused INTEGER NOT NULL DEFAULT 0,
  processed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(pool, number)) STRICT, WITHOUT ROWID;
CREATE TABLE job(
  seq INTEGER PRIMARY KEY,
  pool INTEGER NOT NULL,
  state INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  enqueued_at INTEGER NOT NULL,
  at INTEGER NOT NULL,
  id TEXT NOT NULL,
  key TEXT,
  result TEXT,
  event TEXT) STRICT;
CREATE UNIQUE INDEX job_id ON job(pool, id);
CREATE INDEX job_waiting ON job(pool) WHERE state = 0;
CREATE INDEX job_dead ON job(pool) WHERE state = 2;
CREATE TABLE failure(
  seq INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  at INTEGER NOT NULL,
  what TEXT NOT NULL,
  PRIMARY KEY(seq, attempt)) STRICT, WITHOUT ROWID;
)",
    R"(
ALTER TABLE job ADD COLUMN log TEXT;
CREATE TABLE memo(name TEXT NOT NULL PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;
)",

    // What a job is does not change, but that its event goes with time; the row remembers the id.
    // It waits as long as it is in `waiting`, then it is in `ended`; or it completed at once and
    // with nothing to tell: of those there is one row in `completed` for many.
    R"(
ALTER TABLE job RENAME TO old;
CREATE TABLE job(
  seq INTEGER PRIMARY KEY,
  pool INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  enqueued_at INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  id TEXT NOT NULL,
  key TEXT,
  event TEXT) STRICT;
CREATE TABLE waiting(
  pool INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  PRIMARY KEY(pool, seq)) STRICT, WITHOUT ROWID;
CREATE TABLE ended(
  seq INTEGER PRIMARY KEY,
  pool INTEGER NOT NULL,
  state INTEGER NOT NULL,
  at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  emptied INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE completed(
  number INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  seqs TEXT NOT NULL,
  emptied INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE note(seq INTEGER PRIMARY KEY, result TEXT, log TEXT) STRICT;
CREATE TABLE highest(seq INTEGER NOT NULL) STRICT;
INSERT INTO job SELECT seq, pool, priority, turn, enqueued_at, at, id, key, event FROM old;
INSERT INTO waiting SELECT pool, seq, at, attempts FROM old WHERE state = 0 ORDER BY pool, seq;
INSERT INTO ended SELECT seq, pool, state, at, attempts, event IS NULL FROM old WHERE state <> 0;
INSERT INTO note SELECT seq, result, log FROM old WHERE coalesce(result, log) IS NOT NULL;
INSERT INTO highest SELECT coalesce(max(seq), 0) FROM old;
DROP TABLE old;
DELETE FROM failure WHERE seq NOT IN (SELECT seq FROM job);
CREATE UNIQUE INDEX job_id ON job(pool, id);
CREATE INDEX ended_dead ON ended(pool, seq) WHERE state = 2;
CREATE INDEX ended_at ON ended(state, emptied, at);
CREATE INDEX completed_at ON completed(emptied, at);
CREATE VIEW jobs AS SELECT job.seq, job.pool, priority, turn, enqueued_at, id, key, event, result,
  log, coalesce(waiting.at, ended.at) AS at,
  coalesce(waiting.attempts, ended.attempts, 0) AS attempts,
  CASE WHEN waiting.seq IS NULL THEN coalesce(ended.state, 1) ELSE 0 END AS state
  FROM job LEFT JOIN waiting ON waiting.pool = job.pool AND waiting.seq = job.seq
  LEFT JOIN ended ON ended.seq = job.seq LEFT JOIN note ON note.seq = job.seq;
)"};

[[noreturn]] void refuse(const Database& database, const std::string& reason,
                         const std::string& advice) {
  throw StoreFailure({.attempt = "open job store \"" + database.path() + "\"",
                      .reason = reason,
                      .advice = advice});
}

}  // namespace

int newest_schema() noexcept {
  return static_cast<int>(kVersions.size());
}

void migrate(Database& database) {
  const std::int64_t version = database.number("PRAGMA user_version");
  const std::int64_t application = database.number("PRAGMA application_id");
  const bool is_empty = database.number("SELECT count(*) FROM sqlite_schema") == 0;
  if (!is_empty && application != kApplicationId) {
    refuse(database, "it is a database of another program", "name another file");
  }
  if (version > newest_schema()) {
    refuse(database,
           "its version is " + std::to_string(version) + ", and this program knows " +
               std::to_string(newest_schema()) + " and older",
           "use a newer release");
  }
  if (version == newest_schema()) return;
  database.run("BEGIN IMMEDIATE");
  try {
    for (auto step = static_cast<std::size_t>(version); step < kVersions.size(); ++step) {
      database.run(kVersions.at(step));
    }
    database.run("PRAGMA application_id = " + std::to_string(kApplicationId));
    database.run("PRAGMA user_version = " + std::to_string(newest_schema()));
    database.run("COMMIT");
  } catch (const StoreFailure&) {
    if (database.is_in_transaction()) database.run("ROLLBACK");
    throw;
  }
}

}  // namespace muster
