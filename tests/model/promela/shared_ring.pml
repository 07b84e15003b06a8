/* shared_ring.pml: version 2 of the ring between processes, where anybody may die at any step.
 *
 * A slot's word (state, cancel flag, attempt, generation, owner) is the authority. Three rings of
 * tags, ready, done and free, say where to look. put: load tail; load its cell; of this cycle: help
 * tail; of the cycle before: load head, full?, exchange the cell, help tail. take: load head; load
 * its cell; load the word; it fits: exchange the word, help head; else help head past it.
 * Producers take free slots and put ready ones; workers take ready ones and put done ones; the
 * supervisor takes done ones, delivers, and puts free ones. It also sweeps the dead: takes over
 * what they held, and publishes what they owed, which a look at all cells decides.
 *
 * One step is one access to shared memory; every interleaving of the steps is explored, under
 * sequential consistency. Whoever dies stops where it is; when it has been swept, another takes its
 * index (NO_RESPAWN: nobody takes the first worker's). The look at the cells is one step, unless
 * SCAN_BY_CELLS. With SLEEP workers that find nothing sleep, and tasks may block; without it they
 * wait for the cell that they look at. What sleepers do without deaths is parking_lot.pml.
 *
 * Sizes: SLOTS slots, rings of LENGTH cells, TASKS tasks for each producer, at most CRASHES deaths
 * of producers, workers, and with HEIRS also of supervisors; MAX_ATTEMPTS claims of a task.
 * Generations count to GENERATIONS and begin again. TURNED: positions begin so far into the lap.
 * NARROW is one slot; SLEEPER, TWO_SLEEPERS and THIRD_TRY stand for one task in it, with SLEEP or
 * three attempts; NO_RESPAWN is one of two sleepers that dies.
 *
 * Properties: no attempt is claimed twice (claimed_twice); what is claimed and delivered is a task
 * that was accepted, once (wrong_task, delivered_twice; an heir may deliver again what the dead one
 * had in hand); no ring is ever full (full_seen); nobody who lives is fenced (fenced_alive); nobody
 * waits for ever (invalid end state), so every accepted task is delivered and no worker sleeps
 * while work waits; at the end all slots are free and the free ring leads to each once (leaked).
 * With -l: no endless run.
 *
 * check: no_deaths              -DWORKERS=2                    expect holds
 * check: two_producers          -DPRODUCERS=2 -DTASKS=1        expect holds
 * check: a_death                -DCRASHES=1 -DTASKS=3          expect holds
 * check: a_death_of_three       -DCRASHES=1 -DPRODUCERS=2 -DTASKS=1 expect holds
 * check: deaths_in_one_slot     -DCRASHES=3 -DNARROW           expect holds
 * check: heirs                  -DCRASHES=2 -DHEIRS            expect holds
 * check: cancelled              -DCRASHES=1 -DCANCELS=1        expect holds
 * check: few_generations        -DCRASHES=1 -DTASKS=4 -DGENERATIONS=2 expect holds
 * check: turned                 -DCRASHES=1 -DTURNED=3         expect holds
 * check: sleepers               -DCRASHES=1 -DSLEEP -DNARROW   expect holds
 * check: no_endless_run         -DCRASHES=1 -DTASKS=1          expect holds -l
 * check: four long              -DCRASHES=1 -DPRODUCERS=2 -DWORKERS=2 -DTASKS=1 expect holds
 * check: two_workers long       -DCRASHES=2 -DWORKERS=2        expect holds
 * check: scan_by_cells long     -DCRASHES=1 -DWORKERS=2 -DSCAN_BY_CELLS expect holds
 * check: heirs_of_heirs long    -DCRASHES=3 -DHEIRS            expect holds
 * check: cancelled_twice long   -DCRASHES=2 -DCANCELS=2        expect holds
 * check: two_sleepers long      -DCRASHES=1 -DTWO_SLEEPERS     expect holds
 * check: not_replaced         long -DNO_RESPAWN                   expect holds
 *
 * Witnesses, which the correct model must reach: what a dead producer, worker and supervisor owed
 * is published by a sweep; both tasks are delivered in spite of two deaths.
 * check: owed_ready             -DORPHAN=READY -DCRASHES=1     expect reaches:orphan_published
 * check: owed_done              -DORPHAN=DONE -DCRASHES=1      expect reaches:orphan_published
 * check: owed_free              -DORPHAN=FREE -DCRASHES=1 -DHEIRS expect reaches:orphan_published
 * check: outlived               -DALL_DIED -DCRASHES=2         expect reaches:all_died
 *
 * Mutations of the rings:
 * check: without_attempt -DENTRY_WITHOUT_ATTEMPT -DCRASHES=2 -DTHIRD_TRY expect fails:full_seen
 * check: entry_without_generation -DENTRY_WITHOUT_GENERATION -DCRASHES=1 expect fails:leaked
 * check: generation_kept        -DGENERATION_KEPT -DCRASHES=1  expect fails:leaked
 * check: failed_claim_passes    -DFAILED_CLAIM_PASSES -DCANCELS=1 expect fails:invalid_end_state
 * check: head_first             -DHEAD_FIRST -DCRASHES=1       expect fails:invalid_end_state
 * check: published_before_ready -DPUBLISHED_BEFORE_READY       expect fails:invalid_end_state
 * check: unsigned_full          -DUNSIGNED_FULL -DPRODUCERS=2 -DTASKS=1 expect fails:full_seen
 * check: tail_not_helped        -DTAIL_NOT_HELPED -DCRASHES=1  expect fails:non-progress_cycle -l
 * check: head_not_helped        -DHEAD_NOT_HELPED -DCRASHES=1  expect fails:non-progress_cycle -l
 *
 * Mutations of owners and of the sweep:
 * check: flag_fences            -DFLAG_FENCES -DCANCELS=1      expect fails:invalid_end_state
 * check: index_reused_early     -DINDEX_REUSED_EARLY -DCRASHES=1 expect fails:fenced_alive
 * check: state_forgotten        -DSTATE_FORGOTTEN -DCRASHES=2 -DHEIRS expect fails:wrong_task
 * check: nothing_published      -DNOTHING_PUBLISHED -DCRASHES=1 expect fails:invalid_end_state
 * check: always_published       -DALWAYS_PUBLISHED -DCRASHES=2 -DNARROW expect fails:full_seen
 * check: epoch_late             -DEPOCH_LATE -DSLEEPER         expect fails:invalid_end_state
 * check: no_wake_all            -DNO_WAKE_ALL -DCRASHES=1 -DSLEEPER expect fails:invalid_end_state
 * check: wake_all_by_bits -DWAKE_ALL_BY_BITS -DCRASHES=1 -DSLEEPER expect fails:invalid_end_state
 * check: wake_all_first -DWAKE_ALL_FIRST -DCRASHES=1 -DSLEEPER expect fails:invalid_end_state
 * check: bit_cleared_last long  -DBIT_CLEARED_LAST -DNO_RESPAWN expect fails:invalid_end_state
 */

