// bell.hpp: by which worker processes tell their pool that there are results.
//
// All workers of a pool share it. It carries no results and no names, only the wake: whoever is
// woken looks at all rings that can have one. If a worker that goes mad spoils it, wakes may be
// missed, and the pool's next look at its workers makes up for that.
//
// Two may listen. The *waiter* is a thread that waits for a result and collects meanwhile what
// comes; the *clerk* is a thread of the pool's own that does so when nobody else does. Waiters come
// first.
//
// Thread safety: ring() from any process and thread; the rest by whoever has the collector's seat.
#pragma once

#include <muster/processes/segment.hpp>
#include <muster/queues/shared_sleepers.hpp>

namespace muster {

inline constexpr ParticipantIndex kWaiter = 0;
inline constexpr ParticipantIndex kClerk = 1;

class Bell {
 public:
  // Throws SystemFailure if there is no memory.
  [[nodiscard]] static Bell create();

  // By the descriptor that was handed over. Throws InvalidArgument if it is something else.
  [[nodiscard]] static Bell attach(FileDescriptor descriptor);

  [[nodiscard]] int descriptor() const noexcept { return segment_.descriptor(); }
  [[nodiscard]] const SharedSleepers& sleepers() const noexcept { return sleepers_; }

  // After a result was published.
  void ring() const noexcept { sleepers_.wake(1); }

 private:
  explicit Bell(Segment segment) noexcept;

  Segment segment_;
  SharedSleepers sleepers_;
};

}  // namespace muster
