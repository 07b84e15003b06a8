/* bell.pml: who collects the results of worker processes, and how it is woken.
 *
 * On rings of results, a seat (a mutex), and the bell: a bitmap and two futex words, the epochs, of
 * the sleepers `waiter` and `clerk` (SharedSleepers). Who hands something in publishes it, fence,
 * and rings: picks the lowest bit, takes it away, and only if it was still there bumps that epoch
 * and wakes who sleeps on it; else it picks again. A waiter tries the seat, and if another has it
 * sleeps until its future is settled. Who has got it clears the clerk's bit, and until its future
 * is settled or its deadline has passed: looks at all rings; found results: collects; none: (1)
 * loads the waiter's epoch; (2) sets the waiter's bit, fence; (3) looks once more, also at its
 * future; (4a) found something: clears the bit, and if that was gone, rings; (4b) none: futex_wait
 * on the value of (1), then clears the bit. To leave the seat: (1) sets the clerk's bit, fence; (2)
 * looks; (3a) none: unlocks; (3b) results: clears the bit, collects, from (1); but after LOOKS
 * times rings instead and unlocks. The clerk loads its epoch, waits for the seat, collects, leaves
 * it, futex_wait, clears its bit, from the beginning. Or else it naps: unlocks without its bit, and
 * futex_wait with a time; until it has the seat again nobody sets or clears its bit. To collect
 * takes what is in the rings, then settles the futures one by one; what follows the first may wait
 * for the second: it settles what is in hand and goes on as a waiter, nested.
 *
 * One step is one access to shared memory, a look one step per ring. Spin is sequentially
 * consistent, so what the fences are for is written out with BUFFERS: a result, a settled future
 * and a bit wait in a store buffer until a fence of their author, or until its next step that the
 * kernel or a mutex sees, or until they drain before somebody looks. Where no fence is missing, a
 * store and its fence are one step. An epoch is `changed` or not since its sleeper loaded it.
 * Waking who waits for a future is one step: future_state.pml takes it apart. The second that a
 * waiter sleeps at most is left out, so that nobody is saved by it.
 *
 * Sizes: 2 workers, the first with the result of waiter 0, the second with that of waiter 1; with
 * MORE each has another, for which nobody waits; with ONE_WORKER the first does it all; with SOLO
 * there is no waiter 1. With CANCELLED future 0 is settled by somebody without the seat, who rings;
 * with VERDICT result 1 comes from the pool's loop instead of a ring. With DEADLINE waiter 0 has
 * one, which passes at any time. At most SPURIOUS sleeps end without a wake. With ENDLESS the
 * second worker hands in results until all waiters have returned; with SLOW besides, the first
 * until then none. With STOP the clerk is stopped at the end. The clerk naps up to NAPS times, for
 * any time. NESTED: see above. With PASSES_BY a waiter may leave the seat alone whenever it likes,
 * which covers that it leaves it to a clerk that waits for it, or seems to.
 *
 * Properties, when nobody can go on: no result is left (left_behind); all waiters have returned
 * (waits_for_ever); nobody has the seat (seat_kept); the clerk sleeps and can be called
 * (not_on_call) or has ended. With -l: no endless run at all; with ENDLESS and -f, none that is
 * fair.
 *
 * check: correct                                             expect holds
 * check: more                   -DMORE -DSOLO                expect holds
 * check: nobody_waits           -DMORE -DWAITERS=0           expect holds
 * check: one_worker             -DONE_WORKER -DMORE          expect holds
 * check: deadline               -DDEADLINE                   expect holds
 * check: cancelled              -DCANCELLED                  expect holds
 * check: verdict                -DVERDICT                    expect holds
 * check: stop                   -DSTOP -DSOLO                expect holds
 * check: nested                 -DNESTED -DSOLO              expect holds
 * check: naps                   -DNAPS=1                     expect holds
 * check: naps_more              -DNAPS=2 -DMORE -DSOLO       expect holds
 * check: naps_stop              -DNAPS=2 -DSTOP -DSOLO       expect holds
 * check: spurious               -DSPURIOUS=1 -DSOLO          expect holds
 * check: passes_by              -DPASSES_BY                  expect holds
 * check: passes_by_naps         -DPASSES_BY -DNAPS=2 -DSOLO  expect holds
 * check: passes_by_stop         -DPASSES_BY -DSTOP -DSOLO    expect holds
 * check: buffers                -DBUFFERS -DSOLO             expect holds
 * check: buffers_cancelled      -DBUFFERS -DSOLO -DCANCELLED expect holds
 * check: no_endless_run                                      expect holds -l
 * check: endless                -DENDLESS -DSOLO             expect holds -l -f
 * check: endless_deadline       -DSLOW -DSOLO                expect holds -l -f
 * check: all_more          long -DMORE                       expect holds
 * check: all_nested        long -DNESTED                     expect holds
 * check: all_buffers       long -DBUFFERS                    expect holds
 * check: all_deadline      long -DDEADLINE -DMORE -DSPURIOUS=1 expect holds
 *
 * Not needed: a wake that hits a waiter who stays awake is its own affair; and the clerk's bit need
 * not be cleared by who takes the seat, which only saves the clerk from being woken in vain; nor
 * need the waiter be picked before the clerk: if both bits are set, somebody else is yet to ring.
 * check: wake_not_passed_on     -DWAKE_NOT_PASSED_ON         expect holds
 * check: clerk_not_forgotten    -DCLERK_NOT_FORGOTTEN        expect holds
 * check: clerk_first            -DCLERK_FIRST -DNESTED -DDEADLINE -DSOLO expect holds
 *
 * Witnesses, which the correct model must reach: the second look finds a result; who leaves finds
 * one; who leaves calls the clerk; the clerk takes the seat with its bit set; waiter and clerk
 * sleep while a result is in a ring (its wake to come); a waiter sleeps though another has left the
 * seat, and the clerk collects for it.
 * check: second_look            -DSECOND_LOOK                expect reaches:second_look
 * check: found_leaving          -DFOUND_LEAVING              expect reaches:found_leaving
 * check: called                 -DCALLED -DMORE              expect reaches:called
 * check: clerk_with_bit         -DCLERK_WITH_BIT             expect reaches:clerk_with_bit
 * check: both_asleep            -DBOTH_ASLEEP                expect reaches:both_asleep
 * check: left_to_clerk          -DLEFT_TO_CLERK              expect reaches:left_to_clerk
 *
 * Mutations of who hands in (cancel_without_ring: who settles without having the seat does not
 * ring):
 * check: no_ring                -DNO_RING -DSOLO             expect fails:left_behind
 * check: ring_first             -DRING_FIRST -DSOLO          expect fails:left_behind
 * check: no_fence_after_result  -DUNFENCED -DSOLO            expect fails:left_behind
 * check: no_fence_after_settled -DUNFENCED_FUTURE -DCANCELLED -DSOLO expect fails:waits_for_ever
 * check: not_bumped             -DNOT_BUMPED -DSOLO          expect fails:left_behind
 * check: not_woken              -DNOT_WOKEN -DSOLO           expect fails:left_behind
 * check: wake_before_bump       -DWAKE_BEFORE_BUMP -DSOLO    expect fails:left_behind
 * check: old_bit_ignored        -DOLD_BIT_IGNORED -DSOLO     expect fails:left_behind
 * check: cancel_without_ring    -DUNTOLD -DCANCELLED -DSOLO  expect fails:waits_for_ever
 *
 * Mutations of a waiter (epoch_late: loaded behind the bit; future_not_seen: the second look is at
 * the rings only; deadline_not_seen: looked at only when there are no results):
 * check: no_second_look         -DNO_SECOND_LOOK -DSOLO      expect fails:left_behind
 * check: look_before_bit        -DLOOK_BEFORE_BIT -DSOLO     expect fails:left_behind
 * check: no_fence_after_bit     -DNO_FENCE_AFTER_BIT -DSOLO  expect fails:left_behind
 * check: epoch_late             -DEPOCH_LATE -DSOLO          expect fails:left_behind
 * check: future_not_seen        -DFUTURE_NOT_SEEN -DCANCELLED -DSOLO expect fails:waits_for_ever
 * check: deadline_not_seen      -DUNSEEN -DSLOW -DSOLO       expect fails:non-progress_cycle -l -f
 * check: rest_not_said          -DREST_NOT_SAID -DNESTED     expect fails:waits_for_ever
 *
 * Mutations of who leaves (bit_after_look: the clerk's bit is set when the look has found nothing;
 * never_enough: there is no limit to how often it collects):
 * check: no_look_leaving        -DNO_LOOK_LEAVING -DSOLO     expect fails:left_behind
 * check: bit_after_look         -DBIT_AFTER_LOOK -DSOLO      expect fails:left_behind
 * check: clerk_not_announced    -DCLERK_NOT_ANNOUNCED -DSOLO expect fails:left_behind
 * check: clerk_not_called       -DCLERK_NOT_CALLED -DMORE -DSOLO expect fails:left_behind
 * check: seat_not_left          -DSEAT_NOT_LEFT -DSOLO       expect fails:seat_kept
 * check: never_enough           -DNO_LIMIT -DENDLESS -DSOLO  expect fails:non-progress_cycle -l -f
 *
 * Mutations of the clerk (clerk_tries: it does not wait for the seat; clerk_epoch_late: it loads
 * its epoch when it has left the seat; nap_for_ever: without a time; nap_not_ended: who has the
 * seat next still counts on the clerk; stop_seen_early: it loads it behind its look for the stop):
 * check: clerk_tries            -DCLERK_TRIES                expect fails:left_behind
 * check: clerk_epoch_late       -DCLERK_EPOCH_LATE -DSOLO    expect fails:left_behind
 * check: clerk_leaves_at_once   -DCLERK_LEAVES_AT_ONCE -DSOLO expect fails:left_behind
 * check: nap_for_ever           -DNAPS=1 -DNAP_FOR_EVER -DSOLO expect fails:left_behind
 * check: nap_not_ended          -DNAPS=1 -DNAP_NOT_ENDED -DSOLO expect fails:left_behind
 * check: stop_seen_early        -DSTOP_SEEN_EARLY -DSTOP -DSOLO expect fails:clerk_not_stopped
 */

