// cursor.hpp: the rows of a statement as they are at one moment, page by page.
//
//     Cursor cursor(connection, {"SELECT seq FROM muster.waiting ORDER BY seq"});
//     for (Rows rows = cursor.next(); rows.size() > 0; rows = cursor.next()) use(rows);
//
// However many there are, each page is a call of its own, which ends within the connection's
// timeout. Until the end of the rows, or its own, it has the connection's session in a transaction.
//
// Thread safety: as the connection.
#pragma once

#include <cstddef>

#include "jobs/stores/postgresql/connection.hpp"

namespace muster {

class Cursor {
 public:
  static constexpr std::size_t kPage = 20'000;

  Cursor(Connection& connection, const Connection::Query& query);
  ~Cursor();
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  // Empty: that was all.
  [[nodiscard]] Rows next();

 private:
  Connection& connection_;
  bool is_over_ = false;
};

}  // namespace muster
