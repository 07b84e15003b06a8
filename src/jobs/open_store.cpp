// open_store.cpp: memory: and sqlite:
#include "jobs/open_store.hpp"

#include "jobs/stores/memory/memory_store.hpp"
#include "jobs/stores/sqlite/sqlite_store.hpp"

namespace muster {

std::unique_ptr<Store> open_store(const std::string& url) {
  const std::string sqlite = "sqlite:";
  if (url == "memory:") return std::make_unique<MemoryStore>();
  if (url.starts_with(sqlite) && url.size() > sqlite.size()) {
    return std::make_unique<SqliteStore>(SqliteStore::Options{.path = url.substr(sqlite.size())});
  }
  throw InvalidArgument(
      {.field = "url", .value = url, .rule = "must be \"sqlite:PATH\" or \"memory:\""});
}

}  // namespace muster
