// steady_cells.cpp: the same number of jobs comes every second, synced, and is run at once. How
// many are settled in each quarter of the time, and how long after they were due?
//
// A job is due when its batch is, also if the batch before it is late. The pool is asked every
// millisecond how many it has settled; jobs are taken to end in the order they came.
#include <chrono>
#include <thread>

#include "jobs/cells.hpp"
#include "jobs/mails.hpp"
#include "jobs/measured_pool.hpp"
#include "jobs/sizes.hpp"
#include "jobs/timing.hpp"
#include "support/latencies.hpp"

namespace muster::bench {
namespace {

using Clock = Latencies::Clock;
using std::chrono::milliseconds;

constexpr milliseconds kTick{10};
constexpr unsigned kQuarters = 4;

struct Seen {
  Clock::time_point when;
  std::uint64_t settled = 0;
};

// Until so many are settled.
std::vector<Seen> watch(const MeasuredPool& pool, std::uint64_t jobs) {
  std::vector<Seen> course;
  std::uint64_t settled = 0;
  const Clock::time_point deadline =
      Clock::now() + 2 * sizes().steady_time + std::chrono::minutes(1);
  while (settled < jobs && Clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(1));
    settled = pool.client().status().total_processed;
    course.push_back({Clock::now(), settled});
  }
  return course;
}

std::uint64_t settled_by(const std::vector<Seen>& course, Clock::time_point time) {
  std::uint64_t settled = 0;
  for (const Seen& seen : course) {
    if (seen.when <= time) settled = seen.settled;
  }
  return settled;
}

std::vector<double> speeds_of(const std::vector<Seen>& course, Clock::time_point start) {
  const auto quarter = sizes().steady_time / kQuarters;
  const double seconds = std::chrono::duration<double>(quarter).count();
  std::vector<double> speeds;
  for (unsigned i = 0; i < kQuarters; ++i) {
    const std::uint64_t before = settled_by(course, start + i * quarter);
    const std::uint64_t after = settled_by(course, start + (i + 1) * quarter);
    speeds.push_back(per_second(after - before, seconds));
  }
  return speeds;
}

struct Batches {
  std::uint64_t count = 0;
  std::uint64_t jobs_each = 0;
};

Latencies delays_of(const std::vector<Seen>& course, Clock::time_point start,
                    const Batches& batches) {
  Latencies delays(batches.count * batches.jobs_each);
  std::uint64_t job = 0;
  for (const Seen& seen : course) {
    for (; job < seen.settled; ++job) {
      delays.put(job, seen.when - (start + (job / batches.jobs_each) * kTick));
    }
  }
  return delays;
}

Sample run_steadily(StoreKind kind) {
  const Place place(kind);
  MeasuredPool pool(place.url());
  pool.start();
  const auto count = static_cast<std::uint64_t>(sizes().steady_time / kTick);
  const Batches batches{.count = count,
                        .jobs_each = sizes().steady_per_second / (1000 / kTick.count())};
  const std::uint64_t jobs = batches.count * batches.jobs_each;
  const std::uint64_t before = place.written_bytes();
  std::vector<Seen> course;
  const Clock::time_point start = Clock::now();
  {
    const std::jthread watcher([&] { course = watch(pool, jobs); });
    for (std::uint64_t batch = 0; batch < batches.count; ++batch) {
      std::this_thread::sleep_until(start + batch * kTick);
      pool.enqueue(make_mails({batch * batches.jobs_each, batches.jobs_each}, Ids::sequential),
                   Durability::synced);
    }
  }
  pool.verify(jobs);
  const Latencies delays = delays_of(course, start, batches);
  std::vector<double> figures = speeds_of(course, start);
  figures.push_back(delays.percentile_us(0.5) / 1000);
  figures.push_back(delays.percentile_us(0.99) / 1000);
  figures.push_back(per_job(place.written_bytes() - before, jobs));
  return {.items = jobs, .seconds = 1, .figures = std::move(figures)};
}

Cell steady_cell(StoreKind kind) {
  const std::string name = to_text(kind);
  Cell cell{.group = kSteadyGroup,
            .name = name,
            .contenders = {{kMuster, [kind](std::uint64_t) { return run_steadily(kind); }}},
            .columns = {},
            .items = 1,
            .most_rounds = 3,
            .warm_up = Cell::WarmUp::none};
  for (unsigned i = 1; i <= kQuarters; ++i) {
    cell.columns.push_back({kSteadyGroup, name + " " + std::to_string(i) + "/4", Better::higher});
  }
  cell.columns.push_back({kDelayGroup, name + " p50"});
  cell.columns.push_back({kDelayGroup, name + " p99"});
  cell.columns.push_back({kSteadyBytesGroup, name});
  return cell;
}

}  // namespace

std::vector<Cell> steady_cells() {
  std::vector<Cell> cells;
  for (const StoreKind kind : stores_of_muster()) cells.push_back(steady_cell(kind));
  return cells;
}

}  // namespace muster::bench
