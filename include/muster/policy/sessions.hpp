// sessions.hpp: which worker a key's tasks went to lately, so that they stay there.
//
//     std::optional<std::size_t> worker = sessions.find(hash, now);
//     if (!worker) sessions.assign(hash, *(worker = ring.worker_of(hash)), now);
//
// A session begins with a key's first task and ends when none has come for `session_ttl`. Until
// then the key stays where it is, even if the ring would now send it elsewhere because workers
// joined: what that worker has cached is worth more than an even spread. The number of sessions is
// bounded; the least recently used one makes room.
//
// Every operation takes O(1) but forget() and size(), which may go through all sessions. The table
// grows as it is used.
//
// Thread safety: none; its user guards it.
// Design note: docs/design/affinity.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/policy/affinity_options.hpp>

namespace muster {

struct SessionCounts {
  std::uint64_t hits = 0;    // find() knew the worker
  std::uint64_t misses = 0;  // find() did not
  std::uint64_t moves = 0;   // sessions that lost their worker, or were assigned to another
};

class Sessions {
 public:
  // Throws InvalidArgument if the options are not valid.
  MUSTER_API explicit Sessions(const AffinityOptions& options = {});

  // The worker of the key's session, which is prolonged. None: it has no session, or it ran out.
  [[nodiscard]] MUSTER_API std::optional<std::size_t> find(std::uint64_t key_hash, Time now);

  // The key's tasks go to this worker from now on.
  MUSTER_API void assign(std::uint64_t key_hash, std::size_t worker, Time now);

  // Ends the sessions of a worker that leaves, and returns how many; their next tasks go elsewhere.
  MUSTER_API std::size_t forget(std::size_t worker, Time now);

  // Sessions that have not run out.
  [[nodiscard]] MUSTER_API std::size_t size(Time now);

  [[nodiscard]] const SessionCounts& counts() const noexcept { return counts_; }

 private:
  struct Session {
    std::uint64_t key_hash;
    std::size_t worker;
    Time last_used;
  };
  using ByUse = std::list<Session>;

  // A key's hash needs no other.
  struct AsItIs {
    std::size_t operator()(std::uint64_t hash) const noexcept { return hash; }
  };

  bool has_run_out(const Session& session, Time now) const;
  void use(ByUse::iterator session, Time now);
  void end(ByUse::iterator session);

  // Fixed at construction.
  AffinityOptions options_;

  // The most recently used first, so that those which run out next are at the end.
  ByUse by_use_;
  std::unordered_map<std::uint64_t, ByUse::iterator, AsItIs> by_key_;
  SessionCounts counts_;
};

}  // namespace muster
