// postgres_session.hpp: the server of this suite, and connections to it by libpq.
//
// There is one server with all its defaults, fsync among them, from the first call of server() on
// until the program ends.
//
// Thread safety: a session belongs to one thread; server() from the main thread.
#pragma once

#include <libpq-fe.h>
#include <memory>
#include <string>

#include "support/postgres_cluster.hpp"

namespace muster::bench {

// Throws std::runtime_error if it does not start.
testing::PostgresCluster& server();

class PostgresSession {
 public:
  // Throws std::runtime_error, as all members do, with what the server says.
  explicit PostgresSession(const std::string& url);

  // The first value of the first row; empty if there is none.
  std::string run(const std::string& sql);

  // Of a statement that gives no rows.
  void check(PGresult* result) const;

  [[nodiscard]] PGconn* handle() const { return connection_.get(); }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

}  // namespace muster::bench
