// linearizable_stress_test.cpp: short windows of operations that meet in a queue of two, and
// whether a sequential queue could have answered so.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/base/random.hpp>
#include <muster/queues/bounded_queue.hpp>
#include <muster/sync/backoff.hpp>

#include "stress/stress_run.hpp"
#include "support/queue_history.hpp"

namespace muster::testing {
namespace {

using Kind = QueueOperation::Kind;

constexpr std::size_t kThreads = 3;
constexpr std::size_t kCapacity = 2;

std::string describe(const std::vector<QueueOperation>& operations) {
  std::string text;
  for (const QueueOperation& operation : operations) {
    text += operation.kind == Kind::push ? "push " : "pop ";
    text += operation.succeeded ? std::to_string(operation.value) : "refused";
    text += " from " + std::to_string(operation.begun) + " to " + std::to_string(operation.ended);
    text += "\n";
  }
  return text;
}

// What one thread did to the queue in a window, and when by the clock that all threads share.
class Witness {
 public:
  Witness(BoundedQueue<int>& queue, std::atomic<std::uint64_t>& clock)
      : queue_(queue), clock_(clock) {}

  void push(int value) {
    QueueOperation operation{.kind = Kind::push, .value = value, .begun = clock_++};
    operation.succeeded = static_cast<bool>(queue_.try_push(value));
    operation.ended = clock_++;
    operations_.push_back(operation);
  }

  bool pop() {
    QueueOperation operation{.kind = Kind::pop, .begun = clock_++};
    const std::optional<int> item = queue_.try_pop();
    operation.ended = clock_++;
    operation.succeeded = item.has_value();
    operation.value = item.value_or(0);
    operations_.push_back(operation);
    return operation.succeeded;
  }

  // A batch counts as operations that begin and end together.
  void push_two(int value) {
    std::array<int, 2> items = {value, value + 1};
    const std::uint64_t begun = clock_++;
    const std::size_t count = queue_.try_push_batch(items);
    note_batch(Kind::push, begun, std::array{value, value + 1}, count);
  }

  void pop_two() {
    std::array<int, 2> items = {0, 0};
    const std::uint64_t begun = clock_++;
    const std::size_t count = queue_.try_pop_batch(items);
    note_batch(Kind::pop, begun, items, count);
  }

  std::vector<QueueOperation> take() { return std::exchange(operations_, {}); }

 private:
  void note_batch(Kind kind, std::uint64_t begun, const std::array<int, 2>& values,
                  std::size_t count) {
    const std::uint64_t ended = clock_++;
    if (count == 0) operations_.push_back({.kind = kind, .begun = begun, .ended = ended});
    for (const int value : std::span(values).first(count)) {
      operations_.push_back(
          {.kind = kind, .succeeded = true, .value = value, .begun = begun, .ended = ended});
    }
  }

  BoundedQueue<int>& queue_;
  std::atomic<std::uint64_t>& clock_;
  std::vector<QueueOperation> operations_;
};

// Threads that play window after window together: each begins one when all have ended the last.
class Windows {
 public:
  using Body = void (*)(Witness& witness, Random& random, int value);

  Windows(Body body, Random& random) : body_(body), threads_(random) {
    for (std::size_t i = 0; i < kThreads; ++i) witnesses_.emplace_back(queue_, clock_);
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads_.start([this, i](Random& own) { follow(i, own); });
    }
  }
  ~Windows() { open(kLast); }

  void play() {
    ended_ = 0;
    open(++window_);
    for (Backoff backoff; ended_ < kThreads;) backoff.pause();
    while (witnesses_[0].pop()) {
    }
    std::vector<QueueOperation> history;
    for (Witness& witness : witnesses_) {
      for (const QueueOperation& operation : witness.take()) history.push_back(operation);
    }
    ASSERT_TRUE(QueueHistory(history, kCapacity, Refusals::explained).linearizable())
        << describe(history);
  }

 private:
  static constexpr std::uint64_t kLast = ~std::uint64_t{0};

  void open(std::uint64_t window) { opened_ = window; }

  void follow(std::size_t thread, Random& random) {
    for (std::uint64_t seen = 0;;) {
      for (Backoff backoff; opened_ == seen;) backoff.pause();
      seen = opened_;
      if (seen == kLast) return;
      for (int i = 0; i < 4; ++i) {
        body_(witnesses_[thread], random, static_cast<int>(thread) * 100 + i * 10);
      }
      ++ended_;
    }
  }

  // Fixed at construction.
  const Body body_;

  // The test's thread only.
  std::uint64_t window_ = 0;

  // Any thread. All orders are sequentially consistent: this test is about time, not visibility.
  BoundedQueue<int> queue_{kCapacity};
  std::atomic<std::uint64_t> clock_ = 0;
  std::atomic<std::uint64_t> opened_ = 0;
  std::atomic<std::size_t> ended_ = 0;

  // Each thread its own, and the test's thread between two windows.
  std::vector<Witness> witnesses_;
  Threads threads_;
};

void stress(Windows::Body body) {
  StressRun run;
  while (run.next_round()) {
    Windows windows(body, run.random());
    for (int i = 0; i < 200 && !::testing::Test::HasFatalFailure(); ++i) windows.play();
  }
}

TEST(BoundedQueueStress, WindowsOfSingleOperationsAreLinearizable) {
  stress([](Witness& witness, Random& random, int value) {
    if (random.below(2) == 0) {
      witness.push(value);
    } else {
      witness.pop();
    }
  });
}

TEST(BoundedQueueStress, WindowsOfBatchesAndSingleOperationsAreLinearizable) {
  stress([](Witness& witness, Random& random, int value) {
    switch (random.below(4)) {
      case 0:
        witness.push(value);
        break;
      case 1:
        witness.pop();
        break;
      case 2:
        witness.push_two(value);
        break;
      default:
        witness.pop_two();
    }
  });
}

}  // namespace
}  // namespace muster::testing
