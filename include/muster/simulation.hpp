// simulation.hpp: pools without threads, for tests that come out the same every time.
//
//     muster::Simulation world(42);                               // the seed
//     muster::ThreadPool pool({.workers = 4, .simulation = &world});
//     muster::Future<int> answer = pool.submit(ask);
//     pool.after(1h, give_up);
//     EXPECT_EQ(answer.get(), 42);                                // plays until it is ready
//     world.run_for(2h);                                          // at once
//
// The thread that made the simulation plays all workers of all its pools. Whenever it would wait
// (for a future, a group, an idle pool, a stop), it lets one worker after the other take a task as
// that worker would. Which one, whom it steals from, which side of a join goes first: the seed
// decides, and the same seed decides the same again. Another seed finds another order.
//
// Time stands still while tasks run, and jumps to the next moment at which something is due when
// nothing else is left to do.
//
// A wait that nothing could end throws WouldDeadlock. Tasks must not wait for each other by other
// means than this library's: there is one thread.
//
// Thread safety: everything belongs to the thread that made the simulation; so do its pools.
// Lifetime: outlives its pools. One simulation at a time on a thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <muster/base/api.hpp>
#include <muster/base/clock.hpp>
#include <muster/base/random.hpp>
#include <muster/sync/player.hpp>

namespace muster {

class Crew;
class Worker;

class MUSTER_API Simulation final : public Player {
 public:
  explicit Simulation(std::uint64_t seed);
  ~Simulation() override;

  // Begins at Time{}.
  [[nodiscard]] Time now() const override { return clock_.now(); }

  // Plays all that is due until then. Throws InvalidArgument if `duration` is negative.
  void run_for(Duration duration);

  // Lets one worker run one task. False: there is none to run before time passes.
  bool step();

  // --- For pools. ---

  Played play(Time until) override;
  [[nodiscard]] bool flip() noexcept override { return random_.below(2) != 0; }
  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }
  [[nodiscard]] Random& random() noexcept { return random_; }
  void enter(Crew& crew) { crews_.push_back(&crew); }
  void leave(const Crew& crew) noexcept;

 private:
  // When something is due, in any of the pools.
  [[nodiscard]] std::optional<Time> next_due() const;

  Random random_;
  FakeClock clock_;
  std::vector<Crew*> crews_;
};

}  // namespace muster
