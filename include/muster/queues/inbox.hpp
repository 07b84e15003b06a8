// inbox.hpp: work sent to one worker: any thread pushes, the worker takes all of it at once, and so
// may a thief.
//
//     struct Task : muster::InboxLink<Task> { ... };
//     muster::Inbox<Task> inbox;
//     if (inbox.push(task) == muster::InboxPush::was_empty) lot.wake_one();
//     for (auto batch = inbox.take_all(); Task* task = batch.next();) run(*task);
//
// An intrusive list of no bound: it allocates nothing, and whoever pushes has the memory already.
// Items are only ever taken all together, by one exchange; so there is no window in which a reused
// item could be mistaken for an old one, and owner and thieves need not know of each other.
//
// Order: a batch comes out first-in first-out; hence per producer too, in a batch and from batch to
// batch. Exactly one push per filling reports was_empty, so that exactly one pusher wakes
// somebody.
//
// Thread safety: push, take_all and empty_approx from any thread. A Batch belongs to whoever took
// it.
// Lifetime: the inbox owns nothing; items must outlive their stay in it.
// Ordering: whatever the pusher did before push() is visible to whoever takes the item.
// Lock-free: yes; take_all is wait-free.
// Design note: docs/design/inbox.md
#pragma once

#include <span>
#include <type_traits>

#include <muster/sync/atomic.hpp>
#include <muster/sync/cache_line.hpp>
#include <muster/sync/plain.hpp>

namespace muster {

template <class Item>
class Inbox;

// What an item needs to wait in an inbox; in one at a time.
template <class Item>
class InboxLink {
  friend class Inbox<Item>;
  Plain<Item*> next_;
};

enum class InboxPush { was_empty, had_items };

template <class Item>
class alignas(kCacheLine) Inbox {
 public:
  Inbox() = default;
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // Items taken from an inbox, oldest first.
  class Batch {
   public:
    // The next item, which leaves the batch; nullptr when there is none.
    [[nodiscard]] Item* next() noexcept {
      Item* const item = first_;
      if (item != nullptr) first_ = link(*item).get();
      return item;
    }
    [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

   private:
    friend class Inbox;
    explicit Batch(Item* first) noexcept : first_(first) {}
    Item* first_;
  };

  InboxPush push(Item& item) noexcept { return push_chain(item, item); }

  // As one push each, in this order, for the price of one; nobody's item comes in between.
  // Requires: at least one item.
  InboxPush push_batch(std::span<Item* const> items) noexcept {
    for (std::size_t i = 1; i < items.size(); ++i) link(*items[i]).set(items[i - 1]);
    return push_chain(*items.back(), *items.front());
  }

  [[nodiscard]] Batch take_all() noexcept {
    // sync(item-sent): sees what every pusher did, for the pushes and this are all
    // read-modify-writes of head_.
    return Batch(reversed(head_.exchange(nullptr, acquire)));
  }

  // Racy: true only if the inbox was empty a moment ago.
  [[nodiscard]] bool empty_approx() const noexcept {
    return head_.load(relaxed) == nullptr;  // relaxed: racy by contract
  }

 private:
  static Plain<Item*>& link(Item& item) noexcept {
    static_assert(std::is_base_of_v<InboxLink<Item>, Item>, "items derive from InboxLink<Item>");
    return item.InboxLink<Item>::next_;
  }

  // `newest` leads to `oldest` by their links.
  InboxPush push_chain(Item& newest, Item& oldest) noexcept {
    Item* head = head_.load(relaxed);  // relaxed: the exchange below checks it
    do {
      link(oldest).set(head);
      // sync(item-sent): publishes the item and its link. relaxed: a failure only tells the new
      // head.
    } while (!head_.compare_exchange_weak(head, &newest, release, relaxed));
    return head == nullptr ? InboxPush::was_empty : InboxPush::had_items;
  }

  // The list holds the newest first; the batch shall begin with the oldest.
  static Item* reversed(Item* item) noexcept {
    Item* previous = nullptr;
    while (item != nullptr) {
      Item* const older = link(*item).get();
      link(*item).set(previous);
      previous = item;
      item = older;
    }
    return previous;
  }

  // Any thread.
  Atomic<Item*> head_ = nullptr;
};

}  // namespace muster
