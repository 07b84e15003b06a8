// sqlite_settling.cpp: what becomes of jobs that waited.
//
// Most complete at the first attempt and leave nothing to tell. They go in runs, by one statement
// each, and get one row together.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "jobs/stores/sqlite/connections.hpp"
#include "jobs/stores/sqlite/seq_runs.hpp"
#include "jobs/stores/sqlite/sqlite_store.hpp"

namespace muster {

void SqliteStore::fail(JobSeq seq, const AttemptError& error) {
  writer_->fail.bind(1, seq)
      .bind(2, error.attempt)
      .bind(3, static_cast<std::int64_t>(error.kind))
      .bind(4, as_number(error.failed_at))
      .bind(5, std::string_view(error.what))
      .run();
}

std::int64_t SqliteStore::finish(PoolNumber pool, const SeqRun& run) {
  writer_->finish.bind(1, pool).bind(2, run.first).bind(3, run.last).run();
  return writer_->database.changes();
}

void SqliteStore::end(const JobEnd& job) {
  writer_->end.bind(1, job.seq)
      .bind(2, job.pool)
      .bind(3, static_cast<std::int64_t>(job.state))
      .bind(4, as_number(job.at))
      .bind(5, job.attempts)
      .run();
}

void SqliteStore::note(JobSeq seq, const Remains& remains) {
  if (remains.result || remains.log) {
    writer_->note.bind(1, seq).bind(2, remains.result).bind(3, remains.log).run();
  } else {
    writer_->unnote.bind(1, seq).run();
  }
}

void SqliteStore::settle(StoreBatch& batch, Care care) {
  batch.settled.resize(batch.settlements.size());
  std::map<PoolNumber, Completions> completions;
  for (std::size_t i = 0; i < batch.settlements.size(); ++i) {
    const Settlement& settlement = batch.settlements[i];
    bool& is_settled = batch.settled[i].is_settled;
    if (!settlement.is_plain()) {
      is_settled = settle(settlement);
      continue;
    }
    is_settled = care == Care::for_many ||
                 finish(settlement.place.pool, {settlement.seq, settlement.seq}) == 1;
    if (!is_settled) continue;
    Completions& completed = completions[settlement.place.pool];
    completed.seqs.push_back(settlement.seq);
    completed.at = std::max(completed.at, settlement.at);
  }
  for (auto& [pool, completed] : completions) complete(pool, std::move(completed), care);
  count_processed(batch);
  // Last, since these may take the ids of those that have ended.
  for (std::size_t i = 0; i < batch.settlements.size(); ++i) {
    if (!batch.settled[i].is_settled) continue;
    for (const NewJob& job : batch.settlements[i].enqueued) {
      batch.settled[i].inserted.push_back(insert(job));
    }
  }
}

void SqliteStore::complete(PoolNumber pool, Completions completed, Care care) {
  const std::vector<SeqRun> runs = runs_of(std::move(completed.seqs));
  if (care == Care::for_many) {
    for (const SeqRun& run : runs) {
      if (finish(pool, run) != run.size()) throw SomeAreMissing();
    }
  }
  const std::string text = to_text(runs);
  writer_->complete.bind(1, as_number(completed.at)).bind(2, std::string_view(text)).run();
}

bool SqliteStore::settle(const Settlement& settlement) {
  const PoolNumber pool = settlement.place.pool;
  if (settlement.state == JobState::available) {
    writer_->retry.bind(1, pool)
        .bind(2, settlement.seq)
        .bind(3, as_number(settlement.at))
        .bind(4, settlement.attempts)
        .run();
    if (writer_->database.changes() != 1) return false;
  } else {
    if (finish(pool, {settlement.seq, settlement.seq}) != 1) return false;
    end({.seq = settlement.seq,
         .pool = pool,
         .state = settlement.state,
         .at = settlement.at,
         .attempts = settlement.attempts});
  }
  note(settlement.seq, {settlement.result, settlement.log});
  if (settlement.error) fail(settlement.seq, *settlement.error);
  return true;
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

bool SqliteStore::judge(const Verdict& verdict) {
  const JobSeq seq = verdict.seq;
  const auto has_changed = [this] {
    writing_.is_held();
    return writer_->database.changes() == 1;
  };
  if (verdict.from == JobState::available) {
    const Reading reading(writer_->cancel.bind(1, seq).bind(2, as_number(verdict.at)));
    return writer_->cancel.step() && finish(writer_->cancel.integer(0), {seq, seq}) == 1;
  }
  if (verdict.to == JobState::cancelled) {
    writer_->discard.bind(1, seq).bind(2, as_number(verdict.at)).run();
    return has_changed();
  }
  writer_->replay.bind(1, seq).run();
  if (!has_changed()) return false;
  writer_->await_again.bind(1, seq).bind(2, as_number(verdict.at)).run();
  writer_->forgive.bind(1, seq).run();
  writer_->unnote.bind(1, seq).run();
  return true;
}

}  // namespace muster
