// waiting_cells.cpp: does it matter how many jobs wait?
//
// Jobs are run in bursts of ten thousand, between which a gate in their handler holds up the next
// ones. In one store the next ten thousand are enqueued meanwhile, in another millions wait from
// the beginning. The two take turns, so that what the machine does besides befalls both. The time
// of a burst is that from opening the gate until as many are settled; the median counts.
#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/sync/mutex.hpp>

#include "jobs/cells.hpp"
#include "jobs/mails.hpp"
#include "jobs/measured_pool.hpp"
#include "jobs/sizes.hpp"
#include "jobs/timing.hpp"
#include "support/summary.hpp"

namespace muster::bench {
namespace {

using namespace std::chrono_literals;

// Lets so many jobs through, and no more.
class Gate {
 public:
  // By handlers.
  void pass() {
    const std::uint64_t ticket = tickets_.fetch_add(1, relaxed);  // relaxed: only to be told apart
    if (ticket < allowed_.load(relaxed)) return;                  // relaxed: or looks again below
    const MutexLock lock(mutex_);
    while (ticket >= allowed_.load(relaxed)) opened_.wait(mutex_);  // relaxed: under the lock
  }

  void open_for(std::uint64_t jobs) {
    {
      const MutexLock lock(mutex_);
      allowed_.store(jobs, relaxed);  // relaxed: under the lock
    }
    opened_.notify_all();
  }

 private:
  // Any thread.
  alignas(kCacheLine) Atomic<std::uint64_t> tickets_ = 0;
  alignas(kCacheLine) Atomic<std::uint64_t> allowed_ = 0;  // is written under the lock

  Mutex mutex_;
  ConditionVariable opened_;
};

void wait_until_settled(const MeasuredPool& pool, std::uint64_t jobs) {
  const auto deadline = std::chrono::steady_clock::now() + 2min;
  while (pool.client().status().total_processed < jobs) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("ten thousand jobs were not run within two minutes");
    }
    std::this_thread::sleep_for(200us);
  }
}

// A pool of which so many wait at any time, or at the beginning, if those are more.
class Field {
 public:
  Field(StoreKind kind, std::uint64_t waiting) : waiting_(waiting), place_(kind) { pool_.start(); }
  ~Field() { gate_.open_for(std::numeric_limits<std::uint64_t>::max()); }  // nobody waits for ever
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;

  void run_burst() {
    const std::uint64_t target = (speeds_.size() + 1) * sizes().few_waiting;
    const std::uint64_t wanted = std::max(waiting_, target);
    if (wanted > enqueued_) pool_.fill({enqueued_, wanted - enqueued_});
    enqueued_ = std::max(enqueued_, wanted);
    place_.rest();
    const double seconds = seconds_of([&] {
      gate_.open_for(target);
      wait_until_settled(pool_, target);
    });
    speeds_.push_back(per_second(sizes().few_waiting, seconds));
  }

  // Jobs a second.
  double end() {
    pool_.client().pause();
    return summarize(speeds_).median;
  }

 private:
  const std::uint64_t waiting_;
  const Place place_;
  Gate gate_;
  MeasuredPool pool_{place_.url(), [this](const Mail& /*mail*/) { gate_.pass(); }};
  std::uint64_t enqueued_ = 0;
  std::vector<double> speeds_;
};

// Both are measured when the first of them is asked for.
class Comparison {
 public:
  explicit Comparison(StoreKind kind) : kind_(kind) {}

  Sample many() { return sample_of(many_); }
  Sample few() { return sample_of(few_); }

 private:
  Sample sample_of(std::optional<double>& speed) {
    if (!speed) measure();
    return {.items = sizes().bursts * sizes().few_waiting,
            .seconds = 1,
            .figures = {*std::exchange(speed, std::nullopt)}};
  }
  void measure() {
    Field many(kind_, kind_ == StoreKind::sqlite ? sizes().many_waiting_sqlite
                                                 : sizes().many_waiting_postgres);
    Field few(kind_, sizes().few_waiting);
    for (unsigned burst = 0; burst < sizes().bursts; ++burst) {
      many.run_burst();
      few.run_burst();
    }
    many_ = many.end();
    few_ = few.end();
  }

  const StoreKind kind_;
  std::optional<double> many_;
  std::optional<double> few_;
};

Cell waiting_cell(StoreKind kind) {
  const std::string name = to_text(kind);
  const auto comparison = std::make_shared<Comparison>(kind);
  const auto many = [comparison](std::uint64_t /*jobs*/) { return comparison->many(); };
  const auto few = [comparison](std::uint64_t /*jobs*/) { return comparison->few(); };
  return {.group = kWaitingGroup,
          .name = name,
          .contenders = {{kManyWaiting, many}, {kFewWaiting, few}},
          .columns = {{kWaitingGroup, name, Better::higher}},
          .items = sizes().bursts * sizes().few_waiting,
          .most_rounds = 1,
          .warm_up = Cell::WarmUp::none};
}

}  // namespace

std::vector<Cell> waiting_cells() {
  std::vector<Cell> cells;
  for (const StoreKind kind : stores_of_muster()) cells.push_back(waiting_cell(kind));
  return cells;
}

}  // namespace muster::bench
