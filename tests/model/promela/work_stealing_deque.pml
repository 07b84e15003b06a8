/*
 * work_stealing_deque.pml: the Chase-Lev deque. One owner pushes and pops, anyone steals.
 *
 * One step is one access to shared memory; every interleaving of the steps is explored. What
 * only the owner writes (cells, `buffer`, its own view of `bottom`) it reads without a step.
 *
 * Spin is sequentially consistent, so the owner's store buffer is written out. Each store to
 * `bottom` waits in a buffer of one entry, which only the owner sees, until it drains: at the
 * fence, before the owner's next store or CAS (stores leave in order), or at any time before a
 * thief's load of `bottom`. That last choice is made at the load, the only place where it can
 * be noticed. Thieves only load and CAS, so they need no store buffer.
 *
 * Sizes: first capacity 2, doubled when full, old buffers stay readable. The owner pushes ITEMS
 * items; pops and steals come in any number and order. With SCRIPT_0 (and SCRIPT_1, if it
 * differs) there are two owners with a deque each, whose operations are fixed, and each thief
 * tries STEALS times, on either deque. Items are numbered 1, 2, ... as they are pushed; 0 is a
 * cell that was never written.
 *
 * Properties: an item is taken once (taken_twice), and only if pushed (garbage_taken); a thief
 * gets the oldest (older_left_behind), the owner the newest (newer_left_behind); at the end
 * bottom is not below top (bottom_below_top), and what is left is what was not taken (lost).
 *
 * check: correct                -DITEMS=5                    expect holds
 * check: two_owners   -DSCRIPT_0=WRAP_AND_GROW -DSCRIPT_1=PUSH_POP -DSTEALS=1 expect holds
 * check: six_items         long -DITEMS=6                    expect holds
 * check: nine_items        long -DITEMS=9 -DTHIEVES=1        expect holds
 * check: owners_wrap       long -DSCRIPT_0=WRAP_AND_GROW -DSTEALS=1 expect holds
 * check: owners_steals     long -DSCRIPT_0=GROW_AND_POP -DSTEALS=2 expect holds
 *
 * Witnesses, which the correct model must reach: two wraps of the first ring, and of the second;
 * a thief wins with the old buffer in hand; the owner loses the race for the last item.
 * check: two_wraps              -DTWO_WRAPS                  expect reaches:two_wraps
 * check: grown_wraps       -DGROWN_WRAPS -DITEMS=9 -DTHIEVES=1 expect reaches:two_wraps
 * check: grown_under_a_thief    -DGROWN_UNDER_A_THIEF        expect reaches:grown_under_a_thief
 * check: owner_loses            -DOWNER_LOSES                expect reaches:owner_loses
 *
 * Mutations of push and growth:
 * check: bottom_before_cell     -DBOTTOM_BEFORE_CELL         expect fails:garbage_taken
 * check: full_off_by_one        -DFULL_OFF_BY_ONE            expect fails:older_left_behind
 * check: grow_forgets_one       -DGROW_FORGETS_ONE           expect fails:garbage_taken
 * check: grow_published_early   -DGROW_PUBLISHED_EARLY       expect fails:garbage_taken
 * check: old_buffer_freed       -DOLD_BUFFER_FREED           expect fails:garbage_taken
 *
 * Mutations of pop (stale_top decides by the cached top; unsigned cannot hold -1; seed_002_pop is
 * the pop of the design notes this library started from, with their size_t):
 * check: no_fence               -DNO_FENCE                   expect fails:taken_twice
 * check: stale_top              -DSTALE_TOP                  expect fails:taken_twice
 * check: last_without_cas       -DLAST_WITHOUT_CAS           expect fails:taken_twice
 * check: not_restored_empty     -DNOT_RESTORED               expect fails:older_left_behind
 * check: not_restored_lost_race -DNOT_RESTORED_LOST          expect fails:older_left_behind
 * check: unsigned               -DUNSIGNED                   expect fails:garbage_taken
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

/* A script's bits, lowest first, are an owner's operations: 1 push, 0 pop; the highest ends it. */
#define WRAP_AND_GROW 3925  /* four times push and pop, then three pushes */
#define GROW_AND_POP 119    /* three pushes, pop, two pushes */
#define PUSH_POP 5
#ifndef SCRIPT_1
#define SCRIPT_1 SCRIPT_0
#endif

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
  byte pushed             /* how many, set when the owner ends */
};

