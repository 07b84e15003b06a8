/* ring_extents.pml: extents of the ring between processes, where anybody may die at any step.
 *
 * An extent's word says whether it is free, held by a participant, or attached to a slot as its
 * payload or as its result; a slot refers to extents by number and generation. Steps: write the
 * reference, attach the extent, hand the slot over; free the extents, then the slot. Only where
 * slot and extent agree is there anything to read or to free. The supervisor also sweeps the dead:
 * frees the extents that they held, puts what they owed, takes over their slots.
 *
 * The rings are not here: shared_ring.pml has them. A slot or an extent that is published is
 * `listed` or not, which put makes true in a step of its own, and taking one is the exchange of its
 * word. One step is one access to shared memory; a task's contents are two, so that they can be
 * torn. Whoever dies stops where it is; when it has been swept, another takes its index.
 *
 * The producer may give an extent back instead of submitting it, WHIMS times.
 *
 * Sizes: SLOTS slots, EXTENTS extents, TASKS tasks of one producer, at most CRASHES deaths of
 * producers, workers, and with HEIRS also of supervisors; MAX_ATTEMPTS claims of a task.
 * Generations count to GENERATIONS and begin again.
 *
 * Properties: what is claimed has its payload, at the beginning and at the end of its run
 * (wrong_payload); what is collected has its result, and what is kept stays as it is until it is
 * freed (wrong_result); what an heir finds settling and cannot read was delivered (lost_result);
 * nothing is put that is in its ring (freed_twice); nobody who lives is fenced (fenced_alive);
 * nobody waits for ever (invalid end state); at the end every task was delivered, and all slots and
 * extents are free and in their rings (leaked).
 *
 * check: no_deaths              -DWORKERS=2                    expect holds
 * check: a_death                -DCRASHES=1 -DTASKS=3          expect holds
 * check: two_deaths             -DCRASHES=2                    expect holds
 * check: heirs                  -DCRASHES=2 -DHEIRS -DONE_SLOT expect holds
 * check: one_extent             -DCRASHES=2 -DEXTENTS=1        expect holds
 * check: three_extents          -DCRASHES=1 -DEXTENTS=3        expect holds
 * check: a_whim                 -DCRASHES=2 -DWHIMS=1          expect holds
 * check: no_endless_run         -DCRASHES=1 -DTASKS=1          expect holds -l
 * check: two_workers long       -DCRASHES=2 -DWORKERS=2        expect holds
 * check: heirs_of_heirs long    -DCRASHES=3 -DHEIRS            expect holds
 * check: many_tasks long        -DCRASHES=2 -DTASKS=4          expect holds
 *
 * Witnesses, which the correct model must reach: a sweep frees what was attached to no task yet;
 * whoever decides about a task frees a result that was not handed in; an heir finds a slot whose
 * release had begun; a reference that fits an extent which is another's is passed by.
 * check: no_task_yet            -DWITNESS_NO_TASK -DCRASHES=1  expect reaches:no_task_yet
 * check: not_handed_in          -DWITNESS_NOT_HANDED_IN -DCRASHES=1 expect reaches:not_handed_in
 * check: release_begun          -DWITNESS_BEGUN -DCRASHES=1 -DHEIRS expect reaches:release_begun
 * check: old_reference          -DWITNESS_OLD -DCRASHES=1 -DTASKS=4 expect reaches:old_reference
 *
 * Mutations:
 * check: attached_first         -DATTACHED_FIRST -DCRASHES=1   expect fails:leaked
 * check: result_attached_first  -DRESULT_ATTACHED_FIRST -DCRASHES=1 expect fails:leaked
 * check: handed_over_first      -DHANDED_OVER_FIRST            expect fails:wrong_payload
 * check: result_handed_over_first -DRESULT_HANDED_OVER_FIRST   expect fails:wrong_result
 * check: slot_freed_first -DSLOT_FREED_FIRST -DCRASHES=1 -DHEIRS expect fails:invalid_end_state
 * check: put_first              -DPUT_FIRST -DCRASHES=1 -DWHIMS=1 expect fails:freed_twice
 * check: held_forgotten         -DHELD_FORGOTTEN -DCRASHES=1   expect fails:leaked
 * check: owed_forgotten         -DOWED_FORGOTTEN -DCRASHES=1 -DHEIRS expect fails:leaked
 * check: retry_keeps_result     -DRETRY_KEEPS_RESULT           expect fails:leaked
 * check: retry_unsaid           -DRETRY_UNSAID -DCRASHES=1 -DHEIRS expect fails:lost_result
 * check: claimed_has_no_result  -DCLAIMED_HAS_NO_RESULT -DCRASHES=1 expect fails:leaked
 * check: reference_alone -DREFERENCE_ALONE -DCRASHES=1 -DTASKS=4 expect fails:wrong_result
 * check: use_forgotten   -DUSE_FORGOTTEN -DCRASHES=1 -DTASKS=4 expect fails:wrong_payload
 * check: kept_behind            -DKEPT_BEHIND                  expect fails:freed_twice
 */

