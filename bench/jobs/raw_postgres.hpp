// raw_postgres.hpp: a yardstick: rows of jobs written by a plain loop over libpq.
//
// One statement that was prepared, INSERT ... SELECT FROM unnest(...), and arrays in the binary
// format, which the server reads fastest. Every statement is a transaction, and synced.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <muster/jobs/enqueue_options.hpp>

#include "jobs/postgres_session.hpp"

namespace muster::bench {

class RawPostgres {
 public:
  // Makes the table. Throws std::runtime_error, as insert() does, with what the server says.
  explicit RawPostgres(const std::string& url);

  // In one transaction.
  void insert(std::span<const EncodedJob> jobs);

  // The same for one, by plain VALUES.
  void insert_one(const EncodedJob& job);

 private:
  PostgresSession session_;
  std::int64_t last_ = 0;
};

}  // namespace muster::bench
