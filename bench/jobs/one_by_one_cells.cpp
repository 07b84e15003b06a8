// one_by_one_cells.cpp: single jobs, each synced before its thread goes on. Many threads share a
// commit; alone there is one for each job.
#include <stdexcept>
#include <string>

#include <muster/sync/atomic.hpp>

#include "jobs/cells.hpp"
#include "jobs/mails.hpp"
#include "jobs/measured_pool.hpp"
#include "jobs/raw_postgres.hpp"
#include "jobs/raw_sqlite.hpp"
#include "jobs/sizes.hpp"
#include "jobs/timing.hpp"
#include "support/together.hpp"

namespace muster::bench {
namespace {

constexpr std::uint64_t kThreads = 64;

Sample enqueue_together(StoreKind kind, std::uint64_t jobs) {
  const Place place(kind);
  const MeasuredPool pool(place.url());
  const std::uint64_t each = jobs / kThreads;
  Atomic<std::uint64_t> enqueued = 0;
  std::vector<Role> roles;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    roles.emplace_back([&pool, &enqueued, thread, each](StartLine& start) {
      const Mails mails = make_mails({thread * each, each}, Ids::sequential);
      start.wait();
      std::uint64_t created = 0;
      for (const EnqueueOptions<Mail>& mail : mails) {
        if (pool.client().enqueue(mail).created) ++created;
      }
      enqueued.fetch_add(created, relaxed);  // relaxed: read after the join
    });
  }
  const double seconds = run_together(roles);
  if (enqueued.load(relaxed) != each * kThreads) {  // relaxed: all have ended
    throw std::runtime_error("64 threads enqueued " + std::to_string(each * kThreads) +
                             " new jobs, and not all were taken");
  }
  return {.items = each * kThreads, .seconds = seconds};
}

Sample commit_each(StoreKind kind) {
  const Place place(kind);
  const std::uint64_t jobs = sizes().commits;
  const std::vector<EncodedJob> mails = encoded_mails(make_mails({0, jobs}, Ids::sequential));
  double seconds = 0;
  if (kind == StoreKind::sqlite) {
    RawSqlite raw(place);
    seconds = seconds_of([&] {
      for (const EncodedJob& job : mails) raw.insert(std::span(&job, 1));
    });
  } else {
    RawPostgres raw(place.url());
    seconds = seconds_of([&] {
      for (const EncodedJob& job : mails) raw.insert_one(job);
    });
  }
  return {.items = jobs, .seconds = seconds};
}

}  // namespace

std::vector<Cell> one_by_one_cells() {
  std::vector<Cell> cells;
  for (const StoreKind kind : {StoreKind::sqlite, StoreKind::postgres}) {
    Cell cell{.group = kOneByOneGroup,
              .name = to_text(kind),
              .contenders = {},
              .items = sizes().one_by_one};
    if (can_have(kind)) {
      cell.contenders.push_back(
          {kCommitEach, [kind](std::uint64_t /*jobs*/) { return commit_each(kind); }});
    }
    if (muster_has(kind)) {
      cell.contenders.push_back(
          {kMuster, [kind](std::uint64_t jobs) { return enqueue_together(kind, jobs); }});
    }
    cells.push_back(std::move(cell));
  }
  return cells;
}

}  // namespace muster::bench
