// rounds.cpp: the warm-up, the shuffled rounds, and the progress line.
#include "rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <numeric>
#include <random>
#include <regex>
#include <stdexcept>
#include <unistd.h>
#include <utility>

namespace muster::bench {
namespace {

// Where the run is, on one line that overwrites itself. Silent when nobody watches.
class Progress {
 public:
  explicit Progress(unsigned rounds) : rounds_(rounds), watched_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (watched_) std::cerr << "\r\033[K" << std::flush;
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(unsigned round, const Cell& cell, const Contender& contender) const {
    if (!watched_) return;
    std::cerr << "\r\033[K";
    if (round == 0) {
      std::cerr << "warm-up";
    } else {
      std::cerr << "round " << round << '/' << rounds_;
    }
    std::cerr << "  " << cell.group << ' ' << cell.name << "  " << contender.name << std::flush;
  }

 private:
  // Fixed at construction.
  const unsigned rounds_;
  const bool watched_;
};

// Runs ever larger samples until one is long enough to foretell the length of the next.
std::uint64_t fitting_items(const Contender& contender, double sample_seconds) {
  constexpr std::uint64_t kFirstItems = 4096;
  constexpr double kLongEnough = 0.25;
  constexpr double kLargestStep = 16;
  std::uint64_t items = kFirstItems;
  for (;;) {
    const Sample sample = contender.run(items);
    const double step = std::clamp(sample_seconds / sample.seconds, 1 / kLargestStep, kLargestStep);
    items = std::max(kFirstItems, static_cast<std::uint64_t>(static_cast<double>(items) * step));
    if (sample.seconds >= kLongEnough * sample_seconds) return items;
  }
}

std::vector<std::size_t> shuffled(std::size_t count, std::mt19937_64& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

// The results of one cell: one, or as many as it has columns.
using Answers = std::vector<CellResult>;

Answers empty_answers(const Cell& cell) {
  Answers answers;
  for (const Column& column : cell.columns) {
    answers.push_back({column.group, column.name, column.better, {}});
  }
  if (answers.empty()) answers.push_back({cell.group, cell.name, Better::higher, {}});
  return answers;
}

std::vector<Answers> warm_up(const std::vector<Cell>& cells, const RoundsOptions& options,
                             const Progress& progress) {
  const double sample_seconds = std::chrono::duration<double>(options.sample_time).count();
  std::vector<Answers> all;
  for (const Cell& cell : cells) {
    Answers& answers = all.emplace_back(empty_answers(cell));
    for (const Contender& contender : cell.contenders) {
      progress.show(0, cell, contender);
      std::uint64_t items = cell.items;
      if (items == 0) {
        items = fitting_items(contender, sample_seconds);
      } else if (cell.warm_up == Cell::WarmUp::once) {
        contender.run(items);
      }
      for (CellResult& answer : answers) answer.series.push_back({contender.name, items, {}});
    }
  }
  return all;
}

// Runs one sample of the contender whose turn it is.
void measure(const Cell& cell, std::size_t turn, Answers& answers) {
  const Sample sample = cell.contenders[turn].run(answers.front().series[turn].items_per_sample);
  if (sample.figures.size() != cell.columns.size()) {
    throw std::logic_error(cell.group + ' ' + cell.name + '/' + cell.contenders[turn].name +
                           " brings " + std::to_string(sample.figures.size()) + " figures for " +
                           std::to_string(cell.columns.size()) + " columns");
  }
  if (cell.columns.empty()) {
    answers.front().series[turn].values.push_back(static_cast<double>(sample.items) /
                                                  sample.seconds);
  }
  for (std::size_t column = 0; column < sample.figures.size(); ++column) {
    answers[column].series[turn].values.push_back(sample.figures[column]);
  }
}

}  // namespace

const Series* CellResult::find(std::string_view contender) const {
  const auto found = std::find_if(series.begin(), series.end(), [contender](const Series& one) {
    return one.contender == contender;
  });
  return found == series.end() ? nullptr : &*found;
}

std::vector<Cell> filter_cells(const std::vector<Cell>& cells, const std::string& pattern) {
  const std::regex wanted(pattern);
  std::vector<Cell> kept;
  for (const Cell& cell : cells) {
    Cell part = cell;
    part.contenders.clear();
    for (const Contender& contender : cell.contenders) {
      const std::string path = cell.group + ' ' + cell.name + '/' + contender.name;
      if (std::regex_search(path, wanted)) part.contenders.push_back(contender);
    }
    if (!part.contenders.empty()) kept.push_back(std::move(part));
  }
  return kept;
}

std::vector<CellResult> run_rounds(const std::vector<Cell>& cells, const RoundsOptions& options) {
  const Progress progress(options.rounds);
  std::mt19937_64 random(options.seed);
  std::vector<Answers> answers = warm_up(cells, options, progress);
  for (unsigned round = 1; round <= options.rounds; ++round) {
    for (const std::size_t cell : shuffled(cells.size(), random)) {
      if (round > cells[cell].most_rounds) continue;
      const std::vector<Contender>& contenders = cells[cell].contenders;
      for (const std::size_t turn : shuffled(contenders.size(), random)) {
        progress.show(round, cells[cell], contenders[turn]);
        measure(cells[cell], turn, answers[cell]);
      }
    }
  }
  std::vector<CellResult> results;
  for (const Answers& some : answers) results.insert(results.end(), some.begin(), some.end());
  return results;
}

std::optional<Summary> ratio(const CellResult& result, const Pair& pair) {
  const Series* numerator = result.find(pair.numerator);
  const Series* denominator = result.find(pair.denominator);
  if (numerator == nullptr || denominator == nullptr) return std::nullopt;
  if (result.better == Better::lower) std::swap(numerator, denominator);
  return summarize_ratios(numerator->values, denominator->values);
}

}  // namespace muster::bench
