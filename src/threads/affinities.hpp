// affinities.hpp: which worker a key belongs to, and how many of its tasks wait.
//
// A key's first task goes where the hash ring says; the following ones stay there as long as its
// session lasts and its worker does. Nothing is made before the first task with a key.
//
// Thread safety: any member from any thread.
// Design note: docs/design/affinity.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/observe/snapshot.hpp>
#include <muster/policy/affinity_options.hpp>
#include <muster/policy/hash_ring.hpp>
#include <muster/policy/key_hash.hpp>
#include <muster/policy/sessions.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {

class Affinities {
 public:
  // At most so many tasks of one key wait; 0: as many as come.
  Affinities(const AffinityOptions& options, std::size_t max_queued_per_key)
      : options_(options), max_queued_(max_queued_per_key) {}

  // One of the workers from 0 to `workers` - 1, which are all there are.
  std::size_t worker_of(std::uint64_t key_hash, std::size_t workers, Time now)
      MUSTER_EXCLUDES(mutex_);

  // The same, and where the key's tasks would go if that one left, and so on.
  std::vector<unsigned> preferences(std::uint64_t key_hash, std::size_t workers, std::size_t most,
                                    Time now) MUSTER_EXCLUDES(mutex_);

  // Its hash, if the tasks of a key are counted and there is one.
  [[nodiscard]] std::optional<std::uint64_t> counted(const std::optional<std::string>& key) const {
    if (!key || !counts_keys()) return std::nullopt;
    return hash_key(*key);
  }

  // A task of this key is about to wait. False: too many do. Without a limit, always true.
  [[nodiscard]] bool try_enter(std::uint64_t key_hash) MUSTER_EXCLUDES(mutex_);
  void enter(std::uint64_t key_hash) MUSTER_EXCLUDES(mutex_);
  void leave(std::uint64_t key_hash) noexcept MUSTER_EXCLUDES(mutex_);

  // `moves` and `sessions`.
  [[nodiscard]] PoolSnapshot::Affinity figures(Time now) MUSTER_EXCLUDES(mutex_);

 private:
  struct Keys {
    explicit Keys(const AffinityOptions& options)
        : ring(options.virtual_nodes), sessions(options) {}
    HashRing ring;
    Sessions sessions;
  };

  [[nodiscard]] bool counts_keys() const noexcept { return max_queued_ != 0; }
  Keys& keys_for(std::size_t workers, Time now) MUSTER_REQUIRES(mutex_);

  // Fixed at construction.
  const AffinityOptions options_;
  const std::size_t max_queued_;

  // Guarded by mutex_.
  Mutex mutex_;
  std::optional<Keys> keys_ MUSTER_GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, std::size_t> queued_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
