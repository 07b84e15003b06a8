// event_parts.hpp: what the codecs of event_json.hpp are put together from.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ratio>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>

#include <muster/base/api.hpp>
#include <muster/jobs/event_codec.hpp>

namespace muster::detail {

template <class T>
inline constexpr bool kOptional = false;
template <class T>
inline constexpr bool kOptional<std::optional<T>> = true;

// Whether a field is written.
template <class T>
constexpr bool is_there(const T&) {
  return true;
}
template <class T>
constexpr bool is_there(const std::optional<T>& field) {
  return field.has_value();
}

// For the text as a whole.
[[noreturn]] MUSTER_API void fail_text(const EventMismatch& mismatch);

// What is expected of every text.
MUSTER_API std::string size_limit(const EventOptions& options);
MUSTER_API std::string depth_limit();

// A text while it is an event: parsed, most often within a buffer on the stack, since all of it is
// gone when the event is there.
class MUSTER_API ParsedEvent {
 public:
  ParsedEvent(std::string_view text, const EventOptions& options);
  ParsedEvent(const ParsedEvent&) = delete;
  ParsedEvent& operator=(const ParsedEvent&) = delete;

  const boost::json::value& root() const noexcept { return root_; }

 private:
  static constexpr std::size_t kBufferBytes = 4096;

  std::array<unsigned char, kBufferBytes> buffer_;
  boost::json::monotonic_resource memory_;
  boost::json::value root_;
};

// The fields of an object, asked for one by one.
class MUSTER_API EventFields {
 public:
  // Fails if it is no object.
  explicit EventFields(const EventReader& in);

  // Null if there is none. Quick if asked for in the order in which they stand.
  const boost::json::value* find(std::string_view name);

  // After the last. Fails if there is a field of another name, and such are refused.
  void end(std::span<const std::string_view> names) const;

 private:
  const EventReader& in_;
  const boost::json::object& object_;
  boost::json::object::const_iterator next_;
  std::size_t found_ = 0;
};

// Not characters: whether they are numbers or texts is not to be guessed.
template <class T>
concept EventInteger =
    std::integral<T> && sizeof(T) <= sizeof(std::uint64_t) && !std::same_as<T, bool> &&
    !std::same_as<T, char> && !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
    !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

// Both ends belong to it.
template <class Number>
struct EventRange {
  Number min;
  Number max;
};

template <EventInteger T>
using Widest = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;

template <EventInteger T>
inline constexpr EventRange<Widest<T>> kRange{std::numeric_limits<T>::min(),
                                              std::numeric_limits<T>::max()};

MUSTER_API std::int64_t read_integer(const EventReader& in, EventRange<std::int64_t> range);
MUSTER_API std::uint64_t read_integer(const EventReader& in, EventRange<std::uint64_t> range);

// Durations of whole numbers of nanoseconds: `ticks` of `nanos` each.
struct EventTicks {
  EventRange<std::int64_t> ticks;
  std::int64_t nanos;
};

template <EventInteger Rep, class Period>
consteval EventTicks ticks_of(std::chrono::duration<Rep, Period>) {
  using Nanos = std::ratio_divide<Period, std::nano>;
  static_assert(Nanos::den == 1, "muster: the unit of a duration must be whole nanoseconds");
  using Limits = std::numeric_limits<std::int64_t>;
  EventRange<std::int64_t> range{Limits::min() / Nanos::num, Limits::max() / Nanos::num};
  if (std::cmp_greater(std::numeric_limits<Rep>::min(), range.min)) {
    range.min = static_cast<std::int64_t>(std::numeric_limits<Rep>::min());
  }
  if (std::cmp_less(std::numeric_limits<Rep>::max(), range.max)) {
    range.max = static_cast<std::int64_t>(std::numeric_limits<Rep>::max());
  }
  return {range, Nanos::num};
}

template <class Duration>
inline constexpr EventTicks kTicks = ticks_of(Duration{});

MUSTER_API std::int64_t read_ticks(const EventReader& in, const EventTicks& ticks);
[[noreturn]] MUSTER_API void fail_ticks(const EventWriter& out, const EventTicks& ticks,
                                        const std::string& count);

template <class T>
concept DescribedEnum = std::is_enum_v<T> && boost::describe::has_describe_enumerators<T>::value;

template <class T>
concept DescribedStruct = std::is_class_v<T> && boost::describe::has_describe_members<T>::value;

template <DescribedEnum T>
using Enumerators = boost::describe::describe_enumerators<T>;

// Those of bases first; also hidden ones, of which are_distinct() tells.
template <DescribedStruct T>
using Members = boost::describe::describe_members<T, boost::describe::mod_any_access |
                                                         boost::describe::mod_inherited |
                                                         boost::describe::mod_hidden>;

template <template <class...> class List, class... Described>
consteval auto names_of(List<Described...>) {
  return std::array<std::string_view, sizeof...(Described)>{Described::name...};
}

template <DescribedStruct T>
inline constexpr auto kMemberNames = names_of(Members<T>{});

template <DescribedEnum T>
inline constexpr auto kEnumNames = names_of(Enumerators<T>{});

template <DescribedEnum T>
inline constexpr auto kEnumValues =
    []<template <class...> class List, class... Described>(List<Described...>) {
      return std::array<T, sizeof...(Described)>{Described::value...};
    }(Enumerators<T>{});

consteval bool are_distinct(std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (names[i] == names[j]) return false;
    }
  }
  return true;
}

