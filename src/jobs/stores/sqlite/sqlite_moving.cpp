// sqlite_moving.cpp: what goes to another store, and comes from one. Done once in a store's life,
// so its statements are compiled when they are needed.
#include <map>
#include <utility>

#include "jobs/stores/sqlite/connections.hpp"
#include "jobs/stores/sqlite/seq_runs.hpp"
#include "jobs/stores/sqlite/sqlite_store.hpp"

namespace muster {

std::vector<WholePool> SqliteStore::all_pools() {
  const MutexLock lock(reading_);
  std::vector<WholePool> pools;
  Statement row(reader_->database, "SELECT number, name, paused FROM pool ORDER BY number");
  while (row.step()) {
    WholePool& pool = pools.emplace_back();
    pool.name = row.text(1);
    pool.record.number = row.integer(0);
    pool.record.is_paused = row.integer(2) != 0;
    Statement instances(reader_->database,
                        "SELECT number, paused, processed FROM instance WHERE pool = ?");
    instances.bind(1, pool.record.number);
    while (instances.step()) {
      pool.record.instances.push_back(
          {.index = static_cast<std::uint32_t>(instances.integer(0)),
           .is_paused = instances.integer(1) != 0,
           .processed = static_cast<std::uint64_t>(instances.integer(2))});
    }
  }
  return pools;
}

std::vector<WholeJob> SqliteStore::all_jobs(const Page& page) {
  need(kAny);
  const MutexLock lock(reading_);
  Statement row(reader_->database,
                "SELECT seq, priority, attempts, turn, enqueued_at, at, id, key, state, event,"
                " result, log, (SELECT name FROM pool WHERE number = jobs.pool), at IS NULL"
                " FROM jobs WHERE seq > ?1 ORDER BY seq LIMIT ?2");
  row.bind(1, page.after).bind(2, static_cast<std::int64_t>(page.limit));
  std::vector<WholeJob> jobs;
  std::map<JobSeq, std::size_t> untimed;  // their places
  while (row.step()) {
    if (row.integer(13) != 0) untimed[row.integer(0)] = jobs.size();
    WholeJob& job = jobs.emplace_back();
    job.record = record_in(row);
    job.record.state = static_cast<JobState>(row.integer(8));
    job.event = row.optional_text(9);
    job.result = row.optional_text(10);
    job.log = row.optional_text(11);
    job.pool = row.text(12);
    job.errors = errors_of(*reader_, job.record.seq);
  }
  Statement batch(reader_->database, "SELECT at, seqs FROM completed");
  while (!untimed.empty() && batch.step()) {
    for (const SeqRun& run : runs_in(batch.text(1))) {
      const auto first = untimed.lower_bound(run.first);
      const auto end = untimed.upper_bound(run.last);
      for (auto each = first; each != end; ++each) {
        jobs[each->second].record.at = as_time(batch.integer(0));
      }
      untimed.erase(first, end);
    }
  }
  return jobs;
}

std::vector<std::pair<std::string, std::int64_t>> SqliteStore::all_memos() {
  const MutexLock lock(reading_);
  std::vector<std::pair<std::string, std::int64_t>> memos;
  Statement row(reader_->database, "SELECT name, number FROM memo ORDER BY name");
  while (row.step()) memos.emplace_back(row.text(0), row.integer(1));
  return memos;
}

std::size_t SqliteStore::take_in(const std::vector<WholeJob>& jobs) {
  std::size_t count = 0;
  const auto take = [&] {
    writing_.is_held();
    noting_.is_held();
    Statement pool(writer_->database, "SELECT number FROM pool WHERE name = ?1");
    Statement wait(writer_->database,
                   "INSERT INTO waiting(pool, seq, at, attempts) VALUES(?1, ?2, ?3, ?4)");
    for (const WholeJob& job : jobs) {
      const JobRecord& record = job.record;
      const Reading reading(pool.bind(1, std::string_view(job.pool)));
      (void)pool.step();
      const PoolNumber number = pool.integer(0);
      const Inserted inserted = insert({.pool = number,
                                        .id = record.id,
                                        .key = record.key,
                                        .priority = record.priority,
                                        .turn = record.turn,
                                        .enqueued_at = record.enqueued_at,
                                        .run_at = record.at,
                                        .event = job.event.value_or("")});
      if (!inserted.created) continue;
      ++count;
      if (record.state == JobState::available) {
        wait.bind(1, number)
            .bind(2, inserted.seq)
            .bind(3, as_number(record.at))
            .bind(4, record.attempts)
            .run();
      } else {
        end({.seq = inserted.seq,
             .pool = number,
             .state = record.state,
             .at = record.at,
             .attempts = record.attempts});
      }
      if (!job.event) writer_->empty.bind(1, inserted.seq).bind(2, inserted.seq).run();
      note(inserted.seq, {job.result, job.log});
      for (const AttemptError& error : job.errors) fail(inserted.seq, error);
    }
  };
  {
    const MutexLock lock(writing_);
    const MutexLock noting(noting_);
    transact(take);
  }
  sync();
  return count;
}

void SqliteStore::take_in(const WholePool& pool) {
  const PoolNumber number = open_pool(pool.name, pool.record.concurrency).number;
  const auto take = [&] {
    writing_.is_held();
    if (pool.record.is_paused) pause({.pool = number, .is_paused = true});
    for (const PoolRecord::Instance& instance : pool.record.instances) {
      writer_->count.bind(1, number)
          .bind(2, instance.index)
          .bind(3, static_cast<std::int64_t>(instance.processed))
          .run();
      if (instance.is_paused) pause({.pool = number, .index = instance.index, .is_paused = true});
    }
  };
  {
    const MutexLock lock(writing_);
    const MutexLock noting(noting_);
    transact(take);
  }
  sync();
}

}  // namespace muster
