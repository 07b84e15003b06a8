/* pair_lane.pml: the way of tasks between one sender and one worker, which may die at any step.
 *
 * The task at position p stands in slot p mod SLOTS, in life p / SLOTS + 1 of that slot, the
 * generation in the slot's word (state, cancel flag, owner, generation). submit: load the next
 * slot's word, free?; store writing; contents; store ready. claim: load the word, ready and of this
 * life?; exchange it; store the position. complete: contents; result; store done; store the turn,
 * which is the life. collect: load the turn; load the word; done: it is ours; free: its worker
 * died, go on. release: store free. take_back: load the newest word, ready?; exchange it for
 * writing; store the position; release, by which the slot goes back by one life.
 * When the worker has died the sender sweeps: what was claimed becomes its own, to be released with
 * its turn; the position of claims is mended, and every turn of what is done is stored. Then there
 * is a new worker.
 *
 * One step is one access to shared memory, with those to what nobody else looks at; every
 * interleaving of the steps is explored. While the worker is dead the sender is alone, so the order
 * of its accesses in a sweep does not matter. Spin is sequentially consistent, so what release is
 * for is written out with BUFFERS: the sender's contents, the worker's result and its word that
 * says done wait in a buffer. They drain at a release that comes behind them, at a death, or at any
 * time before somebody looks; that last choice is made at the look. What acquire is for: without it
 * the load behind it comes before it.
 *
 * Sizes: SLOTS slots, a power of two; TASKS tasks are submitted, also in place of those that are
 * taken back or were with a dead worker; at most TAKE_BACKS, CANCELS and CRASHES of each; the
 * worker has up to BATCH tasks at a time and completes them in any order. A sweep has room for
 * FOUND slots, and is repeated. Generations count to GENERATIONS and begin again.
 * The sender waits for a free slot, a turn or a death, and may do at any time what it can: also
 * submit into a slot that it released after a death before it has collected there, which passes
 * that turn; and between two sweeps of one death, so that who mends the position of claims must
 * look at lives. MUCH is a bit of everything.
 *
 * Properties: no task is claimed twice (claimed_twice), or claimed and taken back
 * (claimed_and_back); what is claimed is whole (torn) and called off if its sender said so
 * (flag_wrong); no word is found that cannot be (damaged); each accepted task that was not taken
 * back is collected once, with its own result (wrong_result, settled_twice) and in order
 * (out_of_order), or was with a dead worker, not done, and is released once (lost, settled_twice);
 * nobody waits for ever (invalid end state); at the end all slots are free, all positions and lives
 * fit, and the lane could go on (leaked).
 *
 * check: taken_back             -DTASKS=5 -DTAKE_BACKS=2       expect holds
 * check: one_slot               -DSLOTS=1 -DTASKS=5 -DTAKE_BACKS=2 -DCRASHES=2 expect holds
 * check: two_deaths             -DCRASHES=2 -DTASKS=5          expect holds
 * check: batches                -DBATCH=2 -DCRASHES=1 -DTAKE_BACKS=1 expect holds
 * check: swept_by_halves        -DBATCH=2 -DCRASHES=1 -DFOUND=1 expect holds
 * check: cancelled              -DCANCELS=2 -DTAKE_BACKS=1 -DCRASHES=1 expect holds
 * check: two_lives -DGENERATIONS=2 -DTASKS=6 -DCRASHES=1 -DTAKE_BACKS=1 expect holds
 * check: buffers                -DBUFFERS -DBATCH=2 -DCRASHES=1 -DTAKE_BACKS=1 expect holds
 * check: by_halves_twice        -DBATCH=2 -DCRASHES=2 -DFOUND=1 expect holds
 * check: one_slot_by_halves     -DSLOTS=1 -DCRASHES=2 -DTAKE_BACKS=1 -DFOUND=1 expect holds
 * check: four_slots long -DSLOTS=4 -DTASKS=7 -DBATCH=2 -DCRASHES=1 -DTAKE_BACKS=2 expect holds
 * check: much              long -DMUCH                         expect holds
 * check: much_by_halves    long -DMUCH -DFOUND=1               expect holds
 *
 * Not needed: the life in claim() and take_back(), which are for damaged memory; the release of the
 * word that says done, since the turn has one.
 * check: any_life               -DANY_LIFE -DBATCH=2 -DCRASHES=2 -DTAKE_BACKS=1 expect holds
 * check: unreleased_done        -DUNRELEASED_DONE -DBUFFERS -DBATCH=2 -DCRASHES=1 expect holds
 *
 * Witnesses, which the correct model must reach: between a worker's load and its exchange the task
 * is taken back and another submitted in the same word; or it is called off; a sweep stores a turn
 * that was owed, and mends the position; collect passes a slot that was released after a death.
 * check: renewed                -DRENEWED -DTAKE_BACKS=1       expect reaches:renewed
 * check: called_off             -DCALLED_OFF -DCANCELS=1       expect reaches:called_off
 * check: owed                   -DOWED -DCRASHES=1             expect reaches:owed_published
 * check: mended                 -DMENDED -DCRASHES=1           expect reaches:mended
 * check: passed                 -DPASSED -DCRASHES=1           expect reaches:passed
 *
 * Mutations of the sender:
 * check: reused_unpassed        -DREUSED_UNPASSED -DCRASHES=1  expect fails:damaged
 * check: reused_later -DREUSED_UNPASSED -DCRASHES=1 -DDAMAGE_UNSEEN expect fails:invalid_end_state
 * check: free_unchecked         -DFREE_UNCHECKED               expect fails:invalid_end_state
 * check: ready_before_contents  -DREADY_BEFORE_CONTENTS        expect fails:torn
 * check: unreleased_ready       -DUNRELEASED_READY -DBUFFERS   expect fails:torn
 * check: back_by_store          -DBACK_BY_STORE -DTAKE_BACKS=1 expect fails:claimed_and_back
 * check: position_kept          -DPOSITION_KEPT -DTAKE_BACKS=1 expect fails:damaged
 * check: life_kept              -DLIFE_KEPT -DTAKE_BACKS=1     expect fails:damaged
 * check: turn_ignored           -DTURN_IGNORED                 expect fails:damaged
 * check: unacquired_turn        -DUNACQUIRED_TURN              expect fails:damaged
 *
 * Mutations of the worker:
 * check: claim_by_store         -DCLAIM_BY_STORE -DTAKE_BACKS=1 expect fails:claimed_and_back
 * check: unacquired_claim       -DUNACQUIRED_CLAIM -DTAKE_BACKS=1 expect fails:torn
 * check: position_first         -DPOSITION_FIRST -DCRASHES=1   expect fails:invalid_end_state
 * check: lost_race_passes -DLOST_RACE_PASSES -DCANCELS=1       expect fails:invalid_end_state
 * check: turn_before_word       -DTURN_BEFORE_WORD             expect fails:damaged
 * check: turn_before_result     -DTURN_BEFORE_RESULT           expect fails:wrong_result
 * check: unreleased_turn        -DUNRELEASED_TURN -DBUFFERS    expect fails:damaged
 * check: nothing_released -DNOTHING_RELEASED -DBUFFERS      expect fails:wrong_result
 *
 * Mutations of the sweep:
 * check: no_mend                -DNO_MEND -DCRASHES=1          expect fails:invalid_end_state
 * check: any_life_mended -DANY_LIFE_MENDED -DFOUND=1 -DCRASHES=1 expect fails:invalid_end_state
 * check: mended_to_the_end      -DMENDED_TO_THE_END -DCRASHES=1 expect fails:invalid_end_state
 * check: turn_not_passed        -DTURN_NOT_PASSED -DCRASHES=1  expect fails:invalid_end_state
 * check: not_published          -DNOT_PUBLISHED -DCRASHES=1    expect fails:invalid_end_state
 * check: not_seized             -DNOT_SEIZED -DCRASHES=1       expect fails:invalid_end_state
 * check: done_released          -DDONE_RELEASED -DCRASHES=1    expect fails:lost
 * check: index_reused_early     -DINDEX_REUSED_EARLY -DCRASHES=1 expect fails:lost
 */

