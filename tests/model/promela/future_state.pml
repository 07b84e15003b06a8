/* future_state.pml: what a future and its task share: claim, settle, wait, callbacks, references.
 *
 * claim: exchange of a flag; whoever finds it clear runs the task or cancels it, writes the outcome
 * and settles. settle: (1) exchange the phase for settled; (2) if it was awaited, wake all who
 * sleep on it; (3) exchange the list of callbacks for a mark; (4) turn it round and call each.
 * wait: (a) CAS the phase from pending to awaited; done if it was settled; (b) futex_wait while it
 * is awaited; again from (a). add: load the list's head; the mark: call at once; else write it into
 * the callback's next and CAS the head. Everyone has a reference and drops it at the end: whoever
 * drops the last one deletes the state.
 *
 * One step is one access to shared memory; every interleaving of the steps is explored, under
 * sequential consistency; the orders are the explorer's business. A list that was taken is its
 * taker's alone, so turning it round is one step. A callback may be gone as soon as it was called.
 *
 * Sizes: a runner; HELPERS waiters that claim the task themselves if they can; WAITERS that only
 * wait; HURRIED ones with a deadline; CANCELLERS; ADDERS with CALLBACKS callbacks each. At most
 * SPURIOUS returns of futex_wait without a wake, for the deadline or for no reason; few on purpose,
 * so that no sleeper is saved by luck.
 *
 * Properties: the outcome is written once (settled_twice) and is there whenever a waiter or a
 * callback looks at it (not_visible); nobody touches the state after its end (used_after_end) nor a
 * callback after it was called (used_after_call); a callback is called once (called_twice), by
 * whoever settles in the order in which one thread added them (out_of_order); at the end all were
 * called (not_called) and the state deleted (leaked); nobody waits for ever (invalid end state).
 *
 * check: waiters                -DWAITERS=2 -DSPURIOUS=1     expect holds
 * check: helper                 -DHELPERS=1 -DWAITERS=1      expect holds
 * check: hurried                -DHURRIED=1 -DWAITERS=1 -DSPURIOUS=1 expect holds
 * check: callbacks              -DADDERS=2                   expect holds
 * check: two_callbacks_each     -DADDERS=2 -DCALLBACKS=2     expect holds
 * check: cancelled              -DCANCELLERS=1 -DWAITERS=1 -DADDERS=1 expect holds
 * check: cancelled_twice        -DCANCELLERS=2 -DWAITERS=1   expect holds
 * check: all_kinds long -DCANCELLERS=1 -DHELPERS=1 -DWAITERS=1 -DADDERS=1 expect holds
 * check: many_waiters      long -DWAITERS=2 -DHURRIED=1 -DHELPERS=1 -DSPURIOUS=2 expect holds
 * check: many_callbacks    long -DADDERS=3 -DCALLBACKS=2 -DWAITERS=1 expect holds
 *
 * Witnesses, which the correct model must reach: two sleep when the state is settled; a callback is
 * called by whoever adds it, another by whoever settles; the runner comes too late.
 * check: two_asleep             -DTWO_ASLEEP -DWAITERS=2     expect reaches:two_asleep
 * check: called_by_both -DCALLED_BY_BOTH -DADDERS=1 -DCALLBACKS=2 expect reaches:called_by_both
 * check: too_late               -DTOO_LATE -DCANCELLERS=1    expect reaches:too_late
 *
 * Mutations of claiming and settling:
 * check: claim_load_store       -DCLAIM_LOAD_STORE -DCANCELLERS=1 expect fails:settled_twice
 * check: settled_early          -DSETTLED_EARLY -DWAITERS=1  expect fails:not_visible
 * check: settle_load_store      -DSETTLE_LOAD_STORE -DWAITERS=1 expect fails:invalid_end_state
 * check: wake_first             -DWAKE_FIRST -DWAITERS=1     expect fails:invalid_end_state
 * check: wake_one               -DWAKE_ONE -DWAITERS=2       expect fails:invalid_end_state
 *
 * Mutations of waiting:
 * check: await_by_store         -DAWAIT_BY_STORE -DWAITERS=2 expect fails:invalid_end_state
 * check: not_compared           -DNOT_COMPARED -DWAITERS=1   expect fails:invalid_end_state
 * check: not_looked_again -DNOT_LOOKED_AGAIN -DWAITERS=1 -DSPURIOUS=1 expect fails:not_visible
 *
 * Mutations of the callbacks:
 * check: no_mark                -DNO_MARK -DADDERS=1         expect fails:not_called
 * check: mark_ignored           -DMARK_IGNORED -DADDERS=1    expect fails:not_called
 * check: mark_seen_once         -DMARK_SEEN_ONCE -DADDERS=1  expect fails:not_called
 * check: add_by_store           -DADD_BY_STORE -DADDERS=2    expect fails:not_called
 * check: take_load_store        -DTAKE_LOAD_STORE -DADDERS=1 expect fails:not_called
 * check: next_after_call -DNEXT_AFTER_CALL -DADDERS=1 -DCALLBACKS=2 expect fails:used_after_call
 * check: not_turned             -DNOT_TURNED -DADDERS=1 -DCALLBACKS=2 expect fails:out_of_order
 *
 * Mutations of the references (early_drop: the runner drops its own before the callbacks):
 * check: drop_load_store        -DDROP_LOAD_STORE -DWAITERS=1 expect fails:leaked
 * check: early_drop             -DEARLY_DROP -DWAITERS=1     expect fails:used_after_end
 * check: waiter_without_one     -DWAITER_WITHOUT_ONE -DWAITERS=1 expect fails:used_after_end
 */

