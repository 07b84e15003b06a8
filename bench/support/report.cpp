// report.cpp: asks the machine what it is, and writes the JSON.
#include "report.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string_view>
#include <sys/utsname.h>
#include <thread>

#include <boost/json/src.hpp>

namespace muster::bench {
namespace {

namespace json = boost::json;

// What a shell command prints, without the last line break. None if it fails.
std::optional<std::string> output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string text;
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), static_cast<int>(part.size()), pipe) != nullptr) {
    text += part.data();
  }
  if (pclose(pipe) != 0) return std::nullopt;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string current_commit() {
  const std::string git = "git --no-optional-locks -C '" MUSTER_BENCH_SOURCE_DIR "' ";
  const auto commit = output_of(git + "rev-parse --short=12 HEAD 2>/dev/null");
  if (!commit) return "unknown";
  const auto changes = output_of(git + "status --porcelain 2>/dev/null");
  return changes && changes->empty() ? *commit : *commit + "-dirty";
}

std::string cpu_model(const utsname& machine) {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return machine.machine;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return text.data();
}

// "Intel(R) Xeon(R) Processor @ 2.80GHz" becomes "intel-r-xeon-r-processor-2-80ghz".
std::string file_name_part(const std::string& text) {
  std::string name;
  for (const char letter : text) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

// So that the printed command can be pasted.
std::string quoted_for_shell(const std::string& word) {
  const auto is_plain = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("_-./=:,+").find(letter) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? "'\\''" : std::string(1, letter);
  return text + "'";
}

std::filesystem::path default_path(const Setting& setting) {
  const std::string name =
      setting.commit + '.' + file_name_part(setting.cpu) + '.' + setting.date + ".json";
  return std::filesystem::path(MUSTER_BENCH_SOURCE_DIR) / "bench/results/local" / setting.suite /
         name;
}

json::object setting_to_json(const Report& report) {
  const Setting& setting = report.setting;
  return {{"format", kReportFormat},
          {"suite", setting.suite},
          {"command", json::value_from(setting.command)},
          {"commit", setting.commit},
          {"compiler", setting.compiler},
          {"flags", setting.flags},
          {"kernel", setting.kernel},
          {"cpu", setting.cpu},
          {"cpus", setting.cpus},
          {"date", setting.date},
          {"rounds", report.options.rounds},
          {"sample_ms", report.options.sample_time.count()},
          {"seed", report.options.seed}};
}

json::object cell_to_json(const CellResult& result) {
  json::array series;
  for (const Series& one : result.series) {
    series.push_back({{"contender", one.contender},
                      {"items_per_sample", one.items_per_sample},
                      {"values", json::value_from(one.values)}});
  }
  return {{"group", result.group},
          {"cell", result.name},
          {"better", result.better == Better::higher ? "higher" : "lower"},
          {"series", std::move(series)}};
}

json::object goal_to_json(const Goal& goal) {
  return {{"claim", goal.claim}, {"figure", goal.figure}, {"verdict", to_text(goal.verdict)}};
}

// One element per line, so that two reports can be compared line by line.
template <class Elements, class ToJson>
void write_array(std::ostream& out, const Elements& elements, ToJson to_json) {
  out << "[\n";
  for (std::size_t i = 0; i < elements.size(); ++i) {
    out << json::serialize(to_json(elements[i])) << (i + 1 < elements.size() ? ",\n" : "\n");
  }
  out << ']';
}

}  // namespace

Setting describe_setting(const std::string& suite, int argc, char** argv) {
  utsname machine{};
  uname(&machine);
  return {.suite = suite,
          .command = std::vector<std::string>(argv, argv + argc),
          .commit = current_commit(),
          .compiler = MUSTER_BENCH_COMPILER,
          .flags = MUSTER_BENCH_FLAGS,
          .kernel = std::string(machine.sysname) + ' ' + machine.release + ' ' + machine.machine,
          .cpu = cpu_model(machine),
          .cpus = std::thread::hardware_concurrency(),
          .date = utc_now()};
}

void print_setting(std::ostream& out, const Setting& setting, const RoundsOptions& options) {
  out << "command ";
  for (const std::string& word : setting.command) out << ' ' << quoted_for_shell(word);
  out << "\ncommit   " << setting.commit << "\nbuild    " << setting.compiler << ' '
      << setting.flags << "\nmachine  " << setting.cpus << " x " << setting.cpu << ", "
      << setting.kernel << "\nrounds   " << options.rounds << " of " << options.sample_time.count()
      << " ms a sample, seed " << options.seed << "\n\n";
}

std::filesystem::path write_report(const Report& report, const std::filesystem::path& path) {
  const std::filesystem::path target = path.empty() ? default_path(report.setting) : path;
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path());
  std::ofstream out(target);
  out << "{\"setting\":" << json::serialize(setting_to_json(report)) << ",\n\"cells\":";
  write_array(out, report.results, cell_to_json);
  out << ",\n\"goals\":";
  write_array(out, report.goals, goal_to_json);
  out << "}\n";
  out.close();
  if (!out) {
    throw std::runtime_error("cannot write report \"" + target.string() +
                             "\"; free space, or name another place with --json");
  }
  return target;
}

}  // namespace muster::bench
