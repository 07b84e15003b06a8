// raw_postgres.cpp: the table, the statement, and arrays as the server reads them.
#include "jobs/raw_postgres.hpp"

#include <array>
#include <chrono>
#include <endian.h>

namespace muster::bench {
namespace {

// muster.job and muster.waiting, as src/jobs/stores/postgresql/postgres_schema.cpp makes them.
// Change them with that.
constexpr const char* kTables = R"(
CREATE TABLE job(
  seq bigint PRIMARY KEY,
  pool bigint NOT NULL,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  turn bigint NOT NULL,
  enqueued_at bigint NOT NULL,
  run_at bigint NOT NULL,
  priority smallint NOT NULL,
  id text COLLATE "C" NOT NULL,
  key text,
  event text) WITH (autovacuum_vacuum_insert_scale_factor = 0.2);
CREATE UNIQUE INDEX job_id ON job(pool, id);
CREATE TABLE waiting(
  seq bigint PRIMARY KEY,
  pool bigint NOT NULL,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  turn bigint NOT NULL,
  at bigint NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  priority smallint NOT NULL,
  key text) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX waiting_new ON waiting(pool, xid))";

// It is alone, so it may say itself which numbers they get.
constexpr const char* kInsert = R"(
WITH jobs AS (
  INSERT INTO job(seq, pool, turn, enqueued_at, run_at, priority, id, event)
  SELECT seq, 1, seq, now, now, 0, id, event
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) AS new(seq, now, id, event))
INSERT INTO waiting(seq, pool, turn, at, priority)
SELECT seq, 1, seq, now, 0 FROM unnest($1::bigint[], $2::bigint[]) AS new(seq, now))";

constexpr const char* kInsertOne = R"(
WITH jobs AS (
  INSERT INTO job(seq, pool, turn, enqueued_at, run_at, priority, id, event)
  VALUES($1, 1, $1, $2, $2, 0, $3, $4))
INSERT INTO waiting(seq, pool, turn, at, priority) VALUES($1, 1, $1, $2, 0))";

constexpr Oid kInt8 = 20;
constexpr Oid kText = 25;
constexpr Oid kInt8Array = 1016;
constexpr Oid kTextArray = 1009;
constexpr int kBinary = 1;

// One dimension, from 1 on, without nulls.
class BinaryArray {
 public:
  BinaryArray(Oid element, std::size_t count) {
    add_int(1);
    add_int(0);
    add_int(element);
    add_int(static_cast<std::uint32_t>(count));
    add_int(1);
  }

  void add(std::int64_t value) {
    const std::uint64_t big = htobe64(static_cast<std::uint64_t>(value));
    add_int(sizeof big);
    bytes_.append(reinterpret_cast<const char*>(&big), sizeof big);
  }
  void add(const std::string& text) {
    add_int(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
  }

  [[nodiscard]] const char* data() const { return bytes_.data(); }
  [[nodiscard]] int size() const { return static_cast<int>(bytes_.size()); }

 private:
  void add_int(std::uint32_t value) {
    const std::uint32_t big = htobe32(value);
    bytes_.append(reinterpret_cast<const char*>(&big), sizeof big);
  }

  std::string bytes_;
};

std::int64_t wall_nanoseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

RawPostgres::RawPostgres(const std::string& url) : session_(url) {
  session_.run(kTables);
  constexpr std::array<Oid, 4> kTypes{kInt8Array, kInt8Array, kTextArray, kTextArray};
  session_.check(PQprepare(session_.handle(), "insert", kInsert, kTypes.size(), kTypes.data()));
  constexpr std::array<Oid, 4> kTypesOfOne{kInt8, kInt8, kText, kText};
  session_.check(PQprepare(session_.handle(), "insert_one", kInsertOne, kTypesOfOne.size(),
                           kTypesOfOne.data()));
}

void RawPostgres::insert(std::span<const EncodedJob> jobs) {
  BinaryArray turns(kInt8, jobs.size());
  BinaryArray times(kInt8, jobs.size());
  BinaryArray ids(kText, jobs.size());
  BinaryArray events(kText, jobs.size());
  const std::int64_t now = wall_nanoseconds();
  for (const EncodedJob& job : jobs) {
    turns.add(++last_);
    times.add(now);
    ids.add(job.id);
    events.add(job.event);
  }
  const std::array values{turns.data(), times.data(), ids.data(), events.data()};
  const std::array lengths{turns.size(), times.size(), ids.size(), events.size()};
  constexpr std::array<int, 4> kFormats{kBinary, kBinary, kBinary, kBinary};
  session_.check(PQexecPrepared(session_.handle(), "insert", values.size(), values.data(),
                                lengths.data(), kFormats.data(), kBinary));
}

void RawPostgres::insert_one(const EncodedJob& job) {
  const std::string turn = std::to_string(++last_);
  const std::string now = std::to_string(wall_nanoseconds());
  const std::array values{turn.c_str(), now.c_str(), job.id.c_str(), job.event.c_str()};
  session_.check(PQexecPrepared(session_.handle(), "insert_one", values.size(), values.data(),
                                nullptr, nullptr, kBinary));
}

}  // namespace muster::bench
