// bounded_queue_test.cpp: the shipped bounded queue under every small schedule and every allowed
// read.
#include <array>
#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <muster/queues/bounded_queue.hpp>

#include "support/explorer/mutations.hpp"
#include "support/queue_history.hpp"

namespace muster::explore {
namespace {

using testing::QueueHistory;
using testing::QueueOperation;
using testing::Refusals;

// A queue of capacity two, with a record of every operation. Values are thread * 10 + 0, 1, ...
class Recorded {
 public:
  explicit Recorded(Refusals refusals) : refusals_(refusals) {}

  // Lets the ring begin anywhere, so that the wrap falls into different places.
  void turn(int times) {
    for (int i = 0; i < times; ++i) push(0), pop();
  }

  void push(int thread) {
    const int value = thread * 10 + pushed_[thread]++;
    const std::size_t op = begin({.kind = QueueOperation::Kind::push, .value = value});
    end(op, static_cast<bool>(queue_.try_push(int{value})));
  }

  void pop() {
    const std::size_t op = begin({.kind = QueueOperation::Kind::pop});
    const std::optional<int> value = queue_.try_pop();
    operations_[op].value = value.value_or(0);
    end(op, value.has_value());
  }

  // A batch counts as operations that begin and end together.
  void push_batch(int thread) {
    std::array<int, 2> values{thread * 10, thread * 10 + 1};
    std::array<std::size_t, 2> ops{};
    for (std::size_t i = 0; i < 2; ++i) {
      ops[i] = begin({.kind = QueueOperation::Kind::push, .value = values[i]});
    }
    const std::size_t count = queue_.try_push_batch(values);
    if (count == 0) return end(ops[0], false), cancel(ops[1]);
    for (std::size_t i = 0; i < 2; ++i) i < count ? end(ops[i], true) : cancel(ops[i]);
  }

  void pop_batch() {
    std::array<int, 2> values{};
    std::array<std::size_t, 2> ops{};
    for (std::size_t& op : ops) op = begin({.kind = QueueOperation::Kind::pop});
    const std::size_t count = queue_.try_pop_batch(values);
    for (std::size_t i = 0; i < 2; ++i) operations_[ops[i]].value = values[i];
    if (count == 0) return end(ops[0], false), cancel(ops[1]);
    for (std::size_t i = 0; i < 2; ++i) i < count ? end(ops[i], true) : cancel(ops[i]);
  }

  void expect_linearizable() {
    for (std::size_t left = queue_.size_approx(); left > 0; --left) pop();
    int waiting = 0;
    for (const QueueOperation& op : operations_) {
      if (op.succeeded) waiting += op.kind == QueueOperation::Kind::push ? 1 : -1;
    }
    require(waiting == 0 && !queue_.try_pop(), "everything that was pushed was popped");
    const bool fits_two = queue_.try_push(1) && queue_.try_push(2) && !queue_.try_push(3);
    require(fits_two, "the queue has room for two again");
    std::erase_if(operations_, [](const QueueOperation& op) { return op.ended == 0; });
    require(QueueHistory(operations_, 2, refusals_).linearizable(),
            "a queue could have answered so");
  }

 private:
  std::size_t begin(const QueueOperation& operation) {
    operations_.push_back(operation);
    const std::size_t op = operations_.size() - 1;
    operations_[op].begun = ++time_;
    // As late as possible: when the operation first touches the queue.
    mark_next_step([this, op] {
      operations_[op].begun = ++time_;
      return finished_;
    });
    return op;
  }
  void end(std::size_t op, bool succeeded) {
    operations_[op].succeeded = succeeded;
    operations_[op].ended = ++time_;
    finished_ += std::uint64_t{1} << (op * 4);
  }
  void cancel(std::size_t op) { operations_[op].ended = 0; }

