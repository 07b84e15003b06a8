/* parking_lot.pml: how workers without work sleep, and how one of them is found and woken.
 *
 * On a bitmap of parked workers and one futex word, the epoch, per worker. A worker that found no
 * work: (1) loads its epoch; (2) sets its bit, fence; (3) looks once more; (4a) found work: clears
 * its bit, and if a waker had already taken the bit, passes that wake on; (4b) found none:
 * futex_wait on the value of (1); (5) clears its bit and looks for work again. If the bit was gone
 * by then, that wake is used up by this very look.
 * A producer publishes one item, fence, wakes one: picks a set bit, takes it away, and only if it
 * was still there bumps that worker's epoch and wakes it; else it picks again.
 * Stopping sets a flag, then bumps and wakes every worker whatever its bit. Workers look at the
 * flag just before (3), and leave if it was set and no work is left.
 *
 * One step is one access to shared memory; every interleaving of the steps is explored. Spin is
 * sequentially consistent, so the two stores that need a fence go through a store buffer of one
 * entry: the worker's bit and the producer's item. An entry drains at the fence, or before the
 * worker sleeps or the producer goes on after waking, or at any time before somebody looks; that
 * last choice is made at the look, the only place where it can be noticed.
 * Of an epoch only this matters: has it changed since its worker loaded it? So that is what is
 * kept; one that comes back to the same value after 2^32 bumps is left out.
 *
 * Sizes: 2 producers with FIRST and SECOND items, WORKERS workers, at most SPURIOUS returns of
 * futex_wait without a wake, for a time-out or for no reason; few on purpose, so that no sleeper
 * is saved by luck. A task may block until every item was taken, as long as one worker stays free:
 * what a busy worker cannot take, a sleeper must. Stopping begins when all is taken, or with
 * EARLY_STOP when all is published.
 *
 * Properties: nobody waits for ever (invalid end state): no worker sleeps while work waits that
 * nobody else will take, and stopping ends every worker; at the end every item was taken once
 * (lost) and no bit is set (bit_left). With -l: no endless run at all.
 *
 * check: correct                -DSPURIOUS=1                 expect holds
 * check: early_stop             -DEARLY_STOP                 expect holds
 * check: no_endless_run         -DSPURIOUS=0                 expect holds -l
 * check: three_items       long -DFIRST=2                    expect holds
 * check: two_spurious      long -DFIRST=2 -DSPURIOUS=2       expect holds
 * check: four_items        long -DFIRST=2 -DSECOND=2 -DSPURIOUS=1 expect holds
 * check: three_workers     long -DWORKERS=3                  expect holds
 * check: early_stop_three  long -DEARLY_STOP -DFIRST=2 -DSPURIOUS=1 expect holds
 *
 * Witnesses, which the correct model must reach: a wake is passed on while another worker sleeps;
 * a wake meant for one sleep ends the next one; all sleep while work waits (its wake to come).
 * check: passed_on              -DPASSED_ON                  expect reaches:passed_on
 * check: out_of_date            -DOUT_OF_DATE -DFIRST=2      expect reaches:out_of_date
 * check: all_asleep             -DALL_ASLEEP                 expect reaches:all_asleep
 *
 * Mutations of the sleeper:
 * check: epoch_late             -DEPOCH_LATE                 expect fails:invalid_end_state
 * check: epoch_after_recheck    -DEPOCH_AFTER_RECHECK        expect fails:invalid_end_state
 * check: no_recheck             -DNO_RECHECK                 expect fails:invalid_end_state
 * check: no_fence_after_bit     -DNO_FENCE_AFTER_BIT         expect fails:invalid_end_state
 * check: not_passed_on          -DNOT_PASSED_ON              expect fails:invalid_end_state
 * check: bit_left_busy          -DBIT_LEFT_BUSY              expect fails:invalid_end_state
 * check: bit_left_awake    long -DBIT_LEFT_AWAKE -DSPURIOUS=1 expect fails:invalid_end_state
 * check: stop_seen_early        -DSTOP_SEEN_EARLY -DSECOND=0 expect fails:invalid_end_state
 *
 * Mutations of the waker (same_pick: after losing a bit it tries the same worker again, unseen):
 * check: no_fence_after_publish -DNO_FENCE_AFTER_PUBLISH     expect fails:invalid_end_state
 * check: old_bit_ignored        -DOLD_BIT_IGNORED            expect fails:invalid_end_state
 * check: not_bumped             -DNOT_BUMPED                 expect fails:invalid_end_state
 * check: wake_before_bump       -DWAKE_BEFORE_BUMP           expect fails:invalid_end_state
 * check: same_pick              -DSAME_PICK                  expect fails:non-progress_cycle -l
 * check: stop_without_wake      -DSTOP_WITHOUT_WAKE -DSECOND=0 expect fails:invalid_end_state
 * check: stop_without_bump      -DSTOP_WITHOUT_BUMP -DSECOND=0 expect fails:invalid_end_state
 */

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
#define PRODUCERS 2
#define TOTAL (FIRST + SECOND)