#ifdef ONE_SLOT
#define SLOTS 1
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef EXTENTS
#define EXTENTS 2
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
#ifndef WHIMS
#define WHIMS 0
#endif
#ifndef MAX_ATTEMPTS
#define MAX_ATTEMPTS 2
#endif
#ifndef GENERATIONS
#define GENERATIONS 2
#endif

/* Indexes: the producer, then workers, then the supervisor and its heir. */
#define PRODUCER 0
#define FIRST_SUPERVISOR (1 + WORKERS)
#define PARTICIPANTS (3 + WORKERS)
#define NOONE PARTICIPANTS

/* States of slots; those that are published first. */
#define FREE 0
#define READY 1
#define DONE 2
#define WRITING 3
#define CLAIMED 4
#define SETTLING 5
#define DELAYED 6
#define PUBLISHED(state) ((state) <= DONE)

/* An extent's word: FREE or HELD by a participant, or attached to a slot. */
#define HELD 1
#define PAYLOAD 2
#define RESULT 3
#define WORD(state, who, generation) ((state) | (who) << 2 | (generation) << 5)
#define STATE(w) ((w) & 3)
#define WHO(w) (((w) >> 2) & 7)
#define GENERATION(w) ((w) >> 5)

/* A reference; 0: none. */
#define REFERENCE(e, w) (1 + (e) + GENERATION(w) * EXTENTS)
#define EXTENT_IN(reference) (((reference) - 1) % EXTENTS)
#define FITS(reference, e, w) ((reference) == REFERENCE(e, w))

/* Do slot s and extent e agree? */
#if defined(REFERENCE_ALONE)
#define AGREE(w, use, s) (STATE(w) == use)
#elif defined(USE_FORGOTTEN)
#define AGREE(w, use, s) (STATE(w) >= PAYLOAD && WHO(w) == (s))
#else
#define AGREE(w, use, s) (STATE(w) == use && WHO(w) == (s))
#endif

byte state[SLOTS], owner[SLOTS], attempt[SLOTS];
bool listed[SLOTS];
byte task[SLOTS], payload[SLOTS], result[SLOTS];   /* references, the last two */
byte word[EXTENTS];
bool in_ring[EXTENTS];
byte content[EXTENTS];                             /* the task whose bytes stand there */

bool dead[PARTICIPANTS];                           /* and the kernel has said so */
byte crashes_left = CRASHES, whims_left = WHIMS;
bool produced, finished;

/* For the properties only: by task, from bit 1 on. */
byte accepted, delivered;
#define BIT(i) (1 << (i))

bool readable;
bool wrong_payload, wrong_result, lost_result, freed_twice, fenced_alive, leaked;
bool no_task_yet, not_handed_in, release_begun, old_reference;

#define LOCALS byte s, e, w, k
#define FORGET s = 0; e = 0; w = 0; k = 0

#ifdef HEIRS
#define MORTAL true
#else
#define MORTAL (me < FIRST_SUPERVISOR)
#endif

/* The beginning of a step: it may be the one that is never taken. */
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