#ifdef MUCH
#define TASKS 6
#define BATCH 2
#define CRASHES 2
#define TAKE_BACKS 2
#define CANCELS 1
#endif
#ifdef NOTHING_RELEASED
#define UNRELEASED_TURN
#define UNRELEASED_DONE
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef TASKS
#define TASKS 4
#endif
#ifndef TAKE_BACKS
#define TAKE_BACKS 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef BATCH
#define BATCH 1
#endif
#ifndef FOUND
#define FOUND 9
#endif
#ifndef GENERATIONS
#define GENERATIONS 4
#endif

#define SENDER 0
#define WORKER 1

#define FREE 0
#define WRITING 1
#define READY 2
#define CLAIMED 3
#define DONE 4

#define WORD(state, flag, owner, generation) \
  ((state) | (flag) << 3 | (owner) << 4 | (generation) << 5)
#define STATE(w) ((w) & 7)
#define FLAG(w) (((w) >> 3) & 1)
#define OWNER(w) (((w) >> 4) & 1)
#define GENERATION(w) ((w) >> 5)
#define CALLED(w) ((w) | 8)
#define MOVED(w, state, owner) WORD(state, FLAG(w), owner, GENERATION(w))

/* Positions begin a whole round of lives late, so that there is one before the first. */
#define ORIGIN (SLOTS * GENERATIONS)
#define SLOT_AT(p) ((p) % SLOTS)
#define LIFE_AT(p) (((p) / SLOTS + 1) % GENERATIONS)
#define BEFORE(life) (((life) + GENERATIONS - 1) % GENERATIONS)

