/* bounded_queue.pml: the bounded ring for many producers and consumers (after Vyukov).
 *
 * Each slot has a turn: p when it is free for the push at position p, p + 1 when that push has
 * filled it, p + CAPACITY when the pop at position p has emptied it. A position is won by a CAS
 * on tail or head. A batch looks at consecutive slots, counts those that have reached their turn,
 * and wins as many positions with one CAS; a single push or pop is a batch of one.
 *
 * One step is one access to shared memory; every interleaving of the steps is explored, under
 * sequential consistency. A CAS may fail for no reason (it is weak, unless OPS is given), and a
 * failed one hands back the value it saw, as in C++.
 *
 * Sizes: 2 producers, 2 consumers, CAPACITY 2; FIRST and SECOND are the producers' pushes, 5 in
 * all unless said, so that the ring is passed twice. BATCH is 1, 2 or MIXED (each operation
 * chooses). Anyone may stop for good between two operations; with OPS all stop after so many.
 *
 * Properties: a position is won once on each side (position_given_twice); the pop at position p
 * gets the item pushed there (wrong_item), which with the former means exactly once and first in,
 * first out; a producer's items have rising positions (out_of_order); never more than CAPACITY
 * items (overfull), nor more pops than pushes (popped_unpushed); "full" and "empty", also for the
 * rest of a batch, are said only if true or while an operation of the other side is under way
 * (falsely_full, falsely_empty); at the end what is left is what was not popped (lost). With -l:
 * no endless run in which no operation ends; "full" and "empty" are ends too.
 *
 * check: singles                -DBATCH=1                    expect holds
 * check: batches                -DBATCH=2                    expect holds
 * check: mixed                  -DBATCH=MIXED -DFIRST=2      expect holds
 * check: no_endless_run         -DBATCH=MIXED -DOPS=1 -DFIRST=2 expect holds -l
 * check: six_singles       long -DBATCH=1 -DSECOND=3         expect holds
 * check: six_batched       long -DBATCH=2 -DSECOND=3         expect holds
 * check: five_mixed        long -DBATCH=MIXED                expect holds
 * check: capacity_four     long -DBATCH=2 -DCAPACITY=4       expect holds
 * check: no_endless_mixed  long -DBATCH=MIXED -DOPS=2 -DFIRST=2 expect holds -l
 *
 * Witnesses, which the correct model must reach: two wraps and all popped; a batch of two that
 * gets one; a pop that ends while one with an earlier position is under way.
 * check: two_wraps              -DTWO_WRAPS                  expect reaches:two_wraps
 * check: partial_batch          -DPARTIAL_BATCH -DBATCH=2    expect reaches:partial_batch
 * check: overtaken              -DOVERTAKEN                  expect reaches:overtaken
 *
 * Mutations (ahead_is_full takes a slot that is ahead for a full queue, instead of looking again;
 * no_recheck repeats a lost CAS with the new position without a look at the slots):
 * check: published_early        -DPUBLISHED_EARLY            expect fails:wrong_item
 * check: released_early         -DRELEASED_EARLY             expect fails:wrong_item
 * check: released_as_written    -DRELEASED_AS_WRITTEN        expect fails:falsely_full
 * check: tail_plain_store       -DTAIL_PLAIN_STORE           expect fails:position_given_twice
 * check: head_plain_store       -DHEAD_PLAIN_STORE           expect fails:position_given_twice
 * check: no_recheck_push        -DNO_RECHECK_PUSH            expect fails:overfull
 * check: no_recheck_pop         -DNO_RECHECK_POP             expect fails:popped_unpushed
 * check: ahead_is_full          -DAHEAD_IS_FULL              expect fails:falsely_full
 * check: ahead_is_empty         -DAHEAD_IS_EMPTY             expect fails:falsely_empty
 * check: push_checks_first      -DPUSH_CHECKS_FIRST -DBATCH=2 expect fails:overfull
 * check: push_checks_last       -DPUSH_CHECKS_LAST -DBATCH=2 expect fails:wrong_item
 * check: pop_checks_first       -DPOP_CHECKS_FIRST -DBATCH=2 expect fails:wrong_item
 * check: pop_checks_last        -DPOP_CHECKS_LAST -DBATCH=2  expect fails:wrong_item
 * check: capacity_one           -DCAPACITY=1                 expect fails:overfull
 * check: waits_when_full        -DWAITS_WHEN_FULL -DOPS=3    expect fails:non-progress_cycle -l
 */

#ifndef FIRST
#define FIRST 3
#endif
#ifndef SECOND
#define SECOND 2
#endif
#ifndef CAPACITY
#define CAPACITY 2
#endif
#define MIXED 3
#ifndef BATCH
#define BATCH 1
#endif
#define POSITIONS (FIRST + SECOND)

