// group_commit.cpp: who commits, and for whom.
#include "jobs/group_commit.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <muster/base/log.hpp>

namespace muster {
namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  if (to.empty()) return to.swap(from);
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

std::size_t bytes_of(std::span<const NewJob> jobs) {
  std::size_t bytes = 0;
  for (const NewJob& job : jobs) bytes += job.event.size();
  return bytes;
}

std::size_t bytes_of(const Settlement& settlement) {
  const auto size = [](const std::optional<std::string>& text) { return text ? text->size() : 0; };
  return size(settlement.result) + size(settlement.log) + bytes_of(settlement.enqueued);
}

}  // namespace

// What a transaction is made of, and what became of it.
struct GroupCommit::Transaction {
  std::uint32_t round = 0;
  StoreBatch batch = {};
  std::vector<Request*> requests = {};
  Durability durability = Durability::written;
  std::exception_ptr failure = {};   // nothing of it is in the store
  std::exception_ptr unsynced = {};  // it is there, and may not survive the power
};

GroupCommit::GroupCommit(Store& store, Listener& listener, const Options& options)
    : store_(store), listener_(listener), options_(options) {
  for (int i = 0; i < 2; ++i) committers_.emplace_back([this] { serve(); });
}

GroupCommit::~GroupCommit() {
  stop();
}

void GroupCommit::stop() {
  {
    const MutexLock lock(mutex_);
    stops_ = true;
  }
  called_.notify_all();
  for (std::thread& committer : committers_) {
    if (committer.joinable()) committer.join();
  }
}

// No transaction is under way, nor being synced or told of.
bool GroupCommit::is_idle() const {
  return !is_committing_ && round_ == ended_;
}

bool GroupCommit::has_work() const {
  if (is_committing_ || (requests_.empty() && settlements_.empty())) return false;
  const std::uint32_t syncing = round_ - ended_;
  if (syncing > 0) return syncing == 1 && requests_.size() >= std::max(wanted_, options_.overlap);
  return real_clock().now() >= std::min(requests_at(), settles_at());
}

// Never, if there are none.
Time GroupCommit::requests_at() const {
  if (requests_.empty()) return Time::max();
  const bool is_time = requests_.size() >= wanted_ || stops_;
  return is_time ? Time::min() : last_end_ + options_.gather;
}

Time GroupCommit::settles_at() const {
  if (settlements_.empty()) return Time::max();
  const bool is_awaited = waiters_ > 0 || is_in_a_hurry_;
  const bool is_time = is_awaited || stops_ || settlements_.size() >= options_.worthwhile;
  return is_time ? try_again_ : std::max(try_again_, last_end_ + options_.pace);
}

void GroupCommit::run(Request& request) {
  std::uint32_t round = 0;
  {
    const MutexLock lock(mutex_);
    if (may_go_alone(request)) return commit_alone(request);
    requests_.push_back(&request);
    round = round_ + 1;
    // Nobody has to be woken for it.
    if (stops_) {
      serve_out();
    } else if (settlements_.empty() && is_idle() && has_work()) {
      commit_some();
    } else if (!is_committing_ && (requests_.size() == 1 || has_work())) {
      called_.notify_one();
    }
  }
  rounds_.await(round, request.is_done);
  if (request.failure) std::rethrow_exception(request.failure);
}

// It has to be written only, and does not depend on what is to be settled.
bool GroupCommit::may_go_alone(const Request& request) const {
  if (stops_ || !is_idle() || !requests_.empty()) return false;
  if (request.durability == Durability::synced) return false;
  const StoreBatch& batch = request.batch;
  const auto replaces = [](const NewJob& job) { return job.replaces_before.has_value(); };
  if (!batch.verdicts.empty() || !batch.pauses.empty()) return false;
  if (std::ranges::any_of(batch.jobs, replaces)) return false;
  return settlements_.empty() || real_clock().now() < settles_at();
}

// The short way. Nobody awaits its end, but for those who want to begin the next transaction.
void GroupCommit::commit_alone(Request& request) {
  is_committing_ = true;
  mutex_.unlock();
  std::exception_ptr failure;
  try {
    store_.commit(request.batch, request.durability);
  } catch (const std::exception&) {
    failure = std::current_exception();
  }
  if (!failure) listener_.on_committed(request.batch);
  mutex_.lock();
  is_committing_ = false;
  if (stops_) told_.notify_all();
  const bool is_left = !settlements_.empty() && alert_ == 0;
  if (!requests_.empty() || is_left || stops_) called_.notify_one();
  if (failure) std::rethrow_exception(failure);
}

