// event_parser.cpp: the text of an event, parsed by Boost.JSON.
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/basic_parser_impl.hpp>

#include <muster/jobs/event_parts.hpp>

namespace muster {
namespace {

// As Boost's own parser, but with the nearest double: that of Boost 1.81 takes a neighbour for one
// number in ten.
class TreeBuilder {
 public:
  // Boost's names.
  static constexpr std::size_t max_object_size = boost::json::object::max_size();
  static constexpr std::size_t max_array_size = boost::json::array::max_size();
  static constexpr std::size_t max_key_size = boost::json::string::max_size();
  static constexpr std::size_t max_string_size = boost::json::string::max_size();

  using Code = boost::json::error_code;
  using View = boost::json::string_view;

  explicit TreeBuilder(const boost::json::storage_ptr& memory)
      : stack_({}, buffer_.data(), buffer_.size()) {
    stack_.reset(memory);
  }
  boost::json::value release() { return stack_.release(); }

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return true; }
  bool on_object_end(std::size_t count, Code&) { return stack_.push_object(count), true; }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(std::size_t count, Code&) { return stack_.push_array(count), true; }
  bool on_key_part(View part, std::size_t, Code&) { return stack_.push_chars(part), true; }
  bool on_key(View part, std::size_t, Code&) { return stack_.push_key(part), true; }
  bool on_string_part(View part, std::size_t, Code&) { return stack_.push_chars(part), true; }
  bool on_string(View part, std::size_t, Code&) { return stack_.push_string(part), true; }
  bool on_number_part(View, Code&) { return true; }
  bool on_int64(std::int64_t number, View, Code&) { return stack_.push_int64(number), true; }
  bool on_uint64(std::uint64_t number, View, Code&) { return stack_.push_uint64(number), true; }
  bool on_double(double about, View text, Code&) {
    // All of the number, since the parser is given all of the event at once. Out of range is
    // infinity or nearly 0, and that `about` is already.
    double number = about;
    std::from_chars(text.data(), text.data() + text.size(), number);
    stack_.push_double(number);
    return true;
  }
  bool on_bool(bool value, Code&) { return stack_.push_bool(value), true; }
  bool on_null(Code&) { return stack_.push_null(), true; }
  bool on_comment_part(View, Code&) { return true; }
  bool on_comment(View, Code&) { return true; }

 private:
  std::array<unsigned char, 2048> buffer_;
  boost::json::value_stack stack_;
};

boost::json::value parse(std::string_view text, const EventOptions& options,
                         const boost::json::storage_ptr& memory) {
  if (text.size() > options.max_bytes) {
    detail::fail_text({detail::size_limit(options), std::to_string(text.size())});
  }
  boost::json::parse_options rules;
  rules.max_depth = kMaxEventDepth;
  boost::json::basic_parser<TreeBuilder> parser(rules, memory);
  boost::json::error_code code;
  const std::size_t done = parser.write_some(false, text.data(), text.size(), code);
  if (!code && done == text.size()) return parser.handler().release();
  const std::string position = " at byte " + std::to_string(done);
  if (!code) detail::fail_text({"the end of the JSON", "more text" + position});
  if (code == boost::json::error::too_deep) {
    detail::fail_text({detail::depth_limit(), "more" + position});
  }
  if (code == boost::json::error::incomplete) {
    detail::fail_text({"JSON", "its end too early," + position});
  }
  detail::fail_text({"JSON in UTF-8", "something else" + position});
}

}  // namespace

detail::ParsedEvent::ParsedEvent(std::string_view text, const EventOptions& options)
    : memory_(buffer_.data(), buffer_.size()), root_(parse(text, options, &memory_)) {}

}  // namespace muster
