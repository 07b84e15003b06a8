// base64.cpp: three bytes are four characters.
#include "processes/base64.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace muster {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 0xff;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<std::uint8_t>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(3, bytes.size()))) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < bytes.size() ? static_cast<std::uint8_t>(bytes[i]) : 0U);
    }
    const std::size_t characters = std::min<std::size_t>(3, bytes.size()) + 1;
    for (std::size_t i = 0; i < 4; ++i) {
      text += i < characters ? kAlphabet[bits >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (; !text.empty(); text.remove_prefix(4)) {
    const std::size_t padding = text.size() > 4 ? 0 : text[3] != '=' ? 0 : text[2] != '=' ? 1 : 2;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const bool is_padding = i >= 4 - padding;
      const std::uint8_t value = is_padding ? 0 : kValues[static_cast<std::uint8_t>(text[i])];
      if (value == kNone) return std::nullopt;
      bits = bits << 6 | value;
    }
    const std::uint32_t unused = padding == 0 ? 0 : padding == 1 ? 0xff : 0xffff;
    if ((bits & unused) != 0) return std::nullopt;
    for (std::size_t i = 0; i < 3 - padding; ++i) {
      bytes += static_cast<char>(bits >> (16 - 8 * i) & 0xff);
    }
  }
  return bytes;
}

}  // namespace muster
