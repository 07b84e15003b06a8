// postgres_moving.cpp: what goes to another store, and comes from one.
#include <map>
#include <optional>
#include <utility>

#include "jobs/stores/postgresql/postgres_store.hpp"
#include "jobs/stores/store_time.hpp"

namespace muster {

std::vector<WholePool> PostgresStore::all_pools() {
  const MutexLock lock(reading_);
  const Rows rows =
      reader_.ask("SELECT number, name, paused, concurrency FROM muster.pool ORDER BY number");
  std::vector<WholePool> pools;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    WholePool& pool = pools.emplace_back();
    pool.name = std::string(rows.text(row, 1));
    pool.record.number = rows.integer(row, 0);
    pool.record.is_paused = rows.boolean(row, 2);
    pool.record.concurrency = static_cast<std::uint32_t>(rows.integer(row, 3));
    const Rows instances =
        reader_.ask("SELECT number, paused, processed FROM muster.instance WHERE pool = $1",
                    Parameters().add(pool.record.number));
    for (std::size_t i = 0; i < instances.size(); ++i) {
      pool.record.instances.push_back(
          {.index = static_cast<std::uint32_t>(instances.integer(i, 0)),
           .is_paused = instances.boolean(i, 1),
           .processed = static_cast<std::uint64_t>(instances.integer(i, 2))});
    }
  }
  return pools;
}

std::vector<WholeJob> PostgresStore::all_jobs(const Page& page) {
  const MutexLock lock(reading_);
  const Rows rows = reader_.ask(
      "SELECT seq, priority, attempts, turn, enqueued_at, coalesce(at, (SELECT completed.at"
      " FROM muster.completed WHERE last >= jobs.seq AND first <= jobs.seq AND jobs.seq = ANY(seqs)"
      " ORDER BY last LIMIT 1), enqueued_at), id, key, state, event, result, log, pool.name"
      " FROM muster.jobs JOIN muster.pool ON pool.number = jobs.pool"
      " WHERE seq > $1 ORDER BY seq LIMIT $2",
      Parameters().add(page.after).add(static_cast<std::int64_t>(page.limit)));
  std::vector<WholeJob> jobs;
  std::vector<std::int64_t> seqs;
  std::map<JobSeq, std::size_t> places;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    WholeJob& job = jobs.emplace_back();
    job.record = record_in(rows, row);
    job.record.state = static_cast<JobState>(rows.integer(row, 8));
    job.event = rows.optional_text(row, 9);
    job.result = rows.optional_text(row, 10);
    job.log = rows.optional_text(row, 11);
    job.pool = std::string(rows.text(row, 12));
    places[job.record.seq] = row;
    seqs.push_back(job.record.seq);
  }
  for (auto& [seq, error] : errors_of(seqs))
    jobs[places.at(seq)].errors.push_back(std::move(error));
  return jobs;
}

std::vector<std::pair<std::string, std::int64_t>> PostgresStore::all_memos() {
  const MutexLock lock(reading_);
  const Rows rows = reader_.ask("SELECT name, number FROM muster.memo ORDER BY name");
  std::vector<std::pair<std::string, std::int64_t>> memos;
  memos.reserve(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    memos.emplace_back(rows.text(row, 0), rows.integer(row, 1));
  }
  return memos;
}

// One by one within a transaction: it is done once in a store's life.
std::size_t PostgresStore::take_in(const std::vector<WholeJob>& jobs) {
  const MutexLock lock(reading_);
  std::vector<Query> queries;
  for (const WholeJob& job : jobs) {
    const JobRecord& record = job.record;
    std::vector<std::int64_t> attempts;
    std::vector<std::int64_t> kinds;
    std::vector<std::int64_t> at;
    std::vector<std::string_view> whats;
    for (const AttemptError& error : job.errors) {
      attempts.push_back(error.attempt);
      kinds.push_back(static_cast<std::int64_t>(error.kind));
      at.push_back(as_number(error.failed_at));
      whats.emplace_back(error.what);
    }
    const std::vector<std::optional<std::string_view>> texts{record.key, job.event, job.result,
                                                             job.log};
    queries.push_back(
        {"WITH added AS (INSERT INTO muster.job(seq, pool, turn, enqueued_at, run_at, priority, id,"
         " key, event) SELECT muster.reserve(1), number, $2, $3, $4, $6, $8, $9[1], $9[2]"
         " FROM muster.pool WHERE name = $1 ON CONFLICT (pool, id) DO NOTHING RETURNING seq, pool),"
         " waits AS (INSERT INTO muster.waiting(seq, pool, turn, at, attempts, priority, key)"
         " SELECT seq, pool, $2, $4, $5, $6, $9[1] FROM added WHERE $7 = 0),"
         " is_over AS (INSERT INTO muster.ended(seq, pool, at, attempts, state)"
         " SELECT seq, pool, $4, $5, $7 FROM added WHERE $7 <> 0),"
         " notes AS (INSERT INTO muster.note SELECT seq, $9[3], $9[4] FROM added"
         " WHERE coalesce($9[3], $9[4]) IS NOT NULL),"
         " failures AS (INSERT INTO muster.failure(seq, attempt, kind, at, what)"
         " SELECT added.seq, new.* FROM added, unnest($10::bigint[], $11::bigint[],"
         " $12::bigint[], $13::text[]) AS new) SELECT seq FROM added",
         Parameters()
             .add(std::string_view(job.pool))
             .add(std::int64_t{record.turn})
             .add(as_number(record.enqueued_at))
             .add(as_number(record.at))
             .add(std::int64_t{record.attempts})
             .add(std::int64_t{record.priority})
             .add(static_cast<std::int64_t>(record.state))
             .add(std::string_view(record.id))
             .add(texts)
             .add(attempts)
             .add(kinds)
             .add(at)
             .add(whats)});
  }
  std::size_t count = 0;
  for (const Rows& added : reader_.run_all(queries)) count += added.size();
  return count;
}

void PostgresStore::take_in(const WholePool& pool) {
  const MutexLock lock(reading_);
  const Rows number = reader_.ask("SELECT number FROM muster.pool WHERE name = $1",
                                  Parameters().add(std::string_view(pool.name)));
  const auto word = [](bool is_paused) -> std::string_view { return is_paused ? "t" : "f"; };
  (void)reader_.run("UPDATE muster.pool SET paused = $2::boolean WHERE number = $1",
                    Parameters().add(number.integer(0, 0)).add(word(pool.record.is_paused)));
  for (const PoolRecord::Instance& instance : pool.record.instances) {
    (void)reader_.run(
        "INSERT INTO muster.instance(pool, number, paused, processed) VALUES($1, $2, $3::boolean,"
        " $4) ON CONFLICT (pool, number) DO UPDATE SET paused = excluded.paused,"
        " processed = instance.processed + excluded.processed",
        Parameters()
            .add(number.integer(0, 0))
            .add(std::int64_t{instance.index})
            .add(word(instance.is_paused))
            .add(static_cast<std::int64_t>(instance.processed)));
  }
}

}  // namespace muster