byte work;                    /* items published and not yet taken */
byte parked;                  /* bit w: worker w may be woken */
bool stop;

/* The epochs, each as its worker knows it. */
mtype = { not_loaded, unchanged, changed };
mtype epoch[WORKERS] = not_loaded;

/* Store buffers. */
bool bit_pending[WORKERS];
bool item_pending[PRODUCERS];

/* The kernel and the surroundings. */
bool asleep[WORKERS];
byte spurious_left = SPURIOUS;
byte taken, blocked, producers_left = PRODUCERS;

/* What went wrong, in the words that pan prints. Asserted false at once: they cost no states. */
bool lost, bit_left;
bool passed_on, out_of_date, all_asleep;

#define BIT(w) (1 << (w))

inline drain_bit(w) {
  if
  :: bit_pending[w] -> parked = parked | BIT(w); bit_pending[w] = false
  :: else
  fi
}

inline drain_item(p) {
  if
  :: item_pending[p] -> work++; item_pending[p] = false
  :: else
  fi
}

/* Before a look, each pending entry drains or does not. */
inline maybe_drain_bits() {
  if
  :: bit_pending[0] -> drain_bit(0)
  :: true
  fi;
  if
  :: bit_pending[1] -> drain_bit(1)
  :: true
  fi;
#if WORKERS > 2
  if
  :: bit_pending[2] -> drain_bit(2)
  :: true
  fi
#endif
}

inline maybe_drain_items() {
  if
  :: item_pending[0] -> drain_item(0)
  :: true
  fi;
  if
  :: item_pending[1] -> drain_item(1)
  :: true
  fi
}

/* ---- Waking ---- */

#define NOBODY WORKERS

