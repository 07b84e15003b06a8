// tags.hpp: what can be wrong with a tag.
#pragma once

inline void tags() {
  a.store(1, release);  // sync(lone-end): its partner was forgotten; want(sync-tags)
  a.exchange(1, acq_rel);  // sync(lone-exchange): both ends of nothing; want(sync-tags)
  b.store(1, release);  // sync(two-writers); want(sync-tags)
  b.store(2, release);  // sync(two-writers): nobody acquires
  c.load(acquire);      // sync(two-readers); want(sync-tags)
  c.load(acquire);      // sync(two-readers): nobody releases
  d.store(1, release);  // sync(Not_Kebab); want(sync-tags)
  d.load(acquire);      // sync(Not_Kebab); want(sync-tags)
  e = 1;                // sync(no-order); want(sync-tags)
  // sync(no-order): above a statement without an order; want(sync-tags)
  e = 2;
  f.store(1, release);  // sync(one), sync(two)
  f.load(acquire);      // sync(one)
  f.load(acquire);      // sync(two)
  // relaxed: sync(one) publishes it
  g.store(1, relaxed);
}