/* Stands still in front of a step that others must make possible; may die there too. */
#if CRASHES > 0
#define OR_DIES :: atomic { crashes_left > 0 && !finished && MORTAL -> \
                            crashes_left--; dead[me] = true; goto died }
#else
#define OR_DIES
#endif

/* ---- Extents ---- */

#define IS_FREE(e) (in_ring[e] && STATE(word[e]) == FREE)
#if EXTENTS == 1
#define ANY_FREE IS_FREE(0)
#elif EXTENTS == 2
#define ANY_FREE (IS_FREE(0) || IS_FREE(1))
#else
#define ANY_FREE (IS_FREE(0) || IS_FREE(1) || IS_FREE(2))
#endif

/* Part of a step: extent e is ours, the first that is free. */
inline take_extent() {
  e = 0;
  do
  :: IS_FREE(e) -> break
  :: else -> e++
  od;
  w = WORD(HELD, me, (GENERATION(word[e]) + 1) % GENERATIONS);
  word[e] = w;
  in_ring[e] = false
}

inline put_extent() {
  freed_twice = in_ring[e];
  assert(!freed_twice);
  in_ring[e] = true
}

/* Extent e, whose word was w, becomes free and is put; nothing if somebody was faster. */
inline give_back() {
#ifdef PUT_FIRST
  atomic { may_die(); put_extent() };
  atomic {
    may_die();
    if
    :: word[e] == w -> word[e] = WORD(FREE, me, GENERATION(w))
    :: else
    fi;
    e = 0; w = 0
  }
#else
  if
  :: atomic { word[e] == w -> may_die(); word[e] = WORD(FREE, me, GENERATION(w)); w = 0 };
     atomic { may_die(); put_extent(); e = 0 }
  :: atomic { word[e] != w -> e = 0; w = 0 }
  fi
#endif
}

inline note_freed(use) {
#ifdef WITNESS_NO_TASK
  no_task_yet = (use == PAYLOAD && state[s] == WRITING);
  assert(!no_task_yet);
#endif
#ifdef WITNESS_NOT_HANDED_IN
  not_handed_in = (use == RESULT && state[s] == CLAIMED);
  assert(!not_handed_in);
#endif
  skip
}

/* Frees what is attached to slot s, which is ours, in this use. */
inline free_attached(use, reference) {
  if
  :: atomic { reference == 0 -> skip }
  :: atomic { reference != 0 -> may_die(); e = EXTENT_IN(reference); w = word[e] };
     if
     :: atomic { FITS(reference, e, w) && AGREE(w, use, s) -> note_freed(use) };
        give_back()
     :: atomic {
          !(FITS(reference, e, w) && AGREE(w, use, s)) ->
#ifdef WITNESS_OLD
          old_reference = (FITS(reference, e, w) && STATE(w) >= PAYLOAD);
          assert(!old_reference);
#endif
          e = 0; w = 0
        }
     fi
  fi
}

/* Part of a step: the extent e that we hold as w becomes slot s's. */
inline attach(use) {
  fenced_alive = (word[e] != w);
  assert(!fenced_alive);
  word[e] = WORD(use, s, GENERATION(w));
  e = 0;
  w = 0
}

/* ---- Slots ---- */

/* Part of a step: slot s from a state that is ours to the next. */
inline hand_over(from, to) {
  fenced_alive = (owner[s] != me || state[s] != from);
  assert(!fenced_alive);
  state[s] = to
}

inline put_slot() {
  assert(!listed[s]);
  listed[s] = true
}

#define LISTED(st, i) (listed[i] && state[i] == (st))
#if SLOTS == 1
#define ANY_LISTED(st) LISTED(st, 0)
#else
#define ANY_LISTED(st) (LISTED(st, 0) || LISTED(st, 1))
#endif

/* Part of a step. */
inline take_slot(from, to) {
  s = 0;
  do
  :: LISTED(from, s) -> break
  :: else -> s++
  od;
  state[s] = to;
  owner[s] = me;
  listed[s] = false
}

/* ---- Producer ---- */

