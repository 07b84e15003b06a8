// plots.hpp: what strategies and scaling came to, as pictures beside the report.
#pragma once

#include <filesystem>
#include <span>

#include "support/rounds.hpp"

namespace muster::bench {

// Writes tables and, if there is gnuplot, pictures of what was measured into a folder named like
// the report, and says where on standard output. Throws std::runtime_error if it cannot write.
void draw_balance_plots(std::span<const CellResult> results, const std::filesystem::path& report);

}  // namespace muster::bench
