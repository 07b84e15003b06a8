// store_keepers.hpp: a store of each kind, to be closed and opened again.
#pragma once

#include <memory>
#include <string>

#include "jobs/stores/memory/memory_store.hpp"
#include "jobs/stores/postgresql/postgres_store.hpp"
#include "jobs/stores/sqlite/sqlite_store.hpp"
#include "support/postgres_cluster.hpp"
#include "support/temporary_folder.hpp"

namespace muster::testing {

// A store, and the way to close and open it again where it outlives its process.
class Keeper {
 public:
  virtual ~Keeper() = default;
  virtual Store& store() = 0;
  virtual void reopen() = 0;
};

class MemoryKeeper final : public Keeper {
 public:
  Store& store() override { return store_; }
  void reopen() override {}  // it is as if nothing had happened

 private:
  MemoryStore store_;
};

class SqliteKeeper final : public Keeper {
 public:
  SqliteKeeper() { reopen(); }
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    store_ = std::make_unique<SqliteStore>(SqliteStore::Options{.path = folder_.file("jobs.db")});
  }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<SqliteStore> store_;
};

// One server for all tests, and a database for each.
inline PostgresCluster& cluster() {
  static PostgresCluster all({.fsync = false});
  return all;
}

class PostgresKeeper final : public Keeper {
 public:
  PostgresKeeper() { reopen(); }
  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    store_ = std::make_unique<PostgresStore>(PostgresStore::Options{.url = url_});
  }

 private:
  const std::string url_ = cluster().create_database();
  std::unique_ptr<PostgresStore> store_;
};

}  // namespace muster::testing
