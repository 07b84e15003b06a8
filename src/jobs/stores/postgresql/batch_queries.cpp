// batch_queries.cpp: arrays in, sets of rows out.
#include "jobs/stores/postgresql/batch_queries.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "jobs/stores/postgresql/batch_statements.hpp"
#include "jobs/stores/postgresql/sharing_queries.hpp"
#include "jobs/stores/store_time.hpp"

namespace muster {
namespace {

// One that stands for all, if they are the same.
template <class Value>
void shorten(std::vector<Value>& column) {
  if (std::ranges::adjacent_find(column, std::ranges::not_equal_to()) == column.end()) {
    column.resize(1);
  }
}

// The first, if each is so much more than the one before; how much that is.
std::int64_t shorten_steps(std::vector<std::int64_t>& column) {
  if (column.size() < 2) return 0;
  const std::int64_t apart = column[1] - column[0];
  const auto is_step = [apart](std::int64_t left, std::int64_t right) {
    return right - left == apart;
  };
  if (std::ranges::adjacent_find(column, std::not_fn(is_step)) != column.end()) return 0;
  column.resize(1);
  return apart;
}

// The columns of new jobs, as arrays.
enum class Columns { whole, short_if_same };
Parameters columns_of(const std::vector<std::pair<const NewJob*, Inserted*>>& jobs,
                      Columns columns) {
  std::vector<std::int64_t> pools;
  std::vector<std::int64_t> turns;
  std::vector<std::int64_t> enqueued;
  std::vector<std::int64_t> at;
  std::vector<std::int64_t> priorities;
  std::vector<std::string_view> ids;
  std::vector<std::optional<std::string_view>> keys;
  std::vector<std::string_view> events;
  for (auto* const column : {&pools, &turns, &enqueued, &at, &priorities}) {
    column->reserve(jobs.size());
  }
  ids.reserve(jobs.size());
  keys.reserve(jobs.size());
  events.reserve(jobs.size());
  for (const auto& [job, inserted] : jobs) {
    pools.push_back(job->pool);
    turns.push_back(job->turn);
    enqueued.push_back(as_number(job->enqueued_at));
    at.push_back(as_number(job->run_at));
    priorities.push_back(job->priority);
    ids.emplace_back(job->id);
    keys.emplace_back(job->key);
    events.emplace_back(job->event);
  }
  std::int64_t apart = 0;
  if (columns == Columns::short_if_same) {
    for (auto* const column : {&pools, &enqueued, &at, &priorities}) shorten(*column);
    shorten(keys);
    apart = shorten_steps(turns);
  }
  Parameters parameters;
  parameters.add(pools)
      .add(turns)
      .add(enqueued)
      .add(at)
      .add(priorities)
      .add(ids)
      .add(keys)
      .add(events);
  if (columns == Columns::short_if_same) parameters.add(apart);
  return parameters;
}

}  // namespace

BatchQueries::BatchQueries(StoreBatch& batch, Author author, Way way, Session session)
    : batch_(batch), author_(author), way_(way), session_(session) {
  batch.settled.assign(batch.settlements.size(), {});
  batch.judged.assign(batch.verdicts.size(), false);
  batch.inserted.assign(batch.jobs.size(), {});
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) batch.inserted[i].turn = batch.jobs[i].turn;
}

void BatchQueries::add(std::string_view sql, Parameters parameters, Take take) {
  go_on();
  queries_.push_back({sql, std::move(parameters)});
  takes_.push_back(std::move(take));
}

void BatchQueries::add_quick(const QuickStatement& statement, Parameters parameters,
                             QuickTake take) {
  const auto from = [&take](int first_column) {
    return [take = std::move(take), first_column](const Rows& rows) { take(rows, first_column); };
  };
  const std::optional<Query> going_on = std::exchange(go_on_, std::nullopt);
  if (!going_on) return add(statement.alone, std::move(parameters), from(0));
  parameters.append(going_on->parameters);
  add(statement.going_on, std::move(parameters), from(1));
}

// Before all that changes something.
void BatchQueries::go_on() {
  if (!go_on_) return;
  queries_.push_back(*std::move(go_on_));
  go_on_.reset();
  takes_.emplace_back();
}

void BatchQueries::clear() {
  queries_.clear();
  takes_.clear();
}

void BatchQueries::take_answers(const std::vector<Rows>& answers) const {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (takes_[i]) takes_[i](answers[i]);
  }
}

void BatchQueries::begin(Durability durability, const std::string& settings, Query go_on) {
  if (needs_answers()) add("BEGIN");
  settings_ = settings;
  if (!settings_.empty()) add(settings_);
  if (durability != Durability::synced) {
    add("SELECT set_config('synchronous_commit', 'off', true)");
  }
  go_on_ = std::move(go_on);
}

