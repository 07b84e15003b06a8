// otlp_options.cpp: which options make sense.
#include <algorithm>
#include <bit>
#include <charconv>

#include <muster/base/utf8.hpp>
#include <muster/export/otlp.hpp>

#include "export/endpoint.hpp"
#include "export/families.hpp"

namespace muster {
namespace {

constexpr Duration kLongest = std::chrono::hours(24);
constexpr std::size_t kMostQueued = std::size_t{1} << 20;
constexpr unsigned kMostAttempts = 100;

bool is_visible(char c) {
  return c > ' ' && c <= '~';
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_visible(c) &&
           std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
  });
}

bool is_header_value(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_visible(c) || c == ' ' || c == '\t'; });
}

class Problems {
 public:
  void add(std::string field, std::string value, std::string rule) {
    found_.push_back(
        {.field = std::move(field), .value = std::move(value), .rule = std::move(rule)});
  }
  void add_all(std::vector<BadField> others) {
    for (BadField& each : others) found_.push_back(std::move(each));
  }
  void check_duration(const char* field, Duration value) {
    if (value > Duration::zero() && value <= kLongest) return;
    add(field, std::to_string(value.count()) + " ns", "must be more than 0 and at most a day");
  }
  template <class Number>
  void check_range(const char* field, Number value, Number most) {
    if (value >= 1 && value <= most) return;
    add(field, std::to_string(value), "must be from 1 to " + std::to_string(most));
  }
  std::vector<BadField> done() { return std::move(found_); }

 private:
  std::vector<BadField> found_;
};

}  // namespace

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  if (!text.starts_with(kScheme) || !std::ranges::all_of(text, is_visible)) return std::nullopt;
  if (text.find_first_of("?#@") != std::string_view::npos) return std::nullopt;
  text.remove_prefix(kScheme.size());
  Endpoint endpoint;
  const std::size_t slash = std::min(text.find('/'), text.size());
  endpoint.path = text.substr(slash);
  while (endpoint.path.ends_with('/')) endpoint.path.pop_back();
  std::string_view authority = text.substr(0, slash);
  // The colons of an IPv6 address stand in brackets.
  const std::size_t closing = authority.starts_with('[') ? authority.find(']') : 0;
  if (closing == std::string_view::npos) return std::nullopt;
  if (const std::size_t colon = authority.find(':', closing); colon != std::string_view::npos) {
    endpoint.port = authority.substr(colon + 1);
    authority = authority.substr(0, colon);
    unsigned port = 0;
    const char* const end = endpoint.port.data() + endpoint.port.size();
    const auto [last, error] = std::from_chars(endpoint.port.data(), end, port);
    if (error != std::errc() || last != end || port < 1 || port > 65'535) return std::nullopt;
  }
  if (closing != 0) {
    if (closing + 1 != authority.size()) return std::nullopt;
    authority = authority.substr(1, closing - 1);
  }
  endpoint.host = authority;
  if (endpoint.host.empty()) return std::nullopt;
  return endpoint;
}

std::vector<BadField> validate(const OtlpOptions& options) {
  Problems problems;
  if (!parse_endpoint(options.endpoint)) {
    problems.add("endpoint", '"' + to_utf8(options.endpoint) + '"',
                 "must be http://host[:port][/path]");
  }
  for (const auto& [name, value] : options.headers) {
    if (is_token(name) && is_header_value(value)) continue;
    problems.add("headers", '"' + to_utf8(name) + '"', "must be a name and a value for HTTP");
  }
  if (options.service_name.empty()) problems.add("service_name", "\"\"", "must not be empty");
  problems.add_all(validate(std::span(options.pools)));
  problems.add_all(validate(options.metrics));
  problems.check_duration("metrics_interval", options.metrics_interval);
  if (!(options.trace_share >= 0 && options.trace_share <= 1)) {  // so that NaN is refused too
    problems.add("trace_share", std::to_string(options.trace_share), "must be from 0 to 1");
  }
  if (options.max_queued < 2 || options.max_queued > kMostQueued ||
      !std::has_single_bit(options.max_queued)) {
    problems.add("max_queued", std::to_string(options.max_queued),
                 "must be a power of two from 2 to " + std::to_string(kMostQueued));
  }
  problems.check_range("max_batch", options.max_batch,
                       std::max<std::size_t>(options.max_queued, 1));
  problems.check_duration("batch_interval", options.batch_interval);
  problems.check_duration("request_timeout", options.request_timeout);
  problems.check_range("max_attempts", options.max_attempts, kMostAttempts);
  problems.check_duration("first_pause", options.first_pause);
  problems.check_duration("longest_pause", options.longest_pause);
  problems.check_duration("stop_timeout", options.stop_timeout);
  return problems.done();
}

}  // namespace muster
