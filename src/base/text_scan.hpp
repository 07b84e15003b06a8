// text_scan.hpp: the three string operations that parsing /proc and /sys needs. Not installed.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace muster {

inline std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// The pieces between separators, empty ones left out.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, text.find(separator));
    if (!piece.empty()) pieces.push_back(piece);
    text.remove_prefix(piece.size() < text.size() ? piece.size() + 1 : text.size());
  }
  return pieces;
}

// Only digits, all of the text, and it fits; else nothing.
template <class Unsigned>
std::optional<Unsigned> parse_number(std::string_view text) {
  Unsigned number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

}  // namespace muster
