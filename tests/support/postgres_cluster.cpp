// postgres_cluster.cpp: making, starting and ending a private PostgreSQL server.
#include "support/postgres_cluster.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <libpq-fe.h>
#include <stdexcept>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <utility>

namespace muster::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 60s;  // for a machine that has much else to do
constexpr std::string_view kHost = "127.0.0.1:";

struct CloseConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
struct ClearResult {
  void operator()(PGresult* result) const { PQclear(result); }
};

// What pg_config answers; empty if it does not.
std::filesystem::path folder_by_pg_config() {
  std::string answer;
  FILE* const pipe = ::popen("pg_config --bindir 2>/dev/null", "re");
  if (pipe == nullptr) return {};
  for (int each = std::fgetc(pipe); each != EOF && each != '\n'; each = std::fgetc(pipe)) {
    answer += static_cast<char>(each);
  }
  ::pclose(pipe);
  return answer;
}

// Debian keeps the servers away from /usr/bin, each version in a folder named after it.
std::filesystem::path find_programs() {
  std::vector<std::filesystem::path> candidates;
  std::error_code ignored;  // no such folder, no candidates
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
    candidates.push_back(version.path() / "bin");
  }
  std::ranges::sort(candidates, std::greater());
  candidates.insert(candidates.begin(), folder_by_pg_config());
  for (const std::filesystem::path& candidate : candidates) {
    const bool complete = std::filesystem::exists(candidate / "initdb", ignored) &&
                          std::filesystem::exists(candidate / "postgres", ignored);
    if (complete) return candidate;
  }
  throw std::runtime_error(
      "cannot find PostgreSQL: neither `pg_config --bindir` nor /usr/lib/postgresql/*/bin holds "
      "initdb and postgres; install the package postgresql-15");
}

}  // namespace

PostgresCluster::PostgresCluster(PostgresOptions options)
    : options_(std::move(options)), programs_(find_programs()) {
  give_to_servers(folder_.path());
  make_files();
  start();
}

PostgresCluster::~PostgresCluster() {
  stop_immediately();
  remove_shared_memory();
}

std::string PostgresCluster::url(std::string_view database) const {
  return "postgresql://postgres@" + std::string(kHost) + std::to_string(port()) + "/" +
         std::string(database);
}

std::string PostgresCluster::create_database() {
  // relaxed: all that counts is that nobody else gets the same number
  const std::string name = "test_" + std::to_string(1 + databases_.fetch_add(1, relaxed));
  const std::unique_ptr<PGconn, CloseConnection> connection(PQconnectdb(url().c_str()));
  // Nobody may connect to template0, so nobody is in the way.
  const std::string command = "CREATE DATABASE " + name + " TEMPLATE template0";
  const std::unique_ptr<PGresult, ClearResult> result(PQexec(connection.get(), command.c_str()));
  if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) {
    throw std::runtime_error("cannot " + command + " at " + url() + ": " +
                             PQerrorMessage(connection.get()));
  }
  return url(name);
}

void PostgresCluster::kill_server() {
  if (server_ != nullptr) server_->kill_with_children();
  server_.reset();
}

void PostgresCluster::stop_immediately() {
  if (server_ == nullptr) return;
  server_->send(SIGQUIT);
  // It kills those that do not obey after five seconds, by itself.
  if (!server_->wait_until_ended(kPatience)) server_->kill_with_children();
  server_.reset();
}

void PostgresCluster::start() {
  if (server_ != nullptr) throw std::logic_error("PostgreSQL is already running at " + url());
  std::vector<std::string> arguments{(programs_ / "postgres").string(), "-D", folder_.file("data")};
  const auto set = [&arguments](const std::string& setting) {
    arguments.insert(arguments.end(), {"-c", setting});
  };
  set("listen_addresses=127.0.0.1");
  set("port=" + std::to_string(port()));
  set("unix_socket_directories=" + folder_.path().string());
  set(options_.fsync ? "fsync=on" : "fsync=off");
  set("dynamic_shared_memory_type=mmap");   // files in our folder, which vanish with it
  set("recovery_init_sync_method=syncfs");  // or each start after a crash syncs a thousand files
  for (const std::string& setting : options_.settings) set(setting);

  // Orphaned it quits as by stop_immediately(), so that its shared memory does not outlive it.
  server_ = std::make_unique<ServerProcess>(ServerCommand{.arguments = std::move(arguments),
                                                          .log = folder_.file("server.log"),
                                                          .signal_when_orphaned = SIGQUIT});
  const Time deadline = std::chrono::steady_clock::now() + kPatience;
  while (PQping(url().c_str()) != PQPING_OK) {
    const bool ended = server_->wait_until_ended(5ms);
    if (!ended && std::chrono::steady_clock::now() < deadline) continue;
    const std::string report = server_->report();
    kill_server();
    throw std::runtime_error("cannot start PostgreSQL at " + url() + ": " + report);
  }
}

void PostgresCluster::make_files() {
  ServerProcess initdb(
      {.arguments = {(programs_ / "initdb").string(), "--pgdata=" + folder_.file("data"),
                     "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C",
                     "--no-sync", "--no-instructions"},
       .log = folder_.file("initdb.log")});
  initdb.wait_until_ended(kPatience);
  if (!initdb.succeeded()) {
    throw std::runtime_error("cannot make a PostgreSQL cluster: " + initdb.report());
  }
}

// A server that was killed leaves the little piece behind by which the next one knows that nobody
// is left. Who starts no next one has to remove it: it is in none of our files.
void PostgresCluster::remove_shared_memory() noexcept {
  std::ifstream in(folder_.file("data/postmaster.pid"));
  std::string line;
  for (int number = 1; number < 7; ++number) std::getline(in, line);
  unsigned long key = 0;
  int id = -1;
  if (in >> key >> id) ::shmctl(id, IPC_RMID, nullptr);
}

std::string with_port(std::string_view url, int port) {
  const std::size_t at = url.find(kHost);
  if (at == std::string_view::npos) {
    throw std::logic_error("not the URL of a PostgresCluster: " + std::string(url));
  }
  const std::size_t begin = at + kHost.size();
  const std::size_t end = std::min(url.find('/', begin), url.size());
  return std::string(url.substr(0, begin)) + std::to_string(port) + std::string(url.substr(end));
}

}  // namespace muster::testing