// A job that failed and was run again in the meantime is there twice, and one statement changes a
// row only once: each job's second settlement goes with all other second ones, and so on.
void BatchQueries::settle() {
  std::unordered_map<JobSeq, std::size_t> times;
  std::vector<Places> waves;
  for (std::size_t i = 0; i < batch_.settlements.size(); ++i) {
    if (!is_ours(batch_.settlements[i])) continue;
    const std::size_t wave = times[batch_.settlements[i].seq]++;
    if (wave == waves.size()) waves.emplace_back();
    waves[wave].push_back(i);
  }
  for (const Places& wave : waves) settle_some(wave);
  if (waves.empty()) return;
  note_failures();
  forgive_interrupted();
}

void BatchQueries::settle_some(const Places& places) {
  Places plain;
  Places ended;
  Places again;
  for (const std::size_t place : places) {
    const Settlement& settlement = batch_.settlements[place];
    const bool is_again = settlement.state == JobState::available;
    (is_again ? again : settlement.is_plain() ? plain : ended).push_back(place);
  }
  if (!again.empty()) retry(again);
  if (!ended.empty()) end(ended);
  if (plain.empty()) return;
  if (way_ == Way::quick) return complete(plain);
  complete_carefully(plain);
}

BatchQueries::Take BatchQueries::settled_at(const Places& places) {
  return [this, places](const Rows& rows) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto place = static_cast<std::size_t>(rows.integer(row, 0)) - 1;
      batch_.settled[places[place]].is_settled = true;
    }
  };
}

void BatchQueries::complete(const Places& places) {
  std::vector<std::int64_t> seqs;
  std::map<std::pair<PoolNumber, std::uint32_t>, std::int64_t> sums;
  WallTime at{};
  for (const std::size_t place : places) {
    const Settlement& settlement = batch_.settlements[place];
    seqs.push_back(settlement.seq);
    at = std::max(at, settlement.at);
    ++sums[{settlement.place.pool, settlement.place.index}];
  }
  std::vector<std::int64_t> pools;
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> counts;
  for (const auto& [instance, count] : sums) {
    pools.push_back(instance.first);
    numbers.push_back(instance.second);
    counts.push_back(count);
  }
  const auto [first, last] = std::ranges::minmax(seqs);
  Parameters parameters = Parameters().add(author_.node).add(author_.batch).add(as_number(at));
  parameters.add(first).add(last).add(seqs).add(pools).add(numbers).add(counts);
  add_quick(kComplete, std::move(parameters), [this, places](const Rows& /*done*/, int /*column*/) {
    for (const std::size_t place : places) batch_.settled[place].is_settled = true;
  });
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the std::function has it
}

void BatchQueries::complete_carefully(const Places& places) {
  std::vector<std::int64_t> seqs;
  std::vector<std::int64_t> pools;
  std::vector<std::int64_t> numbers;
  WallTime at{};
  for (const std::size_t place : places) {
    const Settlement& settlement = batch_.settlements[place];
    seqs.push_back(settlement.seq);
    pools.push_back(settlement.place.pool);
    numbers.push_back(settlement.place.index);
    at = std::max(at, settlement.at);
  }
  Parameters parameters = Parameters().add(author_.node).add(author_.batch).add(as_number(at));
  parameters.add(seqs).add(pools).add(numbers);
  add(kCompleteThose, std::move(parameters), settled_at(places));
}

void BatchQueries::end(const Places& places) {
  std::vector<std::int64_t> seqs;
  std::vector<std::int64_t> states;
  std::vector<std::int64_t> attempts;
  std::vector<std::int64_t> at;
  std::vector<std::int64_t> pools;
  std::vector<std::int64_t> numbers;
  std::vector<std::optional<std::string_view>> results;
  std::vector<std::optional<std::string_view>> logs;
  for (const std::size_t place : places) {
    const Settlement& settlement = batch_.settlements[place];
    seqs.push_back(settlement.seq);
    states.push_back(number_of(settlement.state));
    attempts.push_back(settlement.attempts);
    at.push_back(as_number(settlement.at));
    pools.push_back(settlement.place.pool);
    numbers.push_back(settlement.place.index);
    results.emplace_back(settlement.result);
    logs.emplace_back(settlement.log);
  }
  Parameters parameters = Parameters().add(seqs).add(states).add(attempts).add(at);
  parameters.add(pools).add(numbers).add(results).add(logs);
  add(kEndThose, std::move(parameters), settled_at(places));
}

