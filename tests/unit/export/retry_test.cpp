// retry_test.cpp: which answers are worth another attempt, how long to wait, and where endpoints
// lead.
#include "export/retry.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "export/endpoint.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNow{std::chrono::seconds(784'111'777)};  // Sun, 06 Nov 1994 08:49:37 GMT

std::optional<Duration> pause(const HttpAnswer& answer, unsigned attempt, double luck = 0.5) {
  return pause_before_retry(answer, {.first_pause = 1s, .longest_pause = 5s}, attempt, luck, kNow);
}

TEST(Retry, OnlyWhatMayPassIsTriedAgain) {
  for (const unsigned status : {0U, 429U, 502U, 503U, 504U}) {
    EXPECT_TRUE(pause({.status = status}, 1)) << status;
  }
  for (const unsigned status : {200U, 301U, 400U, 401U, 404U, 408U, 413U, 500U, 501U, 505U}) {
    EXPECT_FALSE(pause({.status = status}, 1)) << status;
  }
}

TEST(Retry, ThePauseIsDoubledUpToTheLongestAndThereIsALastAttempt) {
  const HttpAnswer away;
  EXPECT_EQ(pause(away, 1), 1s);
  EXPECT_EQ(pause(away, 2), 2s);
  EXPECT_EQ(pause(away, 3), 4s);
  EXPECT_EQ(pause(away, 4), 5s);
  EXPECT_EQ(pause(away, 5), std::nullopt);  // the default of max_attempts
  const OtlpOptions patient{.max_attempts = 100, .first_pause = 1h, .longest_pause = 24h};
  EXPECT_EQ(pause_before_retry(away, patient, 99, 0.5, kNow), 24h);
}

TEST(Retry, LuckCutsOrStretchesAPauseByAFifth) {
  EXPECT_EQ(pause({}, 1, 0), 800ms);
  EXPECT_EQ(pause({}, 1, 1), 1200ms);
}

TEST(Retry, APauseThatTheReceiverAsksForIsKept) {
  EXPECT_EQ(pause({.status = 503, .retry_after = "7"}, 1), 7s);
  EXPECT_EQ(pause({.status = 429, .retry_after = "0"}, 4), 0s);
  EXPECT_EQ(pause({.status = 429, .retry_after = "86400"}, 1), 5min);
  EXPECT_EQ(pause({.status = 503, .retry_after = "soon"}, 2), 2s);
  EXPECT_EQ(pause({.status = 500, .retry_after = "7"}, 1), std::nullopt);
  EXPECT_EQ(pause({.status = 503, .retry_after = "7"}, 5), std::nullopt);
}

TEST(Retry, APauseMayBeADate) {
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:47 GMT", kNow), 10s);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:07 GMT", kNow), 0s);
  for (const char* bad : {"", "-1", "1.5", "7 s", "Sun, 06 Nov 1994 08:49:47 CET", "tomorrow"}) {
    EXPECT_EQ(parse_retry_after(bad, kNow), std::nullopt) << bad;
  }
}

TEST(Endpoint, HasAHostAndMayHaveAPortAndAPath) {
  using Expected = std::optional<Endpoint>;
  EXPECT_EQ(parse_endpoint("http://otel"), Expected({.host = "otel", .port = "80", .path = ""}));
  EXPECT_EQ(parse_endpoint("http://127.0.0.1:4318/"),
            Expected({.host = "127.0.0.1", .port = "4318", .path = ""}));
  EXPECT_EQ(parse_endpoint("http://otel:1/a/b//"),
            Expected({.host = "otel", .port = "1", .path = "/a/b"}));
  EXPECT_EQ(parse_endpoint("http://[::1]:4318/x"),
            Expected({.host = "::1", .port = "4318", .path = "/x"}));
  EXPECT_EQ(parse_endpoint("http://[::1]"), Expected({.host = "::1", .port = "80", .path = ""}));
}

TEST(Endpoint, ThatLeadsNowhereIsRefused) {
  for (const char* bad :
       {"", "localhost:4318", "https://otel:4318", "http://", "http://:4318",
        "http://otel:", "http://otel:0", "http://otel:65536", "http://otel:x", "http://otel:4318x",
        "http://a b", "http://[::1", "http://[::1]x:1", "http://[]:1", "http://me@otel",
        "http://otel/?a=1", "http://otel/\r\nx: y"}) {
    EXPECT_EQ(parse_endpoint(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace muster