/* Shared memory. */
byte word[SLOTS], task[SLOTS], result[SLOTS], turn[SLOTS];
byte submitted = ORIGIN, claimed = ORIGIN, collected = ORIGIN;

/* Store buffers; 0: nothing. */
byte late_task, late_task_slot;
byte late_result, late_result_slot;
byte late_word, late_word_slot;

/* Who lives. */
bool dead;                      /* the worker, and the kernel has said so */
bool finished;
byte crashes_left = CRASHES;

/* For the properties only: by task, from bit 1 on; and which task is in a slot. */
byte accepted, back, begun, ended, settled, called;
byte holder[SLOTS];
bool in_hand[SLOTS];            /* of the sender: collected, not released */

/* What went wrong, in the words that pan prints. Asserted false at once: they cost no states. */
bool claimed_twice, claimed_and_back, torn, flag_wrong, damaged, wrong_result, settled_twice;
bool out_of_order, lost, leaked;
bool renewed, called_off, owed_published, mended, passed;

#define BIT(i) (1 << (i))
#define HAS(set, i) (((set) & BIT(i)) != 0)

/* ---- Stores that wait ---- */

inline drain_task() {
  if
  :: late_task != 0 -> task[late_task_slot] = late_task; late_task = 0; late_task_slot = 0
  :: else
  fi
}

inline drain_result() {
  if
  :: late_result != 0 ->
     result[late_result_slot] = late_result;
     late_result = 0;
     late_result_slot = 0
  :: else
  fi
}

/* What the word releases is there before it. */
inline drain_word() {
  if
  :: late_word != 0 ->
#ifndef UNRELEASED_DONE
     drain_result();
#endif
     word[late_word_slot] = late_word;
     late_word = 0;
     late_word_slot = 0
  :: else
  fi
}

inline maybe_drain_task() {
  if
  :: late_task != 0 -> drain_task()
  :: true
  fi
}

inline maybe_drain_worker() {
#ifdef NOTHING_RELEASED       /* the word is seen, else that is damage already */
  drain_word();
#else
  if
  :: late_word != 0 -> drain_word()
  :: true
  fi;
#endif
  if
  :: late_result != 0 -> drain_result()
  :: true
  fi
}

/* ---- Worker ---- */

#if SLOTS == 1
#define HAVE (mine[0] != 0)
#elif SLOTS == 2
#define HAVE ((mine[0] != 0) + (mine[1] != 0))
#else
#define HAVE ((mine[0] != 0) + (mine[1] != 0) + (mine[2] != 0) + (mine[3] != 0))
#endif
#define FORGET s = 0; w = 0; id = 0; seen = 0; again = false

