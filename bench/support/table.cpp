// table.cpp: column widths, and how results become rows.
#include "table.hpp"

#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <ostream>
#include <sstream>

namespace muster::bench {
namespace {

constexpr std::size_t kGap = 2;
constexpr const char* kNotMeasured = "-";

std::vector<const CellResult*> cells_of(std::span<const CellResult> results,
                                        const std::string& group) {
  std::vector<const CellResult*> cells;
  for (const CellResult& result : results) {
    if (result.group == group) cells.push_back(&result);
  }
  return cells;
}

// In the order in which the cells first name them.
std::vector<std::string> contenders_of(const std::vector<const CellResult*>& cells) {
  std::vector<std::string> names;
  for (const CellResult* cell : cells) {
    for (const Series& series : cell->series) {
      if (std::find(names.begin(), names.end(), series.contender) == names.end()) {
        names.push_back(series.contender);
      }
    }
  }
  return names;
}

std::vector<std::string> header_of(const GroupTable& table,
                                   const std::vector<const CellResult*>& cells) {
  std::vector<std::string> header{table.title};
  for (const CellResult* cell : cells) header.push_back(cell->name);
  return header;
}

}  // namespace

void Table::print(std::ostream& out) const {
  const std::size_t columns = rows_.front().texts.size();
  std::vector<std::size_t> widths(columns, 0);
  for (const Row& row : rows_) {
    for (std::size_t column = 0; column < std::min(columns, row.texts.size()); ++column) {
      widths[column] = std::max(widths[column], row.texts[column].size());
    }
  }
  std::size_t total = (columns - 1) * kGap;
  for (const std::size_t width : widths) total += width;

  for (const Row& row : rows_) {
    for (std::size_t column = 0; column < columns; ++column) {
      const std::string text = column < row.texts.size() ? row.texts[column] : "";
      if (column > 0) out << std::string(kGap, ' ');
      out << (column == 0 ? std::left : std::right) << std::setw(static_cast<int>(widths[column]))
          << text;
    }
    out << '\n';
    if (row.ruled) out << std::string(total, '-') << '\n';
  }
}

std::string median_and_spread(const Summary& summary, double unit) {
  const double figure = summary.median / unit;
  const int digits = figure < 10 ? 2 : figure < 1000 ? 1 : 0;
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << figure << " (" << std::setprecision(0)
       << 100 * summary.spread() << "%)";
  return text.str();
}

void print_group(std::ostream& out, std::span<const CellResult> results, const GroupTable& table) {
  const std::vector<const CellResult*> cells = cells_of(results, table.group);
  if (cells.empty()) return;

  Table text(header_of(table, cells));
  text.add_rule();
  for (const std::string& contender : contenders_of(cells)) {
    std::vector<std::string> row{contender};
    for (const CellResult* cell : cells) {
      const Series* series = cell->find(contender);
      row.push_back(series == nullptr ? kNotMeasured
                                      : median_and_spread(summarize(series->values), table.unit));
    }
    text.add_row(std::move(row));
  }
  if (!table.ratios.empty()) text.add_rule();
  for (const Pair& pair : table.ratios) {
    std::vector<std::string> row{pair.numerator + " / " + pair.denominator};
    for (const CellResult* cell : cells) {
      const std::optional<Summary> found = ratio(*cell, pair);
      row.push_back(found ? median_and_spread(*found, 1) : kNotMeasured);
    }
    text.add_row(std::move(row));
  }
  text.print(out);
  out << '\n';
}

}  // namespace muster::bench
