// option_text.hpp: how the values of options read in a message.
#pragma once

#include <array>
#include <cstdio>
#include <string>

#include <muster/base/clock.hpp>

namespace muster {

// "0.8", not "0.800000".
inline std::string option_text(double value) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

inline std::string option_text(Duration value) {
  return std::to_string(value.count()) + " ns";
}

}  // namespace muster