#ifdef SOLO
#define WAITERS 1
#endif
#ifndef WAITERS
#define WAITERS 2
#endif
#ifndef SPURIOUS
#define SPURIOUS 0
#endif
#ifndef LOOKS
#define LOOKS 1
#endif
#ifndef NAPS
#define NAPS 0
#endif
#if defined(UNFENCED) || defined(UNFENCED_FUTURE) || defined(NO_FENCE_AFTER_BIT)
#define BUFFERS
#endif
#ifdef SLOW
#define ENDLESS
#define DEADLINE
#endif

#define WAITER 0
#define CLERK 1
#define BIT(i) (1 << (i))
#define MINE(w) BIT(w)              /* the result of waiter w */
#define OTHER(w) BIT(2 + (w))       /* another of worker w */
#define VERDICTS 2                  /* what the loop leaves, looked at like a ring */

byte ring[3];                       /* results that nobody has collected */
byte settled;                       /* futures, by the bit of their result */
byte bitmap;                        /* bit s: sleeper s may be woken */
bool changed[2];
bool seat;
bool napping;                       /* the clerk comes by itself; belongs to who has the seat */
bool stops;

/* Store buffers: of those who hand in, and of whoever has the seat. */
byte pending_result[2], pending_settled, pending_bit;

/* The kernel and the surroundings. */
bool asleep[2], woken[2];
bool expired;
byte spurious_left = SPURIOUS;
byte naps_left = NAPS;
byte handing_in = 2;                /* workers that have not ended */
byte returned;                      /* waiters that have */
bool clerk_ended;

