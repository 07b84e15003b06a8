// postgres_pages_test.cpp: more jobs than stand on a page, and whoever looks at them all lives on.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "job_nodes_testing.hpp"
#include "jobs/stores/postgresql/cursor.hpp"
#include "jobs/stores/postgresql/postgres_store.hpp"

namespace muster::testing {
namespace {

constexpr std::size_t kJobs = 2 * Cursor::kPage + 10'000;
constexpr auto kShortLease = 2s;
constexpr auto kPageTakes = 900ms;  // three of them take longer than the lease

// Two nodes, one of which has much to look at while the other would give it up.
class PostgresPages : public ::testing::Test {
 protected:
  PostgresPages()
      : url_(cluster().create_database()),
        store_({.url = url_, .lease = kShortLease}),
        other_({.url = url_, .lease = kShortLease}),
        pool_(store_.open_pool("p", 4).number),
        stranger_(url_) {
    (void)beat(other_);
    node_ = beat(store_).node;
  }

  static SharedStore& shared(PostgresStore& store) { return *store.shared(); }
  SharedStore::Standing beat(PostgresStore& store) const {
    return shared(store).beat({.pools = {{.number = pool_, .concurrency = 4}}});
  }

  // Of these numbers.
  void add(std::size_t first, std::size_t last) const {
    const std::string numbers = std::to_string(first) + ", " + std::to_string(last);
    EXPECT_EQ(stranger_.ask("INSERT INTO muster.waiting(seq, pool, turn, at, priority)"
                            " SELECT seq, " +
                            std::to_string(pool_) + ", seq, 0, 0 FROM generate_series(" + numbers +
                            ") AS new(seq)"),
              "");
  }

  void let_a_page_take_its_time(Duration time = kPageTakes) {
    std::this_thread::sleep_for(time);
    (void)beat(other_);
  }
  void expect_to_live_on() {
    EXPECT_EQ(stranger_.ask("SELECT count(*) FROM muster.node WHERE dead"), "0");
    EXPECT_TRUE(shared(store_).has_lease(node_));
  }

  std::vector<JobSeq> poll() {
    std::vector<JobSeq> seqs;
    (void)shared(store_).poll({pool_}, [&](const std::vector<SharedStore::Arrival>& some) {
      for (const SharedStore::Arrival& each : some) seqs.push_back(each.job.seq);
    });
    return seqs;
  }

  const std::string url_;
  PostgresStore store_;
  PostgresStore other_;
  const PoolNumber pool_;
  const Stranger stranger_;
  NodeNumber node_ = 0;
};

TEST_F(PostgresPages, WhoLoadsForLongerThanItsLeaseIsNotGivenUp) {
  add(1, kJobs);
  JobSeq last = 0;
  store_.load_waiting(pool_, [&](const JobRecord& job) {
    EXPECT_EQ(job.seq, last + 1);
    last = job.seq;
    if (static_cast<std::size_t>(job.seq) % Cursor::kPage == 1) let_a_page_take_its_time();
  });
  EXPECT_EQ(last, static_cast<JobSeq>(kJobs));
  expect_to_live_on();
}

// It is renewed as soon as a beat would be due: the next page may take longer than this one.
TEST_F(PostgresPages, WhoLooksAtDeadLettersForLongerThanItsLeaseIsNotGivenUp) {
  for (const Duration time : {kPageTakes, kShortLease - kPageTakes + 200ms}) {
    let_a_page_take_its_time(time);
    EXPECT_TRUE(store_.dead_letters(pool_, {.limit = 1}).empty());
  }
  expect_to_live_on();
}

// What is enqueued while the pages come must not come before what was enqueued before it: it comes
// with the next poll.
TEST_F(PostgresPages, APollIsOfOneMomentHoweverLongItTakes) {
  constexpr std::size_t kEarly = 5;
  add(kEarly + 1, kEarly + kJobs);
  std::vector<JobSeq> seqs;
  std::size_t pages = 0;
  (void)shared(store_).poll({pool_}, [&](const std::vector<SharedStore::Arrival>& some) {
    for (const SharedStore::Arrival& each : some) seqs.push_back(each.job.seq);
    if (pages++ == 0) {
      add(kEarly, kEarly);
      add(kEarly + kJobs + 1, kEarly + kJobs + 1);
    }
    let_a_page_take_its_time();
  });
  EXPECT_EQ(pages, 3U);
  ASSERT_EQ(seqs.size(), kJobs);
  EXPECT_TRUE(std::ranges::is_sorted(seqs));
  EXPECT_EQ(seqs.front(), static_cast<JobSeq>(kEarly + 1));
  expect_to_live_on();
  const auto early = static_cast<JobSeq>(kEarly);
  const auto late = static_cast<JobSeq>(kEarly + kJobs + 1);
  EXPECT_EQ(poll(), (std::vector<JobSeq>{early, late}));
  EXPECT_TRUE(poll().empty());
}

TEST_F(PostgresPages, APollThatIsBrokenOffBeginsAnew) {
  add(1, kJobs);
  const auto break_off = [&](const std::vector<SharedStore::Arrival>&) {
    throw std::runtime_error("enough");
  };
  EXPECT_THROW((void)shared(store_).poll({pool_}, break_off), std::runtime_error);
  EXPECT_EQ(poll().size(), kJobs);
  EXPECT_THROW(
      store_.load_waiting(pool_, [](const JobRecord&) { throw std::runtime_error("enough"); }),
      std::runtime_error);
  std::size_t count = 0;
  store_.load_waiting(pool_, [&](const JobRecord&) { ++count; });
  EXPECT_EQ(count, kJobs);
}

}  // namespace
}  // namespace muster::testing
