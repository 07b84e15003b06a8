// strand.hpp: tasks of a pool that run one after the other, in the order they were posted.
//
//     muster::Strand account(pool);
//     account.post([&] { balance += 10; });      // no lock needed: never two at the same time
//     account.post([&] { balance -= 5; });
//
// They may run on different workers, but each sees what the ones before it did. Strands of one pool
// run beside each other; a busy one lets others have their turn.
//
// Thread safety: post from any thread.
// Lifetime: what was posted runs also after the strand has ended. What a task throws goes to the
// pool's on_error; the next one runs all the same.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <muster/base/api.hpp>
#include <muster/sync/closure.hpp>
#include <muster/thread_pool.hpp>

namespace muster {

class MUSTER_API Strand {
 public:
  explicit Strand(ThreadPool& pool);
  ~Strand();
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  // Throws Stopped after the pool's stop(), unless the strand is at work or this is one of the
  // pool's workers.
  template <class F>
    requires std::is_invocable_v<std::decay_t<F>&>
  void post(F&& task) {
    post_closure(Closure(std::forward<F>(task)));
  }

  // True inside of one of its tasks.
  [[nodiscard]] bool is_inside() const noexcept;

 private:
  class State;
  class Turn;

  void post_closure(Closure&& task);

  const std::shared_ptr<State> state_;
};

}  // namespace muster