#ifndef HELPERS
#define HELPERS 0
#endif
#ifndef WAITERS
#define WAITERS 0
#endif
#ifndef HURRIED
#define HURRIED 0
#endif
#ifndef CANCELLERS
#define CANCELLERS 0
#endif
#ifndef ADDERS
#define ADDERS 0
#endif
#ifndef CALLBACKS
#define CALLBACKS 1
#endif
#ifndef SPURIOUS
#define SPURIOUS 0
#endif

#define SLEEPERS (HELPERS + WAITERS + HURRIED)
#define ALL_CALLBACKS (ADDERS * CALLBACKS)
#ifdef WAITER_WITHOUT_ONE
#define REFERENCES (1 + CANCELLERS + ADDERS)
#else
#define REFERENCES (1 + SLEEPERS + CANCELLERS + ADDERS)
#endif

mtype = { pending, awaited, settled };
mtype = { nothing, value, error };

mtype phase = pending;
bool claimed;
byte references = REFERENCES;

/* Callbacks are 1 .. ALL_CALLBACKS; 0 is null, MARK says that they were called. */
#define MARK (ALL_CALLBACKS + 1)
byte head;
byte next[ALL_CALLBACKS + 2];

/* Not atomic: order is the business of the above. */
mtype outcome = nothing;

/* The kernel and the surroundings. */
bool asleep[SLEEPERS + 1];
byte spurious_left = SPURIOUS;

/* For the properties only. */
bool deleted;
bool called[ALL_CALLBACKS + 2];
bool by_settler;

/* What went wrong, in the words that pan prints. Asserted false at once: they cost no states. */
bool settled_twice, not_visible, used_after_end, used_after_call, called_twice, out_of_order;
bool not_called, leaked;
bool two_asleep, called_by_both, too_late;

/* Every access to the state. */
inline touch() {
  used_after_end = deleted;
  assert(!used_after_end)
}

inline look_at_outcome() {
  touch();
  not_visible = (outcome == nothing);
  assert(!not_visible)
}

