/* fork_stack.pml: forks that are private until one is wanted, offered then, taken, and awaited.
 *
 * Each worker has a stack of forks, the offered ones below the split and the private ones above,
 * and a deque of those on offer. What it runs is a tree of joins: to run a node is to push its
 * children one after the other (each in the first side of the join before), then to pop them in
 * the other direction, and to run those that it gets back. A child that was taken is awaited: the
 * joiner looks whether it is done, helps its taker, announces that it will sleep, looks for
 * something to help with once more, and sleeps on the fork's state.
 *
 * One step is one access to shared memory; every interleaving of the steps is explored. The deque
 * is taken for what work_stealing_deque.pml shows it to be: a thief sees the oldest item and takes
 * it later, if nobody else has. Spin is sequentially consistent; which orders C++ needs is for the
 * explorer, tests/model/explorer/fork_stack_test.cpp. A frame is alive from the push to the end of
 * its join; an idle worker looks only where something is on offer or asks for something, so that
 * whoever sleeps for ever is found as an invalid end state.
 *
 * Sizes: WORKERS workers; the first two have a root of their own, the second one's may come before
 * or after what it takes. At first something is wanted from the first worker, as from a new stack,
 * or not, as from an old one. The first root has two children, the elder of which forks once, or
 * with DEEP is the top of a chain; the second root, which ONE_ROOT leaves out, has one child.
 * With FORCED there is one root with one child, which must be taken, and ends only if somebody else
 * runs its own child: nobody but the waiter can. With HUNGRY there is one root, which goes on until
 * everybody else has taken something; the others sleep in the roster in between, where a worker
 * that still counts as searching spares another the wake. In both, whoever goes on offers what is
 * wanted, as a loop does.
 *
 * Properties: a fork is run once (run_twice), and only if it was pushed (never_pushed); a join
 * ends with the fork's result at hand (result_missing); nobody touches a fork whose join has ended
 * (dead_frame); whoever waits takes only what stems from what it waits for (unrelated); a worker
 * takes a fork with an empty stack (not_empty); something is offered only if there is something
 * (nothing_to_offer); nobody waits for ever (invalid end state), and at the end all was run (lost).
 *
 * check: correct                                             expect holds
 * check: forced                 -DFORCED                     expect holds
 * check: hungry                 -DHUNGRY                     expect holds
 * check: deep              long -DDEEP                       expect holds
 * check: four_workers      long -DWORKERS=4 -DONE_ROOT       expect holds
 * check: hungry_four       long -DHUNGRY -DWORKERS=4         expect holds
 *
 * Witnesses, which the correct model must reach: a fork is taken; the owner comes too late to take
 * one back; a waiter sleeps and is woken because the fork is done; a waiter is woken by an offer
 * and helps.
 * check: taken                  -DTAKEN                      expect reaches:is_taken
 * check: owner_loses            -DOWNER_LOSES                expect reaches:owner_loses
 * check: woken_by_done          -DWOKEN_BY_DONE              expect reaches:woken_by_done
 * check: woken_by_offer         -DWOKEN_BY_OFFER -DFORCED    expect reaches:woken_and_helps
 *
 * Mutations of the owner (late_withdrawal: the request is withdrawn after the offer is made):
 * check: no_race                -DNO_RACE                    expect fails:run_twice
 * check: split_not_lowered      -DSPLIT_NOT_LOWERED          expect fails:nothing_to_offer
 * check: newest_offered         -DNEWEST_OFFERED             expect fails:run_twice
 * check: late_withdrawal        -DLATE_WITHDRAWAL -DHUNGRY   expect fails:invalid_end_state
 *
 * Mutations of the taker:
 * check: done_before_result     -DDONE_BEFORE_RESULT         expect fails:result_missing
 * check: touched_after_done     -DTOUCHED_AFTER_DONE         expect fails:dead_frame
 * check: done_without_wake      -DDONE_WITHOUT_WAKE -DFORCED expect fails:invalid_end_state
 * check: offer_without_wake     -DOFFER_WITHOUT_WAKE -DFORCED expect fails:invalid_end_state
 * check: never_asks             -DNEVER_ASKS -DHUNGRY        expect fails:invalid_end_state
 *
 * Mutations of the waiter (trusts_old_look: takes what it sees, though the fork may be done by now;
 * helps_anybody: takes from everybody; announced_by_store: not by an exchange from pending):
 * check: no_compare             -DNO_COMPARE -DFORCED        expect fails:invalid_end_state
 * check: announced_by_store     -DANNOUNCED_BY_STORE -DFORCED expect fails:invalid_end_state
 * check: no_second_look         -DNO_SECOND_LOOK -DFORCED    expect fails:invalid_end_state
 * check: does_not_wait          -DDOES_NOT_WAIT              expect fails:result_missing
 * check: trusts_old_look        -DTRUSTS_OLD_LOOK            expect fails:unrelated
 * check: helps_anybody          -DHELPS_ANYBODY              expect fails:unrelated
 */