#ifdef NO_RESPAWN
#define TWO_SLEEPERS
#define CRASHES 1
#endif
#if defined(SLEEPER) || defined(TWO_SLEEPERS)
#define SLEEP
#endif
#ifdef TWO_SLEEPERS
#define WORKERS 2
#endif
#ifdef THIRD_TRY
#define MAX_ATTEMPTS 3
#endif
#if defined(SLEEPER) || defined(TWO_SLEEPERS) || defined(THIRD_TRY)
#define NARROW
#define TASKS 1
#endif
#ifdef NARROW
#define SLOTS 1
#define LENGTH 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef LENGTH
#define LENGTH 4
#endif
#ifndef PRODUCERS
#define PRODUCERS 1
#endif
#ifndef WORKERS
#define WORKERS 1
#endif
#ifndef TASKS
#define TASKS 2
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef MAX_ATTEMPTS
#define MAX_ATTEMPTS 2
#endif
#ifndef GENERATIONS
#define GENERATIONS 4
#endif
#ifndef TURNED
#define TURNED 0
#endif
#define ALL_TASKS (PRODUCERS * TASKS)

/* Indexes: producers, then workers, then the supervisor and its heir. */
#define WORKER(i) (PRODUCERS + (i))
#define FIRST_SUPERVISOR (PRODUCERS + WORKERS)
#define PARTICIPANTS (PRODUCERS + WORKERS + 2)
#define NOONE PARTICIPANTS