/* What went wrong, or what was reached, in the words that pan prints. */
bool left_behind, waits_for_ever, seat_kept, not_on_call, clerk_not_stopped;
bool second_look, found_leaving, called, clerk_with_bit, both_asleep, left_to_clerk;

/* ---- Store buffers ---- */

inline drain_of(w) {
  ring[w] = ring[w] | pending_result[w];
  pending_result[w] = 0;
  if
  :: w == 0 -> settled = settled | pending_settled; pending_settled = 0
  :: else
  fi
}
inline drain_bit() {
  bitmap = bitmap | pending_bit;
  pending_bit = 0
}
#ifdef BUFFERS
#define MAYBE_DRAIN_OF(w) \
  if \
  :: pending_result[w] != 0 || (w == 0 && pending_settled != 0) -> drain_of(w) \
  :: true \
  fi
#define MAYBE_DRAIN_BIT \
  if \
  :: pending_bit != 0 -> drain_bit() \
  :: true \
  fi
#else
#define MAYBE_DRAIN_OF(w) skip
#define MAYBE_DRAIN_BIT skip
#endif

/* ---- The bell ---- */

/* Who is picked from what was seen. */
#ifdef CLERK_FIRST
#define PICK(seen) ((seen & BIT(CLERK)) -> CLERK : WAITER)
#else
#define PICK(seen) ((seen & BIT(WAITER)) -> WAITER : CLERK)
#endif

