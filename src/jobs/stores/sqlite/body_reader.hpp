// body_reader.hpp: events of jobs, by a connection that looks at one state of the store for long.
//
// What a job is does not change while it waits, so an old state will do if the job is in it. While
// it is looked at SQLite keeps the pages that were read, which others need, too: instances that
// have shared out jobs in turn read every n-th row of the same ones. A connection that looked anew
// each time would forget them with every commit.
//
// But SQLite cannot begin its log anew while somebody looks at a state that is in it. So when the
// log is long, looks are short.
//
// Thread safety: any member from any thread.
#pragma once

#include <span>
#include <vector>

#include <muster/sync/mutex.hpp>

#include "jobs/store.hpp"
#include "jobs/stores/sqlite/database.hpp"

namespace muster {

class BodyReader {
 public:
  enum class Looks { long_ones, short_ones };

  explicit BodyReader(const Database::Place& place);

  // As Store::read().
  [[nodiscard]] std::vector<JobBody> read(std::span<const JobSeq> seqs, std::size_t small);

  // With short ones nobody is looking when this returns, but for those who are just reading.
  void set_looks(Looks looks);

 private:
  void look_at(JobSeq newest) MUSTER_REQUIRES(mutex_);
  void look_away() MUSTER_REQUIRES(mutex_);

  Mutex mutex_;
  Database database_ MUSTER_GUARDED_BY(mutex_);
  Statement begin_ MUSTER_GUARDED_BY(mutex_){database_, "BEGIN"};
  Statement end_ MUSTER_GUARDED_BY(mutex_){database_, "COMMIT"};
  Statement last_ MUSTER_GUARDED_BY(mutex_){database_, "SELECT max(seq) FROM job"};
  Statement bodies_ MUSTER_GUARDED_BY(mutex_){
      // of a list in JSON, in its order
      database_,
      "SELECT seq, job.id, enqueued_at, event, job.key FROM json_each(?1)"
      " CROSS JOIN job ON job.seq = json_each.value"};
  Looks looks_ MUSTER_GUARDED_BY(mutex_) = Looks::long_ones;
  JobSeq newest_ MUSTER_GUARDED_BY(mutex_) = 0;  // that is in the state that is looked at
};

}  // namespace muster
