// explorer.cpp: the doors of the explorer: for tests (explorer.hpp) and for explored code
// (atomic.hpp).
#include "support/explorer/explorer.hpp"

#include <muster/base/assert.hpp>
#include <muster/sync/futex.hpp>
#include <muster/sync/shared_futex.hpp>

#include "support/explorer/execution.hpp"

namespace muster {
namespace explore {
namespace {

Execution* running = nullptr;

Execution& execution() {
  MUSTER_ASSERT(running != nullptr);
  return *running;
}

}  // namespace

Report explore(const Limits& limits, const std::function<void(Program&)>& setup,
               const Mutation& mutation) {
  MUSTER_ASSERT(running == nullptr);
  Execution here(limits, setup, mutation);
  running = &here;
  Report report = here.explore_all();
  running = nullptr;
  return report;
}

void require(bool holds, std::string_view what) {
  execution().require(holds, what);
}

void mark_next_step(std::function<std::uint64_t()> mark) {
  execution().mark_next_step(std::move(mark));
}

std::size_t on_create(std::uint64_t value) {
  return execution().create(value);
}

void on_end(std::size_t id) {
  execution().end_life(id);
}

std::uint64_t on_load(std::size_t id, std::memory_order order, const SourceLocation& at) {
  return execution().load(id, order, at);
}

void on_store(std::size_t id, std::uint64_t value, std::memory_order order,
              const SourceLocation& at) {
  execution().store(id, value, order, at);
}

std::uint64_t on_update(std::size_t id, const Update& update, std::memory_order order,
                        const SourceLocation& at) {
  const auto change = [&update](std::uint64_t value) -> std::uint64_t {
    switch (update.how) {
      case Rmw::exchange:
        return update.operand;
      case Rmw::add:
        return (value + update.operand) & update.mask;
      case Rmw::bit_or:
        return value | update.operand;
      case Rmw::bit_and:
        return value & update.operand;
    }
    return update.operand;
  };
  return execution().update(id, change, order, at);
}

bool on_compare_exchange(std::size_t id, Exchange& exchange, const SourceLocation& at) {
  return execution().compare_exchange(id, exchange, at);
}

void on_lock(std::size_t id, const SourceLocation& at) {
  execution().lock(id, at);
}
void on_fence(const SourceLocation& at) {
  execution().fence(at);
}
void on_pause() {
  execution().pause();
}
void on_plain_write(const void* address) {
  execution().plain_write(address);
}
void on_plain_read(const void* address) {
  execution().plain_read(address, execution().moment());
}
void on_plain_read_at(const void* address, std::uint16_t moment) {
  execution().plain_read(address, moment);
}
std::uint16_t on_moment() {
  return execution().moment();
}
void on_forget(const void* address) {
  if (running != nullptr) running->forget(address);  // what is static outlives the exploration
}

}  // namespace explore

FutexOutcome futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected,
                        std::optional<Time> deadline, const SourceLocation& at) noexcept {
  bool timed_out = false;
  const bool slept =
      explore::execution().futex_wait(word.id(), expected, deadline.has_value(), timed_out, at);
  if (!slept) return FutexOutcome::changed;
  return timed_out ? FutexOutcome::timed_out : FutexOutcome::woken;
}

void futex_wake_one(Atomic<std::uint32_t>& word, const SourceLocation& at) noexcept {
  explore::execution().futex_wake(word.id(), explore::Wake::one, at);
}

void futex_wake_all(Atomic<std::uint32_t>& word, const SourceLocation& at) noexcept {
  explore::execution().futex_wake(word.id(), explore::Wake::all, at);
}

SleepOutcome shared_futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected,
                               std::int64_t timeout_ns, const SourceLocation& at) noexcept {
  bool timed_out = false;
  explore::execution().futex_wait(word.id(), expected, timeout_ns >= 0, timed_out, at);
  return timed_out ? SleepOutcome::timed_out : SleepOutcome::woken;
}

void shared_futex_wake(Atomic<std::uint32_t>& word, const SourceLocation& at) noexcept {
  explore::execution().futex_wake(word.id(), explore::Wake::one, at);
}

}  // namespace muster