void GroupCommit::post(Settlement settlement) {
  const MutexLock lock(mutex_);
  settlements_.push_back(std::move(settlement));
  const std::size_t size = settlements_.size();
  if (!is_committing_ && (size == 1 || size == options_.worthwhile)) called_.notify_one();
}

void GroupCommit::post(std::unique_ptr<Request> request) {
  const MutexLock lock(mutex_);
  request->is_posted = true;
  requests_.push_back(request.release());
  if (stops_) {
    serve_out();
  } else if (!is_committing_) {
    called_.notify_one();
  }
}

// The committers may be gone.
void GroupCommit::serve_out() {
  while (!requests_.empty()) {
    if (is_idle()) {
      commit_some();
    } else {
      told_.wait(mutex_);
    }
  }
}

std::size_t GroupCommit::waiting() const {
  const MutexLock lock(mutex_);
  return requests_.size();
}

bool GroupCommit::is_committing() const {
  const MutexLock lock(mutex_);
  return is_committing_;
}

std::size_t GroupCommit::unsettled() const {
  const MutexLock lock(mutex_);
  return settlements_.size() + under_way_;
}

bool GroupCommit::wait_settled(Time deadline) {
  const MutexLock lock(mutex_);
  const auto is_settled = [this] {
    mutex_.is_held();
    return settlements_.size() + under_way_ == 0;
  };
  ++waiters_;
  called_.notify_one();
  while (!is_settled()) {
    if (deadline == Time::max()) {
      settled_.wait(mutex_);
    } else if (!settled_.wait_until(mutex_, deadline)) {
      break;
    }
  }
  --waiters_;
  return is_settled();
}

void GroupCommit::settle_soon() {
  const MutexLock lock(mutex_);
  if (std::exchange(is_in_a_hurry_, true)) return;
  if (!is_committing_) called_.notify_one();
}

void GroupCommit::serve() {
  const MutexLock lock(mutex_);
  while (!stops_ || !requests_.empty()) {
    if (has_work()) {
      commit_some();
    } else if (is_idle() && (!requests_.empty() || !settlements_.empty())) {
      ++alert_;
      (void)called_.wait_until(mutex_, std::min(requests_at(), settles_at()));
      --alert_;
    } else {
      called_.wait(mutex_);
    }
  }
}

// Makes one transaction of what is there. Without the lock while the store works.
void GroupCommit::commit_some() {
  is_committing_ = true;
  Transaction transaction = gather_some();
  mutex_.unlock();
  carry_out(transaction);
  end_commit(transaction);
  if (!transaction.failure) sync(transaction);
  mutex_.lock();
  while (ended_ + 1 != transaction.round) told_.wait(mutex_);
  mutex_.unlock();
  if (transaction.failure) {
    give_back(transaction);
  } else {
    tell(transaction);
  }
  mutex_.lock();
  if (!transaction.failure) under_way_ -= transaction.batch.settlements.size();
  if (settlements_.size() + under_way_ == 0) settled_.notify_all();
  mutex_.unlock();
  finish(transaction);
  mutex_.lock();
  ended_ = transaction.round;
  last_end_ = real_clock().now();
  told_.notify_all();
  if (!requests_.empty() || !settlements_.empty() || stops_) called_.notify_one();
}

GroupCommit::Transaction GroupCommit::gather_some() {
  Transaction transaction{.round = ++round_};
  std::vector<Settlement>& settlements = transaction.batch.settlements;
  std::size_t bytes = 0;
  const auto has_room = [&](std::size_t changes) {
    return changes < options_.most && bytes < options_.most_bytes;
  };
  const bool settles = real_clock().now() >= try_again_;
  while (settles && !settlements_.empty() && has_room(settlements.size())) {
    bytes += bytes_of(settlements_.front());
    settlements.push_back(std::move(settlements_.front()));
    settlements_.pop_front();
  }
  if (!settlements.empty() && settlements_.empty()) is_in_a_hurry_ = false;
  under_way_ += settlements.size();
  for (std::size_t jobs = 0; !requests_.empty() && has_room(jobs);) {
    const std::vector<NewJob>& asked = requests_.front()->batch.jobs;
    jobs += std::max<std::size_t>(asked.size(), 1);
    bytes += bytes_of(asked);
    transaction.requests.push_back(requests_.front());
    requests_.pop_front();
  }
  return transaction;
}