inline futex_wake(s) {
  atomic {
#ifndef NOT_WOKEN
    if
    :: asleep[s] -> woken[s] = true; printf("%d: wakes %d\n", _pid, s)
    :: else
    fi;
#endif
    skip
  }
}

inline bump(s) {
#ifdef WAKE_BEFORE_BUMP
  futex_wake(s);
#endif
#ifndef NOT_BUMPED
  atomic { changed[s] = true; printf("%d: bumps the epoch of %d\n", _pid, s) };
#endif
#ifndef WAKE_BEFORE_BUMP
  futex_wake(s);
#endif
  skip
}

/* Behind the fence. Uses the caller's `seen` and `who`. */
inline wake_one() {
  atomic { MAYBE_DRAIN_BIT; seen = bitmap; printf("%d: sees bits %d\n", _pid, seen) };
  do
  :: seen == 0 -> break
  :: atomic {
       seen != 0 ->
       who = PICK(seen);
       seen = bitmap;
       bitmap = bitmap & ~BIT(who);
#ifdef OLD_BIT_IGNORED
       seen = 0;
#else
       if
       :: (seen & BIT(who)) != 0 -> seen = 0
       :: else -> who = 2            /* lost: picks again from what it found */
       fi;
#endif
       printf("%d: picks %d\n", _pid, who)
     };
#ifdef OLD_BIT_IGNORED
     break;
#endif
     if
     :: who < 2 -> bump(who); break
     :: else
     fi
  od;
  atomic { seen = 0; who = 0 }
}

/* Of who has the seat. */
inline set_bit(s) {
  atomic {
#ifdef BUFFERS
    pending_bit = pending_bit | BIT(s);
#else
    bitmap = bitmap | BIT(s);
#endif
    printf("%d: sets the bit of %d\n", _pid, s)
  };
#if defined(BUFFERS) && !defined(NO_FENCE_AFTER_BIT)
  atomic { drain_bit() };
#endif
  skip
}
inline clear_bit(s) {
  drain_bit();
  bitmap = bitmap & ~BIT(s)
}

/* ---- Who hands in ---- */

inline fence_of(w) {
#if defined(UNFENCED_FUTURE)
  if
  :: w == 1 -> atomic { drain_of(w) }
  :: else
  fi;
#elif defined(BUFFERS) && !defined(UNFENCED)
  atomic { drain_of(w) };
#endif
  skip
}

inline publish(w, result) {
  atomic {
#ifdef CANCELLED
    if
    :: result == MINE(0) ->
#ifdef BUFFERS
       pending_settled = result
#else
       settled = settled | result
#endif
    :: else ->
#endif
#ifdef VERDICT
    if
    :: result == MINE(1) -> ring[VERDICTS] = ring[VERDICTS] | result  /* under the pool's mutex */
    :: else ->
#endif
#ifdef BUFFERS
       pending_result[w] = pending_result[w] | result;
#else
       ring[w] = ring[w] | result;
#endif
#ifdef VERDICT
    fi;
#endif
#ifdef CANCELLED
    fi;
#endif
    printf("%d: publishes %d\n", _pid, result)
  }
}

