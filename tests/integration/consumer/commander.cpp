// commander.cpp: the smallest program that speaks to a command worker; it must build with public
// headers alone.
#include <cstdio>
#include <string>
#include <variant>

#include <muster/processes/command_lines.hpp>
#include <muster/version.hpp>

int main() {
  if (muster::write_request({.id = 7, .task = "t", .payload = "p"}).empty()) return 1;
  const auto line = muster::read_command_line({.text = R"({"id":7,"ok":"\u0061"})"});
  if (!std::holds_alternative<muster::AnswerLine>(line)) return 1;
  std::printf("consumer of muster %s works\n", MUSTER_VERSION);
  return 0;
}