inline drop_reference() {
#ifdef DROP_LOAD_STORE
  atomic { touch(); left = references - 1 };
  atomic { touch(); references = left; deleted = (left == 0); left = 0 }
#else
  atomic {
    touch();
    references--;
    printf("%d: drops a reference, %d left\n", _pid, references);
    deleted = (references == 0)
  }
#endif
}

/* ---- Callbacks ---- */

inline call(c) {
  look_at_outcome();
  printf("%d: callback %d is called\n", _pid, c);
  called_twice = called[c];
  assert(!called_twice);
  called[c] = true
}

inline expect_turn(c) {
  out_of_order = ((c - 1) % CALLBACKS != 0 && !called[c - 1]);
  assert(!out_of_order)
}

inline touch_callback(c) {
  used_after_call = called[c];
  assert(!used_after_call)
}

inline take_callbacks() {
#ifdef TAKE_LOAD_STORE
  atomic { touch(); newest = head };
  atomic { touch(); head = MARK };
#else
  atomic {
    touch();
    newest = head;
#ifdef NO_MARK
    head = 0;
#else
    head = MARK;
#endif
    printf("%d: takes the callbacks from %d\n", _pid, newest)
  };
#endif
}

inline turn_round() {
  atomic {
    do
    :: newest != 0 ->
       touch_callback(newest);
       c = next[newest];
       next[newest] = oldest;
       oldest = newest;
       newest = c
    :: else -> c = 0; break
    od
  }
}

inline call_callbacks() {
  take_callbacks();
#ifdef NOT_TURNED
  oldest = newest;
  newest = 0;
#else
  turn_round();
#endif
  do
  :: atomic { oldest != 0 -> touch_callback(oldest); c = oldest };
#ifdef NEXT_AFTER_CALL
     atomic { expect_turn(c); call(c) };
     atomic { touch_callback(c); oldest = next[c]; c = 0 }
#else
     atomic {
       oldest = next[c];
       next[c] = 0;
       expect_turn(c);
       call(c);
       by_settler = true;
       c = 0
     }
#endif
  :: oldest == 0 -> break
  od
}

/* Callbacks first .. last, one after the other. */
proctype Adder(byte c; byte last) {
  byte h, left;
  do
  :: atomic { c <= last -> touch(); h = head; printf("%d: loads head %d\n", _pid, h) };
retry:
#ifndef MARK_IGNORED
     if
     :: atomic {
          h == MARK ->
#ifdef CALLED_BY_BOTH
          called_by_both = by_settler;
          assert(!called_by_both);
#endif
          call(c);
          goto next_one
        }
     :: else
     fi;
#endif
     atomic { next[c] = h };
#ifdef ADD_BY_STORE
     atomic { touch(); head = (h == MARK -> h : c) };
#else
     if
     :: atomic { head == h -> touch(); head = c; printf("%d: adds callback %d\n", _pid, c) }
     :: atomic {
          head != h ->
          touch();
#ifdef MARK_SEEN_ONCE
          head = c;
#else
          h = head;
          goto retry
#endif
        }
     fi;
#endif
next_one:
     atomic { c++; h = 0 }
  :: c > last -> break
  od;
  drop_reference()
}

/* ---- Claiming and settling ---- */

inline claim() {
#ifdef CLAIM_LOAD_STORE
  atomic { touch(); won = !claimed };
  atomic { touch(); claimed = true };
#else
  atomic {
    touch();
    won = !claimed;
    claimed = true;
    printf("%d: claims: %d\n", _pid, won)
  };
#endif
}

inline write_outcome(what) {
  atomic {
    touch();
    settled_twice = (outcome != nothing);
    assert(!settled_twice);
    outcome = what;
    printf("%d: writes the outcome\n", _pid)
  }
}

inline wake_sleepers() {
  atomic {
    printf("%d: wakes\n", _pid);
#ifdef TWO_ASLEEP
    two_asleep = (asleep[0] && asleep[1]);
    assert(!two_asleep);
#endif
    w = 0;
    do
    :: w < SLEEPERS ->
#ifdef WAKE_ONE
       if
       :: asleep[w] -> asleep[w] = false; break
       :: else
       fi;
#else
       asleep[w] = false;
#endif
       w++
    :: else -> break
    od;
    w = 0
  }
}

