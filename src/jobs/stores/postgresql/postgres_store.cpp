// postgres_store.cpp: how changes are committed, and what is done when nobody knows whether they
// were.
#include "jobs/stores/postgresql/postgres_store.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <muster/base/log.hpp>

#include "jobs/stores/postgresql/batch_queries.hpp"
#include "jobs/stores/postgresql/postgres_schema.hpp"
#include "jobs/stores/postgresql/sharing_queries.hpp"
#include "jobs/stores/store_time.hpp"

namespace muster {
namespace {

// Batches that are committed with care after one that failed for want of it.
constexpr unsigned kStaysCareful = 100;

// Transactions that stood in each other's way; nothing of them happened.
bool is_worth_another(const std::string& code) {
  return code == "40P01" || code == "40001";
}

// Between two attempts to reach the database.
constexpr std::chrono::milliseconds kFirstPause{20};
constexpr std::chrono::milliseconds kLongestPause{1000};

}  // namespace

PostgresStore::PostgresStore(const Options& options)
    : options_(options),
      clock_(options.clock != nullptr ? *options.clock : real_clock()),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      runs_(kMostRunners),
      writer_({.url = options.url, .timeout = options.timeout}),
      reader_({.url = options.url, .timeout = options.timeout}),
      scanner_({.url = options.url, .timeout = options.timeout}),
      watcher_({.url = options.url, .timeout = options.timeout}) {
  if (bell_ < 0) throw SystemFailure("make an event descriptor", errno, "");
  const MutexLock lock(writing_);
  migrate(writer_);
}

PostgresStore::~PostgresStore() {
  leave();
  ::close(bell_);
}

PoolRecord PostgresStore::open_pool(std::string_view name, std::uint32_t concurrency) {
  const MutexLock lock(writing_);
  if (node_.load(relaxed) == 0) join();  // relaxed: written under the lock only
  (void)writer_.run(
      "INSERT INTO muster.pool(name, concurrency) VALUES($1, $2) ON CONFLICT DO NOTHING",
      Parameters().add(name).add(std::int64_t{concurrency}));
  const PoolNumber number =
      writer_.run("SELECT number FROM muster.pool WHERE name = $1", Parameters().add(name))
          .integer(0, 0);
  // What others run stays as it is; who is the last to run it may change it.
  (void)writer_.run_all(std::array{Query{kBury}, Query{kFree}});
  const std::array<Query, 3> queries{
      Query{kLockPool, Parameters().add(number)},
      Query{kChangeConcurrency, Parameters().add(number).add(std::int64_t{concurrency})},
      Query{"SELECT concurrency, paused FROM muster.pool WHERE number = $1",
            Parameters().add(number)}};
  const std::vector<Rows> answers = writer_.run_all(queries);
  const Rows& pool = answers[2];
  PoolRecord record{.number = number,
                    .concurrency = static_cast<std::uint32_t>(pool.integer(0, 0)),
                    .is_paused = pool.boolean(0, 1)};
  (void)writer_.run(
      "INSERT INTO muster.instance(pool, number) SELECT $1, generate_series(0, $2 - 1)"
      " ON CONFLICT DO NOTHING",
      Parameters().add(record.number).add(std::int64_t{record.concurrency}));
  const Rows instances =
      writer_.run("SELECT number, paused, processed FROM muster.instance WHERE pool = $1",
                  Parameters().add(record.number));
  for (std::size_t row = 0; row < instances.size(); ++row) {
    record.instances.push_back(
        {.index = static_cast<std::uint32_t>(instances.integer(row, 0)),
         .is_paused = instances.boolean(row, 1),
         .processed = static_cast<std::uint64_t>(instances.integer(row, 2))});
  }
  const Rows last = writer_.run("SELECT coalesce(max(seq), 0) FROM muster.job");
  record.jobs = static_cast<std::uint64_t>(last.integer(0, 0));
  return record;
}

void PostgresStore::note_running(std::uint32_t runner, JobSeq seq) noexcept {
  runs_[runner].store(seq, relaxed);             // relaxed: a figure
  std::uint32_t known = runners_.load(relaxed);  // relaxed: a figure; it only grows
  // relaxed: as above.
  while (known <= runner && !runners_.compare_exchange_weak(known, runner + 1, relaxed, relaxed)) {
  }
}

std::vector<JobSeq> PostgresStore::running() const {
  std::vector<JobSeq> seqs;
  const std::uint32_t runners = runners_.load(relaxed);  // relaxed: as above
  for (std::uint32_t runner = 0; runner < runners; ++runner) {
    const JobSeq seq = runs_[runner].load(relaxed);  // relaxed: as above
    if (seq != 0) seqs.push_back(seq);
  }
  return seqs;
}

PostgresStore::Query PostgresStore::go_on() {
  const NodeNumber node = node_.load(relaxed);  // relaxed: written under the lock only
  return {"SELECT muster.go_on($1, $2, $3)", Parameters().add(node).add(batch_).add(running())};
}

// Until it is known what became of it, or for twice as long as a call may take.
void PostgresStore::commit(StoreBatch& batch, Durability durability) {
  const MutexLock lock(writing_);
  const Time deadline = real_clock().now() + 2 * options_.timeout;
  Duration pause = kFirstPause;
  bool is_sent = false;  // and it is not known whether it happened
  for (;;) {
    bool asks = is_sent;
    try {
      if (asks && find_out(batch)) return;
      asks = is_sent = false;
      if (node_.load(relaxed) == 0) join();  // relaxed: written under the lock only
      is_sent = true;
      transact(batch, durability);
      return;
    } catch (const ConnectionLost&) {
      if (real_clock().now() + pause > deadline) throw;
    } catch (const DatabaseError& error) {
      is_sent = asks;  // if it was the question that failed, it is still to be answered
      if (error.code() == BatchQueries::kGivenUp) {
        MUSTER_LOG(LogLevel::warning, error.what());
        node_.store(0, relaxed);             // relaxed: written under the lock only
        was_given_up_.store(true, relaxed);  // relaxed: a hint
        call();
        continue;
      }
      const bool wants_care =
          error.code() == BatchQueries::kIdTaken || error.code() == BatchQueries::kNotAvailable;
      if (wants_care && careful_batches_ == 0) {
        careful_batches_ = kStaysCareful;
        continue;
      }
      if (!is_worth_another(error.code()) || real_clock().now() + pause > deadline) throw;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min<Duration>(2 * pause, kLongestPause);
  }
}

// One transaction; in two steps if jobs have enqueued others, which depends on whether they are
// settled.
void PostgresStore::transact(StoreBatch& batch, Durability durability) {
  const Time asked = real_clock().now();
  const bool is_careful = careful_batches_ > 0;
  const NodeNumber node = node_.load(relaxed);  // relaxed: written under the lock only
  const bool knows_life = writer_.is_direct() && writer_.generation() == knows_life_;
  BatchQueries queries(
      batch, {.node = node, .batch = ++batch_},
      is_careful ? BatchQueries::Way::careful : BatchQueries::Way::quick,
      knows_life ? BatchQueries::Session::knows_life : BatchQueries::Session::is_new);
  const std::string settings =
      writer_.is_direct() ? "" : Connection::settings(options_.timeout, true);
  queries.begin(durability, settings, go_on());
  queries.settle();
  if (queries.needs_answers()) {
    queries.take_answers(writer_.run_all(queries.queries()));
    queries.clear();
  }
  queries.judge();
  queries.insert();
  queries.pause();
  const bool is_alone = is_alone_.load(relaxed);  // relaxed: a hint
  queries.commit(is_alone ? BatchQueries::Others::none : BatchQueries::Others::may_listen);
  queries.take_answers(writer_.run_all(queries.queries()));
  if (!batch.jobs.empty() && writer_.is_direct()) knows_life_ = writer_.generation();
  note_lease(asked);
  if (is_careful) --careful_batches_;
  try {
    find_duplicates(batch);
  } catch (const DatabaseError& error) {  // it is committed; only where they are is not known
    MUSTER_LOG(LogLevel::warning, "cannot find the jobs of ids that were taken: " << error.what());
  }
}

// The same statements as of a batch of our own, without who we are: it is not our transaction.
std::vector<Inserted> PostgresStore::insert_with(pg_conn* connection,
                                                 std::span<const NewJob> jobs) {
  StoreBatch batch;
  batch.jobs.assign(jobs.begin(), jobs.end());
  BatchQueries queries(batch, {});
  queries.insert();
  std::vector<Rows> answers;
  for (const Query& query : queries.queries()) {
    answers.push_back(run_on(connection, query.sql, query.parameters));
  }
  queries.take_answers(answers);
  (void)run_on(connection, "SELECT pg_notify('muster', 'jobs')", {});
  return std::move(batch.inserted);
}

void PostgresStore::find_duplicates(StoreBatch& batch) {
  std::vector<std::size_t> places;
  std::vector<std::int64_t> pools;
  std::vector<std::string_view> ids;
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    if (batch.inserted[i].created) continue;
    places.push_back(i);
    pools.push_back(batch.jobs[i].pool);
    ids.push_back(batch.jobs[i].id);
  }
  if (places.empty()) return;
  const Rows rows = writer_.run(
      "SELECT place, seq, turn FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY"
      " AS given(pool, id, place) JOIN muster.job ON job.pool = given.pool"
      " AND job.id = given.id COLLATE \"C\"",
      Parameters().add(pools).add(ids));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    Inserted& inserted = batch.inserted[places[static_cast<std::size_t>(rows.integer(row, 0)) - 1]];
    inserted.seq = rows.integer(row, 1);
    inserted.turn = static_cast<std::uint32_t>(rows.integer(row, 2));
  }
}

// Whether the last batch was committed; then with its answers. Waits for a transaction that is
// still under way, since that has our row.
bool PostgresStore::find_out(StoreBatch& batch) {
  const NodeNumber node = node_.load(relaxed);  // relaxed: written under the lock only
  // From here on it cannot arrive any more: go_on() takes higher numbers only. The number is not
  // the batch's own: the answer to this may be lost, too.
  const Rows last = writer_.run(
      "WITH before AS (SELECT batch, xid FROM muster.node WHERE number = $1 FOR UPDATE)"
      " UPDATE muster.node SET batch = greatest(before.batch, CASE before.batch WHEN $2 THEN $2"
      " ELSE $2 + 1 END) FROM before WHERE number = $1 RETURNING before.batch, before.xid",
      Parameters().add(node).add(batch_));
  if (last.size() == 0 || last.integer(0, 0) != batch_) {
    ++batch_;
    return false;
  }
  BatchQueries queries(batch, {.node = node, .batch = batch_});
  queries.ask_what_happened(std::string(last.text(0, 1)));
  queries.take_answers(writer_.run_all(queries.queries()));
  find_duplicates(batch);
  return true;
}

}  // namespace muster
