// suspension.hpp: how a coroutine waits in a queue, and how it is resumed without losing it.
//
// An awaiter keeps a Suspension in the coroutine's frame and puts a Resumption into a queue.
// Called, that resumes the coroutine. Destroyed uncalled, because its pool drops what it has not
// begun, it resumes the coroutine as well, and Stopped is thrown from the co_await.
//
// Thread safety: none; a coroutine and what stands for it pass from thread to thread through
// queues. Lifetime: the coroutine's frame must live until it is resumed; that is checked. Design
// note: docs/design/coroutines.md
#pragma once

#include <coroutine>
#include <utility>

#include <muster/base/api.hpp>
#include <muster/base/assert.hpp>

namespace muster {

class Suspension {
 public:
  Suspension() noexcept = default;
  Suspension(const Suspension&) = delete;
  Suspension& operator=(const Suspension&) = delete;
  ~Suspension() {
    MUSTER_ASSERT(phase_ != Phase::waiting, "a coroutine was destroyed while it waited its turn");
  }

  // From now on whoever has the Resumption may resume the coroutine: on any thread, at once.
  void begin(std::coroutine_handle<> coroutine) noexcept {
    coroutine_ = coroutine;
    phase_ = Phase::waiting;
  }

  // Requires: nobody else has the Resumption. It does nothing any more.
  void withdraw() noexcept { phase_ = Phase::over; }

  // Throws Stopped if the Resumption was dropped. For await_resume().
  void check() const {
    if (phase_ == Phase::dropped) throw_dropped();
  }

 private:
  friend class Resumption;

  enum class Phase { over, waiting, dropped };

  [[noreturn]] MUSTER_API static void throw_dropped();

  std::coroutine_handle<> coroutine_;
  Phase phase_ = Phase::over;
};

// Stands for a suspended coroutine in a queue.
class MUSTER_API Resumption {
 public:
  static constexpr bool kMustRun = true;

  explicit Resumption(Suspension& suspension) noexcept : suspension_(&suspension) {}
  Resumption(Resumption&& other) noexcept
      : suspension_(std::exchange(other.suspension_, nullptr)) {}
  ~Resumption() {
    if (suspension_ != nullptr) drop();
  }

  // Throws what the coroutine lets out; a Task lets nothing out.
  void operator()();

 private:
  void drop() noexcept;

  Suspension* suspension_;
};

namespace detail {

// Resumes `coroutine`, then whatever is to go on in its place, one after the other: however many
// those are, the stack does not grow with them. (A compiler does the same for an await_suspend()
// that gives a handle; GCC 12 only with -O2, and not under the address sanitizer.)
MUSTER_API void resume(std::coroutine_handle<> coroutine);

// Resumes `next` in place of `suspended`, which is about to return from its await_suspend(): call
// this there last of all, for either may be gone afterwards.
MUSTER_API void resume_in_place_of(std::coroutine_handle<> suspended, std::coroutine_handle<> next);

}  // namespace detail

}  // namespace muster
