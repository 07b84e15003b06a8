// shared_store.hpp: a store whose jobs are run by several processes, its nodes.
//
// Each instance is held by one node at a time, for as long as that says now and then that it lives.
// What a node holds nobody else runs or settles; who is silent for longer than its lease loses all
// of it, and what it still wants to settle is not taken.
//
// Thread safety: beat(), poll() and await() by one thread; the rest by any.
// Errors: as Store.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <muster/policy/rate_limit.hpp>

#include "jobs/store.hpp"

namespace muster {

class SharedStore {
 public:
  SharedStore() = default;
  SharedStore(const SharedStore&) = delete;
  SharedStore& operator=(const SharedStore&) = delete;
  virtual ~SharedStore();

  struct Figures {
    InstancePlace place = {};
    std::uint64_t pending = 0;
    std::optional<std::string> current_job = {};
    std::optional<WallTime> started_at = {};
  };
  struct RunPool {
    PoolNumber number = 0;
    std::uint32_t concurrency = 0;  // others may run it only with the same
  };
  // Held so far, and nothing of its jobs is under way.
  struct Released {
    InstancePlace place = {};
    bool is_suspect = false;  // as it was, and not all that is suspect was run
  };
  struct Report {
    std::vector<RunPool> pools = {};  // that we run; of their instances we want our share
    bool is_stopping = false;         // takes no more
    std::vector<Released> released = {};
    std::vector<Figures> figures = {};  // of what we hold, for those who ask another node
  };
  struct Held {
    InstancePlace place = {};
    bool is_paused = false;
    std::uint64_t processed = 0;
    bool is_suspect = false;   // who had it before has died
    bool is_unwanted = false;  // others should have it: to be released
  };
  struct Standing {
    NodeNumber node = 0;  // another one than before: all that was held before is lost
    std::vector<Held> held = {};
    std::vector<PoolNumber> paused = {};
    std::vector<JobSeq> interrupted = {};  // were run by nodes that died, and not settled since
    bool is_short = false;                 // others were at what it should have had, too
  };

  // Says that we live, takes what is free or was held by the dead, and tells how things are.
  [[nodiscard]] virtual Standing beat(const Report& report) = 0;

  // Every job that became available since the last call, by seq, and maybe some from before; of
  // more than a few, in pages. A small one has its id, its time and its event with it, unless there
  // are many. Answers what others wish.
  struct Arrival {
    JobRecord job = {};
    PoolNumber pool = 0;
    std::optional<std::string> event = {};
  };
  struct CancelWish {
    JobSeq seq = 0;
    bool stops = false;  // also if it is being run
  };
  using EachArrivals = std::function<void(std::vector<Arrival> some)>;
  [[nodiscard]] virtual std::vector<CancelWish> poll(const std::vector<PoolNumber>& pools,
                                                     const EachArrivals& each) = 0;

  // Asks whoever holds the instance of a job to cancel it. The wish is there until that has
  // decided.
  enum class Wish { none, waits };
  virtual void wish_cancelled(const CancelWish& wish) = 0;
  [[nodiscard]] virtual Wish wish(JobSeq seq) = 0;
  virtual void drop_wish(JobSeq seq) = 0;

  // Cancels a job whose instance nobody holds. False: somebody does, or it is not available.
  [[nodiscard]] virtual bool cancel_unheld(const InstancePlace& place, const Verdict& verdict) = 0;

  // Returns after `timeout`, or sooner: when call() was, or another node has something to say.
  // True: one of them has come or gone, so that a beat is due.
  virtual bool await(Duration timeout) = 0;
  virtual void call() noexcept = 0;

  // Whether what we hold as this node is still ours for sure, by our own clock.
  [[nodiscard]] virtual bool has_lease(NodeNumber holder) const noexcept = 0;

  // Lets others have all that we hold, at once.
  virtual void leave() noexcept = 0;

  // Returns when the store knows what runs; see note_running().
  virtual void confirm_running() = 0;

  // Whether any job of the pool waits or runs, wherever.
  [[nodiscard]] virtual bool has_available(PoolNumber pool) = 0;

  // Of every instance, as those that hold them last said.
  struct Seen {
    Figures figures = {};
    bool is_held = false;
    bool is_paused = false;  // it, or its pool
    std::uint64_t processed = 0;
  };
  [[nodiscard]] virtual std::vector<Seen> look(PoolNumber pool) = 0;

  // A token of the bucket of this name, which all nodes share. 0: there was one; else how long
  // until there is.
  [[nodiscard]] virtual Duration take_token(const std::string& name, const RateLimit& limit) = 0;

  // Whether anybody else lives that runs its jobs.
  [[nodiscard]] virtual bool has_nodes() = 0;

  // How often to beat at least.
  [[nodiscard]] virtual Duration beat_every() const noexcept = 0;
};

}  // namespace muster
