/* roster.pml: how workers search, give up and sleep, and when a publisher wakes one of them.
 *
 * On a count of searchers, the bitmap of parked workers, and a queue. A publisher pushes, fence,
 * and if nobody searches wakes a parked worker, if there is one (notify).
 * A worker: (1) counts itself in; (2) looks; (3) found work: counts itself out, and if it was the
 * last: fence, looks whether there is more, and if so notify; (4) found none: counts itself out,
 * sets its bit, fence; (5) looks once more; (6a) found work: clears its bit, and if a waker had
 * taken the bit, wakes another; looks whether there is more, and if so notify; (6b) found none:
 * sleeps until woken; from (1).
 * A task may take for ever. After one that ends the worker may take the next from its own queue
 * without searching.
 *
 * One step is one access to shared memory; every interleaving of the steps is explored. Spin is
 * sequentially consistent, so what the fences are for is written out, with BUFFERS. An item waits
 * in a store buffer of one entry until its pusher's fence, or until it drains before somebody
 * looks; that choice is made at the look, the only place where it can be noticed. The last change
 * of the count may be unknown to those who only load it, until its author's next fence or anybody's
 * next change; `late` says whose it is. Where no fence is missing, a store and its fence are one
 * step instead: nobody can tell that from a store that waits. The bit and its fence always are, and
 * an epoch is `woken`, changed or not since its worker loaded it: parking_lot.pml takes them apart.
 *
 * Sizes: 2 publishers with FIRST and SECOND items, WORKERS workers, at most SPURIOUS ends of a
 * sleep without a wake. With QUEUES=2 an item goes to either, and a look is one step per queue, in
 * either order. Worker w owns queue w % 2; from the other it may take two items at once, of which
 * one goes to its own queue, then notify. With ONLY_LONG no task ends. With ASLEEP neither, two of
 * three workers begin asleep, and nobody takes two items. SMALL is ONLY_LONG with one publisher of
 * two items.
 *
 * Properties, when nobody can go on: no work is left while a worker sleeps (left_waiting), though
 * every worker that is awake by then runs a task for ever; nobody is counted as searching
 * (count_wrong); who sleeps can be found (hidden_sleeper). With -l: no endless run at all.
 *
 * check: correct                -DSPURIOUS=1                 expect holds
 * check: three_items       long -DFIRST=2                    expect holds
 * check: two_queues             -DQUEUES=2 -DONLY_LONG       expect holds
 * check: two_of_three_asleep    -DASLEEP -DSMALL             expect holds
 * check: no_endless_run                                      expect holds -l
 * check: only_long_tasks   long -DONLY_LONG -DWORKERS=3      expect holds
 * check: three_workers     long -DWORKERS=3                  expect holds
 * check: asleep_and_items  long -DASLEEP -DFIRST=2           expect holds
 * check: four_items        long -DFIRST=2 -DSECOND=2         expect holds
 * check: buffers           long -DBUFFERS                    expect holds
 * check: queues_and_items  long -DQUEUES=2 -DFIRST=2         expect holds
 * check: queues_buffers    long -DQUEUES=2 -DBUFFERS -DONLY_LONG expect holds
 *
 * A wake that hits a worker who stays need not be passed on: that worker looks for more itself.
 * check: wake_not_passed_on     -DWAKE_NOT_PASSED_ON         expect holds
 *
 * Witnesses, which the correct model must reach: the last searcher leaves work behind while another
 * sleeps; the second look finds work; a wake hits a worker that stays, and another sleeps; all
 * sleep while work waits (its wake to come).
 * check: left_by_the_last       -DLEFT_BY_THE_LAST           expect reaches:left_by_the_last
 * check: second_look            -DSECOND_LOOK                expect reaches:second_look
 * check: picked_awake           -DPICKED_AWAKE               expect reaches:picked_awake
 * check: all_asleep             -DALL_ASLEEP                 expect reaches:all_asleep
 *
 * Mutations of notify (counts_on_nobody: it may count on a searcher where there is none;
 * moved_without_notice: who takes two items does not call it):
 * check: no_fence_in_notify     -DNO_FENCE_IN_NOTIFY -DSMALL expect fails:left_waiting
 * check: notify_first           -DNOTIFY_FIRST               expect fails:left_waiting
 * check: counts_on_nobody       -DCOUNTS_ON_NOBODY           expect fails:left_waiting
 * check: moved_without_notice long -DUNTOLD -DSMALL -DQUEUES=2 expect fails:left_waiting
 *
 * Mutations of a searcher who found something (last_by_load: it loads the count, then changes it;
 * counted_while_busy: it counts itself out when its task has ended):
 * check: no_look_for_more       -DNO_LOOK_FOR_MORE           expect fails:left_waiting
 * check: more_seen_too_early    -DMORE_BEFORE_COUNTING_OUT   expect fails:left_waiting
 * check: no_fence_counted_out   -DNO_FENCE_COUNTED_OUT -DSMALL expect fails:left_waiting
 * check: last_by_load    long -DBY_LOAD -DWORKERS=3 -DONLY_LONG -DFIRST=2 expect fails:left_waiting
 * check: counted_while_busy     -DCOUNTED_WHILE_BUSY         expect fails:count_wrong
 *
 * Mutations of one who gives up (own_first_when_woken: it takes from its own queue before it
 * searches; lost_race_is_empty: it sleeps although it only lost a race for the item it saw):
 * check: no_second_look         -DNO_SECOND_LOOK             expect fails:left_waiting
 * check: counted_out_late       -DCOUNTED_OUT_LATE           expect fails:left_waiting
 * check: not_counted_out        -DNOT_COUNTED_OUT            expect fails:left_waiting
 * check: no_fence_giving_up     -DNO_FENCE_GIVING_UP -DSMALL expect fails:left_waiting
 * check: no_look_after_staying  -DNO_LOOK_AFTER_STAYING      expect fails:left_waiting
 * check: bit_left_staying       -DBIT_LEFT_STAYING -DONLY_LONG expect fails:left_waiting
 * check: own_first_when_woken   -DOWN_FIRST -DASLEEP -DSECOND=0 -DFIRST=3 expect fails:left_waiting
 * check: lost_race_is_empty     -DLOST_RACE_IS_EMPTY -DFIRST=2 expect fails:left_waiting
 */

