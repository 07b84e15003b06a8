// postgres_schema.hpp: the tables of a job store, and how older ones become newer ones.
//
// A change of the tables is a new version, and comes with the oldest version whose programs can
// still use them: nodes are replaced one after the other, and those that are not yet must go on
// meanwhile. So columns are added, with defaults, and never renamed; what nobody needs any more is
// removed a version later.
#pragma once

#include "jobs/stores/postgresql/connection.hpp"

namespace muster {

[[nodiscard]] int newest_postgres_schema() noexcept;

// Brings the store up to the newest version, or makes it. Any number of nodes may do so at once:
// one does it, the others wait. Throws StoreFailure if the store is too new for this program.
void migrate(Connection& connection);

}  // namespace muster
