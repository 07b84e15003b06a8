// event_schema.cpp: the parts of an event's JSON Schema that are no templates.
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <muster/jobs/event_parts.hpp>

namespace muster::detail {
namespace {

template <class Number>
boost::json::object schema_of_range(EventRange<Number> range) {
  return {{"type", "integer"}, {"minimum", range.min}, {"maximum", range.max}};
}

}  // namespace

boost::json::object integer_schema(EventRange<std::int64_t> range) {
  return schema_of_range(range);
}

boost::json::object integer_schema(EventRange<std::uint64_t> range) {
  return schema_of_range(range);
}

boost::json::object ticks_schema(const EventTicks& ticks) {
  const auto [min, max] = ticks.ticks;
  boost::json::object schema = integer_schema(EventRange{min * ticks.nanos, max * ticks.nanos});
  if (ticks.nanos > 1) schema["multipleOf"] = ticks.nanos;
  schema["description"] = "nanoseconds";
  return schema;
}

boost::json::object names_schema(std::span<const std::string_view> names) {
  boost::json::array all;
  for (const std::string_view name : names) all.emplace_back(name);
  return {{"type", "string"}, {"enum", std::move(all)}};
}

boost::json::object nullable_schema(boost::json::object schema) {
  if (schema.empty()) return schema;
  boost::json::value* type = schema.if_contains("type");
  if (type == nullptr || !type->is_string()) {
    return {{"anyOf", boost::json::array{std::move(schema), {{"type", "null"}}}}};
  }
  *type = boost::json::array{*type, "null"};
  if (boost::json::value* names = schema.if_contains("enum")) names->as_array().push_back(nullptr);
  return schema;
}

StructSchema::StructSchema(bool& is_within)
    : is_within_(is_within), was_within_(std::exchange(is_within, true)) {}

StructSchema::~StructSchema() {
  is_within_ = was_within_;
}

void StructSchema::add(std::string_view name, FieldNeed need, boost::json::object schema) {
  properties_[name] = std::move(schema);
  if (need == FieldNeed::required) required_.emplace_back(name);
}

boost::json::object StructSchema::take() {
  return {{"type", "object"},
          {"properties", std::move(properties_)},
          {"required", std::move(required_)}};
}

}  // namespace muster::detail
