// retry.hpp: whether a request is sent again, and when. By the rules of OTLP/HTTP.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <muster/base/clock.hpp>
#include <muster/export/otlp.hpp>

namespace muster {

// What came back from one attempt.
struct HttpAnswer {
  unsigned status = 0;  // 0: none, there was no connection or it took too long
  std::string error = {};
  std::string retry_after = {};  // as the header says
  std::string body = {};
};

// How long to wait before the next attempt; none: give up, or all is well. `attempt` counts from 1;
// `luck` is from 0 to 1.
std::optional<Duration> pause_before_retry(const HttpAnswer& answer, const OtlpOptions& options,
                                           unsigned attempt, double luck, WallTime now);

// "120", or a date.
std::optional<Duration> parse_retry_after(std::string_view text, WallTime now);

}  // namespace muster