// `one of "small", "large"`.
MUSTER_API std::string one_of(std::span<const std::string_view> names);

// Which of them stands there.
MUSTER_API std::size_t read_name(const EventReader& in, std::span<const std::string_view> names);

template <class T, class Items>
void write_items(const Items& items, EventWriter& out) {
  out.begin_array();
  std::size_t index = 0;
  for (const T& item : items) out.item(index++, item);
  out.end_array();
}

// Fails unless it has as many items.
MUSTER_API const boost::json::array& array_of(const EventReader& in, std::size_t count);

template <class Map>
Map read_map(const EventReader& in) {
  Map map;
  for (const auto& entry : in.object()) {
    const std::string_view name(entry.key().data(), entry.key().size());
    map.emplace(name, in.field(name, &entry.value()).template read<typename Map::mapped_type>());
  }
  return map;
}

MUSTER_API boost::json::object integer_schema(EventRange<std::int64_t> range);
MUSTER_API boost::json::object integer_schema(EventRange<std::uint64_t> range);
MUSTER_API boost::json::object ticks_schema(const EventTicks& ticks);
MUSTER_API boost::json::object names_schema(std::span<const std::string_view> names);

// Of what may also be null.
MUSTER_API boost::json::object nullable_schema(boost::json::object schema);

// Any value, if a codec does not say.
template <class T>
boost::json::object schema_of() {
  if constexpr (requires { EventCodec<T>::schema(); }) {
    return EventCodec<T>::schema();
  } else {
    return {};
  }
}

enum class FieldNeed { required, optional };

template <class T>
inline constexpr FieldNeed kNeed = kOptional<T> ? FieldNeed::optional : FieldNeed::required;

// The schema of a struct while it is put together, during which `is_within` is true.
class MUSTER_API StructSchema {
 public:
  explicit StructSchema(bool& is_within);
  StructSchema(const StructSchema&) = delete;
  StructSchema& operator=(const StructSchema&) = delete;
  ~StructSchema();

  bool is_within_itself() const noexcept { return was_within_; }
  void add(std::string_view name, FieldNeed need, boost::json::object schema);
  boost::json::object take();

 private:
  bool& is_within_;
  const bool was_within_;
  boost::json::object properties_;
  boost::json::array required_;
};

}  // namespace muster::detail
