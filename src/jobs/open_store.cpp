// open_store.cpp: memory:, sqlite: and postgresql:
#include "jobs/open_store.hpp"

#include <filesystem>
#include <system_error>

#include "jobs/stores/memory/memory_store.hpp"
#include "jobs/stores/postgresql/postgres_store.hpp"
#include "jobs/stores/sqlite/sqlite_store.hpp"

namespace muster {
namespace {

// Who has a file is noted beside it, so it has to have one name, whatever links lead to it, also to
// one that is yet to be made. What cannot be followed is told when it is opened.
std::string true_name(const std::string& given) {
  constexpr int kMostLinks = 40;  // as of the system
  std::filesystem::path path = given;
  std::error_code error;
  for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(path, error); ++links) {
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  }
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(path, error);
  return error ? given : canonical.string();
}

std::unique_ptr<Store> open_file(const std::string& path) {
  if (path == ":memory:") {
    throw InvalidArgument({.field = "url",
                           .value = "sqlite::memory:",
                           .rule = "must name a file; \"memory:\" keeps jobs in memory"});
  }
  return std::make_unique<SqliteStore>(SqliteStore::Options{.path = true_name(path)});
}

}  // namespace

std::unique_ptr<Store> open_store(const std::string& url, const SharingOptions& sharing) {
  const std::string sqlite = "sqlite:";
  if (url == "memory:") return std::make_unique<MemoryStore>();
  if (url.starts_with(sqlite) && url.size() > sqlite.size()) {
    return open_file(url.substr(sqlite.size()));
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
