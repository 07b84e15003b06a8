// postgres_news.cpp: what a node hears of the others, and asks them.
#include <array>
#include <cmath>
#include <string>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include "jobs/stores/postgresql/cursor.hpp"
#include "jobs/stores/postgresql/postgres_store.hpp"
#include "jobs/stores/postgresql/sharing_queries.hpp"
#include "jobs/stores/store_time.hpp"

namespace muster {
namespace {

// Events up to this size come with what is polled.
constexpr std::int64_t kSmallEvent = 2000;

// What others wish is looked for when they say so, and this often.
constexpr std::chrono::milliseconds kLookForWishes{100};

}  // namespace

std::vector<SharedStore::Seen> PostgresStore::look(PoolNumber pool) {
  const MutexLock lock(reading_);
  const Rows rows = reader_.ask(
      "SELECT instance.number, pending, current_job, started_at, node IS NOT NULL,"
      " instance.paused OR pool.paused, processed FROM muster.instance"
      " JOIN muster.pool ON pool.number = instance.pool WHERE instance.pool = $1"
      " ORDER BY instance.number",
      Parameters().add(pool));
  std::vector<Seen> seen;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    Seen& each = seen.emplace_back();
    each.figures.place = {pool, static_cast<std::uint32_t>(rows.integer(row, 0))};
    each.figures.pending = static_cast<std::uint64_t>(rows.integer(row, 1));
    each.figures.current_job = rows.optional_text(row, 2);
    if (!rows.is_null(row, 3)) each.figures.started_at = as_time(rows.integer(row, 3));
    each.is_held = rows.boolean(row, 4);
    each.is_paused = rows.boolean(row, 5);
    each.processed = static_cast<std::uint64_t>(rows.integer(row, 6));
  }
  return seen;
}

// Transactions before the horizon were over when it was set, so what they left has been seen.
std::vector<SharedStore::CancelWish> PostgresStore::poll(const std::vector<PoolNumber>& pools,
                                                         const EachArrivals& each) {
  if (!poll_at_once(pools, each)) poll_by_pages(pools, each);
  const Time now = real_clock().now();
  if (!is_news_from_others_ && now - wishes_seen_ <= kLookForWishes) return {};
  wishes_seen_ = now;
  std::vector<CancelWish> wishes;
  const Rows rows = watcher_.run("SELECT seq, stops FROM muster.request");
  wishes.reserve(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    wishes.push_back({.seq = rows.integer(row, 0), .stops = rows.boolean(row, 1)});
  }
  return wishes;
}

// The horizon and the rows are of one snapshot. False: there are more than stand on a page.
bool PostgresStore::poll_at_once(const std::vector<PoolNumber>& pools, const EachArrivals& each) {
  const Rows rows = watcher_.run(
      "SELECT pg_snapshot_xmin(pg_current_snapshot()), new.seq, new.priority, attempts,"
      " new.turn, enqueued_at, at, id, new.key, new.pool,"
      " CASE WHEN octet_length(event) <= $3 THEN event END, new.xid"
      " FROM (SELECT) AS once LEFT JOIN (SELECT * FROM muster.waiting"
      " WHERE xid >= $1::xid8 AND pool = ANY($2) LIMIT $4) AS new ON true"
      " LEFT JOIN muster.job ON job.seq = new.seq ORDER BY new.seq",
      Parameters()
          .add(std::string_view(horizon_))
          .add(pools)
          .add(kSmallEvent)
          .add(std::int64_t{Cursor::kPage + 1}));
  if (rows.size() > Cursor::kPage) return false;
  std::vector<Arrival> arrivals;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows.is_null(row, 1)) continue;
    arrivals.push_back({.job = {.seq = rows.integer(row, 1),
                                .id = std::string(rows.text(row, 7)),
                                .key = rows.optional_text(row, 8),
                                .turn = static_cast<std::uint32_t>(rows.integer(row, 4)),
                                .priority = static_cast<std::int16_t>(rows.integer(row, 2)),
                                .attempts = static_cast<unsigned>(rows.integer(row, 3)),
                                .enqueued_at = as_time(rows.integer(row, 5)),
                                .at = as_time(rows.integer(row, 6)),
                                .version = static_cast<std::uint64_t>(rows.integer(row, 11))},
                        .pool = rows.integer(row, 9),
                        .event = rows.optional_text(row, 10)});
  }
  each(std::move(arrivals));
  horizon_ = rows.text(0, 0);
  return true;
}

// All pages are of one moment: what was enqueued before something else must not come behind it. The
// horizon is a little older, and set when all pages have been seen.
void PostgresStore::poll_by_pages(const std::vector<PoolNumber>& pools, const EachArrivals& each) {
  const std::string next(watcher_.run("SELECT pg_snapshot_xmin(pg_current_snapshot())").text(0, 0));
  Cursor cursor(watcher_, {"SELECT seq, priority, attempts, turn, at, key, xid, pool"
                           " FROM muster.waiting WHERE xid >= $1::xid8 AND pool = ANY($2)"
                           " ORDER BY seq",
                           Parameters().add(std::string_view(horizon_)).add(pools)});
  for (Rows rows = cursor.next(); rows.size() > 0; rows = cursor.next()) {
    std::vector<Arrival> arrivals;
    arrivals.reserve(rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      arrivals.push_back({.job = waiting_in(rows, row), .pool = rows.integer(row, 7)});
    }
    each(std::move(arrivals));
    renew_lease();
  }
  horizon_ = next;
}

