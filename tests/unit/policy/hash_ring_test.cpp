// hash_ring_test.cpp: keys are spread evenly, and few of them move.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <muster/error.hpp>
#include <muster/policy/affinity_options.hpp>
#include <muster/policy/hash_ring.hpp>
#include <muster/policy/key_hash.hpp>

#include "unit/queues/seeded.hpp"

namespace muster {
namespace {

using Workers = std::vector<std::size_t>;

constexpr std::size_t kWorkerNumbers = 10'000;

Workers first_workers(std::size_t count) {
  Workers workers(count);
  std::iota(workers.begin(), workers.end(), std::size_t{0});
  return workers;
}

Workers random_workers(Random& random, std::size_t count) {
  std::set<std::size_t> workers;
  while (workers.size() < count) workers.insert(random.below(kWorkerNumbers));
  return {workers.begin(), workers.end()};
}

HashRing ring_of(const Workers& workers) {
  HashRing ring;
  ring.add(workers);
  return ring;
}

// The largest part of the ring that belongs to one worker, as a multiple of the mean. Asked at
// equal distances, which is closer to the truth than as many random keys would be.
double largest_share(const HashRing& ring) {
  constexpr std::uint64_t kAsked = 32'768;
  std::vector<int> shares(kWorkerNumbers);
  for (std::uint64_t i = 0; i < kAsked; ++i) ++shares[*ring.worker_of(i * (~0ULL / kAsked))];
  const int largest = *std::max_element(shares.begin(), shares.end());
  return largest * static_cast<double>(ring.worker_count()) / kAsked;
}

TEST(HashRing, ZeroVirtualNodesAreRefusedByName) {
  EXPECT_NO_THROW(HashRing(1));
  EXPECT_NO_THROW(HashRing(65'536));
  EXPECT_THROW(HashRing(65'537), InvalidArgument);
  try {
    const HashRing ring(0);
    FAIL() << "was accepted";
  } catch (const InvalidArgument& error) {
    ASSERT_EQ(error.bad_fields().size(), 1U);
    EXPECT_EQ(error.bad_fields()[0].field, "virtual_nodes");
  }
}

TEST(AffinityOptions, EveryBadFieldIsNamedAtOnce) {
  EXPECT_TRUE(validate(AffinityOptions{}).empty());
  const std::vector<BadField> bad = validate(
      AffinityOptions{.virtual_nodes = 0, .session_ttl = Duration::zero(), .max_sessions = 0});
  ASSERT_EQ(bad.size(), 3U);
  EXPECT_EQ(bad[0].field, "virtual_nodes");
  EXPECT_EQ(bad[1].field, "session_ttl");
  EXPECT_EQ(bad[2].field, "max_sessions");
  EXPECT_EQ(validate(AffinityOptions{.session_ttl = Duration::max()}).size(), 1U);
}

TEST(HashRing, AnEmptyRingNamesNobody) {
  HashRing ring;
  EXPECT_FALSE(ring.worker_of(42));
  EXPECT_TRUE(ring.preferences(42, 3).empty());
  ring.add(7);
  EXPECT_EQ(ring.worker_of(42), 7U);
  ring.remove(7);
  EXPECT_FALSE(ring.worker_of(42));
}

TEST(HashRing, AddingOrRemovingTwiceChangesNothing) {
  HashRing ring;
  EXPECT_EQ(ring.add(1), HashRing::Change::done);
  EXPECT_EQ(ring.add(1), HashRing::Change::nothing_to_do);
  EXPECT_EQ(ring.worker_count(), 1U);
  EXPECT_EQ(ring.add(Workers{1, 2, 2}), HashRing::Change::done);
  EXPECT_EQ(ring.worker_count(), 2U);
  EXPECT_EQ(ring.remove(1), HashRing::Change::done);
  EXPECT_EQ(ring.remove(1), HashRing::Change::nothing_to_do);
  EXPECT_EQ(ring.worker_of(0), 2U);
}

// What the ring is by definition, looked for among all points. Where they lie is written down here
// too, since a key must keep its worker from one version to the next.
TEST(HashRing, AKeyBelongsToTheNextPointOnTheRing) {
  Random random = testing::seeded();
  for (const std::size_t virtual_nodes : {1U, 2U, 3U, 10U}) {
    const Workers workers = random_workers(random, 5);
    HashRing ring(virtual_nodes);
    ring.add(workers);
    std::map<std::uint64_t, std::size_t> points;
    std::vector<std::uint64_t> hashes{0, ~0ULL};
    for (const std::size_t worker : workers) {
      for (std::uint64_t i = 1; i <= virtual_nodes * 2; ++i) {
        const std::uint64_t point = mix_bits(mix_bits(worker + 1) + i * 0x9e37'79b9'7f4a'7c15);
        points[point] = worker;
        hashes.insert(hashes.end(), {point - 1, point, point + 1, random()});
      }
    }
    for (const std::uint64_t hash : hashes) {
      const auto next = points.lower_bound(hash);
      EXPECT_EQ(ring.worker_of(hash), (next == points.end() ? points.begin() : next)->second);
    }
  }
}

TEST(HashRing, TheOrderInWhichWorkersCameDoesNotMatter) {
  Random random = testing::seeded();
  Workers workers = random_workers(random, 20);
  const HashRing together = ring_of(workers);
  random.shuffle(std::span(workers));
  HashRing one_by_one;
  one_by_one.add(999);
  for (const std::size_t worker : workers) one_by_one.add(worker);
  one_by_one.remove(999);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t hash = random();
    ASSERT_EQ(one_by_one.worker_of(hash), together.worker_of(hash));
  }
}

// Half the virtual nodes are printed only: so many points would be plain consistent hashing.
TEST(HashRing, TheLargestShareStaysBelowItsBoundsInAHundredRandomSets) {
  Random random = testing::seeded();
  std::vector<double> largest(100);
  for (const std::size_t virtual_nodes : {75U, 150U}) {
    for (double& share : largest) {
      HashRing ring(virtual_nodes);
      ring.add(random_workers(random, 64));
      share = largest_share(ring);
    }
    std::sort(largest.begin(), largest.end());
    std::cout << virtual_nodes << " virtual nodes: largest of 64 shares, median " << largest[50]
              << ", worst " << largest.back() << " times the mean\n";
  }
  EXPECT_LE(largest[50], 1.25);
  EXPECT_LE(largest.back(), 1.35);
}

TEST(HashRing, PoolsOfEverySizeAreSpreadEvenly) {
  for (const std::size_t count : {2U, 3U, 4U, 8U, 16U, 32U, 64U, 128U}) {
    const double largest = largest_share(ring_of(first_workers(count)));
    std::cout << count << " workers: largest share " << largest << " times the mean\n";
    EXPECT_LE(largest, 1.25) << count << " workers";
  }
}

TEST(HashRing, OnlyTheKeysOfAWorkerThatLeavesMoveAndTheyAreFew) {
  Random random = testing::seeded();
  constexpr int kKeys = 20'000;
  const Workers workers = random_workers(random, 64);
  const HashRing before = ring_of(workers);
  for (int round = 0; round < 8; ++round) {
    const std::size_t gone = workers[random.below(workers.size())];
    HashRing after = before;
    after.remove(gone);
    int moved = 0;
    std::set<std::size_t> heirs;
    for (int key = 0; key < kKeys; ++key) {
      const std::uint64_t hash = hash_key("session/" + std::to_string(key));
      const auto old_worker = before.worker_of(hash);
      const auto new_worker = after.worker_of(hash);
      if (old_worker == gone) {
        ++moved;
        ASSERT_NE(new_worker, gone);
        ASSERT_EQ(new_worker, before.preferences(hash, 2)[1]);
        heirs.insert(*new_worker);
      } else {
        ASSERT_EQ(new_worker, old_worker);
      }
    }
    EXPECT_LE(moved, kKeys * 1.5 / 64);
    EXPECT_GT(heirs.size(), 40U) << "they should be spread over the others";
  }
}

TEST(HashRing, AWorkerThatJoinsTakesItsShareAndNoOtherKeyMoves) {
  Random random = testing::seeded();
  const HashRing before = ring_of(first_workers(63));
  HashRing after = before;
  after.add(63);
  constexpr int kKeys = 20'000;
  int moved = 0;
  for (int i = 0; i < kKeys; ++i) {
    const std::uint64_t hash = random();
    if (after.worker_of(hash) == before.worker_of(hash)) continue;
    ++moved;
    ASSERT_EQ(after.worker_of(hash), 63U);
  }
  EXPECT_GE(moved, kKeys * 0.5 / 64);
  EXPECT_LE(moved, kKeys * 1.5 / 64);
}

TEST(HashRing, PreferencesAreAllWorkersEachOnceTheFirstIsTheOwner) {
  Random random = testing::seeded();
  const Workers workers = first_workers(12);
  const HashRing ring = ring_of(workers);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t hash = random();
    const Workers all = ring.preferences(hash, 100);
    ASSERT_EQ(all.size(), 12U);
    ASSERT_EQ(std::set<std::size_t>(all.begin(), all.end()).size(), 12U);
    ASSERT_EQ(all.front(), ring.worker_of(hash));
    const Workers some = ring.preferences(hash, 3);
    ASSERT_EQ(some, Workers(all.begin(), all.begin() + 3));
    HashRing shrinking = ring;
    for (const std::size_t worker : some) {
      ASSERT_EQ(shrinking.worker_of(hash), worker);
      shrinking.remove(worker);
    }
  }
}

}  // namespace
}  // namespace muster