inline pick_parked() {
  maybe_drain_bits();
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

inline bump(w) {
  epoch[w] = (epoch[w] == unchanged -> changed : epoch[w]);
  printf("%d: bumps the epoch of worker %d\n", _pid, w)
}

inline futex_wake(w) {
  printf("%d: wakes worker %d, asleep: %d\n", _pid, w, asleep[w]);
#ifdef OUT_OF_DATE
  out_of_date = (asleep[w] && (parked & BIT(w)) && !stop);
  assert(!out_of_date);
#endif
  asleep[w] = false
}

inline wake_one() {
#ifdef SAME_PICK
  atomic { pick_parked() };
#endif
  do
  :: atomic {
#ifndef SAME_PICK
       pick_parked();
#endif
       if
       :: target == NOBODY -> break
       :: else
       fi
     };
     atomic {
       printf("%d: takes the bit of worker %d from %d\n", _pid, target, parked);
#ifdef OLD_BIT_IGNORED
       parked = parked & ~BIT(target);
       break
#else
       if
       :: parked & BIT(target) -> parked = parked & ~BIT(target); break
       :: else
       fi
#endif
     }
  od;
  if
#if defined(NOT_BUMPED)
  :: atomic { target != NOBODY -> futex_wake(target); target = NOBODY }
#elif defined(WAKE_BEFORE_BUMP)
  :: atomic { target != NOBODY -> futex_wake(target) };
     atomic { bump(target); target = NOBODY }
#else
  :: atomic { target != NOBODY -> bump(target) };
     atomic { futex_wake(target); target = NOBODY }
#endif
  :: else
  fi
}

/* ---- Producer ---- */

proctype Producer(byte me; byte left) {
  byte target = NOBODY;
  do
  :: atomic { left > 0 -> left--; item_pending[me] = true; printf("%d: publishes\n", _pid) };
#ifdef NO_FENCE_AFTER_PUBLISH
     wake_one();
     atomic { drain_item(me) }
#else
     atomic { drain_item(me) };
     wake_one()
#endif
  :: atomic { left == 0 -> producers_left--; break }
  od
}

/* ---- Worker ---- */

inline take_work() {
  maybe_drain_items();
  got = (work > 0);
  if
  :: got -> work--; taken++; printf("%d: takes an item\n", _pid)
  :: else -> printf("%d: finds no work\n", _pid)
  fi
}

inline clear_own_bit() {
  drain_bit(me);
  printf("%d: clears its bit in %d\n", _pid, parked);
  was_set = ((parked & BIT(me)) != 0);
  parked = parked & ~BIT(me)
}

inline load_epoch() {
  epoch[me] = unchanged;
  printf("%d: loads its epoch\n", _pid)
}

/* futex_wait in a loop: only a changed epoch or a time-out ends it. */
inline park() {
  do
  :: atomic {
       drain_bit(me);
       asleep[me] = (epoch[me] == unchanged);
       printf("%d: futex_wait, sleeps: %d\n", _pid, asleep[me]);
#ifdef ALL_ASLEEP
       all_asleep = (asleep[0] && asleep[1] && work > 0);
       assert(!all_asleep);
#endif
     };
     if
     :: !asleep[me] && epoch[me] == changed -> break
     :: !asleep[me] && epoch[me] == unchanged
     :: atomic {
          asleep[me] && spurious_left > 0 ->
          spurious_left--;
          asleep[me] = false;
          printf("%d: returns from futex_wait without a wake\n", _pid);
          if
          :: break
          :: true
          fi
        }
     fi
  od
}

proctype Worker(byte me) {
  byte target = NOBODY;
  bool got, stopping, was_set;

look:
  atomic {
    take_work();
    if
    :: got -> got = false; goto run_task
    :: else
    fi
  };
#ifdef STOP_SEEN_EARLY
  stopping = stop;
#endif
#if !defined(EPOCH_LATE) && !defined(EPOCH_AFTER_RECHECK)
  atomic { load_epoch() };
#endif
  atomic { bit_pending[me] = true; printf("%d: sets its bit\n", _pid) };
#ifndef NO_FENCE_AFTER_BIT
  atomic { drain_bit(me) };
#endif
#ifdef EPOCH_LATE
  atomic { load_epoch() };
#endif
#ifndef STOP_SEEN_EARLY
  stopping = stop;
#endif
  atomic {
#ifndef NO_RECHECK
    take_work();
#endif
    if
    :: got -> got = false; stopping = false; goto found_late
    :: !got && stopping -> goto leave
    :: else
    fi
  };
#ifdef EPOCH_AFTER_RECHECK
  atomic { load_epoch() };
#endif
  park();
  atomic {
    epoch[me] = not_loaded;
#ifndef BIT_LEFT_AWAKE
    clear_own_bit();
#endif
    was_set = false;
    goto look
  };

found_late:
  atomic {
    epoch[me] = not_loaded;
#ifdef BIT_LEFT_BUSY
    goto run_task
#else
    clear_own_bit();
#ifdef NOT_PASSED_ON
    was_set = true;
#endif
    if
    :: was_set -> was_set = false; goto run_task
    :: else
    fi
#endif
  };
#ifdef PASSED_ON
  atomic { passed_on = asleep[1 - me] && (parked & BIT(1 - me)) != 0; assert(!passed_on) };
#endif
  wake_one();

run_task:
  if
  :: goto look
  :: atomic { blocked < WORKERS - 1 -> blocked++; printf("%d: its task blocks\n", _pid) };
     atomic { taken == TOTAL -> blocked--; goto look }
  fi;

leave:
  atomic { epoch[me] = not_loaded; clear_own_bit() }
}

/* ---- Stopping ---- */

proctype Stopper() {
  byte w;
#ifdef EARLY_STOP
  producers_left == 0;
#else
  producers_left == 0 && taken == TOTAL;
#endif
  atomic { stop = true; printf("%d: stops\n", _pid) };
#ifndef STOP_WITHOUT_WAKE
  do
#ifdef STOP_WITHOUT_BUMP
  :: atomic { w < WORKERS -> futex_wake(w); w++ }
#else
  :: atomic { w < WORKERS -> bump(w) };
     atomic { futex_wake(w); w++ }
#endif
  :: w == WORKERS -> break
  od
#endif
}

init {
  byte i;
  atomic {
    run Producer(0, FIRST);
    run Producer(1, SECOND);
    for (i : 0 .. WORKERS - 1) { run Worker(i) }
    run Stopper()
  };
  atomic {
    _nr_pr == 1 ->
    lost = (work != 0 || taken != TOTAL);
    assert(!lost);
    bit_left = (parked != 0);
    assert(!bit_left)
  }
}