#ifdef ASLEEP
#define WORKERS 3
#define QUEUES 2
#endif
#ifdef SMALL
#define ONLY_LONG
#define FIRST 2
#define SECOND 0
#endif
#ifndef FIRST
#define FIRST 1
#endif
#ifndef SECOND
#define SECOND 1
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef SPURIOUS
#define SPURIOUS 0
#endif
#ifndef QUEUES
#define QUEUES 1
#endif
#if defined(NO_FENCE_IN_NOTIFY) || defined(NO_FENCE_COUNTED_OUT) || \
    defined(NO_FENCE_GIVING_UP) || defined(UNTOLD)
#define BUFFERS
#endif
#define PUBLISHERS 2
#define NOBODY 7
#define BIT(w) (1 << (w))

byte work[QUEUES];            /* items pushed and not yet taken */
byte searching;               /* the count, as its next change finds it */
byte parked;                  /* bit w: worker w may be woken */
bool woken[WORKERS];

#ifdef BUFFERS
/* The last change of the count: whose it is, if others may not know it, and what it was before. */
byte late = NOBODY;
byte searching_before;

/* Of publishers and workers: the queue of an item on its way, plus 1. */
byte item_pending[PUBLISHERS + WORKERS];
#endif

/* The surroundings. */
bool asleep[WORKERS];
byte spurious_left = SPURIOUS;
#ifdef LOST_RACE_IS_EMPTY
byte taken;
#endif

