// process_figures.cpp: reads /proc/PID/status and /proc/PID/stat, in the formats of proc(5).
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <unistd.h>

#include <muster/processes/process_figures.hpp>

#include "base/text_scan.hpp"

namespace muster {
namespace {

// The value of a line "Name:\tvalue" of status.
std::optional<std::string_view> status_field(std::string_view status, std::string_view name) {
  for (const std::string_view line : split(status, '\n')) {
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) {
      return trim(line.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

// "1234 kB". A kernel without the line says nothing about the memory of a dead process.
std::optional<std::uint64_t> anonymous_bytes(std::string_view status) {
  const auto field = status_field(status, "RssAnon");
  if (!field) return 0;
  const auto words = split(*field, ' ');
  if (words.size() != 2 || words[1] != "kB") return std::nullopt;
  const auto kib = parse_number<std::uint64_t>(words[0]);
  if (!kib) return std::nullopt;
  return *kib * 1024;
}

// utime and stime are the 14th and 15th word of stat. The second is the program's name in
// parentheses, which may itself hold blanks and parentheses: count from the last one.
std::optional<Duration> cpu_time(std::string_view stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  const auto words = split(trim(stat.substr(name_end + 1)), ' ');
  if (words.size() < 13) return std::nullopt;
  const auto user = parse_number<std::uint64_t>(words[11]);
  const auto system = parse_number<std::uint64_t>(words[12]);
  if (!user || !system) return std::nullopt;
  const auto ticks_per_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  const std::uint64_t tick_ns = 1'000'000'000 / ticks_per_second;
  return Duration(static_cast<Duration::rep>((*user + *system) * tick_ns));
}

}  // namespace

std::optional<ProcessFigures> read_process_figures(const SystemFiles& files, pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const auto status = files.read(folder + "/status");
  const auto stat = files.read(folder + "/stat");
  if (!status || !stat) return std::nullopt;
  const auto bytes = anonymous_bytes(*status);
  const auto time = cpu_time(*stat);
  if (!bytes || !time) return std::nullopt;
  return ProcessFigures{.anonymous_bytes = *bytes,
                        .cpu_time = *time,
                        .dumps_core = status_field(*status, "CoreDumping") == "1"};
}

}  // namespace muster
