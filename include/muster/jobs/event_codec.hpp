// event_codec.hpp: how a type becomes part of an event's JSON; what to write for one of your own.
//
//     template <>
//     struct muster::EventCodec<Money> {
//       static void encode(const Money& money, muster::EventWriter& out) {
//         out.write(money.cents());
//       }
//       static Money decode(const muster::EventReader& in) {
//         const auto cents = in.read<std::int64_t>();
//         if (cents < 0) in.fail("an amount of at least 0 cents");
//         return Money(cents);
//       }
//       // Only for event_schema(), which without it says that any value will do.
//       static boost::json::object schema() { return {{"type", "integer"}, {"minimum", 0}}; }
//     };
//
// encode() writes exactly one value: another type by write(), or an object or array from begin to
// end. decode() must take what encode() wrote, and refuse by fail() what it cannot take. The types
// that are known already stand in event_json.hpp, which is to be included for encoding and
// decoding.
//
// Thread safety: a reader may be shared, a writer not.
// Lifetime: a reader refers to the parsed text and to the reader it came from; both are alive until
// decode() returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include <muster/base/api.hpp>
#include <muster/error.hpp>

namespace muster {

namespace detail {

template <class T>
inline constexpr bool kNever = false;

}  // namespace detail

template <class T>
struct EventCodec {
  static_assert(detail::kNever<T>,
                "muster: this type has no JSON; describe it by BOOST_DESCRIBE_STRUCT or "
                "BOOST_DESCRIBE_ENUM, use one that event_json.hpp lists, or specialise "
                "muster::EventCodec for it");
};

// Arrays and objects within each other; deeper ones are neither written nor read.
inline constexpr std::size_t kMaxEventDepth = 32;

enum class UnknownFields { ignore, refuse };

struct EventOptions {
  // What becomes of fields that a struct does not have. Ignored by default, so that programs of two
  // versions understand each other.
  UnknownFields unknown_fields = UnknownFields::ignore;

  // The longest text, written or read.
  std::size_t max_bytes = 1'048'576;
};

struct EventFault {
  std::string path;     // $.items[2].quantity
  std::string problem;  // expected a string, found nothing
};

// A text is not an event of the type that it is read as, or an event holds what JSON cannot say:
// `event does not match its type: $.items[2].quantity: expected a whole number from 0 to 255, found
// "three"`. The path of the event itself is `$`. What was found is cut if it is long.
class MUSTER_API EventError : public Error {
 public:
  EventError(std::string_view summary, EventFault fault);
  EventError(const EventError&) = default;
  EventError& operator=(const EventError&) = default;
  ~EventError() override;

  const std::string& path() const noexcept { return fault_->path; }
  const std::string& problem() const noexcept { return fault_->problem; }

 private:
  // Shared, because copying an exception must not throw.
  std::shared_ptr<const EventFault> fault_;
};

namespace detail {

// Where in an event one is: a chain up to the event itself, all of it on the stack, so that a path
// costs nothing unless it is told.
struct EventPlace {
  enum class Kind : std::uint8_t { event, field, item };

  Kind kind = Kind::event;
  const EventPlace* parent = nullptr;
  std::string_view field{};
  std::size_t item = 0;
};

}  // namespace detail

class MUSTER_API EventReader {
 public:
  // Requires: both outlive the reader.
  EventReader(const boost::json::value& event, const EventOptions& options) noexcept
      : value_(&event), options_(&options) {}

  // What stands here; null if there is no such field.
  const boost::json::value* value() const noexcept { return value_; }

  UnknownFields unknown_fields() const noexcept { return options_->unknown_fields; }

  // What stands here, as a value of another type.
  template <class T>
  [[nodiscard]] T read() const {
    return EventCodec<T>::decode(*this);
  }

  // Fail if there is something else.
  [[nodiscard]] const boost::json::object& object() const;
  [[nodiscard]] const boost::json::array& array() const;
  [[nodiscard]] std::string_view string() const;

  // Of a part of what stands here; null if it is absent.
  [[nodiscard]] EventReader field(std::string_view name, const boost::json::value* value) const {
    return EventReader(*this, value, {detail::EventPlace::Kind::field, &place_, name});
  }
  [[nodiscard]] EventReader item(std::size_t index, const boost::json::value& value) const {
    return EventReader(*this, &value, {detail::EventPlace::Kind::item, &place_, {}, index});
  }

  // Throws EventError: `expected` this, found what stands here.
  [[noreturn]] void fail(std::string_view expected) const;

 private:
  EventReader(const EventReader& whole, const boost::json::value* value, detail::EventPlace place)
      : value_(value), options_(whole.options_), place_(place) {}

  const boost::json::value* value_;
  const EventOptions* options_;
  detail::EventPlace place_;
};

// "expected ..., found ...".
struct EventMismatch {
  std::string expected;
  std::string found;
};

class MUSTER_API EventWriter {
 public:
  EventWriter() { text_.reserve(kUsualBytes); }
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  template <class T>
  void write(const T& value) {
    EventCodec<T>::encode(value, *this);
  }

  // Between them any number of fields or of items.
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }

  template <class T>
  void field(std::string_view name, const T& value) {
    const Part part(*this, {detail::EventPlace::Kind::field, place_, name});
    separate();
    write_string(name);
    text_ += ':';
    write(value);
  }

  template <class T>
  void item(std::size_t index, const T& value) {
    const Part part(*this, {detail::EventPlace::Kind::item, place_, {}, index});
    separate();
    write(value);
  }

  void write_string(std::string_view text);
  void write_number(std::int64_t number);
  void write_number(std::uint64_t number);

  // So many digits that they are read as the same number again, and hardly ever more.
  void write_number(double number);
  void write_number(float number);

  // What is JSON already.
  void write_json(std::string_view json) { text_ += json; }

  // Throws EventError.
  [[noreturn]] void fail(const EventMismatch& mismatch) const;

  // All that was written. Throws EventError if it is too long.
  [[nodiscard]] std::string take(const EventOptions& options);

 private:
  static constexpr std::size_t kUsualBytes = 256;

  // While it lives, the writer is at this place.
  class Part {
   public:
    Part(EventWriter& writer, const detail::EventPlace& place) : writer_(writer), place_(place) {
      writer_.place_ = &place_;
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    ~Part() { writer_.place_ = place_.parent; }

   private:
    EventWriter& writer_;
    const detail::EventPlace place_;
  };

  template <class Number>
  void write_floating(Number number);

  void open(char bracket);
  void close(char bracket);

  // No value ends with an opening bracket, a string not either: it ends with a quotation mark.
  void separate() {
    if (text_.back() != '{' && text_.back() != '[') text_ += ',';
  }

  std::string text_;
  const detail::EventPlace* place_ = &event_;
  const detail::EventPlace event_;
  std::size_t depth_ = 0;
};

}  // namespace muster
