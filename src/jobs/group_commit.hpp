// group_commit.hpp: many who change a store, one transaction.
//
// A disk syncs some hundred times a second, whatever is synced. So all changes that come while one
// transaction is under way go into the next, together. Who comes when none is under way commits by
// itself, without waiting for another thread; otherwise a committer, a thread, does it. There are
// two: while one syncs a transaction and tells of it, the other makes the next.
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
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/mutex.hpp>

#include "jobs/store.hpp"
#include "sync/rounds.hpp"

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
    bool is_posted = false;  // nobody waits for it
    Atomic<bool> is_done = false;
  };

  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_settled(std::span<const Settlement> settlements,
                            std::span<const StoreBatch::Settled> settled) = 0;
    virtual void on_committed(const StoreBatch& batch) = 0;

    // What was posted, and the store could not take: it is lost.
    virtual void on_lost(const StoreBatch& batch, const std::exception_ptr& why) = 0;
  };

  struct Options {
    // Changes in one transaction, about, and their bytes. What one request has stays together.
    std::size_t most = 10'000;
    std::size_t most_bytes = 64U << 20U;

    // Before settlements that failed are tried again.
    Duration pause = std::chrono::milliseconds(100);

    // Nobody waits for settlements, and a transaction costs the same for one and for hundreds. So
    // those that come soon after a transaction wait for others, until so much time has passed since
    // then, or there are so many.
    Duration pace = std::chrono::milliseconds(3);
    std::size_t worthwhile = 1000;

    // Who was just answered often asks again at once. So after a transaction of many requests the
    // next one waits for half as many, but no longer than this.
    Duration gather = std::chrono::microseconds(200);

    // So many requests do not wait until the last transaction is synced and told of.
    std::size_t overlap = 24;
  };

  GroupCommit(Store& store, Listener& listener, const Options& options);
  ~GroupCommit();
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  // Throws StoreFailure; nothing of it was done then. Unless that says that it could not be synced:
  // then it was, and may not survive the power.
  void run(Request& request);

  void post(Settlement settlement);

  // Returns at once, whatever becomes of it.
  void post(std::unique_ptr<Request> request);

  // Requests that wait for a transaction to end.
  [[nodiscard]] std::size_t waiting() const;

  // A transaction is under way, and not being synced yet.
  [[nodiscard]] bool is_committing() const;

  // Settlements that are not in the store yet.
  [[nodiscard]] std::size_t unsettled() const;

  // Waits until there are none. False: `deadline` has passed.
  bool wait_settled(Time deadline);

  // Somebody waits for those that are there now, or come next: they do not wait for others.
  void settle_soon();

  // Ends the committers; what is unsettled stays so. Who asks for something later does it by
  // itself. Safe twice.
  void stop();

 private:
  void serve();
  void serve_out() MUSTER_REQUIRES(mutex_);
  [[nodiscard]] bool is_idle() const MUSTER_REQUIRES(mutex_);
  [[nodiscard]] bool has_work() const MUSTER_REQUIRES(mutex_);
  [[nodiscard]] Time settles_at() const MUSTER_REQUIRES(mutex_);
  [[nodiscard]] Time requests_at() const MUSTER_REQUIRES(mutex_);
  [[nodiscard]] bool may_go_alone(const Request& request) const MUSTER_REQUIRES(mutex_);
  void commit_alone(Request& request) MUSTER_REQUIRES(mutex_);
  void commit_some() MUSTER_REQUIRES(mutex_);
  struct Transaction;
  [[nodiscard]] Transaction gather_some() MUSTER_REQUIRES(mutex_);
  void carry_out(Transaction& transaction);
  void sync(Transaction& transaction) const;
  void end_commit(Transaction& transaction);
  void tell(Transaction& transaction) const;
  static void give_back(Transaction& transaction);
  void finish(const Transaction& transaction);

  // Fixed at construction.
  Store& store_;
  Listener& listener_;
  const Options options_;

  // Guarded by mutex_.
  mutable Mutex mutex_;
  ConditionVariable called_;   // for the committers
  ConditionVariable told_;     // for who is next to tell
  ConditionVariable settled_;  // for wait_settled()
  std::deque<Settlement> settlements_ MUSTER_GUARDED_BY(mutex_);
  std::deque<Request*> requests_ MUSTER_GUARDED_BY(mutex_);
  std::size_t under_way_ MUSTER_GUARDED_BY(mutex_) = 0;  // settlements in transactions
  bool is_committing_ MUSTER_GUARDED_BY(mutex_) = false;
  bool stops_ MUSTER_GUARDED_BY(mutex_) = false;
  Time try_again_ MUSTER_GUARDED_BY(mutex_){};            // not before that
  Time last_end_ MUSTER_GUARDED_BY(mutex_){};             // of a transaction
  std::uint32_t round_ MUSTER_GUARDED_BY(mutex_) = 0;     // transactions begun so far
  std::uint32_t ended_ MUSTER_GUARDED_BY(mutex_) = 0;     // those that were told of
  std::size_t wanted_ MUSTER_GUARDED_BY(mutex_) = 0;      // requests, before the next is begun
  unsigned waiters_ MUSTER_GUARDED_BY(mutex_) = 0;        // until all is settled
  bool is_in_a_hurry_ MUSTER_GUARDED_BY(mutex_) = false;  // with what is there to be settled
  unsigned alert_ MUSTER_GUARDED_BY(mutex_) = 0;          // committers that wake up by themselves

  // Any thread.
  Rounds rounds_;  // a transaction each

  std::vector<std::thread> committers_;
};

}  // namespace muster