/* States, those of rings first: the ring of a state has its number. */
#define READY 0
#define DONE 1
#define FREE 2
#define WRITING 3
#define CLAIMED 4
#define SETTLING 5
#define RINGS 3

#define WORD(state, flag, attempt, generation, owner) \
  ((state) | (flag) << 3 | (attempt) << 4 | (generation) << 6 | (owner) << 8)
#define STATE(w) ((w) & 7)
#define FLAG(w) (((w) >> 3) & 1)
#define ATTEMPT(w) (((w) >> 4) & 3)
#define GENERATION(w) (((w) >> 6) & 3)
#define OWNER(w) ((w) >> 8)
#define WITHOUT_FLAG(w) ((w) & ~8)
#define MOVED(w, state, owner) WORD(state, FLAG(w), ATTEMPT(w), GENERATION(w), owner)
#define FREED(w, owner) WORD(FREE, 0, 0, GENERATION(w), owner)

#ifdef ENTRY_WITHOUT_ATTEMPT
#define TAG_ATTEMPT(w) 0
#else
#define TAG_ATTEMPT(w) ATTEMPT(w)
#endif
#ifdef ENTRY_WITHOUT_GENERATION
#define TAG_GENERATION(w) 0
#else
#define TAG_GENERATION(w) GENERATION(w)
#endif
#define TAG(w, s) ((s) | TAG_ATTEMPT(w) << 1 | TAG_GENERATION(w) << 3)
#define TAGS 32
#define CYCLE(e) ((e) / TAGS)
#define TAG_IN(e) ((e) % TAGS)
#define SLOT_IN(e) ((e) & 1)
#define CELL(ring, position) cell[(ring) * LENGTH + (position) % LENGTH]
#define HOLDS(ring) (CYCLE(CELL(ring, head[ring])) == head[ring] / LENGTH)

short word[SLOTS];
byte task[SLOTS];               /* what is in the slot: one of 1 .. ALL_TASKS */
short cell[RINGS * LENGTH];
byte head[RINGS], tail[RINGS];

/* Who lives. */
bool dead[PARTICIPANTS];        /* and the kernel has said so */
byte crashes_left = CRASHES, cancels_left = CANCELS;
byte producers_left = PRODUCERS;
bool finished;

/* Sleeping: of an epoch only this matters, has it changed since its worker loaded it? */
byte sleepers;                  /* bit i: worker i may be woken */
bool bumped[WORKERS];
#define BIT(i) (1 << (i))

/* For the properties only: by task, from bit 1 on. */
byte accepted, delivered, claimed;
byte tries[ALL_TASKS + 1];

/* What went wrong, in the words that pan prints. Asserted false at once: they cost no states. */
bool claimed_twice, wrong_task, delivered_twice, full_seen, fenced_alive, leaked;
bool orphan_published, all_died;

/* An operation's locals; cleared behind it, so that they tell no states apart. */
#define LOCALS byte t, h, s, i, got; short e, w, n
#define FORGET t = 0; h = 0; s = 0; i = 0; got = 0; e = 0; w = 0; n = 0

/* The beginning of a step: it may be the one that is never taken. Whoever does not move may die as
   late as it likes, so this covers every moment. */
#ifdef HEIRS
#define MORTAL true
#else
#define MORTAL (me < FIRST_SUPERVISOR)
#endif

inline may_die() {
#if CRASHES > 0
  if
  :: crashes_left > 0 && !finished && MORTAL -> crashes_left--; dead[me] = true; goto died
  :: true
  fi
#else
  skip
#endif
}