/* What went wrong, in the words that pan prints. Asserted false at once: they cost no states. */
bool left_waiting, count_wrong, hidden_sleeper;
bool left_by_the_last, second_look, picked_awake, all_asleep;

#if QUEUES == 1
#define WORK work[0]
#else
#define WORK (work[0] + work[1])
#endif

#if WORKERS == 2
#define SLEEPERS (asleep[0] + asleep[1])
#else
#define SLEEPERS (asleep[0] + asleep[1] + asleep[2])
#endif

#ifdef BUFFERS
inline drain_item(who) {
  if
  :: item_pending[who] > 0 -> work[item_pending[who] - 1]++; item_pending[who] = 0
  :: else
  fi
}

inline push(who, q) {
  drain_item(who);
  item_pending[who] = q + 1
}

inline know_count() {
  late = NOBODY;
  searching_before = 0
}

inline change_count(who, by) {
  late = who;
  searching_before = searching;
  searching = searching + by
}

inline full_fence(who) {
  atomic {
    drain_item(who);
    if
    :: late == who -> know_count()
    :: else
    fi
  }
}

/* Before a look, each pending entry drains or does not. */
inline maybe_drain_items() {
  for (i : 0 .. PUBLISHERS + WORKERS - 1) {
    if
    :: item_pending[i] > 0 -> drain_item(i)
    :: true
    fi
  };
  i = 0
}

inline maybe_know_count() {
  if
  :: late != NOBODY -> know_count()
  :: true
  fi
}

#define COUNT_SEEN (late == NOBODY -> searching : searching_before)

#else
/* Each store is in one step with the fence behind it. */
#define push(who, q) work[q]++
#define change_count(who, by) searching = searching + by
#define full_fence(who) skip
#define drain_item(who) skip
#define maybe_drain_items() skip
#define maybe_know_count() skip
#define COUNT_SEEN searching
#endif

/* ---- Waking ---- */

inline pick_parked() {
  printf("%d: sees parked bits %d\n", _pid, parked);
  if
  :: parked & BIT(0) -> target = 0
  :: parked & BIT(1) -> target = 1
#if WORKERS > 2
  :: parked & BIT(2) -> target = 2
#endif
  :: parked == 0 -> target = NOBODY
  fi
}

/* The look for a bit stands in front of the fence: in notify() there is another one there. */
inline wake_one(who) {
  do
  :: atomic {
       pick_parked();
       if
       :: target == NOBODY -> break
       :: else
       fi
     };
#ifdef BUFFERS
     full_fence(who);
#endif
     if
     :: atomic {
          parked & BIT(target) ->
          parked = parked & ~BIT(target);
          printf("%d: takes the bit of worker %d\n", _pid, target)
        };
        atomic {
          printf("%d: wakes worker %d, asleep: %d\n", _pid, target, asleep[target]);
          woken[target] = true;
          target = NOBODY;
          break
        }
     :: atomic { else -> target = NOBODY }
     fi
  od
}

inline notify(who) {
#if defined(BUFFERS) && !defined(NO_FENCE_IN_NOTIFY)
  full_fence(who);
#endif
  do
  :: atomic {
       maybe_know_count();
       printf("%d: sees %d searching\n", _pid, COUNT_SEEN);
       if
#ifdef COUNTS_ON_NOBODY
       :: break
#endif
       :: COUNT_SEEN > 0 -> break
       :: else
       fi
     };
     wake_one(who);
     break
  od
}

/* ---- Publisher ---- */

proctype Publisher(byte me; byte left) {
  byte target = NOBODY;
  do
  :: atomic {
       left > 0 ->
       left--;
#ifdef NOTIFY_FIRST
     };
     notify(me);
     atomic {
#endif
       if
       :: true -> push(me, 0)
#if QUEUES > 1
       :: true -> push(me, 1)
#endif
       fi;
       printf("%d: pushes\n", _pid)
     };
#ifndef NOTIFY_FIRST
     notify(me);
#endif
#ifdef BUFFERS
     full_fence(me)
#endif
  :: left == 0 -> break
  od
}