void BatchQueries::retry(const Places& places) {
  std::vector<std::int64_t> seqs;
  std::vector<std::int64_t> attempts;
  std::vector<std::int64_t> at;
  std::vector<std::optional<std::string_view>> logs;
  for (const std::size_t place : places) {
    const Settlement& settlement = batch_.settlements[place];
    seqs.push_back(settlement.seq);
    attempts.push_back(settlement.attempts);
    at.push_back(as_number(settlement.at));
    logs.emplace_back(settlement.log);
  }
  add(kRetryThose, Parameters().add(seqs).add(attempts).add(at).add(logs), settled_at(places));
}

void BatchQueries::note_failures() {
  std::vector<std::int64_t> seqs;
  std::vector<std::int64_t> attempts;
  std::vector<std::int64_t> kinds;
  std::vector<std::int64_t> at;
  std::vector<std::string_view> whats;
  for (const Settlement& settlement : batch_.settlements) {
    if (!is_ours(settlement) || !settlement.error) continue;
    seqs.push_back(settlement.seq);
    attempts.push_back(settlement.error->attempt);
    kinds.push_back(static_cast<std::int64_t>(settlement.error->kind));
    at.push_back(as_number(settlement.error->failed_at));
    whats.emplace_back(settlement.error->what);
  }
  if (seqs.empty()) return;
  add("INSERT INTO muster.failure(seq, attempt, kind, at, what) SELECT * FROM"
      " unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])"
      " ON CONFLICT DO NOTHING",
      Parameters().add(seqs).add(attempts).add(kinds).add(at).add(whats));
}

// What was run by a node that died is settled as such, and only so.
void BatchQueries::forgive_interrupted() {
  std::vector<std::int64_t> seqs;
  for (const Settlement& settlement : batch_.settlements) {
    const bool is_crash = settlement.error && settlement.error->kind == FailureKind::crash;
    if (is_ours(settlement) && is_crash) seqs.push_back(settlement.seq);
  }
  if (seqs.empty()) return;
  add("DELETE FROM muster.interrupted WHERE seq = ANY($1)", Parameters().add(seqs));
}

bool BatchQueries::needs_answers() const {
  return std::ranges::any_of(batch_.settlements, [this](const Settlement& settlement) {
    return is_ours(settlement) && !settlement.enqueued.empty();
  });
}

void BatchQueries::judge() {
  Places cancelled;
  Places replayed;
  Places discarded;
  for (std::size_t i = 0; i < batch_.verdicts.size(); ++i) {
    const Verdict& verdict = batch_.verdicts[i];
    if (verdict.holder != 0 && verdict.holder != author_.node) continue;  // it is others' by now
    if (verdict.from == JobState::available) {
      cancelled.push_back(i);
    } else {
      (verdict.to == JobState::available ? replayed : discarded).push_back(i);
    }
  }
  const auto add_those = [this](std::string_view sql, const Places& places) {
    if (places.empty()) return;
    std::vector<std::int64_t> seqs;
    std::vector<std::int64_t> at;
    for (const std::size_t place : places) {
      seqs.push_back(batch_.verdicts[place].seq);
      at.push_back(as_number(batch_.verdicts[place].at));
    }
    add(sql, Parameters().add(seqs).add(at), [this, places](const Rows& rows) {
      for (std::size_t row = 0; row < rows.size(); ++row) {
        batch_.judged[places[static_cast<std::size_t>(rows.integer(row, 0)) - 1]] = true;
      }
    });
  };
  add_those(kCancelThose, cancelled);
  add_those(kReplayThose, replayed);
  add_those(kDiscardThose, discarded);
}

// With those of jobs that were settled, in front.
std::vector<BatchQueries::Job> BatchQueries::jobs_to_insert() const {
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < batch_.settlements.size(); ++i) {
    const std::vector<NewJob>& enqueued = batch_.settlements[i].enqueued;
    if (!batch_.settled[i].is_settled || enqueued.empty()) continue;
    batch_.settled[i].inserted.resize(enqueued.size());
    for (std::size_t j = 0; j < enqueued.size(); ++j) {
      jobs.emplace_back(&enqueued[j], &batch_.settled[i].inserted[j]);
    }
  }
  jobs.reserve(jobs.size() + batch_.jobs.size());
  for (std::size_t i = 0; i < batch_.jobs.size(); ++i) {
    jobs.emplace_back(&batch_.jobs[i], &batch_.inserted[i]);
  }
  return jobs;
}

void BatchQueries::make_room(const std::vector<Job>& jobs) {
  std::vector<std::int64_t> pools;
  std::vector<std::string_view> ids;
  std::vector<std::int64_t> before;
  for (const auto& [job, inserted] : jobs) {
    if (!job->replaces_before) continue;
    pools.push_back(job->pool);
    ids.emplace_back(job->id);
    before.push_back(as_number(*job->replaces_before));
  }
  if (pools.empty()) return;
  add(kMakeRoom, Parameters().add(pools).add(ids).add(before));
}