inline write_reference() { atomic { may_die(); payload[s] = REFERENCE(e, w) } }
inline write_task() { atomic { may_die(); task[s] = next } }
inline attach_payload() { atomic { may_die(); attach(PAYLOAD) } }
inline make_ready() {
  atomic { may_die(); hand_over(WRITING, READY); accepted = accepted | BIT(next); next++ }
}

proctype Producer(byte me) {
  LOCALS;
  byte next = 1;
again:
  do
  :: next <= TASKS ->
     if
     :: atomic { ANY_FREE -> may_die(); take_extent() }
     OR_DIES
     fi;
     atomic { may_die(); content[e] = next };
     if
     :: atomic { whims_left > 0 -> whims_left-- }; give_back(); goto again
     :: atomic { ANY_LISTED(FREE) -> may_die(); take_slot(FREE, WRITING); attempt[s] = 0 }
     OR_DIES
     fi;
#if defined(ATTACHED_FIRST)
     atomic { may_die(); k = REFERENCE(e, w); attach(PAYLOAD) };
     atomic { may_die(); payload[s] = k };
     write_task();
     make_ready();
#elif defined(HANDED_OVER_FIRST)
     write_reference();
     write_task();
     make_ready();
     atomic { may_die(); put_slot() };
     attach_payload();
#else
     write_reference();
     write_task();
     attach_payload();
     make_ready();
#endif
#ifndef HANDED_OVER_FIRST
     atomic { may_die(); put_slot(); FORGET }
#else
     atomic { FORGET }
#endif
  :: atomic { next > TASKS -> produced = true; goto finish }
  od;
died:
  atomic { FORGET; printf("%d dies\n", me) };
  atomic { !dead[me] -> goto again };
finish:
}

/* ---- Worker ---- */

/* The claimed slot's payload is there, and is its task's. */
inline look_at_payload() {
  wrong_payload = (payload[s] == 0 || !FITS(payload[s], k, word[k]) ||
                   STATE(word[k]) != PAYLOAD || WHO(word[k]) != s || content[k] != task[s]);
  assert(!wrong_payload)
}

proctype Worker(byte me) {
  LOCALS;
again:
  if
  :: atomic { finished -> goto finish }
  :: atomic { ANY_LISTED(READY) -> may_die(); take_slot(READY, CLAIMED); attempt[s]++ }
  OR_DIES
  fi;
  atomic { may_die(); k = (payload[s] == 0 -> 0 : EXTENT_IN(payload[s])); look_at_payload() };
  if
  :: atomic { ANY_FREE -> may_die(); take_extent() };
     atomic { may_die(); content[e] = task[s] };
#if defined(RESULT_ATTACHED_FIRST)
     atomic { may_die(); k = REFERENCE(e, w); attach(RESULT) };
     atomic { may_die(); result[s] = k; k = EXTENT_IN(payload[s]) }
#elif defined(RESULT_HANDED_OVER_FIRST)
     atomic { may_die(); result[s] = REFERENCE(e, w) };
     atomic { may_die(); hand_over(CLAIMED, DONE) };
     atomic { may_die(); put_slot() };
     atomic { may_die(); attach(RESULT); FORGET };
     goto again
#else
     atomic { may_die(); result[s] = REFERENCE(e, w) };
     atomic { may_die(); attach(RESULT) }
#endif
  :: atomic { may_die(); result[s] = 0 }
  fi;
  atomic { may_die(); look_at_payload(); k = 0; hand_over(CLAIMED, DONE) };
  atomic { may_die(); put_slot(); FORGET };
  goto again;
died:
  atomic { FORGET; printf("%d dies\n", me) };
  atomic { !dead[me] -> goto again };
finish:
}

/* ---- Supervisor ---- */

/* Slot s is ours. With `fresh` we collected it ourselves. */
inline deliver() {
  readable = (FITS(result[s], k, word[k]) && STATE(word[k]) == RESULT && WHO(word[k]) == s &&
              content[k] == task[s]);
  wrong_result = (fresh && result[s] != 0 && !readable);
  assert(!wrong_result);
  lost_result = (state[s] == SETTLING && result[s] != 0 && !readable &&
                 (delivered & BIT(task[s])) == 0);
  assert(!lost_result);
  readable = false;
#ifdef WITNESS_BEGUN
  release_begun = (!fresh && state[s] == SETTLING && STATE(word[EXTENT_IN(payload[s])]) == FREE);
  assert(!release_begun);
#endif
  delivered = delivered | BIT(task[s]);
  k = 0
}

