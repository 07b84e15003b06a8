// endpoint.hpp: where requests go.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

struct Endpoint {
  std::string host;  // without the brackets of an IPv6 address
  std::string port = "80";
  std::string path;  // empty, or beginning with a slash and not ending with one

  bool operator==(const Endpoint&) const = default;
};

// Nothing unless it is http://host[:port][/path].
std::optional<Endpoint> parse_endpoint(std::string_view text);

}  // namespace muster
