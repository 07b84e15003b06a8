/* work_stealing_deque.pml: the Chase-Lev deque. One owner pushes and pops, anyone steals.
 *
 * pop is modelled as the library has it, where the owner looks before it retreats and takes the
 * last item as a thief would; and, with TEXTBOOK, as it is usually printed, where it retreats
 * first and restores bottom on two paths.
 *
 * One step is one access to shared memory; every interleaving of the steps is explored. What
 * only the owner writes (cells, `buffer`, `own` for the end of its items) it reads without a step.
 *
 * Spin is sequentially consistent, so what the owner needs its fence for is written out. Each
 * store to `bottom` waits in a store buffer of one entry, which only the owner sees, until it
 * drains: at the fence, before the owner's next store (stores leave in order), or at any time
 * before a thief's load of `bottom`. That last choice is made at the load, the only place where it
 * can be noticed. A CAS of the textbook's pop drains it; the library's, which is no release, does
 * not.
 *
 * Sizes: first capacity 2, doubled when full, old buffers stay readable. The owner pushes ITEMS
 * items; pops and steals come in any number and order. With SCRIPT_0 (and SCRIPT_1, if it
 * differs) there are two owners with a deque each, whose operations are fixed, and each thief
 * tries STEALS times, on either deque. Items are numbered 1, 2, ... as they are pushed; 0 is a
 * cell that was never written.
 *
 * Properties: an item is taken once (taken_twice), and only if pushed (garbage_taken); a thief
 * gets the oldest (older_left_behind), the owner the newest (newer_left_behind); at the end own
 * is not below top, and bottom is own or the deque is empty (bottom_wrong), and what is left is
 * what was not taken (lost).
 *
 * check: correct                -DITEMS=5                    expect holds
 * check: two_owners        -DSCRIPT_0=WRAP_AND_GROW -DSCRIPT_1=PUSH -DSTEALS=1 expect holds
 * check: textbook               -DTEXTBOOK -DITEMS=4         expect holds
 * check: six_items         long -DITEMS=6                    expect holds
 * check: nine_items        long -DITEMS=9 -DTHIEVES=1        expect holds
 * check: three_thieves     long -DITEMS=3 -DTHIEVES=3        expect holds
 * check: owners_wrap       long -DSCRIPT_0=WRAP_AND_GROW -DSTEALS=1 expect holds
 * check: owners_steals     long -DSCRIPT_0=GROW_AND_POP -DSTEALS=2 expect holds
 * check: textbook_six      long -DTEXTBOOK -DITEMS=6         expect holds
 *
 * Witnesses, which the correct model must reach: two wraps of the first ring, and of the second;
 * a thief wins with the old buffer in hand; the owner retreats, sees one item left, and a thief
 * gets it; bottom is below top at the end.
 * check: two_wraps              -DTWO_WRAPS                  expect reaches:two_wraps
 * check: grown_wraps       -DGROWN_WRAPS -DITEMS=9 -DTHIEVES=1 expect reaches:two_wraps
 * check: grown_under_a_thief    -DGROWN_UNDER_A_THIEF        expect reaches:grown_under_a_thief
 * check: owner_loses            -DOWNER_LOSES                expect reaches:owner_loses
 * check: bottom_left_behind     -DBOTTOM_LEFT_BEHIND         expect reaches:bottom_left_behind
 *
 * Mutations of push and growth:
 * check: bottom_before_cell     -DBOTTOM_BEFORE_CELL         expect fails:garbage_taken
 * check: full_off_by_one        -DFULL_OFF_BY_ONE            expect fails:older_left_behind
 * check: grow_forgets_one       -DGROW_FORGETS_ONE           expect fails:garbage_taken
 * check: grow_published_early   -DGROW_PUBLISHED_EARLY       expect fails:garbage_taken
 * check: old_buffer_freed       -DOLD_BUFFER_FREED           expect fails:garbage_taken
 *
 * Mutations of pop (stale_top: the look behind the fence is at the cached top; own_lowered: `own`
 * goes back after the race for the last item; seen_too_far: after that race top is believed to be
 * one further; unsigned: indices that cannot be -1; seed_002_pop: the pop of the design notes that
 * this library started from, as written there):
 * check: no_fence               -DNO_FENCE                   expect fails:taken_twice
 * check: no_retreat             -DNO_RETREAT                 expect fails:taken_twice
 * check: stale_top              -DSTALE_TOP                  expect fails:taken_twice
 * check: last_without_cas       -DLAST_WITHOUT_CAS           expect fails:taken_twice
 * check: own_lowered            -DOWN_LOWERED                expect fails:older_left_behind
 * check: seen_too_far           -DSEEN_TOO_FAR               expect fails:older_left_behind
 * check: unsigned               -DUNSIGNED                   expect fails:garbage_taken
 * check: textbook_no_fence      -DTEXTBOOK -DNO_FENCE        expect fails:taken_twice
 * check: textbook_last_no_cas   -DTEXTBOOK -DLAST_WITHOUT_CAS expect fails:taken_twice
 * check: not_restored_empty     -DTEXTBOOK -DNOT_RESTORED    expect fails:older_left_behind
 * check: not_restored_lost      -DTEXTBOOK -DNOT_RESTORED_LOST expect fails:older_left_behind
 * check: seed_002_pop           -DSEED_002_POP               expect fails:garbage_taken
 *
 * Mutations of steal:
 * check: bottom_before_top      -DBOTTOM_BEFORE_TOP          expect fails:taken_twice
 * check: buffer_before_bottom   -DBUFFER_BEFORE_BOTTOM       expect fails:taken_twice
 * check: cell_after_cas         -DCELL_AFTER_CAS             expect fails:older_left_behind
 * check: two_with_one_cas       -DSTEAL_N_ONE_CAS            expect fails:taken_twice
 */