inline hand_in(w, result) {
#ifdef RING_FIRST
  wake_one();
#endif
  publish(w, result);
  fence_of(w);
#if defined(UNTOLD)
  if
  :: result == MINE(0)
  :: else -> wake_one()
  fi;
#elif !defined(NO_RING) && !defined(RING_FIRST)
  wake_one();
#endif
  atomic { drain_of(w) }
}

proctype Worker(byte w) {
  byte seen, who;
#ifdef SLOW
  w == 1 || returned == WAITERS;
#endif
  hand_in(w, MINE(w));
#ifdef ONE_WORKER
  hand_in(w, MINE(1));
#endif
#ifdef MORE
  hand_in(w, OTHER(w));
#endif
#ifdef ENDLESS
  /* A slot is free again when its result was collected. */
  do
  :: atomic { w == 1 && returned < WAITERS && ring[1] == 0 -> skip };
     hand_in(w, OTHER(w))
  :: w == 0 || returned == WAITERS -> break
  od;
#endif
  handing_in--
}

/* ---- Who has the seat. All use the caller's `found`, `hand`, `looks`, `seen`, `who`. ---- */

inline look() {
  atomic { MAYBE_DRAIN_OF(0); found = (ring[0] != 0) };
#if !defined(ONE_WORKER)
  atomic { MAYBE_DRAIN_OF(1); found = found || (ring[1] != 0) };
#endif
#ifdef VERDICT
  atomic { found = found || (ring[VERDICTS] != 0) };
#endif
  printf("%d: finds results: %d\n", _pid, found)
}

inline take_all() {
  atomic { MAYBE_DRAIN_OF(0); hand = hand | ring[0]; ring[0] = 0 };
#if !defined(ONE_WORKER)
  atomic { MAYBE_DRAIN_OF(1); hand = hand | ring[1]; ring[1] = 0 };
#endif
#ifdef VERDICT
  atomic { hand = hand | ring[VERDICTS]; ring[VERDICTS] = 0 };
#endif
  printf("%d: has %d in hand\n", _pid, hand)
}

/* Settles the futures of what is in hand. */
inline say_rest() {
  atomic { settled = settled | hand; hand = 0; printf("%d: says all\n", _pid) }
}

#define IS_OVER(has_deadline) ((has_deadline) && expired)

/* Sleeps on the epoch of s unless it has changed. */
inline futex_wait(s, has_deadline) {
  do
  :: atomic {
       drain_bit();
       if
       :: changed[s] -> break
       :: else -> asleep[s] = true; printf("%d: sleeps as %d\n", _pid, s)
       fi;
#ifdef BOTH_ASLEEP
       both_asleep = (asleep[WAITER] && asleep[CLERK] && (ring[0] | ring[1]) != 0);
       assert(!both_asleep);
#endif
     };
     atomic {
       if
       :: woken[s]
       :: IS_OVER(has_deadline)
       :: !woken[s] && spurious_left > 0 -> spurious_left--
       fi;
       asleep[s] = false;
       woken[s] = false;
       if
       :: IS_OVER(has_deadline) -> break
       :: else
       fi
     }
  od
}

inline sleep_unless_results(f, has_deadline) {
#ifndef EPOCH_LATE
  atomic { changed[WAITER] = false };
#endif
#ifdef LOOK_BEFORE_BIT
  look();
  atomic { found = found || (settled & MINE(f)) != 0 };
#endif
  set_bit(WAITER);
#ifdef EPOCH_LATE
  atomic { changed[WAITER] = false };
#endif
#if !defined(NO_SECOND_LOOK) && !defined(LOOK_BEFORE_BIT)
  look();
#endif
#if !defined(FUTURE_NOT_SEEN) && !defined(LOOK_BEFORE_BIT)
  atomic { MAYBE_DRAIN_OF(0); found = found || (settled & MINE(f)) != 0 };
#endif
#ifdef SECOND_LOOK
  atomic { second_look = found; assert(!second_look) };
#endif
  if
  :: found ->
     atomic {
       drain_bit();
       found = (bitmap & BIT(WAITER)) == 0;
       clear_bit(WAITER);
       printf("%d: stays, was picked: %d\n", _pid, found)
     };
     if
     :: found ->
        found = false;
#ifndef WAKE_NOT_PASSED_ON
        wake_one();
#endif
        skip
     :: else
     fi
  :: else ->
     futex_wait(WAITER, has_deadline);
     atomic { clear_bit(WAITER) }
  fi
}

