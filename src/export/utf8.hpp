// utf8.hpp: text that both formats accept.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// The text, with each byte that is not part of well-formed UTF-8 replaced by U+FFFD.
std::string to_utf8(std::string_view text);

}  // namespace muster