#ifndef WORKERS
#ifdef FORCED
#define WORKERS 2
#else
#define WORKERS 3
#endif
#endif

/* The nodes: forks from 1, then the roots. Children have numbers in a row. */
#if defined(HUNGRY)
#define FORKS (WORKERS - 1)
#define ROOTS 1
#define CHILDREN(x) ((x) == FORKS + 1 -> FORKS : 0)
#define FIRST_CHILD(x) 1
#define STEMS_FROM(x, y) ((x) == (y))
#elif defined(FORCED)
#define FORKS 2
#define ROOTS 1
#define CHILDREN(x) ((x) == 2 -> 0 : 1)
#define FIRST_CHILD(x) ((x) == 1 -> 2 : 1)
#define STEMS_FROM(x, y) ((x) >= (y))
#elif defined(DEEP)
#define FORKS 5
#define ROOTS 2
#define CHILDREN(x) ((x) == 6 -> 2 : ((x) == 1 || (x) == 3 || (x) == 7 -> 1 : 0))
#define FIRST_CHILD(x) ((x) == 6 -> 1 : ((x) == 1 -> 3 : ((x) == 3 -> 4 : 5)))
#define STEMS_FROM(x, y) ((x) == (y) || ((x) == 3 && (y) == 1) || ((x) == 4 && (y) != 2))
#elif defined(ONE_ROOT)
#define FORKS 3
#define ROOTS 1
#define CHILDREN(x) ((x) == 4 -> 2 : ((x) == 1 -> 1 : 0))
#define FIRST_CHILD(x) ((x) == 4 -> 1 : 3)
#define STEMS_FROM(x, y) ((x) == (y) || ((y) == 1 && (x) == 3))
#else
#define FORKS 4
#define ROOTS 2
#define CHILDREN(x) ((x) == 5 -> 2 : ((x) == 1 || (x) == 6 -> 1 : 0))
#define FIRST_CHILD(x) ((x) == 5 -> 1 : ((x) == 1 -> 3 : 4))
#define STEMS_FROM(x, y) ((x) == (y) || ((y) == 1 && (x) == 3))
#endif
#define DEPTH (FORKS + 1)

mtype = { pending, waiter_asleep, done };

/* A fork's offer; `sleeps` is the kernel's: its joiner sleeps on `state`. */
mtype state[FORKS + 1] = pending;
byte taker[FORKS + 1];        /* a worker's number + 1 */
bool sleeps[FORKS + 1];

/* A worker's deque, the oldest first, and whether somebody wants something from it. */
typedef Offers {
  byte length;
  byte item[FORKS];
  bool wanted = true
};
Offers offers[WORKERS];
#define MINE offers[me]
#define V offers[victim]

/* The roster. */
byte searching, announced, grabs;

byte roots_left = ROOTS;
short pushed, started, finished, ended;   /* bit x: fork x */
#define BIT(x) (1 << (x))
#define HAS(set, x) (((set) >> (x)) & 1)

/* What went wrong, in the words that pan prints. Asserted false at once: they cost no states. */
bool run_twice, never_pushed, result_missing, dead_frame, unrelated, not_empty;
bool nothing_to_offer, lost;
bool is_taken, owner_loses, woken_by_done, woken_and_helps;

inline touch(fork) {
  dead_frame = HAS(ended, fork);
  assert(!dead_frame)
}

/* ---- Running: the innermost frame has number depth - 1 ---- */

