// places.cpp: temporary files, and databases of the server.
#include "jobs/places.hpp"

#include <charconv>
#include <chrono>
#include <exception>
#include <iostream>
#include <thread>
#include <unistd.h>

#include <muster/job_pool.hpp>

#include "jobs/postgres_session.hpp"
#include "jobs/written_bytes.hpp"

namespace muster::bench {
namespace {

std::uint64_t number_in(const std::string& text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::uint64_t written_so_far(StoreKind kind) {
  if (kind == StoreKind::sqlite) return written_bytes_of(getpid());
  return number_in(PostgresSession(server().url())
                       .run("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"));
}

// Why Jobs::open() does not open it; nothing: it does.
std::optional<std::string> why_not(const std::string& url) {
  try {
    (void)Jobs::open(url);
    return std::nullopt;
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

std::string to_text(StoreKind kind) {
  return kind == StoreKind::sqlite ? "SQLite" : "PostgreSQL";
}

Place::Place(StoreKind kind) : kind_(kind) {
  if (kind == StoreKind::sqlite) {
    folder_.emplace();
    url_ = "sqlite:" + file();
  } else {
    url_ = server().create_database();
    PostgresSession(server().url()).run("CHECKPOINT");  // of what came before
  }
  written_before_ = written_so_far(kind);
}

Place::~Place() {
  if (kind_ == StoreKind::sqlite) return;
  const std::string name = url_.substr(url_.rfind('/') + 1);
  try {
    PostgresSession(server().url()).run("DROP DATABASE " + name + " WITH (FORCE)");
  } catch (const std::exception& error) {
    std::cerr << "a database stays: " << error.what() << '\n';
  }
}

void Place::rest() const {
  if (kind_ == StoreKind::sqlite) {
    sync();
    return;
  }
  PostgresSession session(url_);
  session.run("ANALYZE");
  session.run("CHECKPOINT");
}

std::uint64_t Place::written_bytes() const {
  return written_so_far(kind_) - written_before_;
}

std::uint64_t Place::dead_tuples() const {
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the last sessions say goodbye
  return number_in(
      PostgresSession(url_).run("SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables"));
}

bool can_have(StoreKind kind) {
  if (kind == StoreKind::sqlite) return true;
  static const bool kHasServer = [] {
    try {
      (void)server();
      return true;
    } catch (const std::exception& error) {
      std::cerr << "left out: everything on PostgreSQL: " << error.what() << '\n';
      return false;
    }
  }();
  return kHasServer;
}

bool muster_has(StoreKind kind) {
  if (kind == StoreKind::sqlite) return true;
  if (!can_have(kind)) return false;
  static const bool kHasPostgres = [] {
    const Place place(StoreKind::postgres);
    const std::optional<std::string> reason = why_not(place.url());
    if (reason) std::cerr << "left out: muster on PostgreSQL: " << *reason << '\n';
    return !reason;
  }();
  return kHasPostgres;
}

std::vector<StoreKind> stores_of_muster() {
  std::vector<StoreKind> kinds{StoreKind::sqlite};
  if (muster_has(StoreKind::postgres)) kinds.push_back(StoreKind::postgres);
  return kinds;
}

}  // namespace muster::bench