/* What the mutations change in a look at a slot. */
#ifdef AHEAD_IS_FULL
#define SAYS_FULL (s != pos + k)
#else
#define SAYS_FULL (s < pos + k)
#endif
#ifdef AHEAD_IS_EMPTY
#define SAYS_EMPTY (s != pos + k + 1)
#else
#define SAYS_EMPTY (s < pos + k + 1)
#endif
#ifdef PUSH_CHECKS_LAST
#define PUSH_LAST true
#else
#define PUSH_LAST false
#endif
#ifdef POP_CHECKS_LAST
#define POP_LAST true
#else
#define POP_LAST false
#endif

typedef Slot {
  byte turn;
  byte value
};

Slot slot[CAPACITY];
#define SLOT(position) slot[(position) % CAPACITY]
byte head, tail;

/* For the properties only. */
byte item_of[POSITIONS];      /* by position: the item, set when a push wins the position */
bool popped[POSITIONS];       /* by position: a pop has won it */
byte pushes_open, pops_open;  /* positions won whose slot is not yet handed over */

/* What went wrong, in the words that pan prints. Asserted false at once: they cost no states. */
bool position_given_twice, wrong_item, out_of_order, overfull, popped_unpushed, lost;
bool falsely_full, falsely_empty;
bool two_wraps, partial_batch, overtaken;

/* An operation's locals. They are cleared after it: what no longer matters must not tell states
   apart. n: how many are wanted, k: how many are ready, s: the last turn seen. */
#define LOCALS byte n, pos, k, s, i, ops
#define FORGET n = 0; pos = 0; k = 0; s = 0; i = 0

/* With OPS each process ends after so many operations, and nothing may repeat for ever. */
#ifdef OPS
#define MAY_START (ops < OPS)
#define START ops++
#define CAS_MAY_FAIL(end) (end != pos)
#else
#define MAY_START true
#define START skip
#define CAS_MAY_FAIL(end) true
#endif

/* A batch of at most `limit`. */
inline choose_batch(limit) {
#if BATCH == MIXED
  if
  :: n = 1
  :: limit > 1 -> n = 2
  fi
#else
  n = (BATCH < limit -> BATCH : limit)
#endif
}

/* On to the batch's next position, or the operation ends. */
inline next_position() {
  i++;
  if
  :: i < k -> goto hand_over
  :: else -> FORGET; goto idle
  fi
}

/* Ends the count at k. A count that began at its last slot begins again with the first alone. */
inline stop_counting(began_at_last) {
  if
  :: began_at_last && n > 1 -> n = 1; k = 0
  :: else ->
#ifdef PARTIAL_BATCH
     partial_batch = (k == 1);
     assert(!partial_batch);
#endif
     break
  fi
}

/* ---- Producer: items next .. last ---- */

inline load_tail() {
  pos = tail;
  k = 0;
  s = 0;
  printf("%d: producer loads tail %d\n", _pid, pos)
}

/* Looks at the slots of positions pos + k, k = 0 .. n - 1. A slot is free for us, or behind (so the
   queue is full), or ahead (so pos is old). Stops with k free ones in a row. */
inline count_free() {
#ifdef PUSH_CHECKS_LAST
  k = n - 1;
#endif
  do
  :: atomic {
       s = SLOT(pos + k).turn;
       printf("%d: producer wants position %d, its turn is %d\n", _pid, pos + k, s);
       if
       :: s == pos + k ->
#ifdef PUSH_CHECKS_FIRST
          k = n;
#else
          k++;
#endif
          if
          :: k == n -> break
          :: else
          fi
       :: else ->
          falsely_full = SAYS_FULL && tail + k - head < CAPACITY && pops_open == 0;
          assert(!falsely_full);
          stop_counting(PUSH_LAST)
       fi
     }
  od
}

inline win_positions_to_push() {
  tail = pos + k;
  printf("%d: producer moves tail to %d\n", _pid, tail);
  overfull = (tail - head > CAPACITY);
  assert(!overfull);
  for (i : 0 .. k - 1) {
    printf("%d: producer has position %d for item %d\n", _pid, pos + i, next + i);
    position_given_twice = (item_of[pos + i] != 0);
    assert(!position_given_twice);
    item_of[pos + i] = next + i
  }
  pushes_open = pushes_open + k;
  i = 0
}

inline write_value() {
  SLOT(pos + i).value = next;
  printf("%d: producer writes item %d\n", _pid, next)
}

inline publish() {
  SLOT(pos + i).turn = pos + i + 1;
  pushes_open--;
  printf("%d: producer publishes position %d\n", _pid, pos + i)
}

