// options.cpp: the command line, by getopt_long.
#include "options.hpp"

#include <charconv>
#include <cstdint>
#include <cstring>
#include <getopt.h>
#include <random>
#include <stdexcept>

namespace muster::bench {
namespace {

constexpr unsigned kQuickRounds = 3;
constexpr std::chrono::milliseconds kQuickSampleTime{10};

constexpr option kOptions[] = {
    {"rounds", required_argument, nullptr, 'r'}, {"sample-ms", required_argument, nullptr, 'm'},
    {"seed", required_argument, nullptr, 's'},   {"filter", required_argument, nullptr, 'f'},
    {"json", required_argument, nullptr, 'j'},   {"quick", no_argument, nullptr, 'q'},
    {"require", no_argument, nullptr, 'R'},      {"list", no_argument, nullptr, 'l'},
    {"help", no_argument, nullptr, 'h'},         {nullptr, 0, nullptr, 0},
};

template <class Number>
Number positive(const char* name, const char* text) {
  Number number = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  if (error != std::errc{} || stop != end || number == 0) {
    throw std::invalid_argument(std::string(name) + " is \"" + text +
                                "\"; it takes a whole number from 1");
  }
  return number;
}

void apply(int letter, const char* text, SuiteOptions& options) {
  switch (letter) {
    case 'r':
      options.rounds.rounds = positive<unsigned>("--rounds", text);
      break;
    case 'm':
      options.rounds.sample_time =
          std::chrono::milliseconds(positive<unsigned>("--sample-ms", text));
      break;
    case 's':
      options.rounds.seed = positive<std::uint64_t>("--seed", text);
      break;
    case 'f':
      options.filter = text;
      break;
    case 'j':
      options.json = text;
      break;
    case 'q':
      options.rounds.rounds = kQuickRounds;
      options.rounds.sample_time = kQuickSampleTime;
      break;
    case 'R':
      options.goals = SuiteOptions::Goals::required;
      break;
    case 'l':
      options.action = SuiteOptions::Action::list;
      break;
    case 'h':
      options.action = SuiteOptions::Action::help;
      break;
    default:
      throw std::invalid_argument("unknown option, or one without its value; see --help");
  }
}

}  // namespace

SuiteOptions parse_options(int argc, char** argv) {
  SuiteOptions options;
  options.rounds.seed = std::random_device{}();
  opterr = 0;
  for (;;) {
    const int letter = getopt_long(argc, argv, "", kOptions, nullptr);
    if (letter == -1) break;
    apply(letter, optarg, options);
  }
  if (optind < argc) {
    throw std::invalid_argument(std::string("unexpected \"") + argv[optind] + "\"; see --help");
  }
  return options;
}

std::string help_text(const std::string& suite) {
  return "Usage: bench_" + suite +
         " [options]\n"
         "  --rounds N      measured rounds, after a warm-up (15)\n"
         "  --sample-ms N   time of one sample (60)\n"
         "  --quick         3 rounds of 10 ms: does it run at all? Figures mean nothing\n"
         "  --filter REGEX  only what matches in \"group cell/contender\"; see --list\n"
         "  --seed N        the order of cells and contenders; random unless given, always "
         "printed\n"
         "  --json PATH     the report (bench/results/local/" +
         suite +
         "/<commit>.<cpu>.<date>.json)\n"
         "  --require       exit with 1 if a measured goal does not hold\n"
         "  --list          print every \"group cell/contender\"\n"
         "  --help          print this\n";
}

}  // namespace muster::bench
