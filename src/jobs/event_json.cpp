// event_json.cpp: JSON of events: the reader, the writer, and the codecs that are no templates.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <muster/base/utf8.hpp>
#include <muster/jobs/event_json.hpp>

namespace muster {
namespace {

using boost::json::kind;

constexpr std::string_view kCannotDecode = "event does not match its type";
constexpr std::string_view kCannotEncode = "event cannot be encoded";

// From here on a double may stand for several whole numbers.
constexpr double kFirstInexact = 0x1.0p53;

// What is shown of a text or of a name within a message.
constexpr std::size_t kShownBytes = 64;

std::string_view to_std(boost::json::string_view text) {
  return {text.data(), text.size()};
}

// Whether eight characters stand in JSON as they are: none is a control character, a quotation mark
// or a backslash, and all are ASCII. Without bytes above 0x7f, a subtraction borrows into the
// highest bit of some byte exactly if some byte is too small.
bool are_plain(std::uint64_t bytes) {
  constexpr std::uint64_t ones = 0x0101'0101'0101'0101;
  const std::uint64_t controls = bytes - ones * 0x20;
  const std::uint64_t quotes = (bytes ^ (ones * '"')) - ones;
  const std::uint64_t backslashes = (bytes ^ (ones * '\\')) - ones;
  return ((bytes | controls | quotes | backslashes) & (ones * 0x80)) == 0;
}

bool is_plain(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte >= 0x20 && byte < 0x80 && character != '"' && character != '\\';
}

std::size_t plain_prefix(std::string_view text) {
  std::size_t length = 0;
  while (length + sizeof(std::uint64_t) <= text.size()) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + length, sizeof bytes);
    if (!are_plain(bytes)) break;
    length += sizeof bytes;
  }
  while (length < text.size() && is_plain(text[length])) ++length;
  return length;
}

void append_escaped(char character, std::string& out) {
  constexpr std::string_view short_ones = "\"\\\b\f\n\r\t";
  constexpr std::string_view letters = "\"\\bfnrt";
  constexpr std::string_view hex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(character);
  if (const std::size_t i = short_ones.find(character); i != std::string_view::npos) {
    out += '\\';
    out += letters[i];
  } else if (byte < 0x20) {
    out += "\\u00";
    out += hex[byte >> 4];
    out += hex[byte & 0xf];
  } else {
    out += character;
  }
}

enum class Text { is_utf8, is_not_utf8 };

Text append_quoted(std::string_view text, std::string& out) {
  out += '"';
  std::size_t done = plain_prefix(text);
  out += text.substr(0, done);
  // Nothing need be known of a text that is all ASCII, and that is most of them.
  const Text outcome =
      done == text.size() || is_utf8(text.substr(done)) ? Text::is_utf8 : Text::is_not_utf8;
  while (done < text.size()) {
    append_escaped(text[done], out);
    ++done;
    const std::size_t plain = plain_prefix(text.substr(done));
    out += text.substr(done, plain);
    done += plain;
  }
  out += '"';
  return outcome;
}

// For messages: always UTF-8, on one line, not long.
std::string quoted(std::string_view text) {
  const std::string_view shown = text.substr(0, kShownBytes);
  const bool is_cut = shown.size() < text.size();
  std::string valid = to_utf8(shown);
  if (is_cut && is_utf8(text)) {
    // The character that the cut went through is left out.
    std::size_t end = shown.size();
    while ((static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    valid = shown.substr(0, end);
  }
  std::string out;
  append_quoted(valid, out);
  return is_cut ? out + "..." : out;
}

bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && name.size() <= kShownBytes && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || is_digit(c); });
}

std::string path_of(const detail::EventPlace& place) {
  using Kind = detail::EventPlace::Kind;
  if (place.kind == Kind::event) return "$";
  std::string path = path_of(*place.parent);
  if (place.kind == Kind::item) return path + "[" + std::to_string(place.item) + "]";
  if (is_identifier(place.field)) return path.append(".").append(place.field);
  return path + "[" + quoted(place.field) + "]";
}

template <class Number>
void append_number(Number number, std::string& out) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

template <class Number>
std::string number_text(Number number) {
  std::string text;
  append_number(number, text);
  return text;
}

std::string floating_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-infinity" : "infinity";
  return number_text(number);
}

std::string items_text(std::size_t count) {
  return "an array of " + std::to_string(count) + (count == 1 ? " item" : " items");
}

std::string found_text(const boost::json::value* value) {
  if (value == nullptr) return "nothing";
  switch (value->kind()) {
    case kind::null:
      return "null";
    case kind::bool_:
      return value->get_bool() ? "true" : "false";
    case kind::int64:
      return number_text(value->get_int64());
    case kind::uint64:
      return number_text(value->get_uint64());
    case kind::double_:
      return floating_text(value->get_double());
    case kind::string:
      return quoted(to_std(value->get_string()));
    case kind::array:
      return items_text(value->get_array().size());
    case kind::object:
      return "an object";
  }
  return "something else";
}

std::string mismatch_text(const EventMismatch& mismatch) {
  return "expected " + mismatch.expected + ", found " + mismatch.found;
}

