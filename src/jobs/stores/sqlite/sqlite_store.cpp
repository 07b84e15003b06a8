// sqlite_store.cpp: the connection that writes.
#include "jobs/stores/sqlite/sqlite_store.hpp"

#include "jobs/stores/sqlite/connections.hpp"
#include "jobs/stores/sqlite/schema.hpp"

namespace muster {

SqliteStore::SqliteStore(const Options& options) : owner_(options.path) {
  {
    const MutexLock lock(writing_);
    writer_ = std::make_unique<Writer>(options);
    last_ = writer_->database.number("SELECT coalesce(max(seq), 0) FROM job");
  }
  const MutexLock lock(reading_);
  reader_ = std::make_unique<Reader>(options);
}

// The reader first: the last connection to close checkpoints.
SqliteStore::~SqliteStore() {
  {
    const MutexLock lock(reading_);
    reader_.reset();
  }
  const MutexLock lock(writing_);
  writer_.reset();
}

void SqliteStore::set_sync(Durability durability) {
  if (synced_as_ == durability) return;
  writer_->database.run(durability == Durability::synced ? "PRAGMA synchronous = FULL"
                                                         : "PRAGMA synchronous = NORMAL");
  synced_as_ = durability;
}

// All of `work` or nothing.
template <class Work>
void SqliteStore::transact(Durability durability, const Work& work) {
  const JobSeq before = last_;
  set_sync(durability);
  writer_->begin.run();
  try {
    work();
    writer_->commit.run();
  } catch (...) {
    last_ = before;
    if (writer_->database.is_in_transaction()) writer_->rollback.run();
    throw;
  }
}

PoolRecord SqliteStore::open_pool(std::string_view name) {
  const MutexLock lock(writing_);
  transact(Durability::synced, [&] {
    writing_.is_held();
    Statement insert(writer_->database, "INSERT INTO pool(name) VALUES(?) ON CONFLICT DO NOTHING");
    insert.bind(1, name).run();
  });
  PoolRecord record;
  Statement pool(writer_->database, "SELECT number, paused FROM pool WHERE name = ?");
  if (pool.bind(1, name).step()) {
    record.number = pool.integer(0);
    record.is_paused = pool.integer(1) != 0;
  }
  record.jobs = static_cast<std::uint64_t>(last_);
  Statement instances(writer_->database,
                      "SELECT number, paused, processed FROM instance WHERE pool = ?");
  instances.bind(1, record.number);
  while (instances.step()) {
    record.instances.push_back({.index = static_cast<std::uint32_t>(instances.integer(0)),
                                .is_paused = instances.integer(1) != 0,
                                .processed = static_cast<std::uint64_t>(instances.integer(2))});
  }
  return record;
}

Inserted SqliteStore::insert(const NewJob& job) {
  writer_->insert.bind(1, last_ + 1)
      .bind(2, job.pool)
      .bind(3, job.priority)
      .bind(4, job.turn)
      .bind(5, as_number(job.enqueued_at))
      .bind(6, as_number(job.run_at))
      .bind(7, std::string_view(job.id))
      .bind(8, job.key)
      .bind(9, std::string_view(job.event))
      .run();
  if (writer_->database.changes() == 1) return {.seq = ++last_, .created = true, .turn = job.turn};
  const Reading reading(writer_->find_id.bind(1, job.pool).bind(2, std::string_view(job.id)));
  (void)writer_->find_id.step();
  return {.seq = writer_->find_id.integer(0),
          .turn = static_cast<std::uint32_t>(writer_->find_id.integer(1))};
}

StoreBatch::Settled SqliteStore::settle(const Settlement& settlement) {
  writer_->settle.bind(1, static_cast<std::int64_t>(settlement.state))
      .bind(2, settlement.attempts)
      .bind(3, as_number(settlement.at))
      .bind(4, settlement.result)
      .bind(5, settlement.seq)
      .run();
  if (writer_->database.changes() != 1) return {};
  if (settlement.error) {
    const AttemptError& error = *settlement.error;
    writer_->fail.bind(1, settlement.seq)
        .bind(2, error.attempt)
        .bind(3, static_cast<std::int64_t>(error.kind))
        .bind(4, as_number(error.failed_at))
        .bind(5, std::string_view(error.what))
        .run();
  }
  StoreBatch::Settled settled{.is_settled = true};
  for (const NewJob& job : settlement.enqueued) settled.inserted.push_back(insert(job));
  return settled;
}

bool SqliteStore::judge(const Verdict& verdict) {
  writer_->judge.bind(1, static_cast<std::int64_t>(verdict.to))
      .bind(2, as_number(verdict.at))
      .bind(3, verdict.seq)
      .bind(4, static_cast<std::int64_t>(verdict.from))
      .run();
  if (writer_->database.changes() != 1) return false;
  if (verdict.to == JobState::available) writer_->forgive.bind(1, verdict.seq).run();
  return true;
}

void SqliteStore::pause(const PauseChange& change) {
  if (change.index) {
    writer_->pause_one.bind(1, change.pool)
        .bind(2, *change.index)
        .bind(3, change.is_paused ? 1 : 0)
        .run();
    return;
  }
  writer_->pause_pool.bind(1, change.is_paused ? 1 : 0).bind(2, change.pool).run();
  writer_->pause_none.bind(1, change.pool).run();
}

// By instance, since many jobs of a batch were run by the same.
void SqliteStore::count_processed(const StoreBatch& batch) {
  std::map<std::pair<PoolNumber, std::uint32_t>, std::int64_t> counts;
  for (std::size_t i = 0; i < batch.settlements.size(); ++i) {
    const Settlement& settlement = batch.settlements[i];
    const bool counts_here = batch.settled[i].is_settled && settlement.state != JobState::available;
    if (counts_here) ++counts[{settlement.place.pool, settlement.place.index}];
  }
  for (const auto& [place, count] : counts) {
    writer_->count.bind(1, place.first).bind(2, place.second).bind(3, count).run();
  }
}

void SqliteStore::commit(StoreBatch& batch, Durability durability) {
  const MutexLock lock(writing_);
  transact(durability, [&] {
    writing_.is_held();
    batch.settled.clear();
    batch.judged.clear();
    batch.inserted.clear();
    for (const Settlement& settlement : batch.settlements) {
      batch.settled.push_back(settle(settlement));
    }
    count_processed(batch);
    for (const Verdict& verdict : batch.verdicts) batch.judged.push_back(judge(verdict));
    for (const NewJob& job : batch.jobs) batch.inserted.push_back(insert(job));
    for (const PauseChange& change : batch.pauses) pause(change);
  });
}

Store::Pruned SqliteStore::prune(const Retention& retention, WallTime now, const Page& page) {
  const MutexLock lock(writing_);
  Pruned pruned;
  transact(Durability::written, [&] {
    writing_.is_held();
    std::vector<std::pair<JobSeq, Over>> over;
    std::size_t looked = 0;
    {
      const Reading reading(
          writer_->look.bind(1, page.after).bind(2, static_cast<std::int64_t>(page.limit)));
      while (writer_->look.step()) {
        ++looked;
        pruned.next = writer_->look.integer(0);
        const JobRecord job{.state = static_cast<JobState>(writer_->look.integer(1)),
                            .at = as_time(writer_->look.integer(2))};
        const Over what = what_is_over(retention, job, now);
        const bool has_contents = writer_->look.integer(3) != 0;
        if (what == Over::all || (what == Over::contents && has_contents)) {
          over.emplace_back(pruned.next, what);
        }
      }
    }
    if (looked < page.limit) pruned.next = 0;
    for (const auto& [seq, what] : over) {
      Statement& statement = what == Over::all ? writer_->remove : writer_->empty;
      statement.bind(1, seq).run();
      writer_->forgive.bind(1, seq).run();
    }
    pruned.removed = over.size();
  });
  return pruned;
}

}  // namespace muster
