// cursor.cpp: a transaction with one cursor.
#include "jobs/stores/postgresql/cursor.hpp"

#include <array>
#include <string>

#include <muster/base/log.hpp>

namespace muster {

// A connection that was lost may have been so for long.
Cursor::Cursor(Connection& connection, const Connection::Query& query) : connection_(connection) {
  const std::string declare = "DECLARE page_by_page CURSOR FOR " + std::string(query.sql);
  const std::array<Connection::Query, 2> begin{Connection::Query{"BEGIN"},
                                               Connection::Query{declare, query.parameters}};
  try {
    (void)connection_.run_all(begin);
  } catch (const ConnectionLost&) {
    (void)connection_.run_all(begin);
  }
}

Cursor::~Cursor() {
  if (is_over_) return;
  try {
    (void)connection_.run("ROLLBACK");
  } catch (const std::exception& error) {  // then its transaction is over, too
    MUSTER_LOG(LogLevel::warning, "a cursor was not closed: " << error.what());
  }
}

Rows Cursor::next() {
  static const std::string fetch = "FETCH " + std::to_string(kPage) + " FROM page_by_page";
  is_over_ = true;  // if this fails, so has the transaction
  Rows rows = connection_.run(fetch);
  is_over_ = rows.size() == 0;
  if (is_over_) (void)connection_.run("COMMIT");
  return rows;
}

}  // namespace muster