template <class Number>
std::string range_text(detail::EventRange<Number> range) {
  return "from " + number_text(range.min) + " to " + number_text(range.max);
}

template <class Number>
double read_floating(const EventReader& in) {
  constexpr double max = std::numeric_limits<Number>::max();
  double number = 0;
  const boost::json::value* value = in.value();
  if (value == nullptr || !value->is_number()) in.fail("a number");
  if (value->is_double()) {
    number = value->get_double();
  } else {
    number = value->is_int64() ? static_cast<double>(value->get_int64())
                               : static_cast<double>(value->get_uint64());
  }
  if (!(std::abs(number) <= max)) in.fail("a number " + range_text<double>({-max, max}));
  return number;
}

// What the parser let through although it cannot be written again.
void check_numbers(const EventReader& in) {
  const boost::json::value& value = *in.value();
  if (value.is_double()) {
    static_cast<void>(read_floating<double>(in));
  } else if (value.is_array()) {
    const boost::json::array& array = value.get_array();
    for (std::size_t i = 0; i < array.size(); ++i) check_numbers(in.item(i, array[i]));
  } else if (value.is_object()) {
    for (const auto& entry : value.get_object()) {
      check_numbers(in.field(to_std(entry.key()), &entry.value()));
    }
  }
}

// The whole number that a double is, if it is surely the one of the text.
std::optional<std::int64_t> whole_number(double number) {
  if (!(std::abs(number) < kFirstInexact) || std::trunc(number) != number) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

template <class Number>
std::optional<Number> integer_in(const boost::json::value* value,
                                 detail::EventRange<Number> range) {
  const auto within = [&](auto number) -> std::optional<Number> {
    if (std::cmp_less(number, range.min) || std::cmp_greater(number, range.max)) return {};
    return static_cast<Number>(number);
  };
  if (value == nullptr) return std::nullopt;
  if (value->is_int64()) return within(value->get_int64());
  if (value->is_uint64()) return within(value->get_uint64());
  if (!value->is_double()) return std::nullopt;
  const std::optional<std::int64_t> whole = whole_number(value->get_double());
  return whole ? within(*whole) : std::nullopt;
}

template <class Number>
Number integer_or_fail(const EventReader& in, detail::EventRange<Number> range) {
  if (const auto number = integer_in(in.value(), range)) return *number;
  in.fail("a whole number " + range_text(range));
}

std::string ticks_text(const detail::EventTicks& ticks) {
  const auto [min, max] = ticks.ticks;
  std::string text = "a whole number of nanoseconds " +
                     range_text<std::int64_t>({min * ticks.nanos, max * ticks.nanos});
  if (ticks.nanos > 1) text += " that is a multiple of " + std::to_string(ticks.nanos);
  return text;
}

}  // namespace

EventError::EventError(std::string_view summary, EventFault fault)
    : Error(ErrorCode::malformed, std::string(summary) + ": " + fault.path + ": " + fault.problem),
      fault_(std::make_shared<const EventFault>(std::move(fault))) {}
EventError::~EventError() = default;

void EventReader::fail(std::string_view expected) const {
  throw EventError(kCannotDecode,
                   {path_of(place_), mismatch_text({std::string(expected), found_text(value_)})});
}

const boost::json::object& EventReader::object() const {
  if (value_ == nullptr || !value_->is_object()) fail("an object");
  return value_->get_object();
}

const boost::json::array& EventReader::array() const {
  if (value_ == nullptr || !value_->is_array()) fail("an array");
  return value_->get_array();
}

std::string_view EventReader::string() const {
  if (value_ == nullptr || !value_->is_string()) fail("a string");
  return to_std(value_->get_string());
}

void EventWriter::write_string(std::string_view text) {
  if (append_quoted(text, text_) == Text::is_not_utf8) fail({"UTF-8", quoted(text)});
}

void EventWriter::write_number(std::int64_t number) {
  append_number(number, text_);
}

void EventWriter::write_number(std::uint64_t number) {
  append_number(number, text_);
}

void EventWriter::write_number(double number) {
  write_floating(number);
}

void EventWriter::write_number(float number) {
  const std::size_t begin = text_.size();
  write_floating(number);
  // Readers have a double first, and rounding twice may lead to a neighbour. Of all floats it does
  // for 7.038531e-26 only.
  double read = 0;
  std::from_chars(text_.data() + begin, text_.data() + text_.size(), read);
  if (static_cast<float>(read) == number) return;
  text_.resize(begin);
  write_floating(static_cast<double>(number));
}

template <class Number>
void EventWriter::write_floating(Number number) {
  if (!std::isfinite(number)) fail({"a finite number", floating_text(number)});
  const std::size_t begin = text_.size();
  append_number(number, text_);
  // Not to be taken for a whole number, by which -0.0 would lose its sign.
  if (text_.find_first_of(".e", begin) == std::string::npos) text_ += ".0";
}

void EventWriter::open(char bracket) {
  if (depth_ == kMaxEventDepth) fail({detail::depth_limit(), "more"});
  ++depth_;
  text_ += bracket;
}

