/* hand_over.pml: workers come and go, and no task stays with one who has left.
 *
 * Without stealing: what is in the inbox of worker i is taken by worker i, or handed over. Those
 * below `serving` get tasks. Who resizes stores it, fence, and empties the inboxes from there on
 * into those below. A poster reads it, pushes into one of those, fence, reads it again and does the
 * same if that one serves no more; so does whoever has handed a task over. A push claims a place
 * and fills it later; a look finds nothing as long as the first place is claimed and not filled. A
 * worker that is not wanted leaves when a look finds nothing; one that is wanted comes. Both decide
 * under the mutex that who resizes holds while it stores `serving` and `wanted`; what others see of
 * these two may come in any order.
 *
 * One step is one access to shared memory. Spin is sequentially consistent, so the two stores that
 * need a fence, a poster's that fills a place and the resizer's of `serving`, go through a store
 * buffer of one entry if the fence is left out, which drains at any time before somebody looks.
 *
 * Sizes: POSTERS posters with one task each, NUMBERS workers at most, RESIZES changes to any number
 * from 1 on.
 * BUSY: all but worker 0 are in a task that never ends, and are dismissed.
 * Property: nobody waits for ever (invalid end state): each task is taken.
 *
 * check: two_posters            -DRESIZES=1                  expect holds
 * check: two_changes            -DPOSTERS=1                  expect holds
 * check: three_workers          -DPOSTERS=1 -DRESIZES=1 -DNUMBERS=3 expect holds
 * check: busy                   -DBUSY -DNUMBERS=3 -DRESIZES=1 expect holds
 * check: two_of_both       long                              expect holds
 * check: three_changes     long -DPOSTERS=1 -DRESIZES=3      expect holds
 *
 * A witness, which the correct model must reach: a poster hands over another's task.
 * check: for_another            -DFOR_ANOTHER -DRESIZES=1 expect reaches:for_another
 *
 * Mutations:
 * check: not_emptied            -DNOT_EMPTIED -DBUSY -DRESIZES=1 expect fails:invalid_end_state
 * check: up_to_span             -DUP_TO_SPAN -DPOSTERS=1 -DRESIZES=1 expect fails:invalid_end_state
 * check: no_second_look         -DNO_SECOND_LOOK -DPOSTERS=1 expect fails:invalid_end_state
 * check: no_look_at_heir -DNO_LOOK_AT_HEIR -DNUMBERS=3 -DPOSTERS=1 expect fails:invalid_end_state
 * check: no_fence_after_push    -DNO_FENCE_AFTER_PUSH -DPOSTERS=1 expect fails:invalid_end_state
 * check: no_fence_after_serving -DNO_FENCE_AFTER_SERVING -DPOSTERS=1 expect fails:invalid_end_state
 */

#ifndef POSTERS
#define POSTERS 2
#endif
#ifndef RESIZES
#define RESIZES 2
#endif
#ifndef NUMBERS
#define NUMBERS 2
#endif
#define PLACES 4                    /* of an inbox; more than there are tasks */
#define PLACE(i, k) ((i) * PLACES + (k))

byte serving = NUMBERS, wanted = NUMBERS;
bool working[NUMBERS] = true;
bool locked;

mtype = { unused, claimed, filled };
mtype place[NUMBERS * PLACES] = unused;
byte whose[NUMBERS * PLACES];       /* the poster of the task, for the witness */
byte head[NUMBERS], tail[NUMBERS];
byte taken;

/* Store buffers; 255: nothing. */
byte pending_place[POSTERS + 1] = 255;
byte pending_serving = 255;

bool for_another;

inline drain_place(t) {
  if
  :: pending_place[t] != 255 -> place[pending_place[t]] = filled; pending_place[t] = 255
  :: else
  fi
}
inline drain_serving() {
  if
  :: pending_serving != 255 -> serving = pending_serving; pending_serving = 255
  :: else
  fi
}
inline maybe_drain() {
  if :: pending_place[0] != 255 -> drain_place(0) :: true fi;
  if :: pending_place[1] != 255 -> drain_place(1) :: true fi;
#if POSTERS > 1
  if :: pending_place[2] != 255 -> drain_place(2) :: true fi;
#endif
#if POSTERS > 2
  if :: pending_place[3] != 255 -> drain_place(3) :: true fi;
#endif
  if :: pending_serving != 255 -> drain_serving() :: true fi
}

/* Thread t reads what it has stored itself, and otherwise what has drained. */
inline read_serving(t, into) {
  atomic {
    maybe_drain();
    if
    :: t == POSTERS && pending_serving != 255 -> into = pending_serving
    :: else -> into = serving
    fi
  }
}