/* ---- Rings ---- */

#ifdef UNSIGNED_FULL
#define IS_FULL (t < h || t - h >= LENGTH)
#else
#define IS_FULL (t >= h + LENGTH)
#endif

inline help_tail(ring) {
  if
  :: tail[ring] == t -> tail[ring] = t + 1
  :: else
  fi
}

inline pass(ring) {
  if
  :: head[ring] == h -> head[ring] = h + 1
  :: else
  fi
}

/* Publishes word n of slot s. got: which step is next; 0 before and behind. */
inline put(ring) {
  do
  :: atomic { got == 0 -> may_die(); t = tail[ring]; got = 1 }
  :: atomic {
       got == 1 ->
       may_die();
       e = CELL(ring, t);
       got = (CYCLE(e) == t / LENGTH -> 2 : (CYCLE(e) == t / LENGTH - 1 -> 3 : 0))
     }
#ifdef TAIL_NOT_HELPED
  :: atomic { got == 2 -> got = 0 }
#else
  :: atomic { got == 2 -> may_die(); help_tail(ring); got = 0 }
#endif
  :: atomic { got == 3 -> may_die(); h = head[ring]; got = (IS_FULL -> 4 : 5) }
  :: atomic {
       got == 4 ->
       may_die();
       full_seen = (tail[ring] == t);
       assert(!full_seen);
       got = 0
     }
  :: atomic {
       got == 5 ->
       may_die();
       if
       :: CELL(ring, t) == e -> CELL(ring, t) = t / LENGTH * TAGS + TAG(n, s); got = 6
       :: else -> got = 0
       fi;
       h = 0;
       e = 0
     }
  :: atomic { got == 6 -> may_die(); help_tail(ring); t = 0; got = 0; break }
  od
}

/* The new word of a slot that was taken out of a ring. */
#ifdef GENERATION_KEPT
#define NEXT_LIFE 0
#else
#define NEXT_LIFE 1
#endif
#define TAKEN(ring, w) \
  (ring == FREE -> WORD(WRITING, 0, 0, (GENERATION(w) + NEXT_LIFE) % GENERATIONS, me) : \
   (ring == READY -> WORD(CLAIMED, FLAG(w), ATTEMPT(w) + 1, GENERATION(w), me) : \
                     MOVED(w, SETTLING, me)))

inline note_taken(ring) {
  if
  :: ring == READY ->
     wrong_task = ((accepted & BIT(task[s])) == 0);
     assert(!wrong_task);
     claimed_twice = (ATTEMPT(n) != tries[task[s]] + 1);
     assert(!claimed_twice);
     tries[task[s]]++;
     claimed = claimed | BIT(task[s]);
     printf("%d: claims task %d in slot %d\n", me, task[s], s)
  :: else -> printf("%d: takes slot %d out of ring %d\n", me, s, ring)
  fi
}

#ifdef FAILED_CLAIM_PASSES
#define BEHIND_LOST_RACE 4
#else
#define BEHIND_LOST_RACE 0
#endif

/* got: which step is next; 0 before. Behind it 1 if slot s was taken, whose word is n now, and 0 if
   the ring is empty. */