// With go_on().
void BatchQueries::insert_one(const Job& only) {
  const NewJob* const job = only.first;
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): required
  Parameters parameters = std::move(go_on_->parameters);
  go_on_.reset();
  parameters.add(job->pool).add(std::int64_t{job->turn}).add(as_number(job->enqueued_at));
  parameters.add(as_number(job->run_at)).add(std::int64_t{job->priority});
  parameters.add(std::string_view(job->id)).add_or_null(job->key);
  parameters.add(std::string_view(job->event));
  add(kEnqueueOne, std::move(parameters), [job, inserted = only.second](const Rows& rows) {
    if (rows.size() == 0) {
      throw DatabaseError({.attempt = "commit as this node",
                           .reason = "it was silent for too long, and others have its jobs",
                           .advice = ""},
                          std::string(kGivenUp));
    }
    *inserted = {.seq = rows.integer(0, 0),
                 .created = true,
                 .turn = job->turn,
                 .version = static_cast<std::uint64_t>(rows.integer(0, 1))};
  });
}

// Carefully, rows come back in the order in which they were inserted, without those that were not.
void BatchQueries::insert() {
  std::vector<Job> jobs = jobs_to_insert();
  if (jobs.empty()) return;
  make_room(jobs);
  const bool is_quick_one = jobs.size() == 1 && go_on_ && way_ == Way::quick;
  if (is_quick_one && session_ == Session::knows_life) return insert_one(jobs.front());
  Parameters columns =
      columns_of(jobs, way_ == Way::quick ? Columns::short_if_same : Columns::whole);
  if (way_ == Way::quick) {
    add_quick(kEnqueue, std::move(columns), [jobs = std::move(jobs)](const Rows& rows, int first) {
      JobSeq seq = rows.integer(0, first);
      const auto version = static_cast<std::uint64_t>(rows.integer(0, first + 1));
      for (const auto& [job, inserted] : jobs) {
        *inserted = {.seq = seq++, .created = true, .turn = job->turn, .version = version};
      }
    });
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the std::function has it
    return;
  }
  add(kInsertNew, std::move(columns), [jobs = std::move(jobs)](const Rows& rows) {
    std::size_t row = 0;
    for (const auto& [job, inserted] : jobs) {
      inserted->turn = job->turn;
      if (row == rows.size()) continue;
      if (rows.integer(row, 1) != job->pool || rows.text(row, 2) != job->id) continue;
      inserted->seq = rows.integer(row, 0);
      inserted->version = static_cast<std::uint64_t>(rows.integer(row, 3));
      inserted->created = true;
      ++row;
    }
  });
}

// A pool that is paused as a whole becomes one of which each instance is. Whoever pauses it now
// waits for the lock, or has been waited for.
void BatchQueries::spread_pause(PoolNumber pool) {
  add(kLockPool, Parameters().add(pool));
  add("INSERT INTO muster.instance(pool, number, paused)"
      " SELECT number, generate_series(0, concurrency - 1), true FROM muster.pool"
      " WHERE number = $1 AND paused ON CONFLICT (pool, number) DO UPDATE SET paused = true",
      Parameters().add(pool));
  add("UPDATE muster.pool SET paused = false WHERE number = $1 AND paused", Parameters().add(pool));
}

void BatchQueries::pause() {
  for (const PauseChange& change : batch_.pauses) {
    const std::string_view is_paused = change.is_paused ? "t" : "f";
    if (change.index) {
      if (!change.is_paused) spread_pause(change.pool);
      add("INSERT INTO muster.instance(pool, number, paused) VALUES($1, $2, $3::boolean)"
          " ON CONFLICT (pool, number) DO UPDATE SET paused = excluded.paused",
          Parameters().add(change.pool).add(std::int64_t{*change.index}).add(is_paused));
      continue;
    }
    add("UPDATE muster.pool SET paused = $2::boolean WHERE number = $1",
        Parameters().add(change.pool).add(is_paused));
    add("UPDATE muster.instance SET paused = false WHERE pool = $1 AND paused",
        Parameters().add(change.pool));
  }
}

// One hint for all of it.
void BatchQueries::commit(Others others) {
  go_on();
  const bool has_news =
      !batch_.jobs.empty() || !batch_.pauses.empty() || !batch_.verdicts.empty() || needs_answers();
  if (has_news && others == Others::may_listen) {
    const std::string notice = std::to_string(author_.node) + (batch_.pauses.empty() ? "" : "!");
    add("SELECT pg_notify('muster', $1)", Parameters().add(std::string_view(notice)));
  }
  if (needs_answers()) add("COMMIT");
}

}  // namespace muster