inline push(t, i, owner) {
  atomic { k = tail[i]; assert(place[PLACE(i, k)] == unused); tail[i] = (k + 1) % PLACES;
           place[PLACE(i, k)] = claimed; whose[PLACE(i, k)] = owner };
#ifndef NO_FENCE_AFTER_PUSH
  atomic { place[PLACE(i, k)] = filled; k = 0 }
#else
  atomic { drain_place(t); pending_place[t] = PLACE(i, k); k = 0 }
#endif
}

/* got: 255 or whose task it is. */
inline pop(i, got) {
  atomic {
    maybe_drain();
    got = 255;
    if
    :: head[i] != tail[i] && place[PLACE(i, head[i])] == filled ->
       got = whose[PLACE(i, head[i])];
       place[PLACE(i, head[i])] = unused;
       head[i] = (head[i] + 1) % PLACES;
       if :: head[i] == tail[i] -> head[i] = 0; tail[i] = 0 :: else fi
    :: else
    fi
  }
}

inline choose_below(limit, into) {
  if
  :: into = 0
  :: limit > 1 -> into = 1
#if NUMBERS > 2
  :: limit > 2 -> into = 2
#endif
  fi
}

/* From number `last` down to those who serve. */
inline hand_over(t) {
  do
  :: read_serving(t, s);
     if :: last < s -> break :: else fi;
     furthest = 0;
     j = s;
     do
     :: j <= last ->
        read_serving(t, s);
        if
        :: j < s -> got = 255  /* serves again */
        :: else -> pop(j, got)
        fi;
        if
        :: got != 255 ->
           for_another = for_another || (t < POSTERS && got != t);
#ifdef FOR_ANOTHER
           assert(!for_another);
#endif
           read_serving(t, heirs);
           choose_below(heirs, heir);
           push(t, heir, got);
           atomic {
             if :: heir > furthest -> furthest = heir :: else fi;
             heir = 0; heirs = 0; got = 0
           }
        :: else -> atomic { j++; got = 0 }
        fi
     :: else -> break
     od;
#ifdef NO_LOOK_AT_HEIR
     break
#else
     atomic { last = furthest; furthest = 0; j = 0 }
#endif
  od;
  atomic { s = 0; j = 0; last = 0; furthest = 0 }
}

active [POSTERS] proctype poster() {
  byte s, i, j, k, last, furthest, heirs, heir, got;
  read_serving(_pid, s);
  choose_below(s, i);
  push(_pid, i, _pid);
#ifndef NO_SECOND_LOOK
  last = i;
  hand_over(_pid);
#endif
  atomic { drain_place(_pid); s = 0; i = 0 }
}

inline store_serving(most) {
  atomic {
    drain_serving();
    s = serving;
    if :: s > most -> s = most :: else fi;
    do
    :: s < most && working[s] -> s++
    :: else -> break
    od;
#ifndef NO_FENCE_AFTER_SERVING
    serving = s;
#else
    pending_serving = s;
#endif
    s = 0
  }
}

active proctype resizer() {
  byte n, s, j, k, last, furthest, heirs, heir, got, left = RESIZES;
  do
  :: left > 0 ->
     left--;
#ifdef BUSY
     n = 1;
#else
     choose_below(NUMBERS, n);
     n++;
#endif
     atomic { !locked -> locked = true };
     if
     :: wanted = n; store_serving(n)
     :: store_serving(n); wanted = n
     fi;
     locked = false;
#ifndef NOT_EMPTIED
     last = NUMBERS - 1;
#ifdef UP_TO_SPAN  /* only of those who have not left */
     atomic { do :: last > 0 && !working[last] -> last-- :: else -> break od };
#endif
     hand_over(POSTERS);
#endif
     atomic { drain_serving(); drain_place(POSTERS); n = 0; s = 0 }
  :: else -> break
  od
}

/* Takes what is in its inbox; leaves and comes as it is wanted. */
active [NUMBERS] proctype worker() {
  byte i = _pid - POSTERS - 1;
  byte got;
#ifdef BUSY
  if :: i > 0 -> goto end_busy :: else fi;
#endif
end:
  do
  :: working[i] && head[i] != tail[i] && place[PLACE(i, head[i])] == filled ->
     pop(i, got);
     atomic { if :: got != 255 -> taken++ :: else fi; got = 0 }
  :: working[i] && i >= wanted ->
     pop(i, got);
     if
     :: got != 255 -> taken++
     :: else -> atomic { !locked -> if :: i >= wanted -> working[i] = false :: else fi }
     fi;
     got = 0
  :: atomic { !locked && !working[i] && i < wanted && pending_serving == 255 ->
       working[i] = true;
       do
       :: serving < wanted && working[serving] -> serving++
       :: else -> break
       od
     }
  od;
end_busy:
  skip
}

/* Ends only if all was taken: the check for tasks that are left. */
active proctype observer() {
  taken == POSTERS
}