  BoundedQueue<int> queue_{2};
  std::map<int, int> pushed_;
  std::vector<QueueOperation> operations_;
  std::uint64_t time_ = 0;
  std::uint64_t finished_ = 0;
  Refusals refusals_;
};

using Body = void (*)(Recorded&);

Scenario scenario(const std::string& name, int turned, const std::vector<Body>& threads,
                  Limits limits = {}) {
  const Refusals refusals = limits.stale_reads == 0 ? Refusals::explained : Refusals::ignored;
  return {.name = name,
          .setup =
              [=](Program& program) {
                auto queue = std::make_shared<Recorded>(refusals);
                queue->turn(turned);
                for (const Body body : threads) program.thread([=] { body(*queue); });
                program.at_end([=] { queue->expect_linearizable(); });
              },
          .limits = limits};
}

const Body kPush1 = [](Recorded& q) { q.push(1); };
const Body kPush2 = [](Recorded& q) { q.push(2); };
const Body kPush1Twice = [](Recorded& q) { q.push(1), q.push(1); };
const Body kPush2Twice = [](Recorded& q) { q.push(2), q.push(2); };
const Body kPop = [](Recorded& q) { q.pop(); };
const Body kPopTwice = [](Recorded& q) { q.pop(), q.pop(); };
const Body kPushBatch1 = [](Recorded& q) { q.push_batch(1); };
const Body kPushBatch2 = [](Recorded& q) { q.push_batch(2); };
const Body kPopBatch = [](Recorded& q) { q.pop_batch(); };
const Body kFill = [](Recorded& q) { q.push(1), q.push(1), q.push(1); };

std::vector<Scenario> singles() {
  return {
      scenario("singles, 2 + 2", 0, {kPush1, kPush2, kPop, kPop}),
      scenario("singles across the wrap, 2 + 2", 1, {kPush1, kPush2, kPop, kPop}),
      scenario("two laps, 1 + 1", 1, {kFill, kPopTwice}),
      scenario("filling up, 2 + 1", 0, {kPush1Twice, kPush2, kPop}),
      scenario("running dry, 1 + 2", 1, {kPush1Twice, kPopTwice, kPop}),
  };
}

std::vector<Scenario> batches() {
  return {
      scenario("batches, 2 + 2", 0, {kPushBatch1, kPushBatch2, kPopBatch, kPopBatch}),
      scenario("batches and singles, 2 + 2", 1, {kPushBatch1, kPush2, kPopBatch, kPop}),
      scenario("batches over two laps, 1 + 1", 1, {kFill, kPopBatch}),
      scenario("batch into a full queue, 1 + 2", 0, {kPushBatch1, kPush2Twice, kPopBatch}),
  };
}

TEST(BoundedQueueModel, SinglesAnswerAsAQueueWould) {
  expect_all_hold(singles());
}

TEST(BoundedQueueModel, BatchesAnswerAsAQueueWould) {
  expect_all_hold(batches());
}

// Without stale reads time means something, and every "full" and "empty" must be explained.
TEST(BoundedQueueModel, FullAndEmptyAreExplained) {
  const Limits strong{.preemptions = 3, .stale_reads = 0};
  expect_all_hold({
      scenario("explained, 2 + 2", 0, {kPush1, kPush2, kPop, kPop}, strong),
      scenario("explained, full, 2 + 1", 0, {kPush1Twice, kPush2Twice, kPop}, strong),
      scenario("explained, laps, 1 + 2", 1, {kFill, kPop, kPopTwice}, strong),
      scenario("explained, batches, 2 + 2", 1, {kPushBatch1, kPush2, kPopBatch, kPop}, strong),
  });
}

TEST(BoundedQueueModel, EveryOrderIsNeeded) {
  std::vector<Scenario> all = singles();
  for (const Scenario& more : batches()) all.push_back(more);
  expect_weakenings_caught(all, "bounded_queue.hpp",
                           {{.code = "end.hint.store(position + ready, relaxed)",
                             .weakening = Weakening::drop_store,
                             .reason = "a hint: with an old one, `next` is looked at"}});
}

}  // namespace
}  // namespace muster::explore