inline take(ring) {
  do
  :: atomic { got == 0 -> may_die(); h = head[ring]; got = 2 }
  :: atomic {
       got == 2 ->
       may_die();
       e = CELL(ring, h);
       if
       :: CYCLE(e) == h / LENGTH - 1 -> h = 0; e = 0; got = 0; break
       :: CYCLE(e) == h / LENGTH -> got = 3; s = SLOT_IN(e)
       :: else -> h = 0; e = 0; got = 0
       fi
     }
#ifdef HEAD_FIRST
  :: atomic {
       got == 3 ->
       may_die();
       if
       :: head[ring] == h -> head[ring] = h + 1; got = 7
       :: else -> got = 0
       fi
     }
  :: atomic {
       got == 7 ->
#else
  :: atomic {
       got == 3 ->
#endif
       may_die();
       w = word[s];
       got = (STATE(w) == ring && TAG(w, s) == TAG_IN(e) -> 5 : 4)
     }
#ifdef HEAD_NOT_HELPED
  :: atomic { got == 4 -> got = 0 }
#else
  :: atomic { got == 4 -> may_die(); pass(ring); h = 0; s = 0; e = 0; w = 0; got = 0 }
#endif
  :: atomic {
       got == 5 ->
       may_die();
       if
       :: word[s] == w -> n = TAKEN(ring, w); word[s] = n; note_taken(ring); got = 6
       :: else -> got = BEHIND_LOST_RACE
       fi
     }
  :: atomic { got == 6 -> may_die(); pass(ring); h = 0; e = 0; w = 0; got = 1; break }
  od
}

/* Part of a step: the owner moves slot s from word w to word n, keeping the flag if it was set
   meanwhile. got: 1 if it did. */
inline hand_over() {
  if
  :: word[s] == w -> word[s] = n; got = 1
#ifndef FLAG_FENCES
  :: word[s] != w && WITHOUT_FLAG(word[s]) == WITHOUT_FLAG(w) ->
     n = (STATE(n) == FREE -> n : n | 8);
     word[s] = n;
     got = 1
#endif
  :: else ->
     got = 0;
#ifndef FLAG_FENCES
     fenced_alive = true;
     assert(!fenced_alive)
#endif
  fi;
  w = 0
}

/* ---- Sleeping and waking ---- */

#ifdef SLEEP
#define NOBODY WORKERS
inline pick_sleeper() {
  if
  :: sleepers & 1 -> i = 0
#if WORKERS > 1
  :: sleepers & 2 -> i = 1
#endif
  :: sleepers == 0 -> i = NOBODY
  fi
}

inline wake_one() {
  do
  :: atomic {
       got == 0 ->
       may_die();
       pick_sleeper();
       if
       :: i == NOBODY -> i = 0; break
       :: else -> got = 1
       fi
     }
  :: atomic {
       got == 1 ->
       may_die();
#ifdef OLD_BIT_IGNORED
       got = 2;
#else
       got = ((sleepers & BIT(i)) != 0 -> 2 : 0);
#endif
       sleepers = sleepers & ~BIT(i)
     }
  :: atomic { got == 2 -> may_die(); bumped[i] = true; i = 0; got = 0; break }
  od
}

inline wake_all() {
  do
  :: atomic {
       i < WORKERS ->
       may_die();
#ifdef WAKE_ALL_BY_BITS
       bumped[i] = bumped[i] || (sleepers & BIT(i)) != 0;
#else
       bumped[i] = true;
#endif
       i++
     }
  :: atomic { i == WORKERS -> i = 0; break }
  od
}

inline clear_bit_of(p) {
  if
  :: atomic {
       p >= PRODUCERS && p < FIRST_SUPERVISOR ->
       may_die();
       sleepers = sleepers & ~BIT(p - PRODUCERS)
     }
  :: p < PRODUCERS || p >= FIRST_SUPERVISOR
  fi
}
#else
#define wake_one() skip
#define wake_all() skip
#define clear_bit_of(p) skip
#endif

/* ---- Producer ---- */

proctype Producer(byte me; byte next; byte last) {
  LOCALS;
again:
  do
  :: atomic { next <= last && HOLDS(FREE) -> skip };
     take(FREE);
     if
     :: got == 0
     :: atomic { got == 1 -> may_die(); task[s] = next; w = n; n = MOVED(w, READY, me); got = 0 };
#ifdef PUBLISHED_BEFORE_READY
        put(READY);
        atomic { may_die(); accepted = accepted | BIT(next); next++; w = word[s]; hand_over() };
#else
        atomic { may_die(); accepted = accepted | BIT(next); next++; hand_over(); got = 0 };
        put(READY);
#endif
        atomic { FORGET };
        wake_one()
     fi
  :: atomic { next > last -> producers_left--; goto finish }
  od;
died:
  atomic { FORGET; printf("%d dies\n", me) };
#ifdef INDEX_REUSED_EARLY
  goto again;
#else
  atomic { !dead[me] -> goto again };
#endif
finish:
}

/* ---- Worker ---- */

/* A task may block until all that was accepted has been claimed. */
inline run_task() {
  if
  :: true
  :: atomic { producers_left == 0 && (accepted & ~claimed) == 0 -> skip }
#if CRASHES > 0
  :: atomic { crashes_left > 0 && !finished -> crashes_left--; dead[me] = true; goto died }
#endif
  fi
}

inline complete() {
  atomic { may_die(); w = n; n = MOVED(w, DONE, me); hand_over(); got = 1 - got };
  if
  :: got == 0 -> put(DONE)
  :: got == 1
  fi;
  atomic { FORGET }
}

#define MY_BIT BIT(me - PRODUCERS)

proctype Worker(byte me) {
  LOCALS;
  bool announced;
again:
#ifdef SLEEP
  if
  :: atomic { finished -> goto finish }
  :: !finished
  fi;
#else
  if
  :: atomic { finished -> goto finish }
  :: atomic { !finished && HOLDS(READY) -> skip }
  fi;
#endif
look:
  take(READY);
  if
  :: got == 1
#ifndef SLEEP
  :: got == 0 -> goto again
#else
  :: atomic {
       got == 0 && !announced ->
       may_die();
#ifndef EPOCH_LATE
       bumped[me - PRODUCERS] = false
#endif
     };
     atomic { may_die(); sleepers = sleepers | MY_BIT; announced = true; goto look }
  :: atomic {
       got == 0 && announced ->
       announced = false;
#ifdef EPOCH_LATE
       bumped[me - PRODUCERS] = false
#endif
     };
     if
     :: bumped[me - PRODUCERS] || finished
#if CRASHES > 0
     :: atomic { crashes_left > 0 && !finished -> crashes_left--; dead[me] = true; goto died }
#endif
     fi;
     atomic { may_die(); sleepers = sleepers & ~MY_BIT; goto again }
#endif
  fi;
#ifdef SLEEP
  if
  :: !announced
  :: atomic {
       announced ->
       may_die();
       announced = false;
       i = ((sleepers & MY_BIT) != 0);
       sleepers = sleepers & ~MY_BIT
     };
     if
     :: atomic { i == 0 -> t = s; e = n; got = 0 };
        wake_one();
        atomic { s = t; n = e; t = 0; e = 0; i = 0; got = 1 }
     :: atomic { i == 1 -> i = 0 }
     fi
  fi;
  run_task();
#endif
  complete();
  goto again;
died:
  atomic { FORGET; announced = false; printf("%d dies\n", me) };
#ifdef INDEX_REUSED_EARLY
  goto again;
#endif
#ifdef NO_RESPAWN
  if
  :: me == WORKER(0) -> goto finish
  :: else
  fi;
#endif
  atomic { !dead[me] -> goto again };
finish:
}

/* ---- Supervisor ---- */

inline deliver() {
  wrong_task = ((accepted & BIT(task[s])) == 0);
  assert(!wrong_task);
#ifndef HEIRS
  delivered_twice = ((delivered & BIT(task[s])) != 0);
  assert(!delivered_twice);
#endif
  delivered = delivered | BIT(task[s]);
  printf("%d: delivers task %d\n", me, task[s])
}

#define HELD_BY(p, w) (OWNER(w) == (p) && STATE(w) >= WRITING)
#define TO_RETRY (STATE(n) == CLAIMED && ATTEMPT(n) < MAX_ATTEMPTS && !FLAG(n))

/* Slot s is ours, n is its word: makes it ready again, or delivers it and gives it back. */
inline settle_or_retry() {
  if
  :: atomic { TO_RETRY -> may_die(); w = n; n = MOVED(w, READY, me); hand_over() }
  :: atomic { STATE(n) != WRITING && !TO_RETRY -> may_die(); deliver(); got = 0 };
     atomic { may_die(); w = n; n = FREED(w, me); hand_over() }
  :: atomic { STATE(n) == WRITING -> may_die(); w = n; n = FREED(w, me); hand_over() }
  fi;
  atomic { got = 0; r = STATE(n) };
  put(r);
  if
  :: atomic { r == READY -> n = 0 }; wake_one()
  :: atomic { r != READY -> n = 0; r = 0 }
  fi
}

/* Only the owner changes: should the sweeper die too, the next one must still know what it was. */
#ifdef STATE_FORGOTTEN
#define SEIZED(w) MOVED(w, SETTLING, me)
#else
#define SEIZED(w) MOVED(w, STATE(w), me)
#endif

inline seize_all(p) {
  do
  :: atomic { s < SLOTS -> may_die(); w = word[s] };
     if
     :: atomic {
          HELD_BY(p, w) ->
          may_die();
          if
          :: word[s] == w -> n = SEIZED(w); word[s] = n; got = 1
          :: else -> got = 0
          fi;
          w = 0
        };
        if
        :: got == 1 -> goto settle
        :: got == 0
        fi
     :: atomic { !HELD_BY(p, w) -> w = 0; s++ }
     fi
  :: atomic { s == SLOTS -> s = 0; break }
  od
}

/* Is word w of slot s pending in this cell? Then it is not owed. */
inline look_at_cell(ring) {
  t = head[ring] + (i + LENGTH - head[ring] % LENGTH) % LENGTH;
#ifdef SCAN_IGNORES_POSITION
  got = (TAG_IN(e) == TAG(w, s) && CYCLE(e) > 1 -> 0 : 1);
#else
  got = (TAG_IN(e) == TAG(w, s) && CYCLE(e) == t / LENGTH -> 0 : 1);
#endif
  t = 0;
  i++
}

/* Publishes what p owed, ring by ring. */
inline publish_owed(p) {
  do
  :: atomic { s < SLOTS -> may_die(); w = word[s]; got = (OWNER(w) == p && STATE(w) == r) };
#if defined(SCAN_BY_CELLS)
     do
     :: atomic { got == 1 && i < LENGTH -> e = cell[r * LENGTH + i] };
        atomic { look_at_cell(r) }
     :: atomic { got == 0 || i == LENGTH -> i = 0; e = 0; break }
     od;
#elif !defined(ALWAYS_PUBLISHED)
     atomic {
       do
       :: got == 1 && i < LENGTH -> e = cell[r * LENGTH + i]; look_at_cell(r)
       :: else -> i = 0; e = 0; break
       od
     };
#endif
     if
     :: atomic {
          got == 1 ->
          may_die();
          got = (WITHOUT_FLAG(word[s]) == WITHOUT_FLAG(w) -> 0 : 1);
          w = 0;
          if
          :: got == 0 ->
#ifdef ORPHAN
             orphan_published = (r == ORPHAN);
             assert(!orphan_published);
#endif
             n = MOVED(word[s], r, me);
             word[s] = n
          :: else
          fi
        };
        if
        :: got == 0 -> put(r)
        :: got == 1
        fi;
        atomic { n = 0; got = 0; s++ }
     :: atomic { got == 0 -> w = 0; s++ }
     fi
  :: atomic { s == SLOTS && r < RINGS - 1 -> s = 0; got = 0; r++ }
  :: atomic { s == SLOTS && r == RINGS - 1 -> s = 0; got = 0; r = 0; break }
  od
}

inline end_sweep(p) {
#ifndef NOTHING_PUBLISHED
  publish_owed(p);
#endif
#if defined(WAKE_ALL_FIRST) || defined(NO_WAKE_ALL)
  clear_bit_of(p);
#elif defined(BIT_CLEARED_LAST)
  wake_all();
  clear_bit_of(p);
#else
  clear_bit_of(p);
  wake_all();
#endif
  atomic { may_die(); FORGET; dead[p] = false; printf("%d: has swept %d\n", me, p); p = NOONE }
}

#define DEAD(p) ((p) < PARTICIPANTS && dead[(p) % PARTICIPANTS])
#define ANY_DEAD (DEAD(0) || DEAD(1) || DEAD(2) || DEAD(3) || DEAD(4) || DEAD(5))
#define ALL_FREE (STATE(word[0]) == FREE && STATE(word[SLOTS - 1]) == FREE)

inline find_dead() {
  who = 0;
  do
  :: dead[who] -> break
  :: else -> who++
  od
}

proctype Supervisor(byte me) {
  LOCALS;
  byte r, who = NOONE;
look:
  if
  :: atomic { HOLDS(DONE) -> skip };
     take(DONE);
     if
     :: got == 1 -> goto settle
     :: got == 0 -> goto look
     fi
  :: atomic { ANY_DEAD -> find_dead() };
#ifdef WAKE_ALL_FIRST
     wake_all();
#endif
sweep:
     seize_all(who);
     end_sweep(who);
     goto look
  :: atomic {
       producers_left == 0 && delivered == accepted && ALL_FREE && !ANY_DEAD && !HOLDS(DONE) ->
       finished = true;
#ifdef ALL_DIED
       all_died = (crashes_left == 0 && delivered == 6);
       assert(!all_died);
#endif
       goto finish
     }
  fi;
settle:
  settle_or_retry();
  if
  :: atomic { who == NOONE -> FORGET; r = 0; goto look }
  :: atomic { who != NOONE -> r = 0; got = 0; goto sweep }
  fi;
died:
  atomic {
    FORGET;
    who = NOONE;
    r = 0;
    printf("%d dies\n", me);
    run Supervisor((me == FIRST_SUPERVISOR -> FIRST_SUPERVISOR + 1 : FIRST_SUPERVISOR))
  };
finish:
}

/* ---- Who calls tasks off ---- */

#if CANCELS > 0
#define CAN_BE_CANCELLED(w) ((STATE(w) == READY || STATE(w) == CLAIMED) && !FLAG(w))
proctype Canceller() {
  do
  :: atomic {
       cancels_left > 0 && CAN_BE_CANCELLED(word[0]) -> word[0] = word[0] | 8; cancels_left--
     }
#if SLOTS > 1
  :: atomic {
       cancels_left > 0 && CAN_BE_CANCELLED(word[1]) -> word[1] = word[1] | 8; cancels_left--
     }
#endif
  :: finished || cancels_left == 0 -> break
  od
}
#endif

/* ---- Beginning and end ---- */

inline check_at_rest() {
  for (i : 0 .. SLOTS - 1) {
    leaked = (STATE(word[i]) != FREE);
    assert(!leaked);
    found = 0;
    for (p : head[FREE] .. head[FREE] + LENGTH - 1) {
      found = found + (CELL(FREE, p) == p / LENGTH * TAGS + TAG(word[i], i) -> 1 : 0)
    }
    leaked = (found != 1);
    assert(!leaked)
  }
}

init {
  byte i, p, found;
  atomic {
    for (i : 0 .. SLOTS - 1) { word[i] = WORD(FREE, 0, 0, 0, FIRST_SUPERVISOR) }
    for (i : 0 .. RINGS - 1) {
      head[i] = LENGTH + TURNED;
      tail[i] = LENGTH + TURNED;
      for (p : TURNED .. TURNED + LENGTH - 1) { CELL(i, p) = p / LENGTH * TAGS }
    }
    for (i : 0 .. SLOTS - 1) {
      p = tail[FREE];
      CELL(FREE, p) = p / LENGTH * TAGS + TAG(word[i], i);
      tail[FREE] = p + 1
    }
    for (i : 0 .. PRODUCERS - 1) { run Producer(i, 1 + i * TASKS, (i + 1) * TASKS) }
    for (i : 0 .. WORKERS - 1) { run Worker(WORKER(i)) }
    run Supervisor(FIRST_SUPERVISOR);
#if CANCELS > 0
    run Canceller();
#endif
    i = 0;
    p = 0
  };
  atomic { _nr_pr == 1 -> check_at_rest() }
}