proctype Producer(byte next; byte last) {
  LOCALS;

idle:
  atomic {
    if
    :: MAY_START && next <= last -> START; choose_batch(last + 1 - next); load_tail()
    :: goto done
    fi
  };
look:
  count_free();
win:
  if
#ifdef TAIL_PLAIN_STORE
  :: atomic { k > 0 -> win_positions_to_push() }
#else
  :: atomic { k > 0 && tail == pos -> win_positions_to_push() }
#endif
#ifdef NO_RECHECK_PUSH
  :: atomic { k > 0 && CAS_MAY_FAIL(tail) -> pos = tail; goto win }
#else
  :: atomic { k > 0 && CAS_MAY_FAIL(tail) -> load_tail(); goto look }
#endif
#ifdef WAITS_WHEN_FULL
  :: atomic { k == 0 && SAYS_FULL -> load_tail(); goto look }
#else
  :: atomic { k == 0 && SAYS_FULL -> FORGET; goto idle }
#endif
  :: atomic { k == 0 && !SAYS_FULL -> load_tail(); goto look }
  fi;
hand_over:
#ifdef PUBLISHED_EARLY
  atomic { publish() };
  atomic { write_value(); next++; next_position() };
#else
  atomic { write_value() };
  atomic { publish(); next++; next_position() };
#endif
done:
}

/* ---- Consumer ---- */

inline load_head() {
  pos = head;
  k = 0;
  s = 0;
  printf("%d: consumer loads head %d\n", _pid, pos)
}

/* The same for slots that are written for us, or behind (empty), or ahead. */
inline count_written() {
#ifdef POP_CHECKS_LAST
  k = n - 1;
#endif
  do
  :: atomic {
       s = SLOT(pos + k).turn;
       printf("%d: consumer wants position %d, its turn is %d\n", _pid, pos + k, s);
       if
       :: s == pos + k + 1 ->
#ifdef POP_CHECKS_FIRST
          k = n;
#else
          k++;
#endif
          if
          :: k == n -> break
          :: else
          fi
       :: else ->
          falsely_empty = SAYS_EMPTY && head + k < tail && pushes_open == 0;
          assert(!falsely_empty);
          stop_counting(POP_LAST)
       fi
     }
  od
}

inline win_positions_to_pop() {
  head = pos + k;
  printf("%d: consumer moves head to %d\n", _pid, head);
  popped_unpushed = (head > tail);
  assert(!popped_unpushed);
  for (i : 0 .. k - 1) {
    position_given_twice = popped[pos + i];
    assert(!position_given_twice);
    popped[pos + i] = true
  }
  pops_open = pops_open + k;
  i = 0
}

inline read_value() {
  printf("%d: consumer reads item %d\n", _pid, SLOT(pos + i).value);
  wrong_item = (SLOT(pos + i).value != item_of[pos + i]);
  assert(!wrong_item)
}

inline release() {
#ifdef RELEASED_AS_WRITTEN
  SLOT(pos + i).turn = pos + i + 1;
#else
  SLOT(pos + i).turn = pos + i + CAPACITY;
#endif
#ifdef OVERTAKEN
  overtaken = (pos + i > 0 && SLOT(pos + i + CAPACITY - 1).turn == pos + i);
  assert(!overtaken);
#endif
  pops_open--;
  printf("%d: consumer releases position %d\n", _pid, pos + i)
}

proctype Consumer() {
  LOCALS;

idle:
  atomic {
    if
    :: MAY_START -> START; choose_batch(2); load_head()
    :: goto done
    fi
  };
look:
  count_written();
win:
  if
#ifdef HEAD_PLAIN_STORE
  :: atomic { k > 0 -> win_positions_to_pop() }
#else
  :: atomic { k > 0 && head == pos -> win_positions_to_pop() }
#endif
#ifdef NO_RECHECK_POP
  :: atomic { k > 0 && CAS_MAY_FAIL(head) -> pos = head; goto win }
#else
  :: atomic { k > 0 && CAS_MAY_FAIL(head) -> load_head(); goto look }
#endif
  :: atomic { k == 0 && SAYS_EMPTY -> FORGET; goto idle }
  :: atomic { k == 0 && !SAYS_EMPTY -> load_head(); goto look }
  fi;
hand_over:
#ifdef RELEASED_EARLY
  atomic { release() };
  atomic { read_value(); next_position() };
#else
  atomic { read_value() };
  atomic { release(); next_position() };
#endif
done:
}

/* ---- The end of every run ---- */

inline check_at_rest() {
  for (i : 0 .. POSITIONS - 1) {
    lost = (popped[i] != (i < head)) || ((item_of[i] != 0) != (i < tail));
    assert(!lost);
    lost = (i >= head && i < tail && (SLOT(i).value != item_of[i] || SLOT(i).turn != i + 1));
    assert(!lost);
    for (j : 0 .. i) {
      out_of_order = (item_of[i] != 0 && (item_of[i] <= FIRST) == (item_of[j] <= FIRST)
                      && item_of[j] > item_of[i]);
      assert(!out_of_order)
    }
  }
#ifdef TWO_WRAPS
  two_wraps = (head == POSITIONS && head > 2 * CAPACITY);
  assert(!two_wraps)
#endif
}

init {
  byte i, j;
  atomic {
    for (i : 0 .. CAPACITY - 1) { slot[i].turn = i }
    run Producer(1, FIRST);
    run Producer(FIRST + 1, FIRST + SECOND);
    run Consumer();
    run Consumer()
  };
  atomic { _nr_pr == 1 -> check_at_rest() }
}
