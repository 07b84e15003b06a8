// mutex_deque.hpp: a std::deque behind a std::mutex, what one writes before reaching for lock-free
// code.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>

namespace muster::bench {

template <class T>
class MutexDeque {
 public:
  using Item = T;
  static constexpr const char* kName = "mutex deque";

  explicit MutexDeque(std::size_t /*capacity*/) {}

  class Owner {
   public:
    explicit Owner(MutexDeque& outer) : outer_(outer) {}

    void push(T item) {
      const std::scoped_lock lock(outer_.mutex_);
      outer_.items_.push_back(item);
    }

    bool pop(T& item) {
      const std::scoped_lock lock(outer_.mutex_);
      if (outer_.items_.empty()) return false;
      item = outer_.items_.back();
      outer_.items_.pop_back();
      return true;
    }

   private:
    MutexDeque& outer_;
  };

  class Thief {
   public:
    explicit Thief(MutexDeque& outer) : outer_(outer) {}

    bool steal(T& item) {
      const std::scoped_lock lock(outer_.mutex_);
      if (outer_.items_.empty()) return false;
      item = outer_.items_.front();
      outer_.items_.pop_front();
      return true;
    }

   private:
    MutexDeque& outer_;
  };

 private:
  // Guarded by mutex_.
  std::mutex mutex_;
  std::deque<T> items_;
};

}  // namespace muster::bench
