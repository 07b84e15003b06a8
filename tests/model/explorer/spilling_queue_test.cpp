// spilling_queue_test.cpp: the shipped spilling queue under every small schedule and every allowed
// read, with a ring of two and chunks of four.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <muster/queues/spilling_queue.hpp>
#include <muster/sync/futex.hpp>
#include <muster/sync/plain.hpp>

#include "support/explorer/mutations.hpp"

namespace muster::explore {
namespace {

constexpr int kSenders = 3;

struct Letter {
  Letter(int its_sender, int its_number) : sender(its_sender), number(its_number) {
    text.set(number + 1000);
  }
  const int sender;
  const int number;  // of its sender
  Plain<int> text;
  int received = 0;
};

// The queue, all letters, and those who sleep until there are some.
struct Post {
  SpillingQueue<Letter*> queue{2};
  std::list<Letter> letters;
  std::array<int, kSenders> sent{};
  Atomic<std::uint32_t> notices = 0;  // to those who sleep

  void send(int sender, int count) {
    for (int i = 0; i < count; ++i) {
      int& number = sent[static_cast<std::size_t>(sender)];
      queue.push(&letters.emplace_back(sender, number++));
    }
  }
  void tell() {
    notices.fetch_add(1, release);
    futex_wake_all(notices);
  }
};

// The order of each sender's letters is kept if there is only one receiver.
enum class Receivers { one, several };

class Receiver {
 public:
  Receiver(Post& post, Receivers receivers) : post_(post), receivers_(receivers) {}

  SpillPop receive() {
    Letter* letter = nullptr;
    const SpillPop popped = post_.queue.try_pop(letter);
    if (popped == SpillPop::empty) return popped;
    require(letter->text.get() == letter->number + 1000, "what was done before pushing is visible");
    require(++letter->received == 1, "no letter is received twice");
    int& next = next_[static_cast<std::size_t>(letter->sender)];
    if (receivers_ == Receivers::one) require(letter->number == next, "letters keep their order");
    next = letter->number + 1;
    ++received_;
    const std::uint64_t pushed = post_.queue.pushed_approx();
    require(pushed >= received_, "what was popped is counted as pushed");
    return popped;
  }
  void receive(int tries) {
    for (int i = 0; i < tries; ++i) receive();
  }
  void receive_all() {
    while (receive() != SpillPop::empty) {
    }
  }
  // Receives one letter and is never seen again: what it leaves behind, somebody else must find.
  void sleep_until_received() {
    for (;;) {
      const std::uint32_t seen = post_.notices.load(acquire);
      const SpillPop popped = receive();
      if (popped == SpillPop::refilled) post_.tell();
      if (popped != SpillPop::empty) return;
      futex_wait(post_.notices, seen, std::nullopt);
    }
  }

