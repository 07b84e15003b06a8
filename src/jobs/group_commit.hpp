// group_commit.hpp: many who change a store, one transaction.
//
// A disk syncs some hundred times a second, whatever is synced. So all changes that come while one
// transaction is under way go into the next, together. Who comes when none is under way commits by
// itself, without waiting for another thread; otherwise the committer, a thread, does it.
//
//     Request request;
//     request.batch.jobs = ...;
//     commits.run(request);             // returns when it is in the store, or throws why not
//     commits.post(settlement);         // returns at once
//
// What was committed is told to the Listener before whoever asked for it goes on, in the order of
// the store. Settlements that the store does not take are tried again, for ever: until then nobody
// is told, and nothing is lost. They are never overtaken by later ones.
//
// Thread safety: any member from any thread.
// Lifetime: store and listener outlive it. stop() before it goes.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <thread>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/mutex.hpp>

#include "jobs/store.hpp"

namespace muster {

class GroupCommit {
 public:
  struct Request {
    StoreBatch batch;  // without settlements; with its answers when run() returns
    Durability durability = Durability::synced;

   private:
    friend class GroupCommit;
    std::size_t jobs = 0;  // as many as it came with
    std::size_t verdicts = 0;
    std::exception_ptr failure;
    Atomic<std::uint32_t> is_done = 0;
  };

  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_settled(const Settlement& settlement, const StoreBatch::Settled& settled) = 0;
    virtual void on_committed(const StoreBatch& batch) = 0;
  };

  struct Options {
    // Changes in one transaction, about.
    std::size_t most = 10'000;

    // Before settlements that failed are tried again.
    Duration pause = std::chrono::milliseconds(100);
  };

  GroupCommit(Store& store, Listener& listener, const Options& options);
  ~GroupCommit();
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  // Throws StoreFailure; nothing of it was done then.
  void run(Request& request);

  void post(Settlement settlement);

  // Requests that wait for a transaction to end.
  [[nodiscard]] std::size_t waiting() const;

  // Settlements that are not in the store yet.
  [[nodiscard]] std::size_t unsettled() const;

  // Waits until there are none. False: `deadline` has passed.
  bool wait_settled(Time deadline);

  // Ends the committer; what is unsettled stays so. Safe twice.
  void stop();

 private:
  void serve();
  [[nodiscard]] bool has_work() const MUSTER_REQUIRES(mutex_);
  void commit_some() MUSTER_REQUIRES(mutex_);
  std::exception_ptr commit(StoreBatch& batch, const std::vector<Request*>& requests) const;
  void tell(StoreBatch& batch, const std::vector<Request*>& requests) const;
  static void finish(const std::vector<Request*>& requests, const std::exception_ptr& failure);

  // Fixed at construction.
  Store& store_;
  Listener& listener_;
  const Options options_;

  // Guarded by mutex_.
  mutable Mutex mutex_;
  ConditionVariable called_;   // for the committer
  ConditionVariable settled_;  // for wait_settled()
  std::deque<Settlement> settlements_ MUSTER_GUARDED_BY(mutex_);
  std::deque<Request*> requests_ MUSTER_GUARDED_BY(mutex_);
  std::size_t under_way_ MUSTER_GUARDED_BY(mutex_) = 0;  // settlements in a transaction
  bool is_committing_ MUSTER_GUARDED_BY(mutex_) = false;
  bool stops_ MUSTER_GUARDED_BY(mutex_) = false;
  Time try_again_ MUSTER_GUARDED_BY(mutex_){};  // not before that

  std::thread committer_;
};

}  // namespace muster
