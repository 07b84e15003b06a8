// base64.hpp: bytes as text, by RFC 4648.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

// With the usual alphabet, padded, in one piece.
[[nodiscard]] std::string to_base64(std::string_view bytes);

// How long that is for so many bytes.
[[nodiscard]] constexpr std::size_t base64_bytes(std::size_t bytes) {
  return (bytes + 2) / 3 * 4;
}

// Nothing if no bytes are written like that: each text stands for one sequence of bytes and each
// sequence has one text.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace muster
