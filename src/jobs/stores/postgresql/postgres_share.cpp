// postgres_share.cpp: who lives, and who holds what.
#include <algorithm>
#include <string>
#include <utility>

#include <muster/base/log.hpp>

#include "jobs/stores/postgresql/postgres_store.hpp"
#include "jobs/stores/postgresql/sharing_queries.hpp"
#include "jobs/stores/store_time.hpp"

namespace muster {
namespace {

// Nodes that are gone are remembered for a while, so that one that comes back late still finds out
// what became of its last batch. Those that only enqueue need no lease.
constexpr std::string_view kForgetNodes =
    "DELETE FROM muster.node WHERE (dead OR pools = '{}')"
    " AND beat < clock_timestamp() - interval '1 day'";

// A full bucket is as good as none.
constexpr std::string_view kForgetBuckets =
    "DELETE FROM muster.bucket WHERE full_at < extract(epoch FROM clock_timestamp()) * 1e9";

// Of those who did not wait for an answer.
constexpr std::string_view kForgetWishes =
    "DELETE FROM muster.request WHERE asked_at < clock_timestamp() - interval '1 minute'";

}  // namespace

// As somebody new: what we held before, if we were somebody, is lost.
void PostgresStore::join() {
  const auto lease = std::chrono::ceil<std::chrono::milliseconds>(options_.lease);
  const Time asked = real_clock().now();
  const WallTime began = clock_.wall_now();
  const Rows row = writer_.run(
      "INSERT INTO muster.node(lease_ms) VALUES($1)"
      " RETURNING number, (extract(epoch FROM clock_timestamp()) * 1e9)::bigint",
      Parameters().add(std::int64_t{lease.count()}));
  note_clock(began, row.integer(0, 1));
  node_.store(row.integer(0, 0), relaxed);  // relaxed: written under the lock only
  note_lease(asked);
}

// What we said reached the database after `asked`, so by its clock our lease ends later. Who has
// waited for his answer for longer does not shorten it.
void PostgresStore::note_lease(Time asked) {
  const Time::rep until = (asked + options_.lease).time_since_epoch().count();
  Time::rep known = lease_until_.load(relaxed);  // relaxed: a figure; it only grows
  // relaxed: as above.
  while (known < until && !lease_until_.compare_exchange_weak(known, until, relaxed, relaxed)) {
  }
}

// In the middle of something that may take as long as the lease: as soon as a beat would be due. If
// it cannot be renewed, whoever beats or commits next finds out why.
void PostgresStore::renew_lease() {
  const auto is_new = [this] {
    const Time until{Time::duration(lease_until_.load(relaxed))};  // relaxed: a figure
    return real_clock().now() < until - options_.lease + beat_every();
  };
  if (is_new()) return;
  const MutexLock lock(writing_);
  const NodeNumber node = node_.load(relaxed);  // relaxed: written under the lock only
  if (node == 0 || is_new()) return;            // the commit that we waited for has renewed it
  const Time asked = real_clock().now();
  try {
    const Rows row = writer_.run(
        "UPDATE muster.node SET beat = clock_timestamp() WHERE number = $1 AND NOT dead",
        Parameters().add(node));
    if (row.touched() == 1) note_lease(asked);
  } catch (const StoreFailure& failure) {
    MUSTER_LOG(LogLevel::warning, "the node's lease is not renewed: " << failure.what());
  }
}

// Their time was somewhere between `began` and now. What we believed stays as long as it can be
// true: an answer that took long would only make it worse.
void PostgresStore::note_clock(WallTime began, std::int64_t theirs) {
  const auto ahead_of = [theirs](WallTime ours) {
    return std::chrono::duration_cast<Duration>(as_time(theirs) - ours).count();
  };
  const Duration::rep least = ahead_of(clock_.wall_now());
  const Duration::rep most = std::max(least, ahead_of(began));
  const Duration::rep before = clock_ahead_.load(relaxed);  // relaxed: a figure
  const Duration::rep now =
      before == kUnknownClock ? least + (most - least) / 2 : std::clamp(before, least, most);
  clock_ahead_.store(now, relaxed);  // relaxed: a figure
}

Duration PostgresStore::clock_ahead() const noexcept {
  const Duration::rep ahead = clock_ahead_.load(relaxed);  // relaxed: a figure
  return ahead == kUnknownClock ? Duration::zero() : Duration(ahead);
}

bool PostgresStore::has_lease(NodeNumber holder) const noexcept {
  if (node_.load(relaxed) != holder) return false;               // relaxed: it never comes back
  const Time until{Time::duration(lease_until_.load(relaxed))};  // relaxed: a figure
  return real_clock().now() < until;
}

// What is loaded by somebody new has all that was there before. If the server was started anew it
// may have forgotten transactions, and numbers them as before: then all that waits is looked at
// again.
void PostgresStore::find_horizon(bool is_new) {
  const Rows row = watcher_.run("SELECT pg_snapshot_xmin(pg_current_snapshot()), muster.life()");
  const bool is_another = std::exchange(life_, row.text(0, 1)) != row.text(0, 1);
  if (is_new) {
    horizon_ = row.text(0, 0);
  } else if (is_another) {
    horizon_ = "0";
  }
}

// Before anything is asked, so that no change is missed in between. Not behind a pooler: what its
// session hears does not come here, and it would go on to listen for whomever it is lent to next.
void PostgresStore::listen() {
  if (watcher_.is_open() && listens_on_ == watcher_.generation()) return;
  if (!watcher_.is_open()) (void)watcher_.run("SELECT");  // connects
  if (watcher_.is_direct()) (void)watcher_.run("LISTEN muster");
  listens_on_ = watcher_.generation();
}

bool PostgresStore::may_run(const RunPool& pool, NodeNumber node) {
  if (std::ranges::find(runs_pools_, pool.number) != runs_pools_.end()) return true;
  const std::array<Query, 3> queries{
      Query{kLockPool, Parameters().add(pool.number)},
      Query{kChangeConcurrency, Parameters().add(pool.number).add(std::int64_t{pool.concurrency})},
      Query{"UPDATE muster.node SET pools = array_append(pools, $2) WHERE number = $1 AND NOT dead"
            " AND EXISTS (SELECT FROM muster.pool WHERE pool.number = $2 AND concurrency = $3)",
            Parameters().add(node).add(pool.number).add(std::int64_t{pool.concurrency})}};
  if (watcher_.run_all(queries)[2].touched() == 1) {
    runs_pools_.push_back(pool.number);
    return true;
  }
  MUSTER_LOG(LogLevel::warning, "other nodes run pool "
                                    << pool.number << " with another concurrency than "
                                    << pool.concurrency << "; it is not run here until they end");
  return false;
}

SharedStore::Standing PostgresStore::beat(const Report& report) {
  NodeNumber node = 0;
  {
    const MutexLock lock(writing_);
    if (node_.load(relaxed) == 0) join();  // relaxed: written under the lock only
    node = node_.load(relaxed);            // relaxed: as above
  }
  was_given_up_.store(false, relaxed);  // relaxed: a hint
  listen();
  const bool is_new = std::exchange(runs_as_, node) != node;
  if (is_new) runs_pools_.clear();
  find_horizon(is_new);
  const Time asked = real_clock().now();
  const WallTime began = clock_.wall_now();
  const std::array<Query, 7> queries{
      Query{"UPDATE muster.node SET beat = clock_timestamp(), running = $2"
            " WHERE number = $1 AND NOT dead"
            " RETURNING (extract(epoch FROM clock_timestamp()) * 1e9)::bigint",
            Parameters().add(node).add(running())},
      Query{kBury},
      Query{kFree},
      Query{kForgetNodes},
      Query{kForgetBuckets},
      Query{kForgetWishes},
      Query{"SELECT NOT EXISTS (SELECT FROM muster.node WHERE NOT dead AND pools <> '{}'"
            " AND number <> $1)",
            Parameters().add(node)}};
  const std::vector<Rows> answers = watcher_.run_all(queries);
  if (answers[0].size() == 0) {
    const MutexLock lock(writing_);
    if (node_.load(relaxed) == node) join();  // relaxed: as above
    was_given_up_.store(true, relaxed);       // relaxed: a hint
    return {.node = node_.load(relaxed)};     // relaxed: as above
  }
  note_lease(asked);
  note_clock(began, answers[0].integer(0, 0));
  is_alone_.store(answers[6].boolean(0, 0), relaxed);  // relaxed: a hint
  return standing_as(node, report, is_new);
}

SharedStore::Standing PostgresStore::standing_as(NodeNumber node, const Report& report,
                                                 bool is_new) {
  Standing standing{.node = node};
  std::vector<PoolNumber> pools;
  const std::size_t known = runs_pools_.size();
  for (const RunPool& pool : report.pools) {
    if (may_run(pool, node)) pools.push_back(pool.number);
  }
  tell(report, node, is_new || known != runs_pools_.size());
  for (const PoolNumber pool : pools) take_share(pool, report.is_stopping, standing);
  const std::array<Query, 2> queries{
      Query{"SELECT number FROM muster.pool WHERE paused AND number = ANY($1)",
            Parameters().add(pools)},
      Query{"SELECT seq FROM muster.interrupted JOIN muster.waiting USING(seq)"
            " WHERE pool = ANY($1)",
            Parameters().add(pools)}};
  const std::vector<Rows> answers = watcher_.run_all(queries);
  for (std::size_t row = 0; row < answers[0].size(); ++row) {
    standing.paused.push_back(answers[0].integer(row, 0));
  }
  for (std::size_t row = 0; row < answers[1].size(); ++row) {
    standing.interrupted.push_back(answers[1].integer(row, 0));
  }
  return standing;
}

// What we let go of, and how what we hold is.
void PostgresStore::tell(const Report& report, NodeNumber node, bool has_come) {
  for (const auto& [place, is_suspect] : report.released) {
    (void)watcher_.run(
        "UPDATE muster.instance SET node = NULL, suspect = $4::boolean, current_job = NULL,"
        " started_at = NULL, pending = 0 WHERE node = $1 AND pool = $2 AND number = $3",
        Parameters()
            .add(node)
            .add(place.pool)
            .add(std::int64_t{place.index})
            .add(std::string_view(is_suspect ? "t" : "f")));
  }
  if (!report.released.empty() || has_come) {
    (void)watcher_.run("SELECT pg_notify('muster', $1)",
                       Parameters().add(std::string_view(std::to_string(node) + kNodesChanged)));
  }
  std::vector<std::int64_t> pools;
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> pending;
  std::vector<std::optional<std::string_view>> jobs;
  std::vector<std::optional<std::int64_t>> started;
  for (const Figures& figures : report.figures) {
    pools.push_back(figures.place.pool);
    numbers.push_back(figures.place.index);
    pending.push_back(static_cast<std::int64_t>(figures.pending));
    jobs.emplace_back(figures.current_job);
    started.emplace_back();
    if (figures.started_at) started.back() = as_number(*figures.started_at);
  }
  if (pools.empty()) return;
  // Without those that a commit of ours has just locked: it may want what this has, too.
  (void)watcher_.run(
      "WITH ours AS (SELECT pool, number FROM muster.instance WHERE node = $6"
      " FOR NO KEY UPDATE SKIP LOCKED)"
      " UPDATE muster.instance SET pending = new.pending, current_job = new.job,"
      " started_at = new.started FROM ours JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[],"
      " $4::text[], $5::bigint[]) AS new(pool, number, pending, job, started) USING(pool, number)"
      " WHERE instance.pool = ours.pool AND instance.number = ours.number",
      Parameters().add(pools).add(numbers).add(pending).add(jobs).add(started).add(node));
}

// Instances are shared out evenly, the odd ones to the oldest nodes: who has less than its share
// takes free ones, who has more is told which to let go, the last ones first.
void PostgresStore::take_share(PoolNumber pool, bool is_stopping, Standing& standing) {
  const NodeNumber node = standing.node;
  const Rows facts = watcher_.run(
      "SELECT concurrency, (SELECT count(*) FROM muster.node WHERE NOT dead AND $1 = ANY(pools)),"
      " (SELECT count(*) FROM muster.node WHERE NOT dead AND $1 = ANY(pools) AND number < $2),"
      " (SELECT count(*) FROM muster.instance WHERE pool = $1 AND node = $2)"
      " FROM muster.pool WHERE number = $1",
      Parameters().add(pool).add(node));
  const std::int64_t concurrency = facts.integer(0, 0);
  const std::int64_t nodes = std::max<std::int64_t>(facts.integer(0, 1), 1);
  const std::int64_t rank = facts.integer(0, 2);
  const std::int64_t share = concurrency / nodes + (rank < concurrency % nodes ? 1 : 0);
  const std::int64_t missing = share - facts.integer(0, 3);
  if (missing > 0 && !is_stopping) {
    const Rows taken = watcher_.run(
        "UPDATE muster.instance SET node = $2 WHERE pool = $1 AND number IN"
        " (SELECT number FROM muster.instance WHERE pool = $1 AND node IS NULL AND number < $3"
        " ORDER BY number LIMIT $4 FOR UPDATE SKIP LOCKED)"
        " AND EXISTS (SELECT FROM muster.node WHERE number = $2 AND NOT dead)",
        Parameters().add(pool).add(node).add(concurrency).add(missing));
    if (static_cast<std::int64_t>(taken.touched()) < missing) {
      const Rows left = watcher_.run(
          "SELECT EXISTS (SELECT FROM muster.instance"
          " WHERE pool = $1 AND node IS NULL AND number < $2)",
          Parameters().add(pool).add(concurrency));
      standing.is_short = standing.is_short || left.boolean(0, 0);
    }
  }
  const Rows held = watcher_.run(
      "SELECT number, paused, processed, suspect FROM muster.instance"
      " WHERE pool = $1 AND node = $2 ORDER BY number",
      Parameters().add(pool).add(node));
  for (std::size_t row = 0; row < held.size(); ++row) {
    const std::int64_t number = held.integer(row, 0);
    standing.held.push_back(
        {.place = {.pool = pool, .index = static_cast<std::uint32_t>(number)},
         .is_paused = held.boolean(row, 1),
         .processed = static_cast<std::uint64_t>(held.integer(row, 2)),
         .is_suspect = held.boolean(row, 3),
         .is_unwanted = static_cast<std::int64_t>(row) >= share || number >= concurrency});
  }
}

// Lets others have what we held, at once. If they cannot be told, they find out when the lease is
// over.
void PostgresStore::leave() noexcept {
  const MutexLock lock(writing_);
  const NodeNumber node = node_.load(relaxed);  // relaxed: written under the lock only
  if (node == 0) return;
  try {
    const std::array<Query, 3> queries{
        Query{"UPDATE muster.instance SET node = NULL, suspect = false, current_job = NULL,"
              " started_at = NULL, pending = 0 WHERE node = $1",
              Parameters().add(node)},
        Query{"UPDATE muster.node SET dead = true WHERE number = $1", Parameters().add(node)},
        Query{"SELECT pg_notify('muster', $1)",
              Parameters().add(std::string_view(std::to_string(node) + kNodesChanged))}};
    (void)writer_.run_all(queries);
  } catch (const std::exception& error) {
    MUSTER_LOG(LogLevel::warning, "others have to wait for this node's lease: " << error.what());
  }
  // relaxed: written under the lock only. Who enqueues from here on does not renew that lease.
  node_.store(0, relaxed);
}

}  // namespace muster
