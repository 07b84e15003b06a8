// job_soak_test.cpp: a database through which jobs go for long stays as small as it was soon after
// the beginning. MUSTER_SOAK_SECONDS makes it longer.
//
// What is over is pruned after a second, and the server sweeps every second instead of every
// minute. One job in ten fails once, one in a hundred for good, and some have results. Sizes are
// compared between the second quarter of the time and its end.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <libpq-fe.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/job_pool_testing.hpp"

namespace muster::testing {
namespace {

constexpr const char* kSizes =
    "SELECT sum(n_dead_tup), sum(pg_indexes_size(relid)), sum(pg_total_relation_size(relid))"
    " FROM pg_stat_user_tables WHERE schemaname = 'muster'";

struct Sizes {
  double dead = 0;
  double index_mb = 0;
  double all_mb = 0;
};

Sizes sizes_of(const std::string& url) {
  constexpr double kMega = 1e6;
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(url.c_str()),
                                                                &PQfinish);
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection.get(), kSizes),
                                                             &PQclear);
  const auto figure = [&result](int column) {
    return std::stod(PQgetvalue(result.get(), 0, column));
  };
  return {.dead = figure(0), .index_mb = figure(1) / kMega, .all_mb = figure(2) / kMega};
}

class JobSoakTest : public ::testing::Test {
 protected:
  static Duration time() {
    const char* const chosen = std::getenv("MUSTER_SOAK_SECONDS");
    return std::chrono::seconds(chosen != nullptr ? std::stoi(chosen) : 12);
  }

  // As fast as it goes, a thousand at a time.
  void enqueue_some() {
    std::vector<Enqueue> some;
    for (int i = 0; i < 1000; ++i, ++next_) {
      some.push_back({.id = "job-" + std::to_string(next_), .event = {"customer", next_}});
      if (next_ % 3 == 0) some.back().partition_key = "key-" + std::to_string(next_ % 50);
    }
    (void)client_.enqueue_many(some);
  }

  PostgresCluster cluster_{{.fsync = false, .settings = {"autovacuum_naptime=1s"}}};
  const std::string url_ = cluster_.create_database();
  Jobs jobs_ = Jobs::open(
      url_, {.keep_completed = 500ms, .keep_ids = 1s, .keep_dead = 1s, .prune_every = 200ms});
  JobClient<Note> client_ = jobs_.define<Note>(
      "notes",
      {.concurrency = 8, .retry = at_once(2), .execute = [](JobContext& context, const Note& note) {
         const bool fails =
             note.number % 100 == 0 || (note.number % 10 == 0 && context.attempt() == 1);
         if (fails) throw std::runtime_error("no");
         if (note.number % 7 == 0) context.result(note.number);
       }});
  int next_ = 0;
};

TEST_F(JobSoakTest, TheDatabaseStaysSmall) {
  jobs_.start();
  std::vector<Sizes> samples;
  const Time begin = real_clock().now();
  Time next_look = begin;
  while (real_clock().now() < begin + time()) {
    enqueue_some();
    ASSERT_EQ(client_.drain(60s), DrainOutcome::drained);
    if (real_clock().now() < next_look) continue;
    next_look = real_clock().now() + time() / 24;
    samples.push_back(sizes_of(url_));
    std::cout << std::fixed << std::setprecision(1) << std::setw(8) << next_ << " jobs, "
              << std::setw(8) << samples.back().dead << " dead rows, " << std::setw(6)
              << samples.back().index_mb << " MB of indexes, " << std::setw(6)
              << samples.back().all_mb << " MB in all" << std::endl;
  }
  ASSERT_GE(samples.size(), 8U);
  const auto most = [&samples](std::size_t from, std::size_t to, double Sizes::* figure) {
    double largest = 0;
    for (std::size_t i = from; i < to; ++i) largest = std::max(largest, samples[i].*figure);
    return largest;
  };
  const std::size_t quarter = samples.size() / 4;
  constexpr double kSlackMegabytes = 10;  // a quick run may still grow a little
  for (double Sizes::* const figure : {&Sizes::index_mb, &Sizes::all_mb}) {
    const double early = most(quarter, 2 * quarter, figure);
    EXPECT_LE(most(3 * quarter, samples.size(), figure), 1.2 * early + kSlackMegabytes);
  }
  EXPECT_LE(most(quarter, samples.size(), &Sizes::dead), 200'000) << "it is not swept in time";
}

}  // namespace
}  // namespace muster::testing