#ifdef SCRIPT_0
#define OWNERS 2
#define ITEMS 7
#else
#define OWNERS 1
#endif
#ifndef ITEMS
#define ITEMS 5
#endif
#ifndef THIEVES
#define THIEVES 2
#endif

/* A script's bits, lowest first, are an owner's operations: 1 push, 0 pop; the highest ends it. */
#define WRAP_AND_GROW 3925  /* four times push and pop, then three pushes */
#define GROW_AND_POP 119    /* three pushes, pop, two pushes */
#define PUSH 3
#ifndef SCRIPT_1
#define SCRIPT_1 SCRIPT_0
#endif

/* Buffer k holds 2 << k cells; the buffers stand one after the other in `cell`. */
#if ITEMS > 8
#define CELLS 30
#elif ITEMS > 4
#define CELLS 14
#else
#define CELLS 6
#endif
#define CAPACITY(k) (2 << (k))
#define CELL(k, i) cell[CAPACITY(k) - 2 + ((i) & (CAPACITY(k) - 1))]

#if defined(UNSIGNED) || defined(SEED_002_POP)
#define Index byte
#else
#define Index short
#endif

typedef Deque {
  Index top;
  Index bottom;
  byte buffer;
  byte cell[CELLS];
  bool pending;           /* the owner's store buffer: the next value of bottom waits in it */
  Index pending_bottom;
  Index cached_top;       /* owner only; never ahead of top */
  short taken;            /* bit x: item x was taken */
  Index own;              /* the owner's `own` and `pushed`, when it has ended */
  byte pushed
};

Deque deque[OWNERS];
#define D deque[self]
#define V deque[victim]

/* What went wrong, in the words that pan prints. Asserted false at once: they cost no states. */
bool taken_twice, garbage_taken, older_left_behind, newer_left_behind, bottom_wrong, lost;
bool two_wraps, grown_under_a_thief, owner_loses, bottom_left_behind;

#define BITS_BELOW(x) ((1 << (x)) - 2)  /* items 1 .. x - 1 */

inline take(d, item) {
  printf("%d: takes item %d\n", _pid, item);
  garbage_taken = (item == 0);
  assert(!garbage_taken);
  taken_twice = (d.taken >> item) & 1;
  assert(!taken_twice);
  d.taken = d.taken | (1 << item)
}

inline drain(d) {
  if
  :: d.pending ->
     printf("    the store bottom = %d becomes visible\n", d.pending_bottom);
     d.bottom = d.pending_bottom;
     d.pending = false;
     d.pending_bottom = 0
  :: else
  fi
}

/* ---- Owner: `own` is where its items end ---- */

/* Locals are cleared between operations: what no longer matters must not tell states apart. */
inline forget_owner() {
  atomic { b = 0; t = 0; won = false }
}

inline store_bottom(index) {
  atomic {
    drain(D);
    printf("%d: owner stores bottom = %d\n", _pid, index);
    D.pending_bottom = index;
    D.pending = true
  }
}

inline publish_buffer() {
  atomic {
    drain(D);
    printf("%d: owner publishes buffer %d\n", _pid, old + 1);
    D.buffer = old + 1
  }
}

inline grow() {
  old = D.buffer;
#ifdef GROW_PUBLISHED_EARLY
  publish_buffer();
#endif
#ifdef GROW_FORGETS_ONE
  i = t + 1;
#else
  i = t;
#endif
  do
  :: i < b ->
     atomic {
       drain(D);
       printf("%d: owner copies item %d at %d\n", _pid, D.CELL(old, i), i);
       D.CELL(old + 1, i) = D.CELL(old, i);
       i++
     }
  :: else -> break
  od;
#ifndef GROW_PUBLISHED_EARLY
  publish_buffer();
#endif
#ifdef OLD_BUFFER_FREED
  atomic {
    for (i : 0 .. CAPACITY(old) - 1) { D.CELL(old, i) = 0 }
  };
#endif
  atomic { i = 0; old = 0 }
}