Deque deque[OWNERS];
#define D deque[self]
#define V deque[victim]

/* What went wrong, in the words that pan prints. Asserted false at once: they cost no states. */
bool taken_twice, garbage_taken, older_left_behind, newer_left_behind, bottom_below_top, lost;
bool two_wraps, grown_under_a_thief, owner_loses;

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

/* ---- Owner ---- */

/* Locals are cleared between operations: what no longer matters must not tell states apart. */
inline forget_owner() {
  d_step { b = 0; t = 0; won = false }
}

#define OWN_BOTTOM (D.pending -> D.pending_bottom : D.bottom)

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
  b = OWN_BOTTOM;
  pushed++;
  if
  :: FULL(D.cached_top) ->
     d_step {
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
  forget_owner()
}

inline take_newest() {
  x = D.CELL(D.buffer, b);
  take(D, x);
  newer_left_behind = ((D.taken | BITS_BELOW(x)) != BITS_BELOW(pushed + 1));
  assert(!newer_left_behind);
  x = 0
}

inline owner_load_top() {
  d_step {
#ifdef STALE_TOP
    t = D.cached_top;
#else
    t = D.top;
#endif
    printf("%d: owner loads top %d\n", _pid, t)
  }
}

inline cas_top_and_take() {
  d_step {
    drain(D);
    if
    :: D.top == t ->
       printf("%d: owner moves top to %d\n", _pid, t + 1);
       D.top = t + 1;
       take_newest();
       won = true
    :: else ->
       printf("%d: owner loses the race for %d\n", _pid, t);
       won = false
    fi;
#ifdef OWNER_LOSES
    owner_loses = !won;
    assert(!owner_loses)
#endif
  }
}

#ifdef SEED_002_POP

inline pop() {
  b = OWN_BOTTOM - 1;
  store_bottom(b);
  owner_load_top();
  if
  :: t < b -> d_step { take_newest() }
  :: else -> cas_top_and_take()
  fi;
  forget_owner()
}

#else

inline pop() {
  b = OWN_BOTTOM - 1;
  store_bottom(b);
#ifndef NO_FENCE
  d_step { drain(D) };
#endif
  owner_load_top();
  if
  :: t < b -> d_step { take_newest(); b = 0; t = 0 }
  :: t == b ->
#ifdef LAST_WITHOUT_CAS
     d_step { take_newest(); D.top = t + 1; won = true };
#else
     cas_top_and_take();
#endif
#ifdef NOT_RESTORED_LOST
     if
     :: won -> store_bottom(b + 1)
     :: else
     fi
#else
     store_bottom(b + 1)
#endif
  :: t > b ->
#ifdef NOT_RESTORED
     skip
#else
     store_bottom(b + 1)
#endif
  fi;
  forget_owner()
}

#endif

proctype Owner(byte self) {
  Index b, t, i;
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
  D.pushed = pushed
}

/* ---- Thief ---- */

inline forget_thief() {
  d_step { b = 0; t = 0; x = 0; buffer = 0; victim = 0; won = false }
}

inline load_top() {
  d_step { t = V.top; printf("%d: thief loads top %d\n", _pid, t) }
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
  d_step { buffer = V.buffer; printf("%d: thief loads buffer %d\n", _pid, buffer) }
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
  d_step {
    if
    :: V.top == t ->
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
       fi;
#endif
       won = true
    :: else ->
       printf("%d: thief loses the race for %d\n", _pid, t);
       won = false
    fi
  }
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
     d_step { load_cell() };
#ifdef CELL_AFTER_CAS
     cas_top_and_steal();
     if
     :: won -> d_step { load_cell(); take_oldest() }
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
  bottom_below_top = (V.bottom < V.top);
  assert(!bottom_below_top);
#ifdef TWO_WRAPS
  two_wraps = (V.buffer == 0 && V.top >= 2 * CAPACITY(0));
  assert(!two_wraps);
#endif
#ifdef GROWN_WRAPS
  two_wraps = (V.buffer == 1 && V.top >= 2 * CAPACITY(1));
  assert(!two_wraps);
#endif
  i = V.top;
  do
  :: i < V.bottom -> x = V.CELL(V.buffer, i); take(V, x); i++
  :: else -> break
  od;
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
  _nr_pr == 1;
  d_step {
    victim = 0;
    do
    :: victim < OWNERS -> check_at_rest(); victim++
    :: else -> break
    od
  }
}
