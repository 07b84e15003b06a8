// verdicts.hpp: the tables of this suite, and the goals they are judged by.
#pragma once

#include <span>
#include <vector>

#include "support/goals.hpp"
#include "support/rounds.hpp"
#include "support/table.hpp"

namespace muster::bench {

std::vector<GroupTable> job_suite_tables();

std::vector<Goal> job_suite_goals(std::span<const CellResult> results);

}  // namespace muster::bench