inline settle_phase() {
#if defined(SETTLE_LOAD_STORE)
  atomic { touch(); was = phase };
  atomic { touch(); phase = settled };
#elif defined(WAKE_FIRST)
  atomic { touch(); was = phase };
  if
  :: was == awaited -> wake_sleepers()
  :: else
  fi;
  atomic { touch(); was = nothing; phase = settled };
#else
  atomic { touch(); was = phase; phase = settled; printf("%d: settles\n", _pid) };
#endif
  if
  :: was == awaited -> wake_sleepers()
  :: else
  fi;
  was = nothing
}

inline settle_with(what) {
#ifdef SETTLED_EARLY
  settle_phase();
  write_outcome(what);
#else
  write_outcome(what);
  settle_phase();
#endif
#ifdef EARLY_DROP
  drop_reference();
#endif
  call_callbacks()
}

#define SETTLER_LOCALS bool won; mtype was = nothing; byte newest, oldest, c, w, left

proctype Runner() {
  SETTLER_LOCALS;
  claim();
  if
  :: won -> settle_with(value)
  :: else ->
#ifdef TOO_LATE
     too_late = true;
     assert(!too_late);
#endif
     skip
  fi;
#ifndef EARLY_DROP
  drop_reference()
#endif
}

proctype Canceller() {
  SETTLER_LOCALS;
  claim();
  if
  :: won -> settle_with(error)
  :: else
  fi;
  drop_reference()
}

/* ---- Waiting ---- */

proctype Waiter(byte me; bool helps; bool hurried) {
  SETTLER_LOCALS;
  if
  :: helps ->
     claim();
     if
     :: won -> settle_with(value)
     :: else
     fi
  :: else
  fi;
  do
  :: atomic {
       touch();
#ifdef AWAIT_BY_STORE
       was = phase;
       phase = awaited;
#else
       was = phase;
       phase = (was == pending -> awaited : was);
#endif
       printf("%d: says that it waits\n", _pid);
       if
       :: was == settled -> break
       :: else -> was = nothing
       fi
     };
     atomic {
       touch();
#ifdef NOT_COMPARED
       asleep[me] = true;
#else
       asleep[me] = (phase == awaited);
#endif
       printf("%d: futex_wait, sleeps: %d\n", _pid, asleep[me])
     };
     if
     :: !asleep[me]
     :: atomic {
          asleep[me] && spurious_left > 0 ->
          spurious_left--;
          asleep[me] = false;
          printf("%d: returns from futex_wait without a wake\n", _pid)
        };
        if
        :: atomic { hurried -> touch(); was = phase };
           if
           :: was == settled -> break
           :: else -> goto leave
           fi
        :: !hurried
        fi
     fi;
#ifdef NOT_LOOKED_AGAIN
     break
#endif
  od;
  atomic { look_at_outcome() };
leave:
  was = nothing;
#ifndef WAITER_WITHOUT_ONE
  drop_reference()
#endif
}

init {
  byte i;
  atomic {
    run Runner();
    do
    :: i < SLEEPERS -> run Waiter(i, i < HELPERS, i >= HELPERS + WAITERS); i++
    :: else -> i = 0; break
    od;
    do
    :: i < CANCELLERS -> run Canceller(); i++
    :: else -> i = 0; break
    od;
    do
    :: i < ADDERS -> run Adder(i * CALLBACKS + 1, (i + 1) * CALLBACKS); i++
    :: else -> i = 0; break
    od
  };
  atomic {
    _nr_pr == 1 ->
    leaked = !deleted;
    assert(!leaked);
    do
    :: i < ALL_CALLBACKS -> i++; not_called = !called[i]; assert(!not_called)
    :: else -> break
    od
  }
}
