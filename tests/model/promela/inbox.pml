/* inbox.pml: the unbounded inbox, an intrusive list that anyone pushes on and a taker empties.
 *
 * push: load head, write it into the node's next, CAS head to the node; the pusher that replaced
 * null wakes the owner. With CHAIN two nodes, linked beforehand, go in with one CAS. take_all:
 * exchange head with null, turn the list round, run it in order; the owner takes when woken, a
 * thief whenever it likes. A node that was run is free for anyone to push again at once, so the
 * same address returns to head (ABA) while others are between steps.
 *
 * One step is one access to shared memory; every interleaving of the steps is explored, under
 * sequential consistency. A CAS may fail for no reason (it is weak), and a failed one hands back
 * the value it saw, as in C++. A taken node is its taker's alone, so turning it round is one step,
 * as is linking a chain; running an item, freeing its node and taking a free node are not the
 * inbox's business and have no step of their own.
 *
 * Sizes: 2 producers with ITEMS items each, NODES nodes for all, the owner and THIEVES thieves. A
 * producer without a node waits for one. The wake is a flag: set by a push, cleared by the owner
 * before it takes.
 *
 * Properties: an item is run once (run_twice), from a node that was pushed (garbage_run); a batch
 * holds each producer's items without gap and in order (out_of_order), and if there is no thief so
 * do all of the owner's batches together; nobody's item comes between the two of a chain
 * (chain_split); at the end all are run (lost); nobody waits for ever, so each filling of the inbox
 * wakes the owner (invalid end state); a pusher is told "was empty" if and only if it was
 * (empty_misreported), hence one pusher per filling.
 *
 * check: owner_and_thief        -DITEMS=2                    expect holds
 * check: two_nodes              -DITEMS=3 -DNODES=2          expect holds
 * check: no_thief               -DITEMS=3 -DTHIEVES=0        expect holds
 * check: chains                 -DCHAIN -DNODES=4            expect holds
 * check: three_items       long -DITEMS=3                    expect holds
 * check: chains_and_thief  long -DCHAIN -DITEMS=4 -DNODES=4  expect holds
 * check: two_thieves       long -DNODES=2 -DTHIEVES=2        expect holds
 * check: four_nodes        long -DITEMS=4 -DNODES=4 -DTHIEVES=0 expect holds
 *
 * Witnesses, which the correct model must reach: a push replaces a head that was taken and
 * pushed again since it was loaded; items of both producers are in one batch.
 * check: reused                 -DREUSED                     expect reaches:reused
 * check: both_in_a_batch        -DBOTH_IN_A_BATCH            expect reaches:both_in_a_batch
 *
 * Mutations (pop_one: the thief takes the newest node alone, by a CAS without a tag):
 * check: chain_not_linked       -DCHAIN_NOT_LINKED -DCHAIN   expect fails:chain_split
 * check: next_after_cas         -DNEXT_AFTER_CAS             expect fails:out_of_order
 * check: stale_was_empty        -DSTALE_WAS_EMPTY            expect fails:empty_misreported
 * check: wake_before_push       -DWAKE_BEFORE_PUSH -DTHIEVES=0 expect fails:invalid_end_state
 * check: wake_cleared_late      -DWAKE_CLEARED_LATE -DTHIEVES=0 expect fails:lost
 * check: take_load_store        -DTAKE_LOAD_STORE           expect fails:garbage_run
 * check: take_one_load_store    -DTAKE_LOAD_STORE -DTHIEVES=0 expect fails:lost
 * check: not_turned             -DNOT_TURNED                 expect fails:out_of_order
 * check: freed_before_next      -DFREED_BEFORE_NEXT -DNODES=2 expect fails:garbage_run
 * check: pop_one                -DPOP_ONE -DNODES=2          expect fails:garbage_run
 */

#ifndef ITEMS
#define ITEMS 2
#endif
#ifndef NODES
#define NODES 3
#endif
#ifndef THIEVES
#define THIEVES 1
#endif

/* Nodes are 1 .. NODES; 0 is null. Items are 1 .. ITEMS and ITEMS + 1 .. 2 * ITEMS. */
byte head;
byte next[NODES + 1];
byte item[NODES + 1];
bool wake;

/* For the properties and the surroundings only. */
bool in_use[NODES + 1];
byte producers_left = 2;
short has_run;               /* bit x: item x was run */
#ifdef REUSED
byte takes;
#endif

/* What went wrong, in the words that pan prints. Asserted false at once: they cost no states. */
bool run_twice, garbage_run, out_of_order, chain_split, lost, empty_misreported;
bool reused, both_in_a_batch;

/* ---- Producer: items x .. last ---- */

inline take_free_node() {
  if
  :: !in_use[1] -> node = 1
  :: !in_use[2] -> node = 2
#if NODES > 2
  :: !in_use[3] -> node = 3
#endif
#if NODES > 3
  :: !in_use[4] -> node = 4
#endif
  fi;
  in_use[node] = true;
  item[node] = x
}

#define FREE_NODES (!in_use[1] + !in_use[2] + (NODES > 2 && !in_use[3]) + (NODES > 3 && !in_use[4]))

/* `oldest` and `node` are the ends of what is pushed: the same, or items x and x + 1. */
inline take_nodes() {
#ifdef CHAIN
  FREE_NODES > 1;
  take_free_node();
  oldest = node;
  x++;
  take_free_node();
#ifndef CHAIN_NOT_LINKED
  next[node] = oldest
#endif
#else
  take_free_node();
  oldest = node
#endif
}

inline load_head() {
  h = head;
#ifdef REUSED
  takes_seen = takes;
#endif
  printf("%d: producer loads head %d\n", _pid, h)
}