 private:
  Post& post_;
  const Receivers receivers_;
  std::array<int, kSenders> next_{};
  std::size_t received_ = 0;
};

// Sender 0 sends before the threads begin, of which some are received.
struct Before {
  int sent;
  int received;
};

using Sending = std::function<void(Post&)>;
using Receiving = std::function<void(Receiver&)>;

struct Threads {
  std::vector<Sending> sending;
  std::vector<Receiving> receiving;
};

Scenario scenario(const std::string& name, const Before& before, const Threads& threads,
                  const Limits& limits = {}) {
  const auto setup = [=](Program& program) {
    auto post = std::make_shared<Post>();
    const bool one = threads.receiving.size() == 1;
    Receiver first(*post, one ? Receivers::one : Receivers::several);
    post->send(0, before.sent);
    first.receive(before.received);
    auto receivers = std::make_shared<std::vector<Receiver>>(threads.receiving.size(), first);
    for (const Sending& body : threads.sending) program.thread([=] { body(*post); });
    for (std::size_t i = 0; i < receivers->size(); ++i) {
      program.thread([=] { threads.receiving[i]((*receivers)[i]); });
    }
    program.at_end([=] {
      receivers->front().receive_all();
      for (const Letter& letter : post->letters) {
        require(letter.received == 1, "every letter is received");
      }
      require(post->queue.pushed_approx() == post->letters.size(), "each is counted once");
      require(post->queue.empty_approx() && post->queue.size_approx() == 0, "nothing is left");
      require(post->queue.try_push(&post->letters.front()), "the ring is used again");
    });
  };
  return {.name = name, .setup = setup, .limits = limits};
}

Sending send(int sender, int count) {
  return [=](Post& post) { post.send(sender, count); };
}
Sending send_and_tell(int sender, int count) {
  return [=](Post& post) {
    for (int i = 0; i < count; ++i) {
      post.send(sender, 1);
      post.tell();
    }
  };
}
Receiving receive(int tries) {
  return [=](Receiver& receiver) { receiver.receive(tries); };
}
const Receiving kSleeper = [](Receiver& receiver) { receiver.sleep_until_received(); };

// So many were sent before the threads began.
Sending count_at_least(std::size_t sent) {
  return [=](Post& post) {
    require(post.queue.pushed_approx() >= sent, "what is being moved is counted");
  };
}

Scenario spilling() {
  return scenario("spilling, 1 + 1", {2, 0}, {{send(0, 2)}, {receive(2)}});
}
Scenario last_chunk() {
  return scenario("the last chunk, 1 + 1", {3, 2}, {{send(0, 2)}, {receive(2)}});
}
Scenario counted() {
  return scenario("a chunk is counted, 1 + 1", {4, 2}, {{count_at_least(4)}, {receive(1)}});
}
Scenario two_sleepers() {
  return scenario("two sleepers", {4, 2}, {{}, {kSleeper, kSleeper}});
}

TEST(SpillingQueueModel, OneReceiverGetsEachSendersLettersInTheirOrder) {
  expect_all_hold({
      spilling(),
      last_chunk(),
      scenario("filling up, 2 + 1", {0, 0}, {{send(1, 3), send(2, 1)}, {receive(1)}}, {2, 1}),
      scenario("refilling, 2 + 1", {7, 2}, {{send(0, 1), send(1, 1)}, {receive(2)}}, {2, 1}),
  });
}

TEST(SpillingQueueModel, SeveralReceiversGetEachLetterOnce) {
  expect_all_hold({
      counted(),
      scenario("one chunk, 1 + 2", {4, 2}, {{send(0, 2)}, {receive(2), receive(1)}}, {2, 1}),
      scenario("two chunks, 1 + 2", {7, 2}, {{send(0, 1)}, {receive(1), receive(2)}}, {2, 1}),
  });
}

TEST(SpillingQueueModel, NobodySleepsWhileALetterWaits) {
  const std::vector<Receiving> four(4, kSleeper);
  const std::vector<Receiving> three(3, kSleeper);
  const std::vector<Receiving> two(2, kSleeper);
  expect_all_hold({
      two_sleepers(),
      scenario("four sleepers", {4, 0}, {{}, four}, {2, 0}),
      scenario("a sender, two sleepers", {3, 2}, {{send_and_tell(1, 1)}, two}, {2, 2}),
      scenario("a sender, three sleepers", {4, 2}, {{send_and_tell(1, 1)}, three}, {1, 1}),
  });
}

TEST(SpillingQueueModel, EveryOrderIsNeeded) {
  const std::string reason =
      "keeps the place in the ring behind those of what this producer had spilled; only a machine "
      "that lets a store overtake an earlier load could break it, which the explorer does not "
      "show. spilling_queue.pml does: CLAIM_FIRST";
  expect_weakenings_caught({spilling(), last_chunk(), counted(), two_sleepers()},
                           "spilling_queue.hpp",
                           {{"spilled_.load(acquire) == 0", Weakening::drop_acquire, reason},
                            {"spilled_.fetch_sub(moved", Weakening::drop_release, reason}});
}

}  // namespace
}  // namespace muster::explore
