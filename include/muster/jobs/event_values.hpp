// event_values.hpp: codecs of what is one JSON value: numbers, texts, names, times.
//
// Included by event_json.hpp, where the table of all types stands.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <boost/json.hpp>

#include <muster/base/api.hpp>
#include <muster/jobs/event_codec.hpp>
#include <muster/jobs/event_parts.hpp>

namespace muster {

template <>
struct MUSTER_API EventCodec<bool> {
  static void encode(bool value, EventWriter& out);
  static bool decode(const EventReader& in);
  static boost::json::object schema() { return {{"type", "boolean"}}; }
};

template <>
struct MUSTER_API EventCodec<double> {
  static void encode(double value, EventWriter& out) { out.write_number(value); }
  static double decode(const EventReader& in);
  static boost::json::object schema() { return {{"type", "number"}}; }
};

template <>
struct MUSTER_API EventCodec<float> {
  static void encode(float value, EventWriter& out) { out.write_number(value); }
  static float decode(const EventReader& in);
  static boost::json::object schema() { return {{"type", "number"}}; }
};

template <>
struct MUSTER_API EventCodec<std::string> {
  static void encode(std::string_view text, EventWriter& out) { out.write_string(text); }
  static std::string decode(const EventReader& in) { return std::string(in.string()); }
  static boost::json::object schema() { return {{"type", "string"}}; }
};

template <>
struct MUSTER_API EventCodec<boost::json::value> {
  static void encode(const boost::json::value& value, EventWriter& out);
  static boost::json::value decode(const EventReader& in);
  static boost::json::object schema() { return {}; }
};

template <>
struct MUSTER_API EventCodec<boost::json::object> {
  static void encode(const boost::json::object& object, EventWriter& out);
  static boost::json::object decode(const EventReader& in);
  static boost::json::object schema() { return {{"type", "object"}}; }
};

template <>
struct MUSTER_API EventCodec<std::chrono::system_clock::time_point> {
  static void encode(std::chrono::system_clock::time_point time, EventWriter& out);
  static std::chrono::system_clock::time_point decode(const EventReader& in);
  static boost::json::object schema() { return {{"type", "string"}, {"format", "date-time"}}; }
};

template <detail::EventInteger T>
struct EventCodec<T> {
  static void encode(T value, EventWriter& out) {
    out.write_number(static_cast<detail::Widest<T>>(value));
  }
  static T decode(const EventReader& in) {
    return static_cast<T>(detail::read_integer(in, detail::kRange<T>));
  }
  static boost::json::object schema() { return detail::integer_schema(detail::kRange<T>); }
};

template <detail::EventInteger Rep, class Period>
struct EventCodec<std::chrono::duration<Rep, Period>> {
  using Duration = std::chrono::duration<Rep, Period>;

  static void encode(Duration duration, EventWriter& out) {
    const auto [min, max] = kTicks.ticks;
    if (std::cmp_less(duration.count(), min) || std::cmp_greater(duration.count(), max)) {
      detail::fail_ticks(out, kTicks, std::to_string(duration.count()));
    }
    out.write_number(static_cast<std::int64_t>(duration.count()) * kTicks.nanos);
  }
  static Duration decode(const EventReader& in) {
    return Duration(static_cast<Rep>(detail::read_ticks(in, kTicks)));
  }
  static boost::json::object schema() { return detail::ticks_schema(kTicks); }

 private:
  static constexpr detail::EventTicks kTicks = detail::kTicks<Duration>;
};

template <detail::DescribedEnum T>
struct EventCodec<T> {
  static void encode(T value, EventWriter& out) {
    const auto& values = detail::kEnumValues<T>;
    const auto found = std::find(values.begin(), values.end(), value);
    if (found == values.end()) {
      const auto number = static_cast<std::underlying_type_t<T>>(value);
      out.fail({detail::one_of(detail::kEnumNames<T>), std::to_string(number)});
    }
    out.write_string(detail::kEnumNames<T>[static_cast<std::size_t>(found - values.begin())]);
  }
  static T decode(const EventReader& in) {
    return detail::kEnumValues<T>[detail::read_name(in, detail::kEnumNames<T>)];
  }
  static boost::json::object schema() { return detail::names_schema(detail::kEnumNames<T>); }
};

}  // namespace muster