void PostgresStore::wish_cancelled(const CancelWish& wish) {
  const MutexLock lock(reading_);
  (void)reader_.ask(
      "INSERT INTO muster.request AS old(seq, stops) VALUES($1, $2::boolean)"
      " ON CONFLICT (seq) DO UPDATE SET stops = old.stops OR excluded.stops",
      Parameters().add(wish.seq).add(std::string_view(wish.stops ? "t" : "f")));
  (void)reader_.ask("SELECT pg_notify('muster', 'cancel')");
}

SharedStore::Wish PostgresStore::wish(JobSeq seq) {
  const MutexLock lock(reading_);
  const Rows rows = reader_.ask("SELECT FROM muster.request WHERE seq = $1", Parameters().add(seq));
  return rows.size() == 0 ? Wish::none : Wish::waits;
}

void PostgresStore::drop_wish(JobSeq seq) {
  const MutexLock lock(reading_);
  (void)reader_.ask("DELETE FROM muster.request WHERE seq = $1", Parameters().add(seq));
}

// Whoever wants to hold it has to wait for its row, and looks at its jobs afterwards.
bool PostgresStore::cancel_unheld(const InstancePlace& place, const Verdict& verdict) {
  const MutexLock lock(reading_);
  const std::array<Query, 4> queries{
      Query{kBury}, Query{kFree},
      Query{"SELECT FROM muster.instance WHERE pool = $1 AND number = $2 FOR UPDATE",
            Parameters().add(place.pool).add(std::int64_t{place.index})},
      Query{"WITH gone AS (DELETE FROM muster.waiting WHERE seq = $1 AND EXISTS"
            " (SELECT FROM muster.instance WHERE pool = $3 AND number = $4 AND node IS NULL)"
            " RETURNING seq, pool, attempts)"
            " INSERT INTO muster.ended(seq, pool, at, attempts, state)"
            " SELECT seq, pool, $2, attempts, 3 FROM gone",
            Parameters()
                .add(verdict.seq)
                .add(as_number(verdict.at))
                .add(place.pool)
                .add(std::int64_t{place.index})}};
  return reader_.run_all(queries)[3].touched() == 1;
}

void PostgresStore::call() noexcept {
  (void)eventfd_write(bell_, 1);
}

bool PostgresStore::await(Duration timeout) {
  listen();
  const std::string own = std::to_string(node_.load(relaxed));  // relaxed: a hint
  const Time deadline = real_clock().now() + timeout;
  for (;;) {
    const std::vector<std::string> notices =
        watcher_.await_notices(deadline - real_clock().now(), bell_);
    eventfd_t count = 0;
    const bool is_called = eventfd_read(bell_, &count) == 0;
    bool is_news = false;
    bool have_nodes_changed = was_given_up_.load(relaxed);  // relaxed: a hint
    for (const std::string& notice : notices) {
      if (notice == own || notice == own + kNodesChanged) continue;
      is_news = true;
      have_nodes_changed = have_nodes_changed || notice.ends_with(kNodesChanged);
    }
    is_news_from_others_ = is_news;
    if (is_news || is_called || real_clock().now() >= deadline) return have_nodes_changed;
  }
}

// A transaction for itself.
void PostgresStore::confirm_running() {
  StoreBatch nothing;
  commit(nothing, Durability::synced);
}

bool PostgresStore::has_available(PoolNumber pool) {
  const MutexLock lock(reading_);
  return reader_
      .ask("SELECT EXISTS (SELECT FROM muster.waiting WHERE pool = $1)", Parameters().add(pool))
      .boolean(0, 0);
}

// A node that is silent could go on as long as it is not buried.
bool PostgresStore::has_nodes() {
  const MutexLock lock(reading_);
  const std::array<Query, 3> queries{
      Query{kBury}, Query{kFree},
      Query{"SELECT EXISTS (SELECT FROM muster.node WHERE NOT dead AND number <> $1"
            " AND pools <> '{}')",
            Parameters().add(node_.load(relaxed))}};  // relaxed: nobody else is here
  return reader_.run_all(queries)[2].boolean(0, 0);
}

Duration PostgresStore::take_token(const std::string& name, const RateLimit& limit) {
  const auto interval = static_cast<std::int64_t>(std::ceil(1e9 / limit.per_second));
  const auto slack = static_cast<std::int64_t>((limit.burst - 1) * static_cast<double>(interval));
  const MutexLock lock(reading_);
  const Rows row = reader_.run("SELECT muster.take_token($1, $2, $3)",
                               Parameters().add(std::string_view(name)).add(interval).add(slack));
  return Duration(row.integer(0, 0));
}

}  // namespace muster
