// event_json.hpp: events as JSON text, and events again.
//
//     struct WebhookEvent {
//       std::string webhook_id, endpoint;
//       std::optional<std::string> customer_id;
//       boost::json::value payload;
//     };
//     BOOST_DESCRIBE_STRUCT(WebhookEvent, (), (webhook_id, endpoint, customer_id, payload))
//
//     const std::string text = muster::encode_event(event);
//     const auto same = muster::decode_event<WebhookEvent>(text);
//
//     C++                              JSON
//     bool                             true, false
//     integers, up to 64 bits          whole numbers, checked against the type's range
//     float, double                    numbers; NaN and infinity are refused
//     std::string                      string; must be UTF-8
//     enums that are described         string, the enumerator's name
//     std::optional                    what it holds; none: an absent field, elsewhere null
//     std::vector, std::array          array; a std::array of exactly as many items
//     map, unordered_map of strings    object
//     system_clock::time_point         string as of RFC 3339, "2024-02-29T12:34:56.789Z"
//     chrono durations of integers     whole number of nanoseconds, whatever the unit
//     structs that are described       object; members of bases are fields of the same object
//     boost::json::value, ::object     as they are
//
// Any of them may be the event. For a type of your own see event_codec.hpp. Members that are not
// described are not written. Characters are neither numbers nor texts here, and do not compile.
//
// Whatever was encoded is decoded to an equal value, but for an optional boost::json::value that is
// null: it becomes none. Equal events have equal texts: fields stand in the order of their
// description, the keys of an unordered_map in that of their bytes.
//
// What is accepted:
// - Every field must be there, also one with a default member initialiser; only an optional one may
//   be absent. To add a field to a type whose events are stored already, make it optional.
// - Unknown fields are ignored, or refused by EventOptions. Of two of one name the last counts.
// - 3.0 and 3e2 are whole numbers, 1.5 is none. Nor is any with a point or an exponent from 2^53
//   on, where a double may stand for several.
// - A time may have any offset from UTC and up to nine digits of a second; it is written in UTC,
//   with three, six or nine. No leap seconds. The clock knows the years 1677 to 2262.
// - Nanoseconds that are no multiple of the duration's unit are refused rather than rounded.
//
// Bounds: kMaxEventDepth, EventOptions::max_bytes. Both functions throw EventError and
// std::bad_alloc, nothing else, unless a codec of yours does.
//
// Thread safety: functions of values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <boost/mp11.hpp>

#include <muster/jobs/event_codec.hpp>
#include <muster/jobs/event_parts.hpp>
#include <muster/jobs/event_values.hpp>

namespace muster {

// Compact, in UTF-8.
template <class Event>
[[nodiscard]] std::string encode_event(const Event& event, const EventOptions& options = {}) {
  EventWriter out;
  out.write(event);
  return out.take(options);
}

template <class Event>
[[nodiscard]] Event decode_event(std::string_view text, const EventOptions& options = {}) {
  const detail::ParsedEvent parsed(text, options);
  return EventReader(parsed.root(), options).read<Event>();
}

// The JSON Schema (draft 2020-12) of such texts, for forms, documents and other languages. Whatever
// encode_event() writes matches it. Nothing is said of unknown fields, since they are ignored by
// default. A struct that holds itself is described once; within itself it is any object.
template <class Event>
[[nodiscard]] boost::json::object event_schema() {
  boost::json::object schema = detail::schema_of<Event>();
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  return schema;
}

template <class T>
struct EventCodec<std::optional<T>> {
  static_assert(!detail::kOptional<T>, "muster: null cannot say which of two optionals is empty");

