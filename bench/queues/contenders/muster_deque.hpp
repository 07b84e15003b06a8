// muster_deque.hpp: muster::WorkStealingDeque.
#pragma once

#include <cstddef>
#include <optional>

#include <muster/queues/work_stealing_deque.hpp>

namespace muster::bench {

template <class T>
class MusterDeque {
  using Deque = WorkStealingDeque<T>;

 public:
  using Item = T;
  static constexpr const char* kName = "muster";

  explicit MusterDeque(std::size_t capacity) : deque_(capacity) {}

  class Owner {
   public:
    explicit Owner(MusterDeque& outer) : owner_(outer.deque_.owner()) {}

    void push(T item) { owner_.push(item); }

    bool pop(T& item) {
      const std::optional<T> popped = owner_.pop();
      if (popped) item = *popped;
      return popped.has_value();
    }

   private:
    typename Deque::Owner owner_;
  };

  class Thief {
   public:
    explicit Thief(MusterDeque& outer) : thief_(outer.deque_.thief()) {}

    // Tries again after a lost race: the deque was not empty.
    bool steal(T& item) {
      for (;;) {
        const auto loot = thief_.steal();
        if (loot.outcome == StealOutcome::empty) return false;
        if (loot.outcome == StealOutcome::taken) {
          item = loot.item;
          return true;
        }
      }
    }

   private:
    typename Deque::Thief thief_;
  };

 private:
  Deque deque_;
};

}  // namespace muster::bench
