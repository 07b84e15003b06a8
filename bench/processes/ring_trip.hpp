// ring_trip.hpp: a yardstick. A task goes through the shared ring to another process and its result
// comes back, with no pool around it: what the ring itself takes, so that it survives the death of
// whoever uses it.
//
// Thread safety: one thread.
#pragma once

#include <optional>
#include <sys/types.h>

#include <muster/queues/shared_ring.hpp>

namespace muster::bench {

class RingTrip {
 public:
  // Starts the partner: this program again. Throws std::runtime_error if it cannot.
  RingTrip();

  // The partner ends, and is waited for.
  ~RingTrip();
  RingTrip(const RingTrip&) = delete;
  RingTrip& operator=(const RingTrip&) = delete;

  // Both sides spin. Throws std::runtime_error if the ring does not take the task.
  void round_trip();

 private:
  SharedRing ring_;
  pid_t partner_ = -1;
};

// As run_ping_pong_partner().
std::optional<int> run_ring_partner(int argc, char** argv);

}  // namespace muster::bench
