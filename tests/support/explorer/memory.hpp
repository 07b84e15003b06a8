// memory.hpp: shared memory as C++ promises it, no stronger.
//
// Every location keeps all values it ever had, in modification order. A load may return any of them
// that coherence and happens-before do not rule out, so stores appear to wait in buffers and
// relaxed loads appear to be stale, as on real machines and beyond. Release and acquire, release
// sequences, fences and read-modify-writes follow RC11; seq_cst is judged by ScOrder. Plain memory
// is watched for data races.
//
// Not produced: a store that enters the modification order before one that was executed earlier by
// another thread (the litmus test 2+2W), and loads of values from the future (load buffering, which
// RC11 forbids).
//
// A value, in the sense of the house style: no scheduling and no choices; the explorer
// (explorer.hpp) makes them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "support/explorer/sc_order.hpp"

namespace muster::explore {

inline constexpr std::size_t kMaxLocations = 56;

// What a thread knows: per location the oldest value it may still read; and what happened before.
struct View {
  std::array<std::uint16_t, kMaxLocations> seen{};
  Clock clock{};
  void join(const View& other);
};

struct Access {
  std::size_t thread = 0;
  std::size_t location = 0;
  std::memory_order order = std::memory_order_relaxed;
};

class Memory {
 public:
  void clear();

  // From here on every execution counts as possible: nobody is interested in it any more.
  void stop_judging() { judging_ = false; }

  // A new location with its first value. Its creation happens in `thread` like a plain write.
  std::size_t create(std::size_t thread, std::uint64_t value);

  // What `access` may read lies between these places in the modification order, both included.
  [[nodiscard]] std::size_t oldest_readable(const Access& access) const;
  [[nodiscard]] std::size_t newest(std::size_t location) const;
  [[nodiscard]] std::uint64_t value_at(std::size_t location, std::size_t position) const;

  // Each is one event. False: the seq_cst events have no order any more, so this execution does not
  // exist.
  bool read(const Access& access, std::size_t position);
  bool write(const Access& access, std::uint64_t value);
  bool update(const Access& access,
              std::uint64_t value);  // a read-modify-write of the newest value
  bool fence(std::size_t thread, std::memory_order order);

  // Threads start with what `parent` knows; `parent` learns at the end what they know.
  void start(std::size_t parent, std::size_t child);
  void join(std::size_t parent, std::size_t child);

  // False on a data race with an earlier access that did not happen before this one.
  bool plain_write(std::size_t thread, const void* address);
  bool plain_read(std::size_t thread, const void* address, std::uint16_t at);
  void forget(const void* address);

  // Is the creation of the location known to the thread? If not, touching it is a data race.
  [[nodiscard]] bool created_before(const Access& access) const;

  // False on a data race of the end of the location's life with an access that did not happen
  // before. To touch it afterwards is an error: see has_ended().
  bool end_life(std::size_t thread, std::size_t location);
  [[nodiscard]] bool has_ended(std::size_t location) const { return locations_[location].ended; }

  // A point between two events of the thread.
  std::uint16_t moment(std::size_t thread);

 private:
  struct Message {
    std::uint64_t value = 0;
    View view;  // what an acquiring reader learns
  };
  struct Location {
    std::vector<Message> messages;
    std::uint8_t creator = 0;
    std::uint16_t created = 0;
    bool ended = false;
    Clock used{};  // by each thread, last
  };
  struct Thread {
    View now;
    View to_acquire;  // learned by relaxed loads, due at the next acquire fence
    View released;    // known at the last release fence, passed on by relaxed stores
  };
  struct PlainLocation {
    std::uint8_t writer = 0;
    std::uint16_t written = 0;
    Clock read{};
  };

  void tick(std::size_t thread);
  void use(const Access& access);
  bool record(const Access& access, EventKind kind, std::size_t position);
  void learn(const Access& access, const Message& message);
  void append(const Access& access, std::uint64_t value, const View* continued);

  std::array<Thread, kMaxThreads> threads_;
  std::vector<Location> locations_;
  std::unordered_map<const void*, PlainLocation> plain_;
  ScOrder sc_order_;
  bool judging_ = true;
};

}  // namespace muster::explore
