// postgres_session.cpp: libpq's calls, and what it says when they fail.
#include "jobs/postgres_session.hpp"

#include <stdexcept>

namespace muster::bench {
namespace {

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

bool is_good(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

}  // namespace

testing::PostgresCluster& server() {
  static testing::PostgresCluster the_server;
  return the_server;
}

PostgresSession::PostgresSession(const std::string& url)
    : connection_(PQconnectdb(url.c_str()), PQfinish) {
  if (PQstatus(handle()) != CONNECTION_OK) {
    throw std::runtime_error("cannot connect to " + url + ": " + PQerrorMessage(handle()));
  }
  run("SET client_min_messages = warning");
}

std::string PostgresSession::run(const std::string& sql) {
  const Result result(PQexec(handle(), sql.c_str()), PQclear);
  if (!is_good(result.get())) throw std::runtime_error(sql + ": " + PQerrorMessage(handle()));
  return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

void PostgresSession::check(PGresult* result) const {
  const Result owned(result, PQclear);
  if (!is_good(owned.get())) throw std::runtime_error(PQerrorMessage(handle()));
}

}  // namespace muster::bench