/* The beginning of a step: it may be the one that is never taken. */
inline may_die() {
#if CRASHES > 0
  if
  :: crashes_left > 0 && !finished -> crashes_left--; goto died
  :: true
  fi
#else
  skip
#endif
}

#ifdef ANY_LIFE
#define FITS(w) (STATE(w) == READY)
#else
#define FITS(w) (STATE(w) == READY && GENERATION(w) == LIFE_AT(claimed))
#endif
#define NEXT_WORD word[SLOT_AT(claimed)]

#ifdef CLAIM_BY_STORE
#define STILL(s, w) true
#else
#define STILL(s, w) (word[s] == w)
#endif

inline note_claimed() {
  claimed_and_back = HAS(back, holder[s]);
  assert(!claimed_and_back);
  claimed_twice = HAS(begun, holder[s]);
  assert(!claimed_twice);
  flag_wrong = (FLAG(w) != HAS(called, holder[s]));
  assert(!flag_wrong);
  begun = begun | BIT(holder[s]);
#ifdef RENEWED
  renewed = (seen != holder[s]);
  assert(!renewed);
#endif
#ifdef CALLED_OFF
  called_off = (seen == holder[s] && again && FLAG(w));
  assert(!called_off);
#endif
  printf("claims task %d in slot %d\n", holder[s], s)
}

inline store_position() {
  atomic { may_die(); claimed = claimed + 1 }
}

/* mine[s]: the word of slot s that was claimed. */
inline claim() {
  atomic {
    !finished && HAVE < BATCH && FITS(NEXT_WORD) ->
    may_die();
    s = SLOT_AT(claimed);
    w = word[s];
#if defined(RENEWED) || defined(CALLED_OFF)
    seen = holder[s];
#endif
#ifdef UNACQUIRED_CLAIM
    early[s] = task[s];
#endif
  };
#ifdef POSITION_FIRST
  store_position();
#endif
  do
  :: atomic {
       w != 0 ->
       may_die();
       if
       :: STILL(s, w) ->
          note_claimed();
          mine[s] = MOVED(w, CLAIMED, WORKER);
          word[s] = mine[s];
          w = 0
       :: else ->
#ifdef LOST_RACE_PASSES
          w = 0
#else
          w = word[s];
          w = (FITS(w) -> w : 0);
#ifdef CALLED_OFF
          again = true
#endif
#endif
       fi
     }
  :: atomic { w == 0 -> break }
  od;
#ifndef POSITION_FIRST
  if
#ifdef LOST_RACE_PASSES
  :: true -> store_position()
#else
  :: mine[s] != 0 -> store_position()
  :: mine[s] == 0
#endif
  fi;
#endif
  atomic { FORGET }
}

/* The contents as the worker sees them. */
inline read_contents() {
  atomic {
    may_die();
    maybe_drain_task();
#ifdef UNACQUIRED_CLAIM
    id = early[s];
    early[s] = 0;
#else
    id = task[s];
#endif
    torn = (id != holder[s]);
    assert(!torn)
  }
}

inline write_result() {
  atomic {
    may_die();
#ifdef BUFFERS
    drain_word();
    drain_result();
    late_result = id;
    late_result_slot = s
#else
    result[s] = id
#endif
  }
}

inline store_done() {
  atomic {
    may_die();
    ended = ended | BIT(holder[s]);
#ifdef BUFFERS
    late_word = MOVED(mine[s], DONE, WORKER);
    late_word_slot = s
#else
    word[s] = MOVED(mine[s], DONE, WORKER)
#endif
  }
}

inline store_turn() {
  atomic {
    may_die();
#if defined(BUFFERS) && !defined(UNRELEASED_TURN)
    drain_word();
    drain_result();
#endif
    turn[s] = GENERATION(mine[s]);
    printf("stores the turn of task %d in slot %d\n", holder[s], s)
  }
}

