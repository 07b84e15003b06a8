// rounds.hpp: measures contenders side by side, in interleaved rounds.
//
// A cell is one question ("8 B 2P2C"); its contenders answer it in turn. Every round visits every
// cell, in a shuffled order, and inside a cell every contender, in a shuffled order. So a noisy
// second hurts all contenders of one cell alike, and no cell has all its samples in that second.
//
// A warm-up round comes first and is thrown away. It also finds out how many items each contender
// moves in the time of one sample, so that fast ones are not measured for a blink and slow ones for
// minutes.
//
// A cell asks for speed, unless it names columns: then its samples bring a figure for each of them,
// and each becomes a result of its own.
//
// Thread safety: one thread runs the rounds; contenders start their own threads and join them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "summary.hpp"

namespace muster::bench {

struct Sample {
  std::uint64_t items = 0;
  double seconds = 0;

  // One for each column of the cell.
  std::vector<double> figures = {};
};

struct Contender {
  std::string name;

  // Moves about this many items and says how many it moved in which time. Throws if the items that
  // came out are not those that went in.
  std::function<Sample(std::uint64_t items)> run;
};

enum class Better { higher, lower };

// Where a figure other than speed is shown.
struct Column {
  std::string group;
  std::string name;  // ends with the unit, unless the table's title does
  Better better = Better::lower;
};

struct Cell {
  std::string group;  // cells of one group share a table
  std::string name;
  std::vector<Contender> contenders;

  // What a sample tells. Empty: items per second, in a column named like the cell.
  std::vector<Column> columns = {};

  // Of every sample. 0: as many as fill the time of one.
  std::uint64_t items = 0;

  // At most so many rounds are measured, for what is slow and hardly varies.
  unsigned most_rounds = std::numeric_limits<unsigned>::max();

  // None: for samples of known length that begin anew each time and last long.
  enum class WarmUp { once, none } warm_up = WarmUp::once;
};

struct RoundsOptions {
  // Measured rounds, after the warm-up.
  unsigned rounds = 15;

  // Time one sample should take. Long enough to hold many turns of the scheduler.
  std::chrono::milliseconds sample_time{60};

  // Orders the cells and contenders of each round.
  std::uint64_t seed = 1;
};

struct Series {
  std::string contender;
  std::uint64_t items_per_sample = 0;
  std::vector<double> values;  // one per round: items per second, or the column's figure
};

// One for each column of a cell.
struct CellResult {
  std::string group;
  std::string name;
  Better better = Better::higher;
  std::vector<Series> series;

  [[nodiscard]] const Series* find(std::string_view contender) const;
};

// Keeps the contenders whose "group cell/contender" matches the regular expression.
// Throws std::regex_error if it is none.
std::vector<Cell> filter_cells(const std::vector<Cell>& cells, const std::string& pattern);

// Shows its progress on stderr if that is a terminal.
std::vector<CellResult> run_rounds(const std::vector<Cell>& cells, const RoundsOptions& options);

struct Pair {
  std::string numerator;
  std::string denominator;
};

// How many times better the numerator was, round by round: above 1 it was faster, or smaller where
// lower is better. None unless both were measured.
std::optional<Summary> ratio(const CellResult& result, const Pair& pair);

}  // namespace muster::bench
