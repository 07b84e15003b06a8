// staff.hpp: the workers of a crew by their numbers: which there are, which get tasks, which leave.
//
// Regular workers have the numbers from 0 on, of which so many from 0 on are wanted; spares follow
// behind the last that a regular worker can have. Each regular number is in one phase:
//
//     absent -> coming -> working -> gone -> coming ...
//
// Those *serve*, and get tasks from outside, that work, are wanted and have none before them who
// does not. One who works and is not wanted leaves between two tasks, unless it is wanted again by
// then. Whoever makes fewer serve, and whoever puts a task where nobody serves any more, hands over
// what waits there; the note says why none is forgotten.
//
// A worker is never destroyed before the crew: who comes next with its number takes it over, and
// others may look at its queues at any time.
//
// Thread safety: reads from any thread, changes under the mutex.
// Design note: docs/design/scaling.md
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <muster/base/clock.hpp>
#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/sync/mutex.hpp>

namespace muster {

class Worker;

class Staff {
 public:
  enum class Phase : std::uint8_t {
    absent,   // never came
    coming,   // its thread starts and warms up
    working,  // with a thread of its own
    gone,     // had one; its queues are kept
  };

  struct Size {
    std::size_t most;    // regular workers
    std::size_t spares;  // at most
    std::size_t wanted;  // regular workers, to begin with
  };
  explicit Staff(const Size& size);
  ~Staff();

  // --- Any thread. ---

  // Null: not made.
  [[nodiscard]] Worker* worker(std::size_t number) const noexcept {
    return slots_[number].made.load(acquire);  // sync(worker-made): pairs with keep()
  }

  // Spares have the numbers from here to there.
  [[nodiscard]] std::size_t first_spare() const noexcept { return phases_.size(); }
  [[nodiscard]] std::size_t end_of_spares() const noexcept {
    return first_spare() + spares_.load(acquire);  // sync(spare-started)
  }
  [[nodiscard]] bool is_spare(std::size_t number) const noexcept { return number >= first_spare(); }

  // All that were ever made.
  template <class Visit>
  void for_each(const Visit& visit) const {
    const auto visit_if_made = [&](std::size_t number) {
      if (Worker* const each = worker(number)) visit(*each);
    };
    for (std::size_t i = 0; i < made(); ++i) visit_if_made(i);
    for (std::size_t i = first_spare(); i < end_of_spares(); ++i) visit_if_made(i);
  }

  // How many of them may have a thread, and whether `test` is true for one of those.
  [[nodiscard]] std::size_t size_approx() const noexcept {
    return span() + end_of_spares() - first_spare();
  }
  template <class Test>
  bool any_of(const Test& test) const {
    const auto passes = [&](std::size_t number) {
      Worker* const each = worker(number);
      return each != nullptr && test(*each);
    };
    const std::size_t regulars = span();
    for (std::size_t i = 0; i < regulars; ++i) {
      if (passes(i)) return true;
    }
    const std::size_t spares = end_of_spares();
    for (std::size_t i = first_spare(); i < spares; ++i) {
      if (passes(i)) return true;
    }
    return false;
  }

  [[nodiscard]] std::size_t wanted() const noexcept {
    return wanted_.load(relaxed);  // relaxed: a figure, or read under the mutex
  }

  // Those with numbers below serve. Once there is one, there always is.
  [[nodiscard]] std::size_t serving() const noexcept {
    return serving_.load(acquire);  // sync(serving): their workers are there
  }

  // Numbers of those who have a thread are below this, and maybe some of those who had one.
  [[nodiscard]] std::size_t span() const noexcept {
    // relaxed: it was raised before its worker's thread began. So the fences of the roster, which
    // make what that worker publishes visible to whoever searches, do the same for this.
    return span_.load(relaxed);
  }

  // Numbers of those who ever had one are below this.
  [[nodiscard]] std::size_t made() const noexcept {
    return made_.load(acquire);  // sync(made): whoever counts looks at all that have run something
  }

  [[nodiscard]] Phase phase(std::size_t number) const noexcept {
    return phases_[number].load(relaxed);  // relaxed: a figure, or read under the mutex
  }

  // A regular worker that is sees to it that it leaves. None is before anybody serves, who could
  // take over.
  [[nodiscard]] bool is_one_too_many(std::size_t number) const noexcept {
    // relaxed: a hint; leave() decides.
    return number >= kept_.load(relaxed) && !is_spare(number) && serving() != 0;
  }

  // --- Changes. ---

  Mutex mutex;

  // By its first thread; the number has come.
  Worker& keep(std::size_t number, std::unique_ptr<Worker> worker);