inline free_slot(from) {
  atomic { may_die(); hand_over(from, FREE) };
  atomic { may_die(); put_slot() }
}

#ifdef CLAIMED_HAS_NO_RESULT
#define RESULT_TO_FREE (state[s] == CLAIMED -> 0 : result[s])
#else
#define RESULT_TO_FREE result[s]
#endif

inline release() {
#ifdef SLOT_FREED_FIRST
  free_slot(state[s]);
  free_attached(PAYLOAD, payload[s]);
  free_attached(RESULT, RESULT_TO_FREE)
#else
  free_attached(PAYLOAD, payload[s]);
  free_attached(RESULT, RESULT_TO_FREE);
  free_slot(state[s])
#endif
}

inline retry() {
#ifndef RETRY_KEEPS_RESULT
#ifndef RETRY_UNSAID
  if
  :: atomic { state[s] == SETTLING && result[s] != 0 -> may_die(); hand_over(SETTLING, DELAYED) }
  :: atomic { !(state[s] == SETTLING && result[s] != 0) -> skip }
  fi;
#endif
  free_attached(RESULT, RESULT_TO_FREE);
#endif
  atomic { may_die(); hand_over(state[s], READY) };
  atomic { may_die(); put_slot() }
}

/* Part of a step: the result's extent is held by us, if there is one; kept is its number + 1. */
inline keep() {
#ifdef KEPT_BEHIND
  kept = (result[s] == 0 -> 0 : EXTENT_IN(result[s]) + 1)
#else
  if
  :: result[s] != 0 && AGREE(word[EXTENT_IN(result[s])], RESULT, s) &&
     FITS(result[s], EXTENT_IN(result[s]), word[EXTENT_IN(result[s])]) ->
     e = EXTENT_IN(result[s]);
     word[e] = WORD(HELD, me, GENERATION(word[e]));
     kept = e + 1;
     e = 0
  :: else
  fi
#endif
}

/* Somebody reads the kept result, as long as it likes, and frees it. */
inline read_and_free_kept() {
  if
  :: atomic {
       kept != 0 ->
       may_die();
       e = kept - 1;
       wrong_result = (content[e] != id);
       assert(!wrong_result);
       w = word[e];
       kept = 0
     };
     give_back()
  :: atomic { kept == 0 -> skip }
  fi
}

#define TO_RETRY \
  (((fresh || state[s] == CLAIMED) && attempt[s] < MAX_ATTEMPTS) || state[s] == DELAYED)
#define TO_DELIVER (state[s] == SETTLING || (state[s] == CLAIMED && attempt[s] == MAX_ATTEMPTS))

/* Slot s is ours: makes it ready again, or delivers it, or what it was never was a task. */
inline settle_or_retry() {
  if
  :: atomic { TO_RETRY -> skip }; retry()
  :: if
     :: atomic { state[s] == WRITING -> skip }
     :: atomic {
          TO_DELIVER -> may_die(); k = (result[s] == 0 -> 0 : EXTENT_IN(result[s])); deliver()
        };
        if
        :: true
        :: atomic { fresh -> may_die(); id = task[s]; keep() }
        fi
     fi;
     release();
     read_and_free_kept()
  fi;
  atomic { FORGET; kept = 0; id = 0; fresh = false }
}

/* Takes over what p held, one slot after the other, and lists what it owed. */
inline sweep_slots(p) {
  do
  :: atomic { i < SLOTS && owner[i] == p && !PUBLISHED(state[i]) -> may_die(); owner[i] = me };
     atomic { s = i; i++; goto settle }
  :: atomic {
       i < SLOTS && owner[i] == p && PUBLISHED(state[i]) && !listed[i] ->
       may_die();
       owner[i] = me
     };
     atomic { may_die(); s = i; put_slot(); s = 0; i++ }
  :: atomic { i < SLOTS && !(owner[i] == p && (!PUBLISHED(state[i]) || !listed[i])) -> i++ }
  :: atomic { i == SLOTS -> i = 0; break }
  od
}

