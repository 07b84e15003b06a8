// trace_context.cpp: the headers of W3C Trace Context, read and written, and random ids.
//
// Rules: https://www.w3.org/TR/trace-context-2/
#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string_view>
#include <sys/random.h>

#include <muster/observe/trace_context.hpp>

namespace muster {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kLength = 55;  // 00-<32 digits>-<16 digits>-<2 digits>
constexpr std::uint8_t kSampled = 1;
constexpr std::size_t kMostMembers = 32;
constexpr std::size_t kLongestPart = 256;

thread_local const TraceContext* current = nullptr;

// False unless `text` is lower-case digits of just as many bytes.
bool read_hex(std::string_view text, std::span<std::uint8_t> bytes) {
  if (text.size() != 2 * bytes.size()) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t high = kDigits.find(text[2 * i]);
    const std::size_t low = kDigits.find(text[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

void write_hex(std::span<const std::uint8_t> bytes, std::string& out) {
  for (const std::uint8_t byte : bytes) {
    out += kDigits[byte / 16];
    out += kDigits[byte % 16];
  }
}

bool any_set(std::span<const std::uint8_t> bytes) noexcept {
  return std::ranges::any_of(bytes, [](std::uint8_t byte) { return byte != 0; });
}

bool is_key(std::string_view text) {
  constexpr std::string_view kFirst = "abcdefghijklmnopqrstuvwxyz0123456789";
  constexpr std::string_view kOther = "abcdefghijklmnopqrstuvwxyz0123456789_-*/@";
  return !text.empty() && text.size() <= kLongestPart &&
         kFirst.find(text.front()) != std::string_view::npos &&
         text.find_first_not_of(kOther) == std::string_view::npos;
}

bool is_value(std::string_view text) {
  return !text.empty() && text.size() <= kLongestPart && text.back() != ' ' &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '='; });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const std::size_t end = text.find_last_not_of(" \t");
  return begin == text.size() ? std::string_view() : text.substr(begin, end + 1 - begin);
}

// Members "key=value" between commas, some of which may be empty.
bool is_trace_state(std::string_view text) {
  std::set<std::string_view> keys;
  for (;;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view member = trimmed(text.substr(0, comma));
    if (!member.empty()) {
      const std::size_t equals = std::min(member.find('='), member.size() - 1);
      const std::string_view key = member.substr(0, equals);
      if (!is_key(key) || !is_value(member.substr(equals + 1))) return false;
      if (!keys.insert(key).second || keys.size() > kMostMembers) return false;
    }
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
}

// From the kernel, which gives the child of a fork() others than its parent.
void fill_randomly(std::span<std::uint8_t> bytes) {
  do {
    while (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    }
  } while (!any_set(bytes));
}

}  // namespace

bool TraceContext::is_valid() const noexcept {
  return any_set(trace_id) && any_set(span_id);
}

std::optional<TraceContext> parse(const TraceHeaders& headers) {
  const std::string_view text = headers.traceparent;
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-') return {};
  std::array<std::uint8_t, 1> version{};
  std::array<std::uint8_t, 1> flags{};
  TraceContext context;
  if (!read_hex(text.substr(0, 2), version) || !read_hex(text.substr(3, 32), context.trace_id) ||
      !read_hex(text.substr(36, 16), context.span_id) || !read_hex(text.substr(53, 2), flags)) {
    return {};
  }
  // Later versions may say more behind another dash; 255 is forbidden.
  const bool more = text.size() > kLength;
  if (version[0] == 0xff || (more && (version[0] == 0 || text[kLength] != '-'))) return {};
  if (!context.is_valid()) return {};
  context.sampled = (flags[0] & kSampled) != 0;
  if (is_trace_state(headers.tracestate)) context.trace_state = headers.tracestate;
  return context;
}

TraceHeaders to_headers(const TraceContext& context) {
  if (!context.is_valid()) return {};
  TraceHeaders headers{.traceparent = "00-", .tracestate = context.trace_state};
  write_hex(context.trace_id, headers.traceparent);
  headers.traceparent += '-';
  write_hex(context.span_id, headers.traceparent);
  headers.traceparent += context.sampled ? "-01" : "-00";
  return headers;
}

TraceContext start_trace() {
  TraceContext context{.sampled = true};
  fill_randomly(context.trace_id);
  fill_randomly(context.span_id);
  return context;
}

TraceContext child_of(const TraceContext& parent) {
  if (!parent.is_valid()) return start_trace();
  TraceContext child = parent;
  fill_randomly(child.span_id);
  return child;
}

const TraceContext& current_trace() noexcept {
  static const TraceContext none;
  return current == nullptr ? none : *current;
}

TraceScope::TraceScope(const TraceContext& context) noexcept : outer_(current) {
  current = &context;
}

TraceScope::~TraceScope() {
  current = outer_;
}

}  // namespace muster