#ifdef NESTED
inline until_settled_nested(f) {
  do
  :: atomic {
       if
       :: (settled & MINE(f)) != 0 -> break
       :: else
       fi
     };
     look();
     if
     :: found -> found = false; take_all(); say_rest()
     :: else -> sleep_unless_results(f, false)
     fi
  od
}
#endif

inline collect() {
  take_all();
#ifdef NESTED
  if
  :: (hand & MINE(0)) != 0 ->
     atomic { settled = settled | MINE(0); hand = hand & ~MINE(0) };
#ifdef REST_NOT_SAID
     atomic { rest = hand; hand = 0 };
#else
     say_rest();
#endif
     until_settled_nested(1);
#ifdef REST_NOT_SAID
     atomic { hand = rest; rest = 0 };
#endif
  :: else
  fi;
#endif
  say_rest()
}

/* The loop of who waits for future f and has the seat. */
inline until_settled(f, has_deadline) {
  do
  :: atomic {
       MAYBE_DRAIN_OF(0);
       if
       :: (settled & MINE(f)) != 0 -> break
       :: else
       fi
     };
     look();
     if
     :: found ->
        found = false;
        collect();
#ifndef UNSEEN
        if
        :: IS_OVER(has_deadline) -> break
        :: else
        fi
#endif
     :: else ->
        if
        :: IS_OVER(has_deadline) -> break
        :: else
        fi;
        sleep_unless_results(f, has_deadline)
     fi
  od
}

inline leave_seat() {
  if
  :: napping
  :: !napping ->
  do
  ::
#if defined(BIT_AFTER_LOOK)
     look();
#elif defined(CLERK_NOT_ANNOUNCED)
     look();
#else
     set_bit(CLERK);
#ifndef NO_LOOK_LEAVING
     look();
#endif
#endif
#ifdef FOUND_LEAVING
     atomic { found_leaving = found; assert(!found_leaving) };
#endif
     if
     :: !found ->
#ifdef BIT_AFTER_LOOK
        set_bit(CLERK);
#endif
        break
#ifndef NO_LIMIT
     :: found && looks == LOOKS ->
        found = false;
#ifdef CALLED
        atomic { called = true; assert(!called) };
#endif
#ifndef CLERK_NOT_CALLED
        atomic { drain_bit() };
        wake_one();
#endif
        break
     :: found && looks < LOOKS ->
        looks++;
#else
     :: found ->
#endif
        found = false;
        atomic { clear_bit(CLERK) };
        collect()
     fi
  od
  fi;
#ifdef SEAT_NOT_LEFT
  atomic { looks = 0; drain_bit() }
#else
  atomic { looks = 0; drain_bit(); seat = false; printf("%d: leaves the seat\n", _pid) }
#endif
}

#ifdef DEADLINE
#define HAS_DEADLINE (me == 0)
#else
#define HAS_DEADLINE false
#endif

proctype Waiter(byte me) {
  byte hand, rest, looks, seen, who;
  bool found;
  if
  :: atomic { !seat -> seat = true; printf("%d: takes the seat\n", _pid) };
#ifndef CLERK_NOT_FORGOTTEN
     if
     :: napping
     :: !napping -> atomic { clear_bit(CLERK) }
     fi;
#endif
     until_settled(me, HAS_DEADLINE);
     leave_seat()
#ifdef PASSES_BY
  :: atomic { true -> printf("%d: leaves the seat to the clerk\n", _pid) }
#else
  :: atomic { seat -> printf("%d: finds the seat taken\n", _pid) }
#endif
  fi;
#ifdef LEFT_TO_CLERK
  if
  :: atomic { !seat && (settled & MINE(me)) == 0 && asleep[CLERK] ->
       left_to_clerk = true; assert(!left_to_clerk) }
  :: true
  fi;
#endif
  atomic {
    (settled & MINE(me)) != 0 || IS_OVER(HAS_DEADLINE) ->
    returned++;
    printf("%d: returns\n", _pid)
  }
}