inline complete() {
  read_contents();
#if defined(TURN_BEFORE_WORD)
  write_result();
  store_turn();
  store_done();
#elif defined(TURN_BEFORE_RESULT)
  store_done();
  store_turn();
  write_result();
#else
  write_result();
  store_done();
  store_turn();
#endif
  atomic { mine[s] = 0; FORGET }
}

proctype Worker() {
  byte s, w, id, mine[SLOTS], i;
  byte seen;                    /* for witnesses */
  bool again;
#ifdef UNACQUIRED_CLAIM
  byte early[SLOTS];
#endif
alive:
  do
  :: claim()
  :: atomic { mine[0] != 0 -> s = 0 }; complete()
#if SLOTS > 1
  :: atomic { mine[1] != 0 -> s = 1 }; complete()
#endif
#if SLOTS > 2
  :: atomic { mine[2] != 0 -> s = 2 }; complete()
  :: atomic { mine[3] != 0 -> s = 3 }; complete()
#endif
#if CRASHES > 0
  :: atomic { crashes_left > 0 && !finished -> crashes_left--; goto died }
#endif
  :: atomic { finished -> goto finish }
  od;
died:
  atomic {
    drain_word();
    drain_result();
    FORGET;
    for (i : 0 .. SLOTS - 1) {
      mine[i] = 0;
#ifdef UNACQUIRED_CLAIM
      early[i] = 0
#endif
    }
    i = 0;
    dead = true;
    printf("the worker dies\n")
  };
#ifndef INDEX_REUSED_EARLY
  atomic { !dead || finished -> skip };
#endif
  goto alive;
finish:
}

/* ---- Sender ---- */

#define FREE_WORD word[SLOT_AT(submitted)]
#define IS_PASSED (submitted < collected + SLOTS)

#ifdef FREE_UNCHECKED
#define IS_FREE true
#else
#define IS_FREE (STATE(FREE_WORD) == FREE)
#endif

inline write_contents() {
  atomic {
#ifdef BUFFERS
    drain_task();
    late_task = next;
    late_task_slot = s
#else
    task[s] = next
#endif
  }
}

inline store_ready() {
  atomic {
#if defined(BUFFERS) && !defined(UNRELEASED_READY)
    drain_task();
#endif
    holder[s] = next;
    accepted = accepted | BIT(next);
    word[s] = WORD(READY, 0, SENDER, LIFE_AT(submitted));
    submitted++;
    printf("submits task %d in slot %d\n", next, s)
  }
}

inline submit() {
  atomic {
    next <= TASKS && IS_FREE ->
    s = SLOT_AT(submitted);
#ifndef FREE_UNCHECKED
    damaged = (GENERATION(word[s]) != BEFORE(LIFE_AT(submitted)));
    assert(!damaged);
#endif
#ifndef REUSED_UNPASSED
    collected = (IS_PASSED -> collected : collected + 1)
#endif
  };
  word[s] = WORD(WRITING, 0, SENDER, LIFE_AT(submitted));
#ifdef READY_BEFORE_CONTENTS
  store_ready();
  write_contents();
#else
  write_contents();
  store_ready();
#endif
  atomic { next++; s = 0 }
}

#define NEWEST word[SLOT_AT(submitted - 1)]
#ifdef ANY_LIFE
#define IS_BACK_LIFE true
#else
#define IS_BACK_LIFE (GENERATION(NEWEST) == LIFE_AT(submitted - 1))
#endif
#ifdef BACK_BY_STORE
#define STILL_READY true
#else
#define STILL_READY (word[s] == w)
#endif
#ifdef POSITION_KEPT
#define ONE_BACK submitted
#else
#define ONE_BACK (submitted - 1)
#endif
#ifdef LIFE_KEPT
#define FREE_LIFE(w) GENERATION(w)
#else
#define FREE_LIFE(w) (STATE(w) == WRITING -> BEFORE(GENERATION(w)) : GENERATION(w))
#endif

