// batch_outcome.cpp: what became of a batch whose answer was lost.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

#include "jobs/stores/postgresql/batch_queries.hpp"
#include "jobs/stores/postgresql/batch_statements.hpp"
#include "jobs/stores/store_time.hpp"

namespace muster {

// Of a job that is there twice the first was done if the last was.
void BatchQueries::ask_what_was_settled() {
  std::vector<std::int64_t> seqs;
  WallTime at{};
  for (const Settlement& settlement : batch_.settlements) {
    if (is_ours(settlement) && settlement.is_plain()) at = std::max(at, settlement.at);
    seqs.push_back(settlement.seq);
  }
  for (const Verdict& verdict : batch_.verdicts) seqs.push_back(verdict.seq);
  add("SELECT unnest(seqs) FROM muster.completed WHERE emptied IN (false, true) AND at = $3"
      " AND node = $1 AND batch = $2",
      Parameters().add(author_.node).add(author_.batch).add(as_number(at)),
      [this](const Rows& rows) {
        std::unordered_set<JobSeq> completed;
        for (std::size_t row = 0; row < rows.size(); ++row) completed.insert(rows.integer(row, 0));
        for (std::size_t i = 0; i < batch_.settlements.size(); ++i) {
          const Settlement& settlement = batch_.settlements[i];
          if (!is_ours(settlement) || !settlement.is_plain()) continue;
          batch_.settled[i].is_settled = completed.contains(settlement.seq);
        }
      });
  add("SELECT seq, state, at FROM muster.jobs WHERE seq = ANY($1)", Parameters().add(seqs),
      [this](const Rows& rows) {
        std::map<JobSeq, std::size_t> found;
        for (std::size_t row = 0; row < rows.size(); ++row) found[rows.integer(row, 0)] = row;
        const auto is_there = [&](JobSeq seq, JobState state, WallTime ended) {
          const auto row = found.find(seq);
          return row != found.end() && rows.integer(row->second, 1) == number_of(state) &&
                 rows.integer(row->second, 2) == as_number(ended);
        };
        for (std::size_t i = 0; i < batch_.settlements.size(); ++i) {
          const Settlement& settlement = batch_.settlements[i];
          if (!is_ours(settlement) || settlement.is_plain()) continue;
          batch_.settled[i].is_settled = settlement.state == JobState::available ||
                                         is_there(settlement.seq, settlement.state, settlement.at);
        }
        for (std::size_t i = 0; i < batch_.verdicts.size(); ++i) {
          const Verdict& verdict = batch_.verdicts[i];
          batch_.judged[i] = is_there(verdict.seq, verdict.to, verdict.at);
        }
      });
}

void BatchQueries::ask_what_happened(const std::string& xid) {
  ask_what_was_settled();
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < batch_.settlements.size(); ++i) {
    const std::vector<NewJob>& enqueued = batch_.settlements[i].enqueued;
    batch_.settled[i].inserted.resize(enqueued.size());
    for (std::size_t j = 0; j < enqueued.size(); ++j) {
      jobs.emplace_back(&enqueued[j], &batch_.settled[i].inserted[j]);
    }
  }
  for (std::size_t i = 0; i < batch_.jobs.size(); ++i) {
    jobs.emplace_back(&batch_.jobs[i], &batch_.inserted[i]);
  }
  if (jobs.empty()) return;
  std::vector<std::int64_t> pools;
  std::vector<std::string_view> ids;
  for (const auto& [job, inserted] : jobs) {
    pools.push_back(job->pool);
    ids.emplace_back(job->id);
  }
  Parameters parameters = Parameters().add(pools).add(ids).add(std::string_view(xid));
  add("SELECT DISTINCT ON (seq) place, seq, xid"
      " FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS given(pool, id, place) JOIN "
      "muster.job ON job.pool = given.pool"
      " AND job.id = given.id COLLATE \"C\" WHERE xid = $3::xid8"
      " ORDER BY seq, place",
      std::move(parameters), [jobs = std::move(jobs)](const Rows& rows) {
        for (const auto& [job, inserted] : jobs) inserted->turn = job->turn;
        for (std::size_t row = 0; row < rows.size(); ++row) {
          Inserted& inserted = *jobs[static_cast<std::size_t>(rows.integer(row, 0)) - 1].second;
          inserted.seq = rows.integer(row, 1);
          inserted.version = static_cast<std::uint64_t>(rows.integer(row, 2));
          inserted.created = true;
        }
      });
}

}  // namespace muster