#ifdef OWED_FORGOTTEN
#define OWED_EXTENT(p) false
#else
#define OWED_EXTENT(p) (WHO(word[i]) == (p) && STATE(word[i]) == FREE && !in_ring[i])
#endif
#ifdef HELD_FORGOTTEN
#define HELD_EXTENT(p) false
#else
#define HELD_EXTENT(p) (WHO(word[i]) == (p) && STATE(word[i]) == HELD)
#endif

inline sweep_extents(p) {
  do
  :: atomic {
       i < EXTENTS && OWED_EXTENT(p) ->
       may_die();
       word[i] = WORD(FREE, me, GENERATION(word[i]))
     };
     atomic { may_die(); e = i; put_extent(); e = 0; i++ }
  :: atomic { i < EXTENTS && HELD_EXTENT(p) -> may_die(); e = i; w = word[e] };
     give_back();
     atomic { i++ }
  :: atomic { i < EXTENTS && !OWED_EXTENT(p) && !HELD_EXTENT(p) -> i++ }
  :: atomic { i == EXTENTS -> i = 0; break }
  od
}

#define DEAD(p) ((p) < PARTICIPANTS && dead[(p) % PARTICIPANTS])
#define ANY_DEAD (DEAD(0) || DEAD(1) || DEAD(2) || DEAD(3) || DEAD(4))
#if SLOTS == 1
#define ALL_SLOTS_FREE (state[0] == FREE)
#else
#define ALL_SLOTS_FREE (state[0] == FREE && state[1] == FREE)
#endif

inline find_dead() {
  who = 0;
  do
  :: dead[who] -> break
  :: else -> who++
  od
}

proctype Supervisor(byte me) {
  LOCALS;
  byte i, who = NOONE, kept, id;
  bool fresh;
look:
  if
  :: atomic { ANY_LISTED(DONE) -> may_die(); take_slot(DONE, SETTLING); fresh = true; goto settle }
  :: atomic { ANY_DEAD -> find_dead() };
sweep:
     sweep_slots(who);
     sweep_extents(who);
     atomic {
       may_die();
       dead[who] = false;
       printf("%d: has swept %d\n", me, who);
       who = NOONE;
       goto look
     }
  :: atomic {
       produced && delivered == accepted && ALL_SLOTS_FREE && !ANY_DEAD ->
       finished = true;
       goto finish
     }
  fi;
settle:
  settle_or_retry();
  if
  :: who == NOONE -> goto look
  :: who != NOONE -> goto sweep
  fi;
died:
  atomic {
    FORGET;
    i = 0; who = NOONE; kept = 0; id = 0; fresh = false;
    printf("%d dies\n", me);
    run Supervisor((me == FIRST_SUPERVISOR -> FIRST_SUPERVISOR + 1 : FIRST_SUPERVISOR))
  };
finish:
}

/* ---- Beginning and end ---- */

inline check_at_rest() {
  for (i : 0 .. SLOTS - 1) {
    leaked = (state[i] != FREE || !listed[i]);
    assert(!leaked)
  }
  for (i : 0 .. EXTENTS - 1) {
    leaked = (STATE(word[i]) != FREE || !in_ring[i]);
    assert(!leaked)
  }
}

init {
  byte i;
  atomic {
    for (i : 0 .. SLOTS - 1) { owner[i] = FIRST_SUPERVISOR; listed[i] = true }
    for (i : 0 .. EXTENTS - 1) { word[i] = WORD(FREE, FIRST_SUPERVISOR, 0); in_ring[i] = true }
    run Producer(PRODUCER);
    for (i : 1 .. WORKERS) { run Worker(i) }
    run Supervisor(FIRST_SUPERVISOR);
    i = 0
  };
  atomic { _nr_pr == 1 -> check_at_rest() }
}
