// pgbouncer.hpp: a PgBouncer in transaction mode, in front of a server of a test's own.
//
//     PgBouncer bouncer(cluster.port());
//     const std::string url = with_port(cluster.create_database(), bouncer.port());
//
// Leads to whatever database is asked for, always as the user "postgres", and asks for no password.
// A transaction gets any of its connections, so that nothing of a session survives a COMMIT; the
// version of Debian 12 (1.18) does not carry over prepared statements either. Its own console is
// the database "pgbouncer". Needs Debian's package pgbouncer.
//
// Thread safety: immutable after construction.
// Lifetime: the destructor ends it. It also ends with the test's process.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/reserved_port.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace muster::testing {

class PgBouncer {
 public:
  // More settings as "name=value"; they win over ours. Throws std::runtime_error with the end of
  // its log if it does not come up. The server need not be up.
  explicit PgBouncer(int server_port, const std::vector<std::string>& settings = {});
  ~PgBouncer();
  PgBouncer(const PgBouncer&) = delete;
  PgBouncer& operator=(const PgBouncer&) = delete;

  [[nodiscard]] std::string url(std::string_view database = "postgres") const;
  [[nodiscard]] int port() const { return port_.number(); }

 private:
  // Fixed at construction.
  const ReservedPort port_;
  const TemporaryFolder folder_;
  std::optional<ServerProcess> process_;
};

}  // namespace muster::testing
