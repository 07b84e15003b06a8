// options.hpp: what one can ask of the crew on the command line.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include <muster/base/cpu_topology.hpp>
#include <muster/error.hpp>

#include "picture.hpp"

constexpr std::string_view kUsage = R"(usage: crew [--workers N] [--size N] [--quick]

  --workers N   threads that paint (as many as there are CPUs to use)
  --size N      each character is the mean of N x N points (32)
  --quick       the same as --size 8
  --help        this text
)";

struct Options {
  // 1 to kMaxWorkers.
  unsigned workers = 1;

  // 1 to kMaxSize; the work grows with its square.
  unsigned size = 32;

  bool help = false;

  static constexpr unsigned kMaxWorkers = Picture::kColumns;  // each begins with a band of its own
  static constexpr unsigned kMaxSize = 500;
};

// The number behind an option; `text` is null if the command line ends there.
inline unsigned parse_number(const std::string& option, const char* text, unsigned max) {
  const std::string value = text == nullptr ? "missing" : text;
  unsigned number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error == std::errc{} && stop == end && number >= 1 && number <= max) return number;
  throw muster::InvalidArgument(
      {.field = option,
       .value = value,
       .rule = "must be a whole number from 1 to " + std::to_string(max)});
}

// `arguments` ends with a null pointer, as that of main() does. Throws InvalidArgument.
inline Options parse_options(const char* const* arguments, const muster::CpuTopology& cpus) {
  Options options{.workers = std::min(cpus.worker_count(), Options::kMaxWorkers)};
  while (*arguments != nullptr) {
    const std::string option = *arguments++;
    if (option == "--help") {
      options.help = true;
    } else if (option == "--quick") {
      options.size = 8;
    } else if (option == "--workers") {
      options.workers = parse_number(option, *arguments++, Options::kMaxWorkers);
    } else if (option == "--size") {
      options.size = parse_number(option, *arguments++, Options::kMaxSize);
    } else {
      throw muster::InvalidArgument({.field = "option",
                                     .value = '"' + option + '"',
                                     .rule = "must be --workers, --size, --quick or --help"});
    }
  }
  return options;
}
