// player.hpp: who makes time pass on this thread, if it is not the real world.
//
// A simulation plays all workers of its pools on one thread. Whoever would wait there asks the
// player to let something happen instead; see muster/simulation.hpp.
//
// Thread safety: each thread has its own.
#pragma once

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>

namespace muster {

class MUSTER_API Player {
 public:
  Player() = default;
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  enum class Played {
    something,  // a task, or a moment has come
    too_late,   // nothing happens before `until`: that is now
    nothing,    // nothing will ever happen
  };

  // Lets one thing happen that is due at `until` or before.
  virtual Played play(Time until) = 0;

  // Plays until `is_done` or `until`; false: the latter. Throws WouldDeadlock, naming `wait`, if
  // nothing is left that could happen.
  template <class IsDone>
  bool play_until(const IsDone& is_done, Time until, const char* wait) {
    while (!is_done()) {
      const Played played = play(until);
      if (played == Played::too_late) return is_done();
      if (played == Played::nothing) refuse_to_wait(wait);
    }
    return true;
  }

  [[nodiscard]] virtual Time now() const = 0;

  // True or false, as it happens.
  [[nodiscard]] virtual bool flip() noexcept = 0;

 protected:
  virtual ~Player();

 private:
  [[noreturn]] static void refuse_to_wait(const char* wait);
};

// Null: the real world.
extern MUSTER_API constinit thread_local Player* current_player
    __attribute__((tls_model("initial-exec")));

// What time it is on this thread.
MUSTER_API Time current_time();

}  // namespace muster
