// affinity_options.cpp: which options make sense.
#include <string>

#include <muster/policy/affinity_options.hpp>

#include "option_text.hpp"

namespace muster {
namespace {

constexpr std::size_t kMostVirtualNodes = 65'536;
constexpr std::size_t kMostSessions = 16'777'216;
constexpr Duration kLongestTtl = std::chrono::hours(24 * 365);

}  // namespace

std::vector<BadField> validate(const AffinityOptions& options) {
  std::vector<BadField> bad;
  if (options.virtual_nodes < 1 || options.virtual_nodes > kMostVirtualNodes) {
    bad.push_back({.field = "virtual_nodes",
                   .value = std::to_string(options.virtual_nodes),
                   .rule = "must be from 1 to " + std::to_string(kMostVirtualNodes)});
  }
  if (options.session_ttl <= Duration::zero() || options.session_ttl > kLongestTtl) {
    bad.push_back({.field = "session_ttl",
                   .value = option_text(options.session_ttl),
                   .rule = "must be more than 0, and a year at most"});
  }
  if (options.max_sessions < 1 || options.max_sessions > kMostSessions) {
    bad.push_back({.field = "max_sessions",
                   .value = std::to_string(options.max_sessions),
                   .rule = "must be from 1 to " + std::to_string(kMostSessions)});
  }
  return bad;
}

}  // namespace muster
