// moodycamel.hpp: moodycamel::ConcurrentQueue, used the way its own comments call fastest for
// single items: a token per producer and per consumer thread, and all blocks allocated beforehand.
//
// It is unbounded by nature and keeps a sub-queue per producer; its own limit on a sub-queue makes
// it bounded. No single limit is fair to all: with Room::shared each producer has its share of
// kQueueCapacity, so that the whole holds what the others hold, though a producer cannot use
// another's share; with Room::each every producer has kQueueCapacity, so that the whole holds more
// than the others. Both are measured. The limit is a constant of the type, hence the number of
// producers is one too.
//
// enqueue() instead of try_enqueue(), for the latter never allocates, and once one producer has
// taken all the blocks the others starve for good. enqueue() allocates only if a consumer is
// stopped half-way and its block cannot be used again in time.
//
// Thread safety: a Producer or Consumer belongs to one thread.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>

#include <concurrentqueue/concurrentqueue.h>

#include "queues/load.hpp"

namespace muster::bench {

enum class Room { shared, each };

template <class T, std::size_t kProducers, Room kRoom = Room::shared>
class Moodycamel {
  static constexpr std::size_t kBound =
      kRoom == Room::each ? kQueueCapacity : kQueueCapacity / kProducers;

  struct Traits : moodycamel::ConcurrentQueueDefaultTraits {
    static constexpr std::size_t MAX_SUBQUEUE_SIZE = kBound;
  };
  using Queue = moodycamel::ConcurrentQueue<T, Traits>;

 public:
  using Item = T;
  static constexpr const char* kName = kRoom == Room::each ? "moodycamel roomy" : "moodycamel";

  explicit Moodycamel(std::size_t capacity) : queue_(kBound, kProducers, 0) {
    if (capacity != kQueueCapacity) throw std::invalid_argument("its bound is kQueueCapacity");
  }

  class Producer {
   public:
    explicit Producer(Moodycamel& owner) : queue_(owner.queue_), token_(owner.queue_) {}

    bool push(T& item) { return queue_.enqueue(token_, std::move(item)); }

    // All or none.
    std::size_t push_batch(std::span<T> items) {
      return queue_.enqueue_bulk(token_, items.data(), items.size()) ? items.size() : 0;
    }

   private:
    Queue& queue_;
    moodycamel::ProducerToken token_;
  };

  class Consumer {
   public:
    explicit Consumer(Moodycamel& owner) : queue_(owner.queue_), token_(owner.queue_) {}

    bool pop(T& item) { return queue_.try_dequeue(token_, item); }

    std::size_t pop_batch(std::span<T> items) {
      return queue_.try_dequeue_bulk(token_, items.data(), items.size());
    }

   private:
    Queue& queue_;
    moodycamel::ConsumerToken token_;
  };

 private:
  Queue queue_;
};

}  // namespace muster::bench