#define NODE frame[depth - 1].node
#define AT frame[depth - 1].at            /* children pushed and not yet finished */
#define UP frame[depth - 1].up            /* still pushing */
#define WAITS frame[depth - 1].waits      /* for its newest child, which was taken */
#define TAKEN_NODE frame[depth - 1].taken
#define OUTER frame[depth - 1].outer      /* what the worker was running when it took this */
#define NEWEST (FIRST_CHILD(NODE) + AT - 1)

typedef Frame {
  byte node;
  byte at;
  bool up;
  bool waits;
  bool taken;
  byte outer
};

inline enter(which, was_taken) {
  printf("%d: runs %d\n", me, which);
  if
  :: which <= FORKS ->
     run_twice = HAS(started, which);
     assert(!run_twice);
     never_pushed = !HAS(pushed, which);
     assert(!never_pushed);
     touch(which);
     started = started | BIT(which)
  :: else
  fi;
  depth++;
  NODE = which;
  UP = true;
  TAKEN_NODE = was_taken
}

inline leave() {
  frame[depth - 1].node = 0;
  frame[depth - 1].taken = false;
  frame[depth - 1].outer = 0;
  depth--
}

/* ---- The owner ---- */

inline notify() {
#ifdef HUNGRY
  atomic {
    if
    :: searching == 0 && announced != 0 ->
       printf("%d: wakes a sleeper of %d\n", me, announced);
       announced = announced & (announced - 1)
    :: else
    fi
  }
#else
  skip
#endif
}

inline offer_oldest() {
#ifndef LATE_WITHDRAWAL
  MINE.wanted = false;
#endif
  atomic {
    nothing_to_offer = (split >= next);
    assert(!nothing_to_offer);
#ifdef NEWEST_OFFERED
    MINE.item[MINE.length] = stack[next - 1];
#else
    MINE.item[MINE.length] = stack[split];
#endif
    printf("%d: offers %d\n", me, MINE.item[MINE.length]);
    MINE.length++;
    split++
  };
#ifdef LATE_WITHDRAWAL
  MINE.wanted = false;
#endif
  notify();
#ifndef OFFER_WITHOUT_WAKE
  if
  :: atomic {
       running != 0 && state[running] == waiter_asleep -> touch(running); state[running] = pending
     };
     atomic { touch(running); sleeps[running] = false; printf("%d: wakes for %d\n", me, running) }
  :: atomic { running == 0 || state[running] != waiter_asleep -> skip }
  fi
#endif
}

inline push() {
  atomic {
    child = FIRST_CHILD(NODE) + AT;
    pushed = pushed | BIT(child);
    stack[next] = child;
    next++;
    AT++;
    child = 0
  };
  if
  :: MINE.wanted -> offer_oldest()
  :: else
  fi
}

/* The newest child is the worker's again, and is run; or it is to be awaited. */
inline pop() {
  atomic { next--; stack[next] = 0 };
  if
  :: next >= split -> atomic { child = NEWEST; enter(child, false); child = 0 }
  :: else ->
#ifndef SPLIT_NOT_LOWERED
     split = next;
#endif
     MINE.wanted = true;
     atomic {
       child = NEWEST;
       if
#ifdef NO_RACE
       :: true ->
          if
          :: MINE.length > 0 -> MINE.length--; MINE.item[MINE.length] = 0
          :: else
          fi;
          enter(child, false)
#else
       :: MINE.length > 0 ->
          MINE.length--;
          MINE.item[MINE.length] = 0;
          enter(child, false)
       :: else ->
          printf("%d: comes too late for %d\n", me, child);
#ifdef OWNER_LOSES
          owner_loses = true;
          assert(!owner_loses);
#endif
          WAITS = true
#endif
       fi;
       child = 0
     }
  fi
}

/* The join of the newest child ends, and with it the child's frame. */
inline end_join() {
  child = NEWEST;
  printf("%d: the join of %d ends\n", me, child);
  result_missing = !HAS(finished, child);
  assert(!result_missing);
  ended = ended | BIT(child);
  AT--;
  WAITS = false;
  child = 0
}

/* ---- Taking ---- */

/* `item`: taken from the victim, or 0. `awaited`: what it must stem from, or 0. */
inline ask() {
#ifdef NEVER_ASKS
  skip
#else
  V.wanted = true
#endif
}

