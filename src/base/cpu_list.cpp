// cpu_list.cpp: reads and writes "0-3,8,10-11".
#include <cstddef>

#include <muster/base/cpu_list.hpp>

#include "text_scan.hpp"

namespace muster {

std::optional<CpuList> parse_cpu_list(std::string_view text) {
  CpuList cpus;
  text = trim(text);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view range = text.substr(0, comma);
    const std::size_t dash = range.find('-');
    const auto first = parse_number<unsigned>(range.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : parse_number<unsigned>(range.substr(dash + 1));
    if (!first || !last || *first > *last || *last >= kMaxCpus) return std::nullopt;
    if (!cpus.empty() && *first <= cpus.back()) return std::nullopt;
    for (unsigned cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);

    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return std::nullopt;
  }
  return cpus;
}

std::string format_cpu_list(const CpuList& cpus) {
  std::string text;
  for (std::size_t first = 0; first < cpus.size();) {
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[first]);
    if (last > first) text += '-' + std::to_string(cpus[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace muster