void EventWriter::close(char bracket) {
  --depth_;
  text_ += bracket;
}

void EventWriter::fail(const EventMismatch& mismatch) const {
  throw EventError(kCannotEncode, {path_of(*place_), mismatch_text(mismatch)});
}

std::string EventWriter::take(const EventOptions& options) {
  if (text_.size() > options.max_bytes) {
    fail({detail::size_limit(options), std::to_string(text_.size())});
  }
  return std::move(text_);
}

void EventCodec<bool>::encode(bool value, EventWriter& out) {
  out.write_json(value ? "true" : "false");
}

bool EventCodec<bool>::decode(const EventReader& in) {
  if (in.value() == nullptr || !in.value()->is_bool()) in.fail("true or false");
  return in.value()->get_bool();
}

double EventCodec<double>::decode(const EventReader& in) {
  return read_floating<double>(in);
}

float EventCodec<float>::decode(const EventReader& in) {
  return static_cast<float>(read_floating<float>(in));
}

void EventCodec<boost::json::value>::encode(const boost::json::value& value, EventWriter& out) {
  switch (value.kind()) {
    case kind::null:
      return out.write_json("null");
    case kind::bool_:
      return out.write(value.get_bool());
    case kind::int64:
      return out.write_number(value.get_int64());
    case kind::uint64:
      return out.write_number(value.get_uint64());
    case kind::double_:
      return out.write_number(value.get_double());
    case kind::string:
      return out.write_string(to_std(value.get_string()));
    case kind::array:
      return detail::write_items<boost::json::value>(value.get_array(), out);
    case kind::object:
      return out.write(value.get_object());
  }
}

boost::json::value EventCodec<boost::json::value>::decode(const EventReader& in) {
  if (in.value() == nullptr) in.fail("any JSON value");
  check_numbers(in);
  // A plain copy would stay in the memory of the text.
  return boost::json::value(*in.value(), boost::json::storage_ptr());
}

void EventCodec<boost::json::object>::encode(const boost::json::object& object, EventWriter& out) {
  out.begin_object();
  for (const auto& entry : object) out.field(to_std(entry.key()), entry.value());
  out.end_object();
}

boost::json::object EventCodec<boost::json::object>::decode(const EventReader& in) {
  static_cast<void>(in.object());
  check_numbers(in);
  return boost::json::object(in.object(), boost::json::storage_ptr());
}

namespace detail {

void fail_text(const EventMismatch& mismatch) {
  throw EventError(kCannotDecode, {"$", mismatch_text(mismatch)});
}

std::string size_limit(const EventOptions& options) {
  return "at most " + std::to_string(options.max_bytes) + " bytes of text";
}

std::string depth_limit() {
  return "at most " + std::to_string(kMaxEventDepth) + " arrays and objects within each other";
}

EventFields::EventFields(const EventReader& in)
    : in_(in), object_(in.object()), next_(object_.begin()) {}

const boost::json::value* EventFields::find(std::string_view name) {
  if (next_ == object_.end() || to_std(next_->key()) != name) next_ = object_.find(name);
  if (next_ == object_.end()) return nullptr;
  ++found_;
  return &(next_++)->value();
}

void EventFields::end(std::span<const std::string_view> names) const {
  if (in_.unknown_fields() == UnknownFields::ignore || found_ == object_.size()) return;
  for (const auto& entry : object_) {
    const std::string_view name = to_std(entry.key());
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      in_.field(name, &entry.value()).fail("no such field");
    }
  }
}

std::int64_t read_integer(const EventReader& in, EventRange<std::int64_t> range) {
  return integer_or_fail(in, range);
}

std::uint64_t read_integer(const EventReader& in, EventRange<std::uint64_t> range) {
  return integer_or_fail(in, range);
}

std::int64_t read_ticks(const EventReader& in, const EventTicks& ticks) {
  const auto [min, max] = ticks.ticks;
  const auto nanos = integer_in<std::int64_t>(in.value(), {min * ticks.nanos, max * ticks.nanos});
  if (!nanos || *nanos % ticks.nanos != 0) in.fail(ticks_text(ticks));
  return *nanos / ticks.nanos;
}

void fail_ticks(const EventWriter& out, const EventTicks& ticks, const std::string& count) {
  out.fail({ticks_text(ticks), count + " times " + std::to_string(ticks.nanos)});
}

std::string one_of(std::span<const std::string_view> names) {
  std::string text = "one of ";
  for (const std::string_view name : names) {
    if (!text.ends_with(' ')) text += ", ";
    text += '"';
    text += name;
    text += '"';
  }
  return text;
}

std::size_t read_name(const EventReader& in, std::span<const std::string_view> names) {
  const boost::json::value* value = in.value();
  if (value != nullptr && value->is_string()) {
    const auto found = std::find(names.begin(), names.end(), in.string());
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  }
  in.fail(one_of(names));
}

const boost::json::array& array_of(const EventReader& in, std::size_t count) {
  const boost::json::value* value = in.value();
  if (value == nullptr || !value->is_array() || value->get_array().size() != count) {
    in.fail(items_text(count));
  }
  return value->get_array();
}

}  // namespace detail
}  // namespace muster