inline take_oldest(awaited) {
  atomic {
    item = V.item[0];
    printf("%d: sees %d on offer of %d\n", me, item, victim)
  };
  if
  :: item == 0 -> ask()
  :: else ->
#ifndef TRUSTS_OLD_LOOK
     if
     :: awaited != 0 && state[awaited] == done -> item = 0
     :: else
     fi;
#endif
     if
     :: item != 0 ->
        atomic {
          if
          :: V.item[0] == item ->
             printf("%d: takes %d\n", me, item);
             V.length--;
             for (i : 0 .. V.length - 1) { V.item[i] = V.item[i + 1] };
             V.item[V.length] = 0;
             i = 0;
             unrelated = (awaited != 0 && !STEMS_FROM(item, awaited));
             assert(!unrelated);
#ifdef TAKEN
             is_taken = true;
             assert(!is_taken)
#endif
          :: else -> item = 0; lost_race = true
          fi
        };
        if
        :: item != 0 && V.length == 0 -> ask()
        :: else
        fi
     :: else
     fi
  fi
}

inline run_taken() {
  atomic {
    not_empty = (next != split || MINE.length != 0);
    assert(!not_empty);
    touch(item);
    taker[item] = me + 1;
    enter(item, true);
    OUTER = running;
    running = item;
    item = 0;
    victim = 0;
    lost_race = false
  }
}

inline finish_taken() {
#ifdef DONE_BEFORE_RESULT
  atomic { touch(NODE); was_asleep = (state[NODE] == waiter_asleep); state[NODE] = done };
  finished = finished | BIT(NODE);
#else
  atomic { touch(NODE); finished = finished | BIT(NODE) };
  atomic {
    touch(NODE);
    was_asleep = (state[NODE] == waiter_asleep);
    state[NODE] = done;
    printf("%d: %d is done\n", me, NODE)
  };
#endif
#ifdef TOUCHED_AFTER_DONE
  atomic { touch(NODE) };
#endif
  /* The kernel knows the address only: the frame may be gone. */
  atomic {
    if
#ifdef DONE_WITHOUT_WAKE
    :: true
#else
    :: was_asleep ->
#ifdef WOKEN_BY_DONE
       woken_by_done = sleeps[NODE];
       assert(!woken_by_done);
#endif
       sleeps[NODE] = false
    :: else
#endif
    fi;
    running = OUTER;
    was_asleep = false;
    leave()
  }
}

/* ---- Waiting for `child` ---- */

inline help() {
#ifdef HELPS_ANYBODY
  if
  :: victim = (me + 1) % WORKERS
  :: victim = (me + 2) % WORKERS
  fi;
  take_oldest(child);
#else
  if
  :: taker[child] != 0 -> victim = taker[child] - 1; take_oldest(child)
  :: else
  fi;
#endif
  if
  :: item != 0 ->
#ifdef WOKEN_BY_OFFER
     woken_and_helps = slept;
     assert(!woken_and_helps);
#endif
     run_taken();
     helped = true
  :: else -> atomic { victim = 0; lost_race = false }
  fi
}

inline announce() {
  atomic {
    if
#ifdef ANNOUNCED_BY_STORE
    :: true -> state[child] = waiter_asleep
#else
    :: state[child] == pending -> state[child] = waiter_asleep
    :: else
#endif
    fi;
    announced_it = (state[child] == waiter_asleep)
  }
}

inline fall_asleep() {
  atomic {
    if
#ifdef NO_COMPARE
    :: true -> sleeps[child] = true
#else
    :: state[child] == waiter_asleep -> sleeps[child] = true
    :: else
#endif
    fi;
    printf("%d: sleeps for %d: %d\n", me, child, sleeps[child])
  };
  atomic { !sleeps[child] -> slept = true }
}

inline wait() {
  child = NEWEST;
  if
#ifdef DOES_NOT_WAIT
  :: true -> atomic { end_join(); slept = false }
#else
  :: atomic { state[child] == done -> end_join(); slept = false }
  :: atomic { state[child] != done -> helped = false };
     help();
     if
     :: helped
     :: else ->
        announce();
        if
        :: announced_it ->
#ifndef NO_SECOND_LOOK
           help();
#endif
           if
           :: helped
           :: else -> fall_asleep()
           fi
        :: else
        fi
     fi
#endif
  fi;
  atomic { child = 0; helped = false; announced_it = false }
}