void GroupCommit::carry_out(Transaction& transaction) {
  StoreBatch& batch = transaction.batch;
  if (!batch.settlements.empty()) transaction.durability = Durability::synced;
  for (Request* const request : transaction.requests) {
    request->jobs = request->batch.jobs.size();
    request->verdicts = request->batch.verdicts.size();
    append(batch.jobs, request->batch.jobs);
    append(batch.verdicts, request->batch.verdicts);
    const std::vector<PauseChange>& pauses = request->batch.pauses;  // who is told needs them
    batch.pauses.insert(batch.pauses.end(), pauses.begin(), pauses.end());
    transaction.durability = std::max(transaction.durability, request->durability);
  }
  try {
    store_.commit(batch, transaction.durability);
  } catch (const std::exception& error) {
    transaction.failure = std::current_exception();
    if (batch.settlements.empty()) return;
    MUSTER_LOG(LogLevel::error, batch.settlements.size()
                                    << " jobs that have ended could not be settled, and will be "
                                       "tried again: "
                                    << error.what());
  }
}

// The next one may begin. What is to be tried again comes before it.
void GroupCommit::end_commit(Transaction& transaction) {
  const MutexLock lock(mutex_);
  std::vector<Settlement>& settlements = transaction.batch.settlements;
  if (transaction.failure && !settlements.empty()) {
    under_way_ -= settlements.size();
    settlements_.insert(settlements_.begin(), std::make_move_iterator(settlements.begin()),
                        std::make_move_iterator(settlements.end()));
    try_again_ = real_clock().now() + options_.pause;
  }
  is_committing_ = false;
  wanted_ = transaction.requests.size() / 2;
  if (has_work()) called_.notify_one();
}

void GroupCommit::sync(Transaction& transaction) const {
  if (transaction.durability != Durability::synced) return;
  try {
    store_.sync();
  } catch (const StoreFailure& failure) {
    transaction.unsynced = std::current_exception();
    MUSTER_LOG(LogLevel::error, failure.what());
  }
}

// What it came with.
void GroupCommit::give_back(Transaction& transaction) {
  auto job = transaction.batch.jobs.begin();
  for (Request* const request : transaction.requests) {
    const auto end = job + static_cast<std::ptrdiff_t>(request->jobs);
    request->batch.jobs.assign(std::make_move_iterator(job), std::make_move_iterator(end));
    job = end;
  }
}

// Each request has its own share of the answers.
void GroupCommit::tell(Transaction& transaction) const {
  StoreBatch& batch = transaction.batch;
  if (!batch.settlements.empty()) listener_.on_settled(batch.settlements, batch.settled);
  if (transaction.requests.size() == 1) {
    StoreBatch& own = transaction.requests.front()->batch;
    own.jobs.swap(batch.jobs);
    own.inserted.swap(batch.inserted);
    own.judged.swap(batch.judged);
    return listener_.on_committed(own);
  }
  auto job = batch.jobs.begin();
  auto inserted = batch.inserted.begin();
  auto judged = batch.judged.begin();
  for (Request* const request : transaction.requests) {
    const auto jobs = static_cast<std::ptrdiff_t>(request->jobs);
    const auto verdicts = static_cast<std::ptrdiff_t>(request->verdicts);
    request->batch.jobs.assign(std::make_move_iterator(job), std::make_move_iterator(job + jobs));
    request->batch.inserted.assign(inserted, inserted + jobs);
    request->batch.judged.assign(judged, judged + verdicts);
    job += jobs;
    inserted += jobs;
    judged += verdicts;
    listener_.on_committed(request->batch);
  }
}

// The request may be gone as soon as it is told.
void GroupCommit::finish(const Transaction& transaction) {
  for (Request* const request : transaction.requests) {
    if (request->is_posted) {
      const std::unique_ptr<Request> owned(request);
      if (transaction.failure) listener_.on_lost(owned->batch, transaction.failure);
      continue;
    }
    request->failure = transaction.failure;
    if (request->durability == Durability::synced && transaction.unsynced) {
      request->failure = transaction.unsynced;
    }
    request->is_done.store(true, release);  // sync(round-done): pairs with the load in await()
  }
  rounds_.end(transaction.round);
}

}  // namespace muster