  // Before it works: whoever counts looks at all that have run something.
  void set_spares(std::size_t spares) MUSTER_REQUIRES(mutex) {
    spares_.store(spares, release);  // sync(spare-started): pairs with end_of_spares()
  }

  // If fewer serve than before, a full fence must follow, and what they have be handed over.
  void want(std::size_t wanted) MUSTER_REQUIRES(mutex) {
    wanted_.store(wanted, relaxed);  // relaxed: as in wanted()
    choose_serving();
    if (!closed_) kept_.store(wanted, relaxed);  // relaxed: as in is_one_too_many()
  }

  // Before its thread is started; and if that was in vain.
  void come(std::size_t number) MUSTER_REQUIRES(mutex) {
    set(number, Phase::coming);
    ++coming_;
    const std::size_t made = std::max(made_.load(relaxed), number + 1);  // relaxed: under the mutex
    made_.store(made, release);  // sync(made): before it runs anything
  }
  void not_come(std::size_t number, Phase before) MUSTER_REQUIRES(mutex) {
    --coming_;
    set(number, before);
  }

  // By itself, when it is ready for tasks.
  void begin_work(std::size_t number) MUSTER_REQUIRES(mutex) {
    --coming_;
    set(number, Phase::working);
    choose_serving();
    changed_.notify_all();
  }

  // By itself, between two tasks, with nothing in its queues. False: it is wanted, and stays.
  [[nodiscard]] bool leave(std::size_t number) MUSTER_REQUIRES(mutex) {
    if (!is_one_too_many(number) || phase(number) != Phase::working) return false;
    set(number, Phase::gone);
    return true;
  }

  // Nobody leaves any more, and nobody warms up any longer.
  void close() MUSTER_REQUIRES(mutex) {
    closed_ = true;
    kept_.store(phases_.size(), relaxed);  // relaxed: as in is_one_too_many()
    changed_.notify_all();
  }

  // Wanted, and neither coming nor working.
  [[nodiscard]] std::size_t missing() const MUSTER_REQUIRES(mutex) {
    std::size_t missing = 0;
    for (std::size_t i = 0; i < wanted(); ++i) missing += is_there(i) ? 0 : 1;
    return missing;
  }
  [[nodiscard]] bool is_there(std::size_t number) const noexcept {
    return phase(number) == Phase::coming || phase(number) == Phase::working;
  }
  [[nodiscard]] bool is_somebody_coming() const MUSTER_REQUIRES(mutex) { return coming_ != 0; }

  void wait_until_serving(std::size_t workers) MUSTER_REQUIRES(mutex) {
    while (serving() < workers) changed_.wait(mutex);
  }

  // Is no longer coming.
  void wait_until_there(std::size_t number) MUSTER_REQUIRES(mutex) {
    while (phase(number) == Phase::coming) changed_.wait(mutex);
  }

  // Or until it is closed.
  void wait_until(Time time) MUSTER_REQUIRES(mutex) {
    while (!closed_ && changed_.wait_until(mutex, time)) {
    }
  }

 private:
  struct Slot {
    Atomic<Worker*> made = nullptr;
    std::unique_ptr<Worker> worker;  // written once, by its first thread
  };

  void set(std::size_t number, Phase phase) MUSTER_REQUIRES(mutex) {
    phases_[number].store(phase, relaxed);  // relaxed: as in phase()
    std::size_t span = phases_.size();
    while (span > 0 && !is_there(span - 1)) --span;
    span_.store(span, relaxed);  // relaxed: as in span()
  }

  void choose_serving() MUSTER_REQUIRES(mutex) {
    const std::size_t before = serving();
    std::size_t serving = std::min(before, wanted());
    while (serving < wanted() && phase(serving) == Phase::working) ++serving;
    if (serving != before) serving_.store(serving, release);  // sync(serving)
  }

  // Any thread; written under the mutex. Whoever posts reads here.
  alignas(kCacheLine) std::vector<Slot> slots_;
  std::vector<Atomic<Phase>> phases_;  // of the regular ones
  Atomic<std::size_t> wanted_;
  Atomic<std::size_t> kept_;  // numbers below stay
  Atomic<std::size_t> serving_ = 0;
  Atomic<std::size_t> span_ = 0;
  Atomic<std::size_t> made_ = 0;
  Atomic<std::size_t> spares_ = 0;

  // Guarded by mutex.
  ConditionVariable changed_;
  std::size_t coming_ MUSTER_GUARDED_BY(mutex) = 0;
  bool closed_ MUSTER_GUARDED_BY(mutex) = false;
};

}  // namespace muster
