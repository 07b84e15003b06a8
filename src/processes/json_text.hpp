// json_text.hpp: checks JSON and takes it apart without making values of it, so that what a worker
// wrote is handed on as it was written, and costs no memory however it is nested.
//
// Thread safety: pure functions; the scanner belongs to one thread.
// Lifetime: what is taken out of a text is a view of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

// What is wrong with it, reading on from "it is not JSON: "; empty: it is one JSON value, with
// nothing but white space around it, and objects and arrays at most `max_depth` deep.
[[nodiscard]] std::string json_problem(std::string_view text, std::size_t max_depth);

// As it is written: a key has its quotes, a value no white space around it.
struct JsonMember {
  std::string_view key;
  std::string_view value;
};

// The members of an object, one by one. Of an object that was cut off those are given that are
// whole; of what is no object something or nothing, but always part of the text.
class JsonMembers {
 public:
  explicit JsonMembers(std::string_view object);

  [[nodiscard]] std::optional<JsonMember> next();

 private:
  void skip_space();
  [[nodiscard]] bool skip(char expected);
  [[nodiscard]] bool skip_string();
  [[nodiscard]] bool skip_value();

  std::string_view text_;
  std::size_t at_ = 0;
};

// The text of a string that is written like this. Requires: it is JSON, and a string.
[[nodiscard]] std::string json_string(std::string_view written);

// Well-formed text as a string, with its quotes. Requires: is_utf8(text).
[[nodiscard]] std::string to_json_string(std::string_view text);

// How long that is.
[[nodiscard]] std::size_t json_string_bytes(std::string_view text);

}  // namespace muster
