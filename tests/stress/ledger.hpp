// ledger.hpp: parcels that go through a structure in one round, and the account of them.
//
// Whoever sends a parcel packs it with plain writes; whoever gets it reads those with plain reads.
// So the structure alone must put them in order, and the thread sanitizer reports if it does not.
// For the same reason every atomic here is relaxed: the account must not order what it watches.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <muster/sync/atomic.hpp>

namespace muster::testing {

// The n-th of its producer, with contents that follow from that.
class Parcel {
 public:
  void pack(std::uint32_t producer, std::uint32_t number) noexcept {
    producer_ = producer;
    number_ = number;
    for (std::uint64_t& word : contents_) word = expected();
  }
  [[nodiscard]] bool intact() const noexcept {
    return contents_[0] == expected() && contents_[1] == expected();
  }
  [[nodiscard]] std::uint32_t producer() const noexcept { return producer_; }
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }

 private:
  [[nodiscard]] std::uint64_t expected() const noexcept {
    return ~((std::uint64_t{producer_} << 32) + number_);
  }

  std::uint32_t producer_ = 0;
  std::uint32_t number_ = 0;
  std::array<std::uint64_t, 2> contents_{};
};

// Parcels 0 .. each-1 of every producer must come out once.
class Ledger {
 public:
  struct Size {
    std::uint32_t producers;
    std::uint32_t each;
  };

  explicit Ledger(Size size)
      : size_(size),
        arrivals_(std::size_t{size.producers} * size.each),
        left_(static_cast<std::int64_t>(arrivals_.size())) {}

  [[nodiscard]] Size size() const noexcept { return size_; }

  // By whoever got the parcel.
  void record(const Parcel& parcel) noexcept {
    const bool known = parcel.producer() < size_.producers && parcel.number() < size_.each;
    if (!known || !parcel.intact()) {
      spoiled_.fetch_add(1, relaxed);
    } else {
      const std::size_t index = std::size_t{parcel.producer()} * size_.each + parcel.number();
      arrivals_[index].fetch_add(1, relaxed);
    }
    left_.fetch_sub(1, relaxed);
  }

  // By whoever saw something else that must not be.
  void record_out_of_order() noexcept { out_of_order_.fetch_add(1, relaxed); }

  [[nodiscard]] bool all_out() const noexcept { return left_.load(relaxed) <= 0; }

  // By one thread, after the others have been joined.
  void expect_every_parcel_once_and_in_order() const {
    std::uint64_t lost = 0;
    std::uint64_t doubled = 0;
    for (const std::atomic<std::uint32_t>& arrivals : arrivals_) {
      if (arrivals.load(relaxed) == 0) ++lost;
      if (arrivals.load(relaxed) > 1) ++doubled;
    }
    EXPECT_EQ(lost, 0U);
    EXPECT_EQ(doubled, 0U);
    EXPECT_EQ(spoiled_.load(relaxed), 0U);
    EXPECT_EQ(out_of_order_.load(relaxed), 0U);
  }

 private:
  // Fixed at construction.
  const Size size_;

  // Any thread.
  std::vector<std::atomic<std::uint32_t>> arrivals_;
  std::atomic<std::int64_t> left_;
  std::atomic<std::uint64_t> spoiled_ = 0;
  std::atomic<std::uint64_t> out_of_order_ = 0;
};

// Whether other threads take from the same structure.
enum class Taking { alone, among_others };

// What one taker checks about what it takes, one parcel after the other: each producer's come in
// order, and without gaps if nobody else takes any.
class Inspector {
 public:
  Inspector(Ledger& ledger, Taking taking)
      : ledger_(ledger), taking_(taking), next_(ledger.size().producers, 0) {}

  void inspect(const Parcel& parcel) {
    ledger_.record(parcel);
    if (parcel.producer() >= next_.size()) return;  // spoiled; the ledger knows
    std::uint32_t& next = next_[parcel.producer()];
    const bool in_order =
        taking_ == Taking::alone ? parcel.number() == next : parcel.number() >= next;
    if (!in_order) ledger_.record_out_of_order();
    next = parcel.number() + 1;
    last_producer_ = parcel.producer();
  }

  // As inspect(), for the `place`-th of several that were sent together: nothing may stand between
  // it and the one before.
  void inspect_joined(const Parcel& parcel, std::size_t place) {
    const bool joined = place == 0 || (parcel.producer() == last_producer_ &&
                                       parcel.number() == next_[last_producer_]);
    if (!joined) ledger_.record_out_of_order();
    inspect(parcel);
  }

 private:
  Ledger& ledger_;
  const Taking taking_;
  std::vector<std::uint32_t> next_;
  std::uint32_t last_producer_ = 0;
};

}  // namespace muster::testing
