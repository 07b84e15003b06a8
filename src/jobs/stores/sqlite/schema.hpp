// schema.hpp: the tables of a job store, version by version.
//
// Changing them: add a step at the end of the list in schema.cpp, never change one that was
// released; a test opens stores of every older version.
#pragma once

#include "jobs/stores/sqlite/database.hpp"

namespace muster {

// Makes the tables, or brings older ones up to date, all at once. Throws StoreFailure if the file
// is something else, or of a newer version than this.
void migrate(Database& database);

[[nodiscard]] int newest_schema() noexcept;

}  // namespace muster
