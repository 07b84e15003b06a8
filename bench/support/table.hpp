// table.hpp: aligned text tables, and the table most suites want: contenders against cells.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "rounds.hpp"

namespace muster::bench {

// Rows of text. The first column leans left, the others right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{{std::move(header)}} {}

  // Shorter rows than the header are filled up with blanks.
  void add_row(std::vector<std::string> row) { rows_.push_back({std::move(row)}); }

  // A line across, below the last row.
  void add_rule() { rows_.back().ruled = true; }

  void print(std::ostream& out) const;

 private:
  struct Row {
    std::vector<std::string> texts;
    bool ruled = false;
  };

  std::vector<Row> rows_;
};

struct GroupTable {
  std::string group;  // which results
  std::string title;  // ends with the unit of the figures
  std::vector<Pair> ratios;

  // The figures are divided by this. Speeds are shown in millions of items per second.
  double unit = 1e6;
};

// One row per contender with its median and spread, then one row per ratio. One column per cell of
// the group. Prints nothing for a group that was not measured.
void print_group(std::ostream& out, std::span<const CellResult> results, const GroupTable& table);

// "68.2 (4%)": the median and, in brackets, the interquartile range as a share of it.
std::string median_and_spread(const Summary& summary, double unit);

}  // namespace muster::bench
