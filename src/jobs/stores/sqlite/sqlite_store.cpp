// sqlite_store.cpp: the connection that writes.
#include "jobs/stores/sqlite/sqlite_store.hpp"

#include <algorithm>
#include <chrono>

#include <muster/base/log.hpp>

#include "jobs/stores/sqlite/connections.hpp"
#include "jobs/stores/sqlite/schema.hpp"
#include "jobs/stores/sqlite/seq_runs.hpp"

namespace muster {

SqliteStore::SqliteStore(const Options& options)
    : owner_(options.path), journals_(options.path, options.journal) {
  {
    const MutexLock lock(writing_);
    const MutexLock noting(noting_);
    writer_ = std::make_unique<Writer>(options);
    last_ = writer_->database.number(
        "SELECT max(seq, (SELECT coalesce(max(seq), 0) FROM job)) FROM highest");
    log_.emplace(writer_->database, options.long_log);
    try {
      take_up_journals();
      learn_ids();
      settle_in();
    } catch (...) {
      log_->leave_as_it_is();
      throw;
    }
  }
  const MutexLock lock(reading_);
  reader_ = std::make_unique<Reader>(options);
  bodies_.emplace(
      Database::Place{.path = options.path, .mode = Database::Mode::read, .vfs = options.vfs});
  mover_ = std::thread([this] { serve_full(); });
}

// Readers first: the last connection to close checkpoints.
SqliteStore::~SqliteStore() {
  {
    const MutexLock noting(noting_);
    stops_ = true;
  }
  is_full_.notify_one();
  mover_.join();
  bodies_.reset();
  {
    const MutexLock lock(reading_);
    reader_.reset();
  }
  try {
    need(kAny);
    sync_log();
  } catch (const StoreFailure& failure) {
    MUSTER_LOG(LogLevel::warning,
               "jobs stay in the journal until the store is opened again: " << failure.what());
  }
  const MutexLock lock(writing_);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it is open
  if (is_spoilt_.load(relaxed)) log_->leave_as_it_is();  // relaxed: nobody else is here
  log_.reset();
  writer_.reset();
}

PoolRecord SqliteStore::open_pool(std::string_view name, std::uint32_t concurrency) {
  const auto insert = [&] {
    writing_.is_held();
    Statement row(writer_->database, "INSERT INTO pool(name) VALUES(?) ON CONFLICT DO NOTHING");
    row.bind(1, name).run();
  };
  {
    const MutexLock lock(writing_);
    const MutexLock noting(noting_);
    transact(insert);
  }
  sync();
  const MutexLock lock(writing_);
  const MutexLock noting(noting_);
  PoolRecord record{.concurrency = concurrency};
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

// False: its id is taken. It waits, once all of its batch are inserted: await().
bool SqliteStore::put(const Journal::Noted& job) {
  writer_->insert.bind(1, job.seq)
      .bind(2, job.pool)
      .bind(3, job.priority)
      .bind(4, job.turn)
      .bind(5, as_number(job.enqueued_at))
      .bind(6, as_number(job.run_at))
      .bind(7, job.id)
      .bind(8, job.key)
      .bind(9, job.event)
      .run();
  return writer_->database.changes() == 1;
}

Inserted SqliteStore::insert(const NewJob& job) {
  if (job.replaces_before) make_room(job);
  ids_.add(job.pool, job.id);
  const bool is_new = put({.seq = last_ + 1,
                           .pool = job.pool,
                           .priority = job.priority,
                           .turn = job.turn,
                           .enqueued_at = job.enqueued_at,
                           .run_at = job.run_at,
                           .id = job.id,
                           .key = job.key,
                           .event = job.event});
  if (is_new) return {.seq = ++last_, .created = true, .turn = job.turn};
  Statement& row = writer_->find_id;
  const Reading reading(row.bind(1, job.pool).bind(2, std::string_view(job.id)));
  if (!row.step()) return {};
  return {.seq = row.integer(0), .turn = static_cast<std::uint32_t>(row.integer(1))};
}

void SqliteStore::make_room(const NewJob& job) {
  JobSeq replaced = 0;
  {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it replaces others
    const WallTime before = *job.replaces_before;
    const Reading reading(writer_->find_replaced.bind(1, job.pool)
                              .bind(2, std::string_view(job.id))
                              .bind(3, as_number(before))
                              .bind(4, last_before_));
    if (writer_->find_replaced.step()) replaced = writer_->find_replaced.integer(0);
  }
  if (replaced == 0) return;
  writer_->remove.bind(1, replaced).bind(2, replaced).run();
  forget_ended(replaced);
  remember_highest();
}

void SqliteStore::pause(const PauseChange& change) {
  const auto set = [&](std::uint32_t index, bool is_paused) {
    writing_.is_held();
    writer_->pause_one.bind(1, change.pool).bind(2, index).bind(3, is_paused ? 1 : 0).run();
  };
  if (!change.index) {
    writer_->pause_pool.bind(1, change.is_paused ? 1 : 0).bind(2, change.pool).run();
    writer_->pause_none.bind(1, change.pool).run();
    return;
  }
  if (!change.is_paused) {
    writer_->resume_pool.bind(1, change.pool).run();
    const bool was_paused = writer_->database.changes() == 1;
    for (std::uint32_t index = 0; was_paused && index < change.concurrency; ++index) {
      set(index, true);
    }
  }
  set(*change.index, change.is_paused);
}

void SqliteStore::commit(StoreBatch& batch, Durability durability) {
  if (jot_down(batch, durability)) return;
  const MutexLock lock(writing_);
  const MutexLock noting(noting_);
  const auto carry_out_with = [&](Care care) {
    return [&, care] {
      writing_.is_held();
      noting_.is_held();
      carry_out(batch, care);
    };
  };
  try {
    transact(carry_out_with(Care::for_many));
  } catch (const SomeAreMissing&) {
    transact(carry_out_with(Care::for_each));
  }
}

void SqliteStore::sync() {
  sync_journals();
  // sync(log-commits): pairs with the addition in transact(); sync(log-synced): with the store in
  // sync_log()
  if (synced_.load(acquire) < commits_.load(acquire)) sync_log();
}

// Who comes while another is at it waits, since that may be about his.
void SqliteStore::sync_journals() {
  const MutexLock lock(syncing_journals_);
  refuse_if_spoilt();
  const JournalPair::Unsynced unsynced = [this] {
    const MutexLock noting(noting_);
    return journals_.take_unsynced();
  }();
  if (journals_.sync(unsynced)) return;
  is_spoilt_.store(true, relaxed);  // relaxed: nothing else is read because of it
  refuse_if_spoilt();
}

// Whoever commits meanwhile only appends to the log; SQLite syncs it by itself before it copies
// from it. What is in the database so is not needed in the journals any more.
void SqliteStore::sync_log() {
  JournalPair::Moved moved;
  {
    const MutexLock lock(syncing_);
    refuse_if_spoilt();
    const std::uint64_t commits = commits_.load(acquire);  // sync(log-commits): as in sync()
    moved.synced = in_database_.load(acquire);             // sync(in-database): as in need()
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it is open
    if (!log_->sync()) is_spoilt_.store(true, relaxed);  // relaxed: nothing is read because of it
    refuse_if_spoilt();
    synced_.store(commits, release);  // sync(log-synced): pairs with the load in sync()
  }
  moved.written = moved.synced;  // a sync is for all that was committed before
  const MutexLock noting(noting_);
  journals_.clear(moved);
}

// That syncs, too. It begins anew with the next commit, if nobody looks at what is in it.
void SqliteStore::shorten_log() {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it is open
  const bool is_long = log_->is_long();
  if (bodies_ && (is_long || is_log_long_)) {
    bodies_->set_looks(is_long ? BodyReader::Looks::short_ones : BodyReader::Looks::long_ones);
  }
  is_log_long_ = is_long;
  if (!is_long) return;
  const MutexLock lock(syncing_);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it is open
  if (!log_->copy()) is_spoilt_.store(true, relaxed);  // relaxed: nothing is read because of it
}

void SqliteStore::refuse_if_spoilt() const {
  if (!is_spoilt_.load(relaxed)) return;  // relaxed: a refusal more or less
  throw StoreFailure({.attempt = "sync job store",
                      .reason = "the disk reports an error, and may have lost what was committed",
                      .advice = "look at the system's log, and open the store anew"});
}

void SqliteStore::carry_out(StoreBatch& batch, Care care) {
  batch.settled.clear();
  batch.judged.clear();
  batch.inserted.clear();
  settle(batch, care);
  for (const Verdict& verdict : batch.verdicts) batch.judged.push_back(judge(verdict));
  for (const NewJob& job : batch.jobs) batch.inserted.push_back(insert(job));
  if (last_ != last_before_) writer_->await.bind(1, last_before_).run();
  for (const PauseChange& change : batch.pauses) pause(change);
}

// What our predecessor has left there.
void SqliteStore::take_up_journals() {
  in_database_.store(last_, relaxed);  // relaxed: nobody else is here
  if (journals_.last() == 0) return;
  last_ = std::max(last_, journals_.last());
  transact([] {});
}

// Whatever became of the last process, and of its syncs: all that is there is on disk, or still in
// the journals. Somebody else who reads the file may keep it in the log.
void SqliteStore::settle_in() {
  Statement checkpoint(writer_->database, "PRAGMA wal_checkpoint(TRUNCATE)");
  if (!checkpoint.step() || checkpoint.integer(0) != 0) return;
  journals_.clear({.written = last_, .synced = last_});
  synced_.store(commits_.load(relaxed), relaxed);  // relaxed: nobody else is here
}

// Of all jobs, if they are not so many that this would take long.
void SqliteStore::learn_ids() {
  constexpr std::size_t kMost = 4'000'000;
  Statement all(writer_->database, "SELECT pool, id FROM job");
  for (std::size_t count = 0; all.step(); ++count) {
    if (count == kMost) return ids_.give_up();
    ids_.add(all.integer(0), all.text(1));
  }
}

// Without a transaction. False: there is more to it than new jobs with new ids, or no room.
bool SqliteStore::jot_down(StoreBatch& batch, Durability durability) {
  if (!batch.settlements.empty() || !batch.verdicts.empty() || !batch.pauses.empty()) return false;
  if (batch.jobs.empty()) return false;
  refuse_if_spoilt();
  const MutexLock noting(noting_);
  for (const NewJob& job : batch.jobs) {
    if (job.replaces_before || ids_.may_have(job.pool, job.id)) return false;
    ids_.add(job.pool, job.id);
  }
  batch.inserted.clear();
  batch.inserted.reserve(batch.jobs.size());  // nothing may fail behind what is added
  const Journal* const full = journals_.full();
  if (!journals_.add(last_ + 1, batch.jobs, durability)) return false;
  for (const NewJob& job : batch.jobs) {
    batch.inserted.push_back({.seq = ++last_, .created = true, .turn = job.turn});
  }
  noted_.store(last_, relaxed);  // relaxed: told to others together with the jobs
  if (journals_.full() != full) is_full_.notify_one();
  return true;
}

// From a journal. What the database had before the power went is not new.
void SqliteStore::put_noted(const Journal::Noted& job) {
  // relaxed: written under the same lock.
  if (job.seq <= in_database_.load(relaxed) || put(job)) return;
  MUSTER_LOG(LogLevel::error, "job \"" << job.id << "\" was written, and its id is taken");
}

void SqliteStore::await_noted() {
  writer_->await.bind(1, in_database_.load(relaxed)).run();  // relaxed: as above
}

// A thread: what is full is moved in while others go on.
void SqliteStore::serve_full() {
  constexpr std::chrono::seconds kPause{1};
  const MutexLock noting(noting_);
  while (!stops_) {
    if (journals_.full() == nullptr) {
      is_full_.wait(noting_);
      continue;
    }
    noting_.unlock();
    std::string problem;
    try {
      move_full_in();
      sync_log();
    } catch (const StoreFailure& failure) {
      problem = failure.what();
    }
    noting_.lock();
    if (problem.empty()) continue;
    MUSTER_LOG(LogLevel::error, "jobs stay in the journal: " << problem);
    if (is_spoilt_.load(relaxed)) return;  // relaxed: once more or not
    if (!stops_) (void)is_full_.wait_until(noting_, real_clock().now() + kPause);
  }
}

// It does not change until it is cleared, which it is not before it is in the database.
void SqliteStore::move_full_in() {
  const MutexLock lock(writing_);
  const Journal* full = nullptr;
  JobSeq last = 0;
  {
    const MutexLock noting(noting_);
    full = journals_.full();
    if (full != nullptr) last = full->last();
    if (last <= in_database_.load(relaxed)) return;  // relaxed: written under our lock
  }
  change([&] {
    writing_.is_held();
    full->for_each([this](const Journal::Noted& job) {
      writing_.is_held();
      put_noted(job);
    });
    await_noted();
  });
  in_database_.store(last, release);  // sync(in-database): pairs with the load in need()
  shorten_log();
}

// Somebody looks for jobs up to this one in the database. Who was told of a job that is in a
// journal sees that it is.
void SqliteStore::need(JobSeq seq) {
  const JobSeq noted = noted_.load(relaxed);  // relaxed: as above; nothing else is read by it
  // sync(in-database): pairs with the stores in transact() and move_full_in()
  if (std::min(seq, noted) <= in_database_.load(acquire)) return;
  const MutexLock lock(writing_);
  const MutexLock noting(noting_);
  // relaxed: written under our locks.
  if (in_database_.load(relaxed) < noted_.load(relaxed)) transact([] {});
}

void SqliteStore::remember(std::string_view name, std::int64_t number) {
  write_memo(&Writer::remember, name, number);
}

void SqliteStore::correct(std::string_view name, std::int64_t number) {
  write_memo(&Writer::correct, name, number);
}

void SqliteStore::write_memo(Statement Writer::* how, std::string_view name, std::int64_t number) {
  {
    const MutexLock lock(writing_);
    const MutexLock noting(noting_);
    transact([&] {
      writing_.is_held();
      ((*writer_).*how).bind(1, name).bind(2, number).run();
    });
  }
  sync();
}

}  // namespace muster
