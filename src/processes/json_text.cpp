// json_text.cpp: Boost's parser checks, and nothing is made of what it finds.
#include "processes/json_text.hpp"

#include <algorithm>
#include <cstdint>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace muster {
namespace {

namespace json = boost::json;

constexpr std::string_view kSpace = " \t\r\n";

// What the parser calls; nothing is of interest but that it goes on.
struct Unheeding {
  using Code = json::error_code;
  using Text = json::string_view;
  static constexpr std::size_t max_array_size = SIZE_MAX;
  static constexpr std::size_t max_object_size = SIZE_MAX;
  static constexpr std::size_t max_string_size = SIZE_MAX;
  static constexpr std::size_t max_key_size = SIZE_MAX;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return true; }
  bool on_object_end(std::size_t, Code&) { return true; }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(std::size_t, Code&) { return true; }
  bool on_key_part(Text, std::size_t, Code&) { return true; }
  bool on_key(Text, std::size_t, Code&) { return true; }
  bool on_string_part(Text, std::size_t, Code&) { return true; }
  bool on_string(Text, std::size_t, Code&) { return true; }
  bool on_number_part(Text, Code&) { return true; }
  bool on_int64(std::int64_t, Text, Code&) { return true; }
  bool on_uint64(std::uint64_t, Text, Code&) { return true; }
  bool on_double(double, Text, Code&) { return true; }
  bool on_bool(bool, Code&) { return true; }
  bool on_null(Code&) { return true; }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }
};

}  // namespace

std::string json_problem(std::string_view text, std::size_t max_depth) {
  json::parse_options options;
  options.max_depth = max_depth;
  json::basic_parser<Unheeding> parser(options);
  json::error_code error;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), error);
  if (!error && read < text.size()) error = json::error::extra_data;
  if (!error) return "";
  if (error == json::error::incomplete) return "it ends too early";
  const std::string where = " at byte " + std::to_string(read);
  if (error == json::error::too_deep) {
    return "nested deeper than " + std::to_string(max_depth) + where;
  }
  return error.message() + where;
}

JsonMembers::JsonMembers(std::string_view object) : text_(object) {
  skip_space();
  if (!skip('{')) at_ = text_.size();
}

std::optional<JsonMember> JsonMembers::next() {
  skip_space();
  const std::size_t key = at_;
  if (!skip_string()) return std::nullopt;
  const std::size_t key_end = at_;
  skip_space();
  if (!skip(':')) return std::nullopt;
  skip_space();
  const std::size_t value = at_;
  if (!skip_value()) return std::nullopt;
  std::string_view written = text_.substr(value, at_ - value);
  written = written.substr(0, written.find_last_not_of(kSpace) + 1);
  (void)skip(',');
  return JsonMember{.key = text_.substr(key, key_end - key), .value = written};
}

void JsonMembers::skip_space() {
  at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size());
}

bool JsonMembers::skip(char expected) {
  if (at_ == text_.size() || text_[at_] != expected) return false;
  ++at_;
  return true;
}

bool JsonMembers::skip_string() {
  if (!skip('"')) return false;
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '"') {
      ++at_;
      return true;
    }
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
  }
  return false;
}

// Up to the comma or bracket behind it; there is one, unless the text was cut off.
bool JsonMembers::skip_value() {
  std::size_t depth = 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      if (!skip_string()) return false;
      continue;
    }
    const bool closes = c == '}' || c == ']';
    if (depth == 0 && (closes || c == ',')) return true;
    if (closes) --depth;
    if (c == '{' || c == '[') ++depth;
    ++at_;
  }
  return false;
}

std::string json_string(std::string_view written) {
  const std::string_view inside = written.substr(1, written.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return std::string(inside);
  const json::value value = json::parse(json::string_view(written.data(), written.size()));
  return {value.get_string().data(), value.get_string().size()};
}

std::string to_json_string(std::string_view text) {
  return json::serialize(json::string_view(text.data(), text.size()));
}

std::size_t json_string_bytes(std::string_view text) {
  std::size_t bytes = text.size() + 2;
  for (const char c : text) {
    if (c == '"' || c == '\\' || (c >= '\b' && c <= '\r' && c != '\v')) {
      bytes += 1;  // such as \n
    } else if (static_cast<unsigned char>(c) < 0x20) {
      bytes += 5;  // such as \u0001
    }
  }
  return bytes;
}

}  // namespace muster