proctype Clerk() {
  byte hand, rest, looks, seen, who;
  bool found, nap;
  do
  ::
#if !defined(CLERK_EPOCH_LATE) && !defined(STOP_SEEN_EARLY)
     atomic { changed[CLERK] = false };
#endif
#ifdef STOP
     if
     :: stops -> break
     :: else
     fi;
#endif
#ifdef STOP_SEEN_EARLY
     atomic { changed[CLERK] = false };
#endif
#ifdef CLERK_TRIES
     if
     :: atomic { seat -> printf("%d: finds the seat taken\n", _pid); goto sleep }
     :: atomic { !seat -> seat = true }
     fi;
#else
     atomic { !seat -> seat = true; printf("%d: takes the seat\n", _pid) };
#endif
#ifndef NAP_NOT_ENDED
     atomic { napping = false };
#endif
#ifdef CLERK_WITH_BIT
     atomic { clerk_with_bit = (bitmap & BIT(CLERK)) != 0; assert(!clerk_with_bit) };
#endif
#ifdef CLERK_LEAVES_AT_ONCE
     collect();
     atomic { seat = false };
#else
     collect();
     if
     :: atomic { naps_left > 0 ->
          naps_left--;
          nap = true;
          napping = true;
          seat = false;
          printf("%d: naps\n", _pid)
        }
     :: leave_seat()
     fi;
#endif
sleep:
#ifdef CLERK_EPOCH_LATE
     atomic { changed[CLERK] = false };
#endif
     do
     :: atomic { changed[CLERK] -> break }
     :: atomic { !changed[CLERK] -> asleep[CLERK] = true; printf("%d: sleeps as clerk\n", _pid);
#ifdef BOTH_ASLEEP
          both_asleep = (asleep[WAITER] && (ring[0] | ring[1]) != 0);
          assert(!both_asleep);
#endif
        };
end_asleep:
        atomic {
          if
          :: woken[CLERK]
          :: !woken[CLERK] && spurious_left > 0 -> spurious_left--
#ifndef NAP_FOR_EVER
          :: nap -> asleep[CLERK] = false; woken[CLERK] = false; break
#endif
          fi;
          asleep[CLERK] = false;
          woken[CLERK] = false
        }
     od;
     atomic { nap = false; bitmap = bitmap & ~BIT(CLERK) }
  od;
  clerk_ended = true
}

#ifdef STOP
proctype Stopper() {
  returned == WAITERS && handing_in == 0 && (ring[0] | ring[1]) == 0;
  stops = true;
  bump(CLERK)
}
#endif

init {
  byte i;
  atomic {
    run Worker(0);
#ifdef ONE_WORKER
    handing_in = 1;
#else
    run Worker(1);
#endif
#if WAITERS > 0
    for (i : 0 .. WAITERS - 1) { run Waiter(i) };
#endif
    run Clerk();
#ifdef STOP
    run Stopper();
#endif
    i = 0
  };
#ifdef DEADLINE
  expired = true;
#endif
  atomic {
    timeout ->
    left_behind = ((ring[0] | ring[1] | ring[VERDICTS]) != 0);
    assert(!left_behind);
    waits_for_ever = (returned < WAITERS);
    assert(!waits_for_ever);
    seat_kept = seat;
    assert(!seat_kept);
#ifdef STOP
    clerk_not_stopped = !clerk_ended;
    assert(!clerk_not_stopped)
#else
    not_on_call = (!asleep[CLERK] || (bitmap & BIT(CLERK)) == 0);
    assert(!not_on_call)
#endif
  }
}