/* ---- Worker ---- */

#define SLOT (PUBLISHERS + me)
#define OWN (me % QUEUES)

/* One access: takes an item from the queue, if there is one. */
inline take_from(q) {
  maybe_drain_items();
  if
  :: work[q] > 0 ->
     work[q]--;
     got = true;
#ifdef LOST_RACE_IS_EMPTY
     taken++;
#endif
     printf("%d: takes an item from queue %d\n", _pid, q)
  :: else -> printf("%d: finds queue %d empty\n", _pid, q)
  fi
}

/* Takes one item, if it sees any. */
#if defined(LOST_RACE_IS_EMPTY)
/* Loads, and takes unless another has taken meanwhile. */
inline look() {
  atomic { maybe_drain_items(); seen = (work[0] > 0 -> taken : NOBODY) };
  atomic {
    if
    :: seen == taken -> take_from(0)
    :: else -> printf("%d: loses a race\n", _pid)
    fi;
    seen = 0
  }
}
#elif QUEUES > 1
/* One queue after the other. What is taken from another's may bring a second item along. */
inline look() {
  atomic {
    if
    :: q = 0
    :: q = 1
    fi;
    take_from(q)
  };
  if
  :: atomic { !got -> q = 1 - q; take_from(q) }
  :: else
  fi;
  if
#ifndef ASLEEP
  :: atomic {
       got && q != OWN && work[q] > 0 ->
       work[q]--;
       q = 0;
       printf("%d: takes another from there\n", _pid)
     };
     atomic { push(SLOT, OWN); printf("%d: pushes it to its own\n", _pid) };
#ifndef UNTOLD
     notify(SLOT)
#endif
#endif
  :: q = 0
  fi
}
#endif

#if QUEUES > 1 || defined(LOST_RACE_IS_EMPTY)
#define LOOK(found, nothing) \
  look(); \
  if \
  :: atomic { got -> got = false; goto found } \
  :: else -> goto nothing \
  fi
#else
#define LOOK(found, nothing) \
  atomic { \
    take_from(0); \
    if \
    :: got -> got = false; goto found \
    :: else -> goto nothing \
    fi \
  }
#endif

inline look_for_more_and_notify() {
#if QUEUES > 1
  atomic { maybe_drain_items(); more = (work[0] > 0) };
#endif
  do
  :: atomic {
       if
       :: more
       :: else -> maybe_drain_items(); more = (work[QUEUES - 1] > 0)
       fi;
       printf("%d: sees more work: %d\n", _pid, more);
       if
       :: more -> more = false
       :: else -> break
       fi
     };
     notify(SLOT);
     break
  od
}

inline count_out() {
  change_count(SLOT, -1);
  printf("%d: counts itself out, %d left\n", _pid, searching)
}

