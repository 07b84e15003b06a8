// orders.cpp: every order says whom it pairs with; `release` in a comment is no order.
#include <muster/sync/atomic.hpp>

void good() {
  flag.store(1, release);  // sync(flag-set): pairs with the load below
  // The reader comes later.
  // sync(flag-set): pairs with the store above
  const int seen = flag.load(acquire);

  head.store(
      next,
      std::memory_order_release);  // sync(head-moved)
  while (!head.compare_exchange_weak(  // sync(head-moved). relaxed: a failure tries again
      expected, next, std::memory_order::acq_rel,
      std::
          memory_order_relaxed)) {
  }
  count.store(0, relaxed);  // relaxed: nobody looks before the flag is set
  run([&] {
    // sync(inside): a statement in a lambda is a statement
    inner.store(1, release);
  });
  if (inner.load(acquire) == 1) {  // sync(inside)
  }
  log(1, done.load(seq_cst));  // the text goes on in its column
                               // sync(done): and still belongs to that line
  full_fence();  // sync(done)
  Figures figures{
      // relaxed: figures may be stale
      .pushed = pushed.load(relaxed),
      .popped = popped.load(relaxed),
  };
  // relaxed: figures may be stale
  Figures more{
      .stolen = stolen.load(relaxed),
  };
  // sync(inside): a statement goes on behind a lambda
  wait_until(
      [&] {
        return ready();
      },
      inner.load(acquire));
  const auto order = fast ? relaxed : acquire;  // sync(choice). relaxed: the fast path looks again
  flag.store(2, muster::release);               // sync(choice)
}

#define PUBLISH(word)             \
  /* sync(macro): in READ_WORD */ \
  (word).store(1, release)
#define READ_WORD(word) (word).load(acquire)  // sync(macro): in PUBLISH

void bad() {
  flag.store(1, release);  // want(sync-tags)
  flag.load(std::memory_order_acquire);  // want(sync-tags)
  flag.load(std::memory_order::seq_cst);  // want(sync-tags)
  flag.exchange(1, acq_rel);  // want(sync-tags)
  flag.load(relaxed);  // want(sync-tags)
  full_fence();  // want(sync-tags)

  // sync(flag-set): a comment with a blank line below belongs to nothing; want(sync-tags)

  flag.store(1, release);  // want(sync-tags)

  // sync(flag-set): covers the next statement, not the one after it
  flag.store(1, release);
  flag.store(2, release);  // want(sync-tags)
  // sync(flag-set): but the failure order gives no reason
  flag.compare_exchange_strong(old, 1, acq_rel, relaxed);  // want(sync-tags)
  flag.store(
      std::
          memory_order_release);  // want(sync-tags)
  if (flag.load(acquire))  // want(sync-tags)
    flag.store(1, release);  // sync(flag-set)
  for (int i = flag.load(acquire); i < 3; ++i) {  // want(sync-tags)
  }
  run([&] { flag.store(1, release); });  // want(sync-tags)
  Figures figures{
      .stolen = stolen.load(relaxed),  // want(sync-tags)
  };
  constexpr auto order = fast ? relaxed : order_of(acquire);  // relaxed: fine; want(sync-tags)
#if FAST
  flag.store(1, relaxed);  // want(sync-tags)
#else
  flag.store(1, release);  // want(sync-tags)
#endif
}

#define SET(word)             \
  do {                        \
    /* sync(macro): covers one statement of the macro */ \
    (word).store(1, release); \
    (word).store(2, release); /* want(sync-tags) */ \
  } while (false)