inline take_back() {
  atomic {
    backs_left > 0 && STATE(NEWEST) == READY && IS_BACK_LIFE ->
    s = SLOT_AT(submitted - 1);
    w = word[s]
  };
  atomic {
    if
    :: STILL_READY ->
       claimed_and_back = HAS(begun, holder[s]);
       assert(!claimed_and_back);
       back = back | BIT(holder[s]);
       backs_left--;
       w = MOVED(w, WRITING, SENDER);
       word[s] = w;
       submitted = ONE_BACK;
       printf("takes task %d back\n", holder[s])
    :: else -> w = 0
    fi
  };
  if
  :: atomic { w != 0 -> word[s] = WORD(FREE, 0, SENDER, FREE_LIFE(w)); w = 0; s = 0 }
  :: atomic { w == 0 -> s = 0 }
  fi
}

#define CAN_BE_CALLED(w) ((STATE(w) == READY || STATE(w) == CLAIMED) && !FLAG(w))

/* Slot s. */
inline cancel() {
  w = word[s];
  do
  :: atomic { !CAN_BE_CALLED(w) -> s = 0; w = 0; break }
  :: atomic {
       CAN_BE_CALLED(w) ->
       if
       :: word[s] == w ->
          word[s] = CALLED(w);
          called = called | BIT(holder[s]);
          cancels_left--;
          s = 0;
          w = 0;
          break
       :: else -> w = word[s]
       fi
     }
  od
}

#ifdef TURN_IGNORED
#define IS_DONE (collected < submitted)
#else
#define IS_DONE (turn[SLOT_AT(collected)] == LIFE_AT(collected))
#endif
#ifdef DAMAGE_UNSEEN
#define NOTE_DAMAGE damaged = false
#else
#define NOTE_DAMAGE damaged = true; assert(!damaged)
#endif

inline note_settled() {
  settled_twice = HAS(settled, holder[s]);
  assert(!settled_twice);
  settled = settled | BIT(holder[s])
}

inline collect() {
#ifdef UNACQUIRED_TURN
  atomic { collected < submitted -> w = word[SLOT_AT(collected)] };
  atomic { IS_DONE -> s = SLOT_AT(collected) };
#else
  atomic { IS_DONE -> s = SLOT_AT(collected) };
  atomic { maybe_drain_worker(); w = word[s] };
#endif
  if
  :: atomic {
       STATE(w) == DONE && GENERATION(w) == LIFE_AT(collected) ->
       collected++;
       in_hand[s] = true
     };
     atomic {
       drain_task();
       wrong_result = (task[s] != holder[s] || result[s] != holder[s]);
       assert(!wrong_result);
       out_of_order = (holder[s] <= last);
       assert(!out_of_order);
       last = holder[s];
       note_settled();
       printf("collects task %d\n", last);
       s = 0;
       w = 0
     }
  :: atomic {
       STATE(w) == FREE && GENERATION(w) == LIFE_AT(collected) ->
       collected++;
#ifdef PASSED
       passed = true;
       assert(!passed);
#endif
       s = 0;
       w = 0
     }
  :: atomic {
       (STATE(w) != DONE && STATE(w) != FREE) || GENERATION(w) != LIFE_AT(collected) ->
       NOTE_DAMAGE;
       collected++;
       s = 0;
       w = 0
     }
  fi
}

/* A slot that was collected, or was seized. */
#define IS_OURS(s) (in_hand[s] || (STATE(word[s]) == CLAIMED && OWNER(word[s]) == SENDER))

inline release() {
  atomic { w = word[s]; word[s] = WORD(FREE, 0, SENDER, FREE_LIFE(w)); in_hand[s] = false };
  if
  :: atomic {
       STATE(w) == CLAIMED ->
#ifndef TURN_NOT_PASSED
       turn[s] = GENERATION(w);
#endif
       lost = HAS(ended, holder[s]);
       assert(!lost);
       note_settled();
       printf("releases task %d of a dead worker\n", holder[s]);
       s = 0;
       w = 0
     }
  :: atomic { STATE(w) != CLAIMED -> s = 0; w = 0 }
  fi
}

#ifdef DONE_RELEASED
#define IS_HELD(w) (OWNER(w) == WORKER && (STATE(w) == CLAIMED || STATE(w) == DONE))
#else
#define IS_HELD(w) (OWNER(w) == WORKER && STATE(w) == CLAIMED)
#endif

