// options.hpp: the command line every suite understands.
#pragma once

#include <filesystem>
#include <string>

#include "rounds.hpp"

namespace muster::bench {

struct SuiteOptions {
  RoundsOptions rounds;

  // Which contenders run: a regular expression searched in "group cell/contender".
  std::string filter = ".*";

  // Where the report goes; empty means bench/results/local/<suite>/<commit>.<cpu>.<date>.json.
  std::filesystem::path json;

  // Whether a goal that does not hold makes the program fail.
  enum class Goals { shown, required } goals = Goals::shown;

  enum class Action { measure, list, help } action = Action::measure;
};

// Throws std::invalid_argument, naming the option, for what it does not understand.
SuiteOptions parse_options(int argc, char** argv);

std::string help_text(const std::string& suite);

}  // namespace muster::bench