proctype Worker(byte me) {
  byte target = NOBODY;
#ifdef BUFFERS
  byte i;
#endif
#if QUEUES > 1
  byte q;
#endif
#if defined(LOST_RACE_IS_EMPTY) || defined(BY_LOAD)
  byte seen;
#endif
  bool got, last, more;

#ifdef ASLEEP
  if
  :: me < WORKERS - 1 -> goto sleep
  :: else
  fi;
#endif
search:
  atomic { change_count(SLOT, 1); printf("%d: searches\n", _pid) };
  LOOK(found, give_up);

found:
#ifdef COUNTED_WHILE_BUSY
  if
  :: true
  :: goto leave
  fi;
#endif
#ifdef MORE_BEFORE_COUNTING_OUT
  more = (WORK > 0);
#endif
#ifdef BY_LOAD
  seen = searching;
#endif
  atomic {
#ifdef BY_LOAD
    last = (seen == 1);
    seen = 0;
#else
    last = (searching == 1);
#endif
    count_out();
    if
    :: last -> last = false
    :: else ->
#ifdef MORE_BEFORE_COUNTING_OUT
       more = false;
#endif
       goto run_task
    fi
  };
#ifdef LEFT_BY_THE_LAST
  atomic { left_by_the_last = (WORK > 0 && SLEEPERS > 0); assert(!left_by_the_last) };
#endif
#if defined(BUFFERS) && !defined(NO_FENCE_COUNTED_OUT)
  full_fence(SLOT);
#endif
#if defined(MORE_BEFORE_COUNTING_OUT)
  if
  :: atomic { more -> more = false }; notify(SLOT)
  :: else
  fi;
#elif !defined(NO_LOOK_FOR_MORE)
  look_for_more_and_notify();
#endif
  goto run_task;

give_up:
#if !defined(COUNTED_OUT_LATE) && !defined(NOT_COUNTED_OUT)
  atomic { count_out() };
#endif
  atomic { woken[me] = false; parked = parked | BIT(me); printf("%d: sets its bit\n", _pid) };
#if defined(BUFFERS) && !defined(NO_FENCE_GIVING_UP)
  full_fence(SLOT);
#endif
#if defined(NO_SECOND_LOOK)
  goto sleep;
#else
  LOOK(stay, sleep);
#endif

stay:
#ifdef COUNTED_OUT_LATE
  atomic { count_out() };
#endif
  atomic {
    last = ((parked & BIT(me)) == 0);
#ifndef BIT_LEFT_STAYING
    parked = parked & ~BIT(me);
#endif
    printf("%d: stays, was picked: %d\n", _pid, last);
#ifdef SECOND_LOOK
    second_look = true;
    assert(!second_look);
#endif
#ifdef PICKED_AWAKE
    picked_awake = (last && parked != 0 && SLEEPERS > 0);
    assert(!picked_awake);
#endif
  };
  if
  :: atomic { last -> last = false };
#ifndef WAKE_NOT_PASSED_ON
     wake_one(SLOT)
#endif
  :: else
  fi;
#ifndef NO_LOOK_AFTER_STAYING
  look_for_more_and_notify();
#endif
  goto run_task;

sleep:
#ifdef COUNTED_OUT_LATE
  atomic { count_out() };
#endif
  atomic {
    asleep[me] = true;
    printf("%d: sleeps\n", _pid);
#ifdef ALL_ASLEEP
    all_asleep = (SLEEPERS == WORKERS && WORK > 0);
    assert(!all_asleep);
#endif
  };
end_asleep:
  atomic {
    if
    :: woken[me]
    :: !woken[me] && spurious_left > 0 -> spurious_left--
    fi;
    asleep[me] = false;
    parked = parked & ~BIT(me)
  };
#ifdef OWN_FIRST
  atomic {
    take_from(OWN);
    if
    :: got -> got = false; goto run_task
    :: else -> goto search
    fi
  };
#else
  goto search;
#endif

run_task:
  if
#if !defined(ONLY_LONG) && !defined(ASLEEP)
  :: goto search
  :: atomic { work[OWN] > 0 -> take_from(OWN); got = false; goto run_task }
#endif
  :: printf("%d: its task takes for ever\n", _pid)
  fi;
leave:
  atomic { drain_item(SLOT) }
}

init {
  byte i;
  atomic {
#ifdef ASLEEP
    parked = BIT(WORKERS - 1) - 1;
#endif
    run Publisher(0, FIRST);
    run Publisher(1, SECOND);
    for (i : 0 .. WORKERS - 1) { run Worker(i) };
    i = 0
  };
  atomic {
    timeout ->
    left_waiting = (WORK > 0 && SLEEPERS > 0);
    assert(!left_waiting);
    count_wrong = (searching != 0);
    assert(!count_wrong);
    for (i : 0 .. WORKERS - 1) {
      hidden_sleeper = (asleep[i] && (parked & BIT(i)) == 0);
      assert(!hidden_sleeper)
    }
  }
}
