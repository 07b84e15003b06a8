// raw_sqlite.cpp: the loop, and the row that it writes.
#include "jobs/raw_sqlite.hpp"

#include <chrono>
#include <stdexcept>
#include <string>

#include "jobs/measured_pool.hpp"

namespace muster::bench {
namespace {

// As durable as SqliteStore.
constexpr const char* kPragmas =
    "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 4000; PRAGMA synchronous = FULL";

constexpr const char* kInsert =
    "INSERT INTO job(seq, pool, priority, turn, enqueued_at, run_at, id, key, event)"
    " VALUES(?1, 1, ?2, ?3, ?4, ?4, ?5, NULL, ?6)";

constexpr const char* kAwait =
    "INSERT INTO waiting(pool, seq, at, attempts) SELECT pool, seq, run_at, 0 FROM job"
    " WHERE seq > ?1";

std::int64_t wall_nanoseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

RawSqlite::RawSqlite(const Place& place, Durability durability) {
  {
    const MeasuredPool makes_the_tables(place.url());
  }
  sqlite3* database = nullptr;
  const int code = sqlite3_open(place.file().c_str(), &database);
  database_.reset(database);
  check(code);
  check(sqlite3_exec(database, kPragmas, nullptr, nullptr, nullptr));
  if (durability != Durability::synced) {
    check(sqlite3_exec(database, "PRAGMA synchronous = NORMAL", nullptr, nullptr, nullptr));
  }
  begin_ = prepare("BEGIN IMMEDIATE");
  commit_ = prepare("COMMIT");
  insert_ = prepare(kInsert);
  await_ = prepare(kAwait);
}

void RawSqlite::check(int code) const {
  if (code == SQLITE_OK) return;
  throw std::runtime_error(std::string("the raw loop on SQLite: ") +
                           sqlite3_errmsg(database_.get()));
}

RawSqlite::Statement RawSqlite::prepare(const char* sql) const {
  sqlite3_stmt* statement = nullptr;
  check(
      sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
  return Statement(statement);
}

void RawSqlite::step(sqlite3_stmt* statement) const {
  const int code = sqlite3_step(statement);
  sqlite3_reset(statement);
  if (code != SQLITE_DONE) check(code);
}

void RawSqlite::insert(const EncodedJob& job, std::int64_t now) {
  sqlite3_stmt* const row = insert_.get();
  ++last_;
  sqlite3_bind_int64(row, 1, last_);
  sqlite3_bind_int64(row, 2, job.priority);
  sqlite3_bind_int64(row, 3, last_);
  sqlite3_bind_int64(row, 4, now);
  sqlite3_bind_text64(row, 5, job.id.data(), job.id.size(), SQLITE_STATIC, SQLITE_UTF8);
  sqlite3_bind_text64(row, 6, job.event.data(), job.event.size(), SQLITE_STATIC, SQLITE_UTF8);
  step(row);
}

void RawSqlite::insert(std::span<const EncodedJob> jobs) {
  const std::int64_t now = wall_nanoseconds();
  step(begin_.get());
  sqlite3_bind_int64(await_.get(), 1, last_);
  for (const EncodedJob& job : jobs) insert(job, now);
  step(await_.get());
  step(commit_.get());
}

}  // namespace muster::bench
