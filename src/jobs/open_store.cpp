// open_store.cpp: memory:, sqlite: and postgresql:
#include "jobs/open_store.hpp"

#include "jobs/stores/memory/memory_store.hpp"
#include "jobs/stores/postgresql/postgres_store.hpp"
#include "jobs/stores/sqlite/sqlite_store.hpp"

namespace muster {

std::unique_ptr<Store> open_store(const std::string& url, const SharingOptions& sharing) {
  const std::string sqlite = "sqlite:";
  if (url == "memory:") return std::make_unique<MemoryStore>();
  if (url.starts_with(sqlite) && url.size() > sqlite.size()) {
    return std::make_unique<SqliteStore>(SqliteStore::Options{.path = url.substr(sqlite.size())});
  }
  if (url.starts_with("postgresql://") || url.starts_with("postgres://")) {
    return std::make_unique<PostgresStore>(PostgresStore::Options{
        .url = url, .lease = sharing.lease, .timeout = sharing.timeout, .clock = sharing.clock});
  }
  throw InvalidArgument(
      {.field = "url",
       .value = url,
       .rule = "must be \"sqlite:PATH\", \"postgresql://USER@HOST/DATABASE\" or \"memory:\""});
}

}  // namespace muster
