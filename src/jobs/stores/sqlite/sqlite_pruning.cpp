// sqlite_pruning.cpp: what is over for long enough is let go of, found by when it ended.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "jobs/stores/sqlite/connections.hpp"
#include "jobs/stores/sqlite/seq_runs.hpp"
#include "jobs/stores/sqlite/sqlite_store.hpp"

namespace muster {
// All that there is of a job besides its own row, if it has ended.
void SqliteStore::forget_ended(JobSeq seq) {
  writer_->remove_ended.bind(1, seq).run();
  writer_->unnote.bind(1, seq).run();
  writer_->forgive.bind(1, seq).run();
}

std::size_t SqliteStore::prune_ended(JobState state, const PruneSpan& span) {
  std::vector<JobSeq> seqs;
  for (const int emptied : span.removes ? std::vector{0, 1} : std::vector{0}) {
    const Reading reading(writer_->old_ended.bind(1, static_cast<std::int64_t>(state))
                              .bind(2, emptied)
                              .bind(3, span.from)
                              .bind(4, span.before)
                              .bind(5, span.most));
    while (writer_->old_ended.step()) seqs.push_back(writer_->old_ended.integer(0));
  }
  for (const JobSeq seq : seqs) {
    if (span.removes) {
      writer_->remove.bind(1, seq).bind(2, seq).run();
      forget_ended(seq);
    } else {
      writer_->empty.bind(1, seq).bind(2, seq).run();
      writer_->unnote.bind(1, seq).run();
      writer_->forgive.bind(1, seq).run();
      writer_->empty_ended.bind(1, seq).run();
    }
  }
  return seqs.size();
}

// Batches as a whole, until there are enough jobs.
std::size_t SqliteStore::prune_completed(const PruneSpan& span) {
  std::vector<std::pair<std::int64_t, std::vector<SeqRun>>> batches;
  std::int64_t jobs = 0;
  for (const int emptied : span.removes ? std::vector{0, 1} : std::vector{0}) {
    Statement& row = writer_->old_completed;
    const Reading reading(
        row.bind(1, emptied).bind(2, span.from).bind(3, span.before).bind(4, span.most));
    while (jobs < span.most && row.step()) {
      batches.emplace_back(row.integer(0), runs_in(row.text(1)));
      for (const SeqRun& run : batches.back().second) jobs += run.size();
    }
  }
  for (const auto& [number, runs] : batches) {
    Statement& change = span.removes ? writer_->remove : writer_->empty;
    for (const SeqRun& run : runs) change.bind(1, run.first).bind(2, run.last).run();
    (span.removes ? writer_->remove_completed : writer_->empty_completed).bind(1, number).run();
  }
  return static_cast<std::size_t>(jobs);
}

// Numbers that were given out are not given out again, though nobody may have them any more.
void SqliteStore::remember_highest() {
  writer_->remember_highest.bind(1, last_).run();
}

// Where to go on does not matter: at what is left.
Store::Pruned SqliteStore::prune(const Retention& retention, WallTime now, const Page& page) {
  const auto most = static_cast<std::int64_t>(page.limit);
  const std::int64_t dead = older_than(now, retention.dead);
  const std::int64_t dead_gone = older_than(now, std::max(retention.dead, retention.ids));
  const std::int64_t gone = older_than(now, std::max(retention.completed, retention.ids));
  const std::int64_t empty = older_than(now, retention.completed);
  const PruneSpan removed{.from = 0, .before = gone, .most = most, .removes = true};
  const PruneSpan emptied{.from = gone, .before = empty, .most = most};
  const MutexLock lock(writing_);
  const MutexLock noting(noting_);
  Pruned pruned;
  transact([&] {
    writing_.is_held();
    noting_.is_held();
    const std::array counts{
        prune_ended(JobState::dead,
                    {.from = 0, .before = dead_gone, .most = most, .removes = true}),
        prune_ended(JobState::dead, {.from = dead_gone, .before = dead, .most = most}),
        prune_ended(JobState::completed, removed),
        prune_ended(JobState::cancelled, removed),
        prune_completed(removed),
        prune_ended(JobState::completed, emptied),
        prune_ended(JobState::cancelled, emptied),
        prune_completed(emptied)};
    for (const std::size_t count : counts) {
      pruned.removed += count;
      if (count >= page.limit) pruned.next = page.after + 1;
    }
    if (pruned.removed > 0) remember_highest();
  });
  return pruned;
}

}  // namespace muster
