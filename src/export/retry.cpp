// retry.cpp: which answers are worth another attempt, and the pauses between them.
#include "export/retry.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>

namespace muster {
namespace {

constexpr Duration kLongestAsked = std::chrono::minutes(5);
constexpr double kJitter = 0.2;

bool is_worth_another(unsigned status) {
  return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

std::optional<Duration> parse_retry_after(std::string_view text, WallTime now) {
  unsigned seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, seconds);
  if (error == std::errc() && last == end) return std::chrono::seconds(seconds);
  std::tm date{};
  const std::string terminated(text);
  const char* const rest = strptime(terminated.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (rest == nullptr || *rest != '\0') return std::nullopt;
  const WallTime then = std::chrono::system_clock::from_time_t(timegm(&date));
  return std::max(Duration::zero(), std::chrono::duration_cast<Duration>(then - now));
}

std::optional<Duration> pause_before_retry(const HttpAnswer& answer, const OtlpOptions& options,
                                           unsigned attempt, double luck, WallTime now) {
  if (!is_worth_another(answer.status) || attempt >= options.max_attempts) return std::nullopt;
  if (const auto asked = parse_retry_after(answer.retry_after, now)) {
    return std::min(*asked, kLongestAsked);
  }
  Duration pause = options.first_pause;
  for (unsigned i = 1; i < attempt && pause < options.longest_pause; ++i) pause *= 2;
  pause = std::min(pause, options.longest_pause);
  return std::chrono::duration_cast<Duration>(pause * (1 - kJitter + 2 * kJitter * luck));
}

}  // namespace muster