  static void encode(const std::optional<T>& value, EventWriter& out) {
    if (value) {
      out.write(*value);
    } else {
      out.write_json("null");
    }
  }
  static std::optional<T> decode(const EventReader& in) {
    if (in.value() == nullptr || in.value()->is_null()) return std::nullopt;
    return in.read<T>();
  }
  static boost::json::object schema() { return detail::nullable_schema(detail::schema_of<T>()); }
};

template <class T, class Allocator>
struct EventCodec<std::vector<T, Allocator>> {
  static void encode(const std::vector<T, Allocator>& items, EventWriter& out) {
    detail::write_items<T>(items, out);
  }
  static std::vector<T, Allocator> decode(const EventReader& in) {
    const boost::json::array& array = in.array();
    std::vector<T, Allocator> items;
    items.reserve(array.size());
    for (std::size_t i = 0; i < array.size(); ++i) {
      items.push_back(in.item(i, array[i]).template read<T>());
    }
    return items;
  }
  static boost::json::object schema() {
    return {{"type", "array"}, {"items", detail::schema_of<T>()}};
  }
};

template <class T, std::size_t kCount>
struct EventCodec<std::array<T, kCount>> {
  static_assert(std::is_default_constructible_v<T>,
                "muster: items of an array need a default constructor; use a vector");

  static void encode(const std::array<T, kCount>& items, EventWriter& out) {
    detail::write_items<T>(items, out);
  }
  static std::array<T, kCount> decode(const EventReader& in) {
    const boost::json::array& array = detail::array_of(in, kCount);
    std::array<T, kCount> items{};
    for (std::size_t i = 0; i < kCount; ++i) items[i] = in.item(i, array[i]).template read<T>();
    return items;
  }
  static boost::json::object schema() {
    return {{"type", "array"},
            {"items", detail::schema_of<T>()},
            {"minItems", kCount},
            {"maxItems", kCount}};
  }
};

template <class T, class... Rest>
struct EventCodec<std::map<std::string, T, Rest...>> {
  using Map = std::map<std::string, T, Rest...>;

  static void encode(const Map& map, EventWriter& out) {
    out.begin_object();
    for (const auto& [name, value] : map) out.field(name, value);
    out.end_object();
  }
  static Map decode(const EventReader& in) { return detail::read_map<Map>(in); }
  static boost::json::object schema() {
    return {{"type", "object"}, {"additionalProperties", detail::schema_of<T>()}};
  }
};

template <class T, class... Rest>
struct EventCodec<std::unordered_map<std::string, T, Rest...>> {
  using Map = std::unordered_map<std::string, T, Rest...>;

  // Sorted, so that equal maps have equal texts.
  static void encode(const Map& map, EventWriter& out) {
    std::vector<const typename Map::value_type*> entries;
    entries.reserve(map.size());
    for (const auto& entry : map) entries.push_back(&entry);
    std::sort(entries.begin(), entries.end(),
              [](const auto* a, const auto* b) { return a->first < b->first; });
    out.begin_object();
    for (const auto* entry : entries) out.field(entry->first, entry->second);
    out.end_object();
  }
  static Map decode(const EventReader& in) { return detail::read_map<Map>(in); }
  static boost::json::object schema() {
    return {{"type", "object"}, {"additionalProperties", detail::schema_of<T>()}};
  }
};

template <detail::DescribedStruct T>
struct EventCodec<T> {
  static_assert(std::is_default_constructible_v<T>,
                "muster: a described struct needs a default constructor to be decoded");
  static_assert(detail::are_distinct(detail::kMemberNames<T>),
                "muster: two members, perhaps one of a base, have the same name");

  static void encode(const T& event, EventWriter& out) {
    out.begin_object();
    boost::mp11::mp_for_each<detail::Members<T>>([&](auto member) {
      const auto& field = event.*member.pointer;
      if (detail::is_there(field)) out.field(member.name, field);
    });
    out.end_object();
  }

  static T decode(const EventReader& in) {
    detail::EventFields fields(in);
    T event{};
    boost::mp11::mp_for_each<detail::Members<T>>([&](auto member) {
      auto& field = event.*member.pointer;
      using Field = std::remove_cvref_t<decltype(field)>;
      field = in.field(member.name, fields.find(member.name)).template read<Field>();
    });
    fields.end(detail::kMemberNames<T>);
    return event;
  }

  static boost::json::object schema() {
    thread_local bool is_within = false;
    detail::StructSchema schema(is_within);
    if (schema.is_within_itself()) return {{"type", "object"}};
    boost::mp11::mp_for_each<detail::Members<T>>([&](auto member) {
      using Field = std::remove_cvref_t<decltype(std::declval<T&>().*member.pointer)>;
      schema.add(member.name, detail::kNeed<Field>, detail::schema_of<Field>());
    });
    return schema.take();
  }
};

}  // namespace muster