/* ---- Workers ---- */

#ifdef HUNGRY

inline look_again_and_again() {
  do
  :: take_oldest(0);
     if
     :: lost_race -> lost_race = false
     :: else -> break
     fi
  od
}

/* Searches, announces that it will sleep, looks once more, sleeps. */
inline idle() {
  searching++;
  look_again_and_again();
  if
  :: item != 0 ->
     atomic { searching--; must_wake = (searching == 0) };
     if
     :: must_wake && offers[0].length != 0 -> notify()
     :: else
     fi
  :: else ->
     searching--;
     announced = announced | BIT(me);
     look_again_and_again();
     if
     :: item != 0 ->
        atomic { must_wake = !HAS(announced, me); announced = announced & ~BIT(me) };
        atomic {
          if
          :: must_wake -> announced = announced & (announced - 1)
          :: else
          fi
        };
        if
        :: offers[0].length != 0 -> notify()
        :: else
        fi
     :: else -> atomic { !HAS(announced, me) -> printf("%d: is woken\n", me) }
     fi
  fi;
  if
  :: item != 0 -> atomic { must_wake = false; fed = true; grabs++ }; run_taken()
  :: else -> must_wake = false
  fi
}

#else

inline idle() {
  take_oldest(0);
  if
  :: item != 0 -> run_taken()
  :: else -> atomic { victim = 0; lost_race = false }
  fi
}

#define WORTH_A_LOOK(v) ((v) != me && (offers[v].length > 0 || !offers[v].wanted))

#endif

inline end_node() {
  if
  :: NODE > FORKS -> atomic { roots_left--; leave() }
  :: NODE <= FORKS && TAKEN_NODE -> finish_taken()
  :: NODE <= FORKS && !TAKEN_NODE -> atomic { finished = finished | BIT(NODE); leave(); end_join() }
  fi
}

#if defined(HUNGRY)
#define MAY_GO_ON (NODE <= FORKS || grabs == WORKERS - 1)
#elif defined(FORCED)
#define MAY_GO_ON (AT == 0 || HAS(started, NEWEST))
#else
#define MAY_GO_ON true
#endif

proctype Worker(byte me) {
  Frame frame[DEPTH];
  byte depth, next, split, running, child, item, victim, i;
  byte stack[FORKS + 1];
  bool root_left = (me < ROOTS);
  bool was_asleep, helped, announced_it, slept, lost_race, must_wake, fed;
  do
  :: depth == 0 && root_left -> atomic { root_left = false; enter(FORKS + 1 + me, false) }
#ifdef HUNGRY
  :: depth == 0 && me != 0 && !fed -> idle()
  :: depth == 0 && (me == 0 -> !root_left : fed) -> break
#else
  :: atomic { depth == 0 && WORTH_A_LOOK((me + 1) % WORKERS) -> victim = (me + 1) % WORKERS };
     idle()
  :: atomic { depth == 0 && WORTH_A_LOOK((me + 2) % WORKERS) -> victim = (me + 2) % WORKERS };
     idle()
#if WORKERS > 3
  :: atomic { depth == 0 && WORTH_A_LOOK((me + 3) % WORKERS) -> victim = (me + 3) % WORKERS };
     idle()
#endif
  :: depth == 0 && roots_left == 0 -> break
#endif
  :: depth > 0 && WAITS -> wait()
  :: depth > 0 && !WAITS && UP && AT < CHILDREN(NODE) -> push()
  :: atomic { depth > 0 && !WAITS && UP && AT == CHILDREN(NODE) && MAY_GO_ON -> UP = false }
#if defined(HUNGRY) || defined(FORCED)
  :: depth > 0 && UP && AT == CHILDREN(NODE) && MINE.wanted && split < next -> offer_oldest()
#endif
  :: depth > 0 && !WAITS && !UP && AT > 0 -> pop()
  :: depth > 0 && !WAITS && !UP && AT == 0 -> end_node()
  od
}

init {
  byte w;
  atomic {
    if
    :: true
    :: offers[0].wanted = false
    fi;
    for (w : 0 .. WORKERS - 1) { run Worker(w) };
    w = 0
  };
  atomic {
    _nr_pr == 1 ->
    lost = (finished != BIT(FORKS + 1) - 2);
    assert(!lost)
  }
}
