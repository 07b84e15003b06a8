// thrown.hpp: the words of what a user's function has thrown, fit to be kept.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <exception>
#include <string>
#include <string_view>

#include <muster/base/utf8.hpp>

namespace muster {

// As UTF-8 without zeros, which PostgreSQL has no place for.
[[nodiscard]] inline std::string storable(std::string_view words) {
  std::string text = to_utf8(words);
  std::ranges::replace(text, '\0', ' ');
  return text;
}

// Of the exception that is being handled.
[[nodiscard]] inline std::string thrown_words() {
  try {
    throw;
  } catch (const std::exception& error) {
    return storable(error.what());
  } catch (...) {
    return "something that is no std::exception";
  }
}

}  // namespace muster