inline seize_all() {
  do
  :: atomic {
       s < SLOTS ->
       w = word[s];
       if
       :: IS_HELD(w) -> word[s] = MOVED(w, CLAIMED, SENDER); found++
       :: else
       fi;
       w = 0;
       s++;
       if
       :: found == FOUND -> found = 0; s = 0; goto look
       :: else
       fi
     }
  :: atomic { s == SLOTS -> s = 0; found = 0; break }
  od
}

#ifdef ANY_LIFE_MENDED
#define IS_WAITING(p) (STATE(word[SLOT_AT(p)]) == READY)
#else
#define IS_WAITING(p) (STATE(word[SLOT_AT(p)]) == READY && \
                       GENERATION(word[SLOT_AT(p)]) == LIFE_AT(p))
#endif

inline mend_claimed() {
  atomic {
    w = claimed;
    do
#ifdef MENDED_TO_THE_END
    :: w < submitted -> w++
#else
    :: w < submitted && !IS_WAITING(w) -> w++
#endif
    :: else -> break
    od;
#ifdef MENDED
    mended = (claimed != w);
    assert(!mended);
#endif
    claimed = w;
    w = 0
  }
}

inline publish_lane() {
  atomic {
    for (s : 0 .. SLOTS - 1) {
      w = word[s];
      if
      :: STATE(w) == DONE && OWNER(w) == WORKER ->
#ifdef OWED
         owed_published = (turn[s] != GENERATION(w));
         assert(!owed_published);
#endif
         turn[s] = GENERATION(w)
      :: else
      fi
    }
    s = 0;
    w = 0
  }
}

inline sweep() {
  dead;
#ifndef NOT_SEIZED
  seize_all();
#endif
#ifndef NO_MEND
  mend_claimed();
#endif
#ifndef NOT_PUBLISHED
  publish_lane();
#endif
  atomic { dead = false; printf("has swept\n") }
}

#if SLOTS == 1
#define ALL_FREE (STATE(word[0]) == FREE)
#elif SLOTS == 2
#define ALL_FREE (STATE(word[0]) == FREE && STATE(word[1]) == FREE)
#else
#define ALL_FREE (STATE(word[0]) == FREE && STATE(word[1]) == FREE && \
                  STATE(word[2]) == FREE && STATE(word[3]) == FREE)
#endif

proctype Sender() {
  byte s, w, found, next = 1, last;
  byte backs_left = TAKE_BACKS, cancels_left = CANCELS;
look:
  do
  :: submit()
  :: take_back()
  :: collect()
  :: atomic { IS_OURS(0) -> s = 0 }; release()
  :: atomic { cancels_left > 0 && CAN_BE_CALLED(word[0]) -> s = 0 }; cancel()
#if SLOTS > 1
  :: atomic { IS_OURS(1) -> s = 1 }; release()
  :: atomic { cancels_left > 0 && CAN_BE_CALLED(word[1]) -> s = 1 }; cancel()
#endif
#if SLOTS > 2
  :: atomic { IS_OURS(2) -> s = 2 }; release()
  :: atomic { IS_OURS(3) -> s = 3 }; release()
#endif
  :: sweep()
  :: atomic {
       next > TASKS && !dead && ALL_FREE && !IS_DONE ->
       lost = ((accepted & ~back) != settled);
       assert(!lost);
       finished = true;
       goto finish
     }
  od;
finish:
}

/* ---- Beginning and end ---- */

init {
  byte p;
  atomic {
    for (p : 0 .. SLOTS - 1) { word[p] = WORD(FREE, 0, SENDER, 0) }
    run Sender();
    run Worker();
    p = 0
  };
  atomic {
    _nr_pr == 1 ->
    leaked = (claimed != submitted || collected != submitted);
    assert(!leaked);
    for (p : submitted .. submitted + SLOTS - 1) {
      leaked = (word[SLOT_AT(p)] != WORD(FREE, 0, SENDER, BEFORE(LIFE_AT(p))) ||
                turn[SLOT_AT(p)] != BEFORE(LIFE_AT(p)));
      assert(!leaked)
    }
  }
}