inline write_next() {
  next[oldest] = h;
  printf("%d: producer sets node %d's next to %d\n", _pid, oldest, h)
}

inline replace_head() {
  head = node;
  printf("%d: producer pushes node %d, item %d\n", _pid, node, x);
#ifdef REUSED
  reused = (h != 0 && takes != takes_seen);
  assert(!reused);
#endif
#ifndef STALE_WAS_EMPTY
  was_empty = (h == 0);
#endif
  empty_misreported = (was_empty != (h == 0));
  assert(!empty_misreported)
}

inline wake_owner() {
  wake = true;
  printf("%d: producer wakes the owner\n", _pid)
}

/* Locals are cleared: what no longer matters must not tell states apart. */
inline next_item() {
  atomic { x++; node = 0; oldest = 0; h = 0; was_empty = false; takes_seen = 0 }
}

proctype Producer(byte x; byte last) {
  byte node, oldest, h, takes_seen;
  bool was_empty;
  do
  :: atomic { x <= last -> take_nodes(); load_head() };
#ifdef STALE_WAS_EMPTY
     was_empty = (h == 0);
#endif
#ifdef WAKE_BEFORE_PUSH
     if
     :: atomic { h == 0 -> wake_owner() }
     :: else
     fi;
#endif
retry:
#ifndef NEXT_AFTER_CAS
     atomic { write_next() };
#endif
     if
     :: atomic { head == h -> replace_head() }
     :: atomic { load_head(); goto retry }
     fi;
#ifdef NEXT_AFTER_CAS
     atomic { write_next() };
#endif
#ifdef WAKE_BEFORE_PUSH
     next_item()
#else
     if
     :: atomic { was_empty -> wake_owner(); next_item() }
     :: atomic { !was_empty -> next_item() }
     fi
#endif
  :: x > last -> break
  od;
  producers_left--
}

/* ---- Takers ---- */

#define LOCALS byte first, turned, h, x, p, previous; byte seen[2]

/* With a thief about, order is promised within a batch only. */
#if THIEVES > 0
#define NEW_BATCH seen[0] = 0; seen[1] = 0
#else
#define NEW_BATCH skip
#endif

inline run_item(node) {
  x = item[node];
  printf("%d: runs item %d of node %d\n", _pid, x, node);
  garbage_run = !in_use[node];
  assert(!garbage_run);
  run_twice = (has_run >> x) & 1;
  assert(!run_twice);
  has_run = has_run | (1 << x);
  p = (x - 1) / ITEMS;
  out_of_order = (seen[p] != 0 && x != seen[p] + 1);
  assert(!out_of_order);
#ifdef BOTH_IN_A_BATCH
  both_in_a_batch = (seen[0] != 0 && seen[1] != 0);
  assert(!both_in_a_batch);
#endif
#ifdef CHAIN
  chain_split = (x % 2 == 0 && previous != x - 1);
  assert(!chain_split);
  previous = x;
#endif
  seen[p] = x;
  in_use[node] = false;
  item[node] = 0;
  x = 0;
  p = 0
}

inline take_list() {
#ifdef TAKE_LOAD_STORE
  atomic { first = head; printf("%d: taker loads head %d\n", _pid, first) };
  atomic { head = 0; printf("%d: taker stores null\n", _pid) };
#else
  atomic {
    first = head;
    head = 0;
    printf("%d: takes all from node %d\n", _pid, first);
#ifdef REUSED
    takes++
#endif
  };
#endif
}

inline turn_round() {
  do
  :: atomic {
       first != 0 ->
       h = next[first];
       next[first] = turned;
       turned = first;
       first = h;
       h = 0
     }
  :: atomic { first == 0 -> first = turned; turned = 0; break }
  od
}

inline run_list() {
  do
#ifdef FREED_BEFORE_NEXT
  :: atomic { first != 0 -> run_item(first) };
     atomic { first = next[first] }
#else
  :: atomic { first != 0 -> h = next[first]; run_item(first); first = h; h = 0 }
#endif
  :: atomic { first == 0 -> NEW_BATCH; previous = 0; break }
  od
}

inline take_all() {
  take_list();
#ifndef NOT_TURNED
  turn_round();
#endif
  run_list()
}

inline pop_one() {
  atomic { first = head; printf("%d: thief loads head %d\n", _pid, first) };
  if
  :: atomic {
       first != 0 ->
       h = next[first];
       printf("%d: thief loads node %d's next, %d\n", _pid, first, h)
     };
     atomic {
       if
       :: head == first -> head = h; run_item(first); NEW_BATCH
       :: else
       fi;
       first = 0;
       h = 0
     }
  :: else
  fi
}

proctype Owner() {
  LOCALS;
  do
#ifdef WAKE_CLEARED_LATE
  :: wake -> take_all(); atomic { wake = false; printf("%d: owner clears the wake\n", _pid) }
#else
  :: atomic { wake -> wake = false; printf("%d: owner clears the wake\n", _pid) };
     take_all()
#endif
  :: producers_left == 0 && !wake -> break
  od
}

proctype Thief() {
  LOCALS;
  do
#ifdef POP_ONE
  :: pop_one()
#else
  :: take_all()
#endif
  :: true -> break
  od
}

init {
  byte i;
  atomic {
    run Producer(1, ITEMS);
    run Producer(ITEMS + 1, 2 * ITEMS);
    run Owner();
#if THIEVES > 0
    for (i : 1 .. THIEVES) { run Thief() }
#endif
  };
  atomic {
    _nr_pr == 1 ->
    lost = (head != 0 || has_run != (2 << (2 * ITEMS)) - 2);
    assert(!lost)
  }
}
