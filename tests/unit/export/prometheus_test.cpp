// prometheus_test.cpp: every figure of a snapshot is in the text, under the name it is known by.
#include <array>
#include <chrono>
#include <prometheus/text_serializer.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/error.hpp>
#include <muster/export/prometheus.hpp>

#include "golden.hpp"
#include "pool_figures.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

std::string text_of(const PoolSnapshot& snapshot, const MetricOptions& options = {}) {
  const std::array pools = {NamedSnapshot{.pool = "io", .snapshot = snapshot}};
  return prometheus_text(pools, options);
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

template <class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PrometheusText, HasEveryFigureOfEveryPool) {
  const std::array pools = {NamedSnapshot{.pool = "io", .snapshot = pool_figures()},
                            NamedSnapshot{.pool = "new \"one\"\n", .snapshot = {}}};
  const std::string text = prometheus_text(pools);
  EXPECT_EQ(text, golden("pools.prom", text));
}

TEST(PrometheusText, OfNoPoolsIsWithoutSamples) {
  const std::string text = prometheus_text({});
  EXPECT_EQ(text.find("{"), std::string::npos);
}

TEST(PrometheusText, CountsWhatIsUpToEachBucketAndAllInTheLast) {
  const std::string text = text_of(pool_figures(), {.buckets = {1ms, 50ms}});
  EXPECT_TRUE(has_line(text, R"(muster_task_duration_seconds_bucket{pool="io",le="0.001"} 2)"));
  EXPECT_TRUE(has_line(text, R"(muster_task_duration_seconds_bucket{pool="io",le="0.05"} 7)"));
  EXPECT_TRUE(has_line(text, R"(muster_task_duration_seconds_bucket{pool="io",le="+Inf"} 8)"));
  EXPECT_TRUE(has_line(text, R"(muster_task_duration_seconds_count{pool="io"} 8)"));
  EXPECT_TRUE(has_line(text, R"(muster_queue_wait_seconds_bucket{pool="io",le="0.05"} 3)"));
  EXPECT_EQ(text.find("le=\"0.01\""), std::string::npos);
}

TEST(PrometheusText, DefaultBucketsAreThosePromised) {
  EXPECT_EQ(MetricOptions().buckets,
            (std::vector<Duration>{1ms, 5ms, 10ms, 25ms, 50ms, 100ms, 250ms, 500ms, 1000ms}));
}

TEST(PrometheusText, ListsEveryProblem) {
  const std::array pools = {NamedSnapshot{.pool = "a"}, NamedSnapshot{.pool = ""},
                            NamedSnapshot{.pool = "a"}, NamedSnapshot{.pool = "\xff"}};
  EXPECT_EQ(
      refusal_of([&] { prometheus_text(pools, {.buckets = {0ms, 5ms, 5ms}}); }),
      "invalid argument: pool is \"\" but must not be empty; pool is \"a\" but must not be another "
      "pool's name too; pool is \"\xef\xbf\xbd\" but must be UTF-8; buckets[0] is 0 ns but must be "
      "more than 0; buckets[2] is 5000000 ns but must be more than 5000000 ns before it");
  EXPECT_EQ(refusal_of([&] { text_of({}, {.buckets = {}}); }),
            "invalid argument: buckets is 0 bounds but must have from 1 to 200");
  EXPECT_EQ(
      refusal_of([&] { text_of({}, {.buckets = std::vector<Duration>(2, 1ms)}); }).substr(0, 47),
      "invalid argument: buckets[1] is 1000000 ns but ");
}

TEST(PoolCollectable, TakesASnapshotEachTimeItIsAsked) {
  int asked = 0;
  const PoolCollectable pools({{"io", [&] {
                                  ++asked;
                                  PoolSnapshot snapshot = pool_figures();
                                  snapshot.queue.size = static_cast<std::uint64_t>(asked);
                                  return snapshot;
                                }}});
  EXPECT_EQ(asked, 0);
  for (const char* size : {"1", "2"}) {
    EXPECT_TRUE(has_line(prometheus::TextSerializer().Serialize(pools.Collect()),
                         std::string(R"(muster_queue_size{pool="io"} )") + size));
  }
}

TEST(PoolCollectable, GivesTheSameAsTheText) {
  const PoolCollectable pools({{"io", pool_figures}}, {.buckets = {3ms}});
  EXPECT_EQ(prometheus::TextSerializer().Serialize(pools.Collect()),
            text_of(pool_figures(), {.buckets = {3ms}}));
}

TEST(PoolCollectable, ListsEveryProblem) {
  EXPECT_EQ(refusal_of([] { PoolCollectable({{"a", {}}, {"a", pool_figures}}, {.buckets = {}}); }),
            "invalid argument: pool is \"a\" but must not be another pool's name too; snapshot of "
            "pool \"a\" is empty but must be callable; buckets is 0 bounds but must have from 1 to "
            "200");
}

}  // namespace
}  // namespace muster