#ifdef FULL_OFF_BY_ONE
#define FULL(top_seen) (b - top_seen > CAPACITY(D.buffer))
#else
#define FULL(top_seen) (b - top_seen >= CAPACITY(D.buffer))
#endif

inline push() {
  atomic { b = own; pushed++ };
  if
  :: FULL(D.cached_top) ->
     atomic {
       t = D.top;
       D.cached_top = t;
       printf("%d: owner looks full, loads top %d\n", _pid, t)
     };
     if
     :: FULL(t) -> grow()
     :: else
     fi
  :: else
  fi;
#ifdef BOTTOM_BEFORE_CELL
  store_bottom(b + 1);
#endif
  atomic {
    drain(D);
    printf("%d: owner stores item %d at %d\n", _pid, pushed, b);
    D.CELL(D.buffer, b) = pushed
  };
#ifndef BOTTOM_BEFORE_CELL
  store_bottom(b + 1);
#endif
  atomic { own = b + 1; forget_owner() }
}

inline take_newest() {
  x = D.CELL(D.buffer, b);
  take(D, x);
  newer_left_behind = ((D.taken | BITS_BELOW(x)) != BITS_BELOW(pushed + 1));
  assert(!newer_left_behind);
  x = 0
}

inline owner_loads_top() {
  atomic {
#ifdef STALE_TOP
    t = D.cached_top;
#else
    t = D.top;
#endif
    printf("%d: owner loads top %d\n", _pid, t)
  }
}

/* The race for the last item, at b: goes to whoever advances top, which is beyond b then. */
#if defined(TEXTBOOK) || defined(SEED_002_POP)
#define SEEN_AFTER_THE_LAST skip
#elif defined(SEEN_TOO_FAR)
#define SEEN_AFTER_THE_LAST D.cached_top = b + 2
#else
#define SEEN_AFTER_THE_LAST D.cached_top = b + 1
#endif
inline win_last() {
  atomic {
#if defined(TEXTBOOK) || defined(SEED_002_POP)
    drain(D);
#endif
    won = (D.top == b);
    if
    :: won -> D.top = b + 1; printf("%d: owner moves top to %d\n", _pid, D.top); take_newest()
    :: else -> printf("%d: owner loses the race for %d\n", _pid, b)
    fi;
    SEEN_AFTER_THE_LAST
  }
}

#if defined(SEED_002_POP)

inline pop() {
  atomic { b = own - 1; store_bottom(b); own = b };
  owner_loads_top();
  if
  :: t < b -> atomic { take_newest() }
  :: else -> win_last()
  fi;
  forget_owner()
}

#elif defined(TEXTBOOK)

inline restore() {
  atomic { store_bottom(b + 1); own = b + 1; forget_owner() }
}

inline pop() {
  atomic { b = own - 1; store_bottom(b); own = b };
#ifndef NO_FENCE
  atomic { drain(D) };
#endif
  owner_loads_top();
  if
  :: t < b -> atomic { take_newest(); forget_owner() }
  :: t == b ->
#ifdef LAST_WITHOUT_CAS
     atomic { take_newest(); D.top = b + 1 };
#else
     win_last();
#endif
#ifdef NOT_RESTORED_LOST
     if
     :: won -> restore()
     :: else -> forget_owner()
     fi
#else
     restore()
#endif
  :: t > b ->
#ifdef NOT_RESTORED
     forget_owner()
#else
     restore()
#endif
  fi
}

#else

#ifdef LAST_WITHOUT_CAS
#define ALONE (t <= b)
#else
#define ALONE (t < b)
#endif

inline pop() {
  atomic { b = own - 1; t = D.cached_top; printf("%d: owner has seen top %d\n", _pid, t) };
  if
  :: t > b -> forget_owner()
  :: t == b -> win_last(); forget_own_and_owner()
  :: t < b ->
#ifndef NO_RETREAT
     store_bottom(b);
#endif
#ifndef NO_FENCE
     atomic { drain(D) };
#endif
     owner_loads_top();
     if
     :: ALONE -> atomic { take_newest(); own = b; forget_owner() }
     :: else ->
        win_last();
#ifdef OWNER_LOSES
        atomic { owner_loses = (t == b && !won); assert(!owner_loses) };
#endif
        forget_own_and_owner()
     fi
  fi
}

/* Nothing to restore: bottom is at top or one below, which is empty, until the next push. */
inline forget_own_and_owner() {
  atomic {
#ifdef OWN_LOWERED
    own = b;
#endif
    forget_owner()
  }
}

#endif

