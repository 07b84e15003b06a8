// group_commit.cpp: who commits, and for whom.
#include "jobs/group_commit.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <muster/base/log.hpp>
#include <muster/sync/futex.hpp>

namespace muster {
namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

template <class T>
std::vector<T> take_front(std::deque<T>& from, std::size_t most) {
  const auto end = from.begin() + static_cast<std::ptrdiff_t>(std::min(from.size(), most));
  std::vector<T> taken(std::make_move_iterator(from.begin()), std::make_move_iterator(end));
  from.erase(from.begin(), end);
  return taken;
}

}  // namespace

GroupCommit::GroupCommit(Store& store, Listener& listener, const Options& options)
    : store_(store), listener_(listener), options_(options), committer_([this] { serve(); }) {}

GroupCommit::~GroupCommit() {
  stop();
}

void GroupCommit::stop() {
  {
    const MutexLock lock(mutex_);
    stops_ = true;
  }
  called_.notify_all();
  if (committer_.joinable()) committer_.join();
}

bool GroupCommit::has_work() const {
  if (!requests_.empty()) return true;
  return !settlements_.empty() && real_clock().now() >= try_again_;
}

void GroupCommit::run(Request& request) {
  {
    const MutexLock lock(mutex_);
    requests_.push_back(&request);
    // Alone: nobody has to be woken for it.
    if (!is_committing_ && settlements_.empty()) {
      commit_some();
      if (!requests_.empty() || !settlements_.empty()) called_.notify_one();
    } else if (!is_committing_) {
      called_.notify_one();
    }
  }
  while (request.is_done.load(acquire) == 0) {  // sync(request-done): pairs with finish()
    (void)futex_wait(request.is_done, 0, std::nullopt);
  }
  if (request.failure) std::rethrow_exception(request.failure);
}

void GroupCommit::post(Settlement settlement) {
  const MutexLock lock(mutex_);
  settlements_.push_back(std::move(settlement));
  if (!is_committing_ && settlements_.size() == 1) called_.notify_one();
}

std::size_t GroupCommit::waiting() const {
  const MutexLock lock(mutex_);
  return requests_.size();
}

std::size_t GroupCommit::unsettled() const {
  const MutexLock lock(mutex_);
  return settlements_.size() + under_way_;
}

bool GroupCommit::wait_settled(Time deadline) {
  const MutexLock lock(mutex_);
  while (settlements_.size() + under_way_ > 0) {
    if (!settled_.wait_until(mutex_, deadline)) return settlements_.size() + under_way_ == 0;
  }
  return true;
}

void GroupCommit::serve() {
  const MutexLock lock(mutex_);
  while (!stops_) {
    if (!is_committing_ && has_work()) {
      commit_some();
    } else if (!is_committing_ && !settlements_.empty()) {
      (void)called_.wait_until(mutex_, try_again_);
    } else {
      called_.wait(mutex_);
    }
  }
}

// Makes one transaction of what is there. Without the lock while the store works.
void GroupCommit::commit_some() {
  is_committing_ = true;
  StoreBatch batch;
  if (real_clock().now() >= try_again_) batch.settlements = take_front(settlements_, options_.most);
  std::vector<Request*> requests;
  for (std::size_t jobs = 0; !requests_.empty() && jobs < options_.most;) {
    requests.push_back(requests_.front());
    requests_.pop_front();
    jobs += std::max<std::size_t>(requests.back()->batch.jobs.size(), 1);
  }
  under_way_ = batch.settlements.size();
  mutex_.unlock();
  const std::exception_ptr failure = commit(batch, requests);
  if (!failure) tell(batch, requests);
  finish(requests, failure);
  mutex_.lock();
  if (failure && !batch.settlements.empty()) {
    settlements_.insert(settlements_.begin(), std::make_move_iterator(batch.settlements.begin()),
                        std::make_move_iterator(batch.settlements.end()));
    try_again_ = real_clock().now() + options_.pause;
  }
  under_way_ = 0;
  is_committing_ = false;
  if (settlements_.empty()) settled_.notify_all();
}

// Null: it is in the store.
std::exception_ptr GroupCommit::commit(StoreBatch& batch,
                                       const std::vector<Request*>& requests) const {
  Durability durability = batch.settlements.empty() ? Durability::written : Durability::synced;
  for (Request* const request : requests) {
    request->jobs = request->batch.jobs.size();
    request->verdicts = request->batch.verdicts.size();
    append(batch.jobs, request->batch.jobs);
    append(batch.verdicts, request->batch.verdicts);
    append(batch.pauses, request->batch.pauses);
    durability = std::max(durability, request->durability);
  }
  try {
    store_.commit(batch, durability);
    return nullptr;
  } catch (const std::exception& error) {
    if (!batch.settlements.empty()) {
      MUSTER_LOG(LogLevel::error, batch.settlements.size()
                                      << " jobs that have ended could not be settled, and will be "
                                         "tried again: "
                                      << error.what());
    }
    return std::current_exception();
  }
}

// Each request has its own share of the answers.
void GroupCommit::tell(StoreBatch& batch, const std::vector<Request*>& requests) const {
  for (std::size_t i = 0; i < batch.settlements.size(); ++i) {
    listener_.on_settled(batch.settlements[i], batch.settled[i]);
  }
  auto job = batch.jobs.begin();
  auto inserted = batch.inserted.begin();
  auto judged = batch.judged.begin();
  for (Request* const request : requests) {
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
void GroupCommit::finish(const std::vector<Request*>& requests, const std::exception_ptr& failure) {
  for (Request* const request : requests) {
    request->failure = failure;
    Atomic<std::uint32_t>& is_done = request->is_done;
    is_done.store(1, release);  // sync(request-done): pairs with the load in run()
    futex_wake_all(is_done);
  }
}

}  // namespace muster
