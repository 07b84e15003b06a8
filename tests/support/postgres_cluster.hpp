// postgres_cluster.hpp: a real PostgreSQL server of a test's own.
//
//     PostgresCluster cluster({.fsync = false});
//     const std::string url = cluster.create_database();
//     cluster.kill_server();  // and everything that was not committed is lost
//     cluster.start();
//
// Listens on 127.0.0.1 and on a socket in its folder, and trusts everybody. Ready in about a
// second; cheaper than another cluster is another database. Needs Debian's package postgresql-15.
//
// Thread safety: url(), port() and create_database() may be called from any thread; what stops and
// starts the server from one at a time.
// Lifetime: the destructor ends the server and removes its files. When the test's process is killed
// the server ends by itself, and its folder stays in the temporary folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <muster/sync/atomic.hpp>

#include "support/reserved_port.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace muster::testing {

struct PostgresOptions {
  // Off is quicker and loses nothing by kill_server(): what was written is in the kernel's memory.
  bool fsync = true;

  // More of them, as "name=value". They win over ours.
  std::vector<std::string> settings = {};
};

class PostgresCluster {
 public:
  // Throws std::runtime_error with the end of the server's log if it does not come up; so does
  // start().
  explicit PostgresCluster(PostgresOptions options = {});
  ~PostgresCluster();
  PostgresCluster(const PostgresCluster&) = delete;
  PostgresCluster& operator=(const PostgresCluster&) = delete;

  [[nodiscard]] std::string url(std::string_view database = "postgres") const;
  [[nodiscard]] int port() const { return port_.number(); }

  // An empty one with a name of its own; gives its URL.
  std::string create_database();

  // SIGKILL to the server and to all of its processes, whatever they are doing. Returns when they
  // are gone; does nothing if there are none.
  void kill_server();

  // Tells every process of the server to quit without finishing anything.
  void stop_immediately();

  // On the same port, after one of the above. Returns when it accepts connections.
  void start();

 private:
  void make_files();
  void remove_shared_memory() noexcept;

  // Fixed at construction.
  const PostgresOptions options_;
  const ReservedPort port_;
  const TemporaryFolder folder_;
  const std::filesystem::path programs_;

  // Whoever stops and starts it.
  std::unique_ptr<ServerProcess> server_;

  // Any thread.
  Atomic<int> databases_ = 0;
};

// The same database through what listens on another port: a NetworkProxy or PgBouncer.
[[nodiscard]] std::string with_port(std::string_view url, int port);

}  // namespace muster::testing
