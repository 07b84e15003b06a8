// tree.hpp: loads a recorded machine from tests/unit/base/trees/<name>.tree.
//
// A line is `path: content`; a path that occurs again gets another line of content. Two shorthands
// keep the files small: `{0-3}` in a path stands for one path per number, and `{}` as its content
// for that number. `affinity: 0-3` is not a file but the affinity mask. `#` starts a comment.
#pragma once

#include <fstream>
#include <map>
#include <stdexcept>
#include <string>

#include <muster/base/cpu_list.hpp>

namespace muster {

struct Tree {
  CpuList affinity = {};
  std::map<std::string, std::string> files = {};
};

inline void add_line(Tree& tree, const std::string& line) {
  const auto colon = line.find(": ");
  const bool blank_content = colon == std::string::npos;
  const std::string path = line.substr(0, blank_content ? line.size() - 1 : colon);
  const std::string content = blank_content ? "" : line.substr(colon + 2);
  if (path == "affinity") {
    tree.affinity = parse_cpu_list(content).value();
    return;
  }
  const auto open = path.find('{');
  if (open == std::string::npos) {
    tree.files[path] += content + '\n';
    return;
  }
  const auto close = path.find('}');
  const CpuList numbers = parse_cpu_list(path.substr(open + 1, close - open - 1)).value();
  for (const unsigned number : numbers) {
    const std::string digits = std::to_string(number);
    const std::string filled = content == "{}" ? digits : content;
    tree.files[path.substr(0, open) + digits + path.substr(close + 1)] += filled + '\n';
  }
}

inline Tree load_tree(const std::string& name) {
  std::ifstream file(MUSTER_BASE_TREES "/" + name + ".tree");
  if (!file) throw std::runtime_error("no such tree: " + name);
  Tree tree;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.front() != '#') add_line(tree, line);
  }
  return tree;
}

}  // namespace muster