proctype Owner(byte self) {
  Index own, b, t, i;
  byte x, old, pushed;
  bool won;
#ifdef SCRIPT_0
  short script = (self == 0 -> SCRIPT_0 : SCRIPT_1);
#endif
  do
#ifdef SCRIPT_0
  :: script > 1 && (script & 1) == 1 -> script = script >> 1; push()
  :: script > 1 && (script & 1) == 0 -> script = script >> 1; pop()
  :: script == 1 -> break
#else
  :: pushed < ITEMS -> push()
  :: true -> pop()
  :: pushed == ITEMS -> break
#endif
  od;
  atomic { D.own = own; D.pushed = pushed }
}

/* ---- Thief ---- */

inline forget_thief() {
  atomic { b = 0; t = 0; x = 0; buffer = 0; victim = 0; won = false }
}

inline load_top() {
  atomic { t = V.top; printf("%d: thief loads top %d\n", _pid, t) }
}

inline load_bottom() {
  atomic {
    if
    :: true -> drain(V)
    :: V.pending -> skip
    fi;
    b = V.bottom;
    printf("%d: thief loads bottom %d\n", _pid, b)
  }
}

inline load_buffer() {
  atomic { buffer = V.buffer; printf("%d: thief loads buffer %d\n", _pid, buffer) }
}

inline load_cell() {
  x = V.CELL(buffer, t);
  printf("%d: thief loads item %d at %d\n", _pid, x, t)
}

inline take_oldest() {
  take(V, x);
  older_left_behind = ((V.taken & BITS_BELOW(x)) != BITS_BELOW(x));
  assert(!older_left_behind)
}

inline cas_top_and_steal() {
  won = (V.top == t);
  if
  :: won ->
#ifdef GROWN_UNDER_A_THIEF
     grown_under_a_thief = (buffer != V.buffer);
     assert(!grown_under_a_thief);
#endif
#ifdef STEAL_N_ONE_CAS
     V.top = (t + 1 < b -> t + 2 : t + 1);
#else
     V.top = t + 1;
#endif
     printf("%d: thief moves top to %d\n", _pid, V.top);
#ifndef CELL_AFTER_CAS
     take_oldest();
#endif
#ifdef STEAL_N_ONE_CAS
     if
     :: t + 1 < b -> t++; load_cell(); take_oldest()
     :: else
     fi
#endif
  :: else -> printf("%d: thief loses the race for %d\n", _pid, t)
  fi
}

inline steal() {
#ifdef BUFFER_BEFORE_BOTTOM
  load_buffer();
#endif
#ifdef BOTTOM_BEFORE_TOP
  load_bottom();
  load_top();
#else
  load_top();
  load_bottom();
#endif
  if
  :: t < b ->
#ifndef BUFFER_BEFORE_BOTTOM
     load_buffer();
#endif
     atomic { load_cell() };
#ifdef CELL_AFTER_CAS
     atomic { cas_top_and_steal() };
     if
     :: won -> atomic { load_cell(); take_oldest() }
     :: else
     fi;
     forget_thief()
#else
     atomic { cas_top_and_steal(); forget_thief() }
#endif
  :: else -> forget_thief()
  fi
}

proctype Thief() {
  Index b, t;
  byte x, buffer, victim, steals;
  bool won;
  do
#ifdef STEALS
  :: steals < STEALS ->
     atomic {
       steals++;
       if
       :: victim = 0
       :: victim = OWNERS - 1
       fi
     };
     steal()
#else
  :: true -> steal()
#endif
  :: true -> break
  od
}

/* ---- The end of every run ---- */

inline check_at_rest() {
  drain(V);
  bottom_wrong = (V.own < V.top || (V.bottom != V.own && V.top != V.own) || V.bottom > V.own);
  assert(!bottom_wrong);
#ifdef TWO_WRAPS
  two_wraps = (V.buffer == 0 && V.top >= 2 * CAPACITY(0));
  assert(!two_wraps);
#endif
#ifdef GROWN_WRAPS
  two_wraps = (V.buffer == 1 && V.top >= 2 * CAPACITY(1));
  assert(!two_wraps);
#endif
#ifdef BOTTOM_LEFT_BEHIND
  bottom_left_behind = (V.top > 0 && V.bottom < V.top);
  assert(!bottom_left_behind);
#endif
  for (i : V.top .. V.own - 1) {
    x = V.CELL(V.buffer, i);
    take(V, x)
  }
  lost = (V.taken != BITS_BELOW(V.pushed + 1));
  assert(!lost)
}

init {
  byte victim, x;
  Index i;
  atomic {
    for (victim : 0 .. OWNERS - 1) { run Owner(victim) }
    for (x : 1 .. THIEVES) { run Thief() }
  };
  atomic {
    _nr_pr == 1 ->
    for (victim : 0 .. OWNERS - 1) { check_at_rest() }
  }
}
