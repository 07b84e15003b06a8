// inbox_test.cpp: the shipped inbox under every small schedule and every allowed read.
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <muster/queues/inbox.hpp>

#include "support/explorer/mutations.hpp"

namespace muster::explore {
namespace {

struct Letter : InboxLink<Letter> {
  int number = 0;  // of its sender: sender * 10 + 0, 1, ...
  Plain<int> text;
};

// An inbox, the letters, and what became of them.
struct Post {
  Inbox<Letter> inbox;
  std::array<Letter, 5> letters;
  std::size_t used = 0;
  int sent = 0;
  int received = 0;
  int found_empty = 0;  // pushes that must wake somebody
  int batches = 0;      // takes that found something

  Letter& fresh(int number) {
    Letter& letter = letters[used++];
    letter.number = number;
    return letter;
  }
  void send(int sender, int count) {
    for (int i = 0; i < count; ++i) {
      Letter& letter = fresh(sender * 10 + i);
      letter.text.set(letter.number + 1000);
      push(letter);
    }
  }
  void push(Letter& letter) {
    ++sent;
    if (inbox.push(letter) == InboxPush::was_empty) ++found_empty;
  }
  void send_batch(int sender) {
    std::array<Letter*, 2> both{&fresh(sender * 10), &fresh(sender * 10 + 1)};
    for (Letter* letter : both) letter->text.set(letter->number + 1000);
    sent += 2;
    if (inbox.push_batch(both) == InboxPush::was_empty) ++found_empty;
  }
  // Takes everything. With a sender, sends the first letter once more in its name, as a pool that
  // reuses its tasks does.
  void take(int again_from = 0) {
    auto batch = inbox.take_all();
    if (!batch.empty()) ++batches;
    std::array<int, 6> last{-1, -1, -1, -1, -1, -1};
    while (Letter* letter = batch.next()) {
      ++received;
      require(letter->text.get() == letter->number + 1000, "what was written before is visible");
      int& previous = last[static_cast<std::size_t>(letter->number / 10)];
      require(letter->number > previous, "letters of one sender keep their order");
      previous = letter->number;
      if (again_from != 0) {
        letter->number = std::exchange(again_from, 0) * 10;
        letter->text.set(letter->number + 1000);
        push(*letter);
      }
    }
  }
  void expect_exact() {
    take();
    require(received == sent, "every letter is received once");
    require(found_empty == batches, "exactly one push per filling finds the inbox empty");
  }
};

using Body = void (*)(Post&);

Scenario scenario(const std::string& name, const std::vector<Body>& threads) {
  return {.name = name, .setup = [=](Program& program) {
            auto post = std::make_shared<Post>();
            for (const Body body : threads) program.thread([=] { body(*post); });
            program.at_end([=] { post->expect_exact(); });
          }};
}

const Body kSend1 = [](Post& p) { p.send(1, 1); };
const Body kSend1Twice = [](Post& p) { p.send(1, 2); };
const Body kSend2Twice = [](Post& p) { p.send(2, 2); };
const Body kSendBatch = [](Post& p) { p.send_batch(3); };
const Body kTake = [](Post& p) { p.take(); };
const Body kTakeTwice = [](Post& p) { p.take(), p.take(); };
const Body kTakeAndSend4 = [](Post& p) { p.take(4); };
const Body kTakeAndSend5 = [](Post& p) { p.take(5); };

std::vector<Scenario> scenarios() {
  return {
      scenario("two senders, two takers", {kSend1Twice, kSend2Twice, kTake, kTakeTwice}),
      scenario("batch against single", {kSendBatch, kSend1, kTake, kTake}),
      scenario("letters sent again", {kSend1Twice, kSend2Twice, kTakeAndSend4, kTakeAndSend5}),
  };
}

TEST(InboxModel, EveryLetterArrivesOnceAndInOrder) {
  expect_all_hold(scenarios());
}

TEST(InboxModel, EveryOrderIsNeeded) {
  expect_weakenings_caught(scenarios(), "inbox.hpp");
}

}  // namespace
}  // namespace muster::explore
