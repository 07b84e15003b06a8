// utf8.hpp: whether bytes are text, and text out of any bytes.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include <muster/base/api.hpp>

namespace muster {

// Well-formed by table 3-7 of the Unicode standard: no surrogates, nothing longer than needed.
[[nodiscard]] MUSTER_API bool is_utf8(std::string_view bytes);

// The text, with each byte that is not part of well-formed UTF-8 replaced by U+FFFD.
[[nodiscard]] MUSTER_API std::string to_utf8(std::string_view bytes);

}  // namespace muster
