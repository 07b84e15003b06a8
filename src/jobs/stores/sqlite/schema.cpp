// schema.cpp: one entry per version.
#include "jobs/stores/sqlite/schema.hpp"

#include <array>
#include <string>

#include <muster/jobs/job_error.hpp>

namespace muster {
namespace {

// "mstr", as `file` and others see it in the header of the database.
constexpr std::int64_t kApplicationId = 0x6D737472;

// job.at: when it may be run if its state is 0 (available), else when it ended. Times are
// nanoseconds since 1970. `event` and `result` go with time, the row itself remembers the id.
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
