/* spilling_queue.pml: a ring while the queue is short, chunks behind a lock when it is long.
 *
 * push: (1) load the count of spilled items; (2) if it is 0, claim a place in the ring, (3) fill
 * it; (4) if items are spilled, or there is no room: lock, append to the chunks, add 1 to the
 * count, unlock. pop: (a) claim the oldest place of the ring if that is filled, (b) empty it; if
 * it is not filled: (c) load the count; 0: empty. (d) lock; if no place of the ring is claimed or
 * filled, take the oldest chunk; unlock; none taken: once more (a), (b), or empty; (e) return the
 * chunk's first item, push the others to the ring as long as there is room; (f) lock, put the rest
 * back to the front, subtract from the count what was moved, unlock; (g) if there were others,
 * tell sleepers.
 *
 * One step is one access to shared memory; every interleaving of the steps is explored, under
 * sequential consistency. The ring's own steps are those of bounded_queue.pml, put together: a
 * claim is one step, with the look at the slot. Under the lock only the count and the ring are
 * shared. Where a chunk ends is left open: one to CHUNK items are taken. Whoever finds the queue
 * empty sleeps, unless it was told of something since before it looked; pushers tell after they
 * pushed.
 *
 * Sizes: producers with FIRST, SECOND and THIRD items; a ring of SIZE; poppers that receive
 * QUOTA_0, QUOTA_1 and QUOTA_2 items and are never seen again, all together as many as there are:
 * what one of them leaves behind, another must find.
 *
 * Properties: no item is popped twice (popped_twice); with one popper each producer's items keep
 * their order (out_of_order); nobody waits for ever (invalid end state), so nothing is lost and
 * nobody sleeps while an item waits; at the end the count is 0 (count_left).
 *
 * check: in_order               -DFIRST=3 -DSECOND=1         expect holds
 * check: all_spill              -DFIVE_IN_ONE                expect holds
 * check: two_poppers            -DFIRST=2 -DSECOND=2 -DQUOTA_0=2 -DQUOTA_1=2 expect holds
 * check: three_poppers          -DFIRST=4 -DQUOTA_0=1 -DQUOTA_1=2 -DQUOTA_2=1 expect holds
 * check: three_of_one           -DTHREE_OF_ONE               expect holds
 * check: three_producers   long -DFIRST=3 -DSECOND=1 -DTHIRD=1 expect holds
 * check: six_in_order      long -DFIRST=3 -DSECOND=3         expect holds
 * check: long_chunks       long -DFIRST=4 -DSECOND=2 -DSIZE=1 -DCHUNK=3 expect holds
 * check: two_and_two       long -DFIRST=3 -DSECOND=2 -DQUOTA_0=3 -DQUOTA_1=2 expect holds
 *
 * Witnesses, which the correct model must reach: what was taken from a chunk goes back to it; a
 * popper finds nothing while spilled items wait; a producer uses the ring again after it spilled.
 * check: put_back               -DPUT_BACK -DFIVE_IN_ONE     expect reaches:put_back
 * check: held_up                -DHELD_UP -DFIRST=3 -DSECOND=1 expect reaches:held_up
 * check: ring_again             -DRING_AGAIN -DFIRST=4       expect reaches:ring_again
 *
 * Mutations of the pusher (claim_first: the claim overtakes the load of the count, as where nothing
 * keeps them in order; executions in which the load then would not read 0 do not exist, and wait):
 * check: ring_past_chunks       -DRING_PAST_CHUNKS -DFIRST=4 expect fails:out_of_order
 * check: claim_first            -DCLAIM_FIRST -DFIRST=5      expect fails:out_of_order -E
 * check: no_lock -DNO_LOCK -DSIZE=1 -DFIRST=2 -DSECOND=2 expect fails:invalid_end_state
 *
 * Mutations of the popper:
 * check: ring_not_asked         -DRING_NOT_ASKED -DFIRST=3 -DSECOND=1 expect fails:out_of_order
 * check: count_early            -DCOUNT_EARLY -DFIRST=5      expect fails:out_of_order
 * check: rest_to_back           -DREST_TO_BACK -DFIVE_IN_ONE expect fails:out_of_order
 * check: rest_not_counted       -DREST_NOT_COUNTED -DFIVE_IN_ONE expect fails:invalid_end_state
 * check: never_told             -DNEVER_TOLD -DTHREE_OF_ONE  expect fails:invalid_end_state
 * check: told_of_moved          -DTOLD_OF_MOVED -DTHREE_OF_ONE expect fails:invalid_end_state
 */

/* A ring of one with longer chunks, five items; and with three items and three poppers. */
#ifdef FIVE_IN_ONE
#define SIZE 1
#define CHUNK 3
#define FIRST 5
#endif
#ifdef THREE_OF_ONE
#define SIZE 1
#define FIRST 3
#define QUOTA_0 1
#define QUOTA_1 1
#define QUOTA_2 1
#endif

#ifndef FIRST
#define FIRST 0
#endif
#ifndef SECOND
#define SECOND 0
#endif
#ifndef THIRD
#define THIRD 0
#endif
#define TOTAL (FIRST + SECOND + THIRD)
#ifndef SIZE
#define SIZE 2
#endif
#ifndef CHUNK
#define CHUNK 2
#endif
#ifndef QUOTA_0
#define QUOTA_0 TOTAL
#endif
#ifndef QUOTA_1
#define QUOTA_1 0
#endif
#ifndef QUOTA_2
#define QUOTA_2 0
#endif
#define POPPERS 3
#define ONE_POPPER (QUOTA_1 == 0)

/* The ring: places are counted from 0 and never used again here; a slot is a place modulo SIZE.
 * Items are 1 .. TOTAL, those of one producer in a row. */
byte head, tail;
byte place[TOTAL + 1];        /* the item in it; 0: none yet, or no more */
bool emptied[TOTAL + 1];

/* The chunks, oldest item first, and how many items were spilled and not yet moved. */
bool locked;
byte spill[TOTAL + 1];
byte spill_length;
byte count;

/* Those who sleep. */
bool told[POPPERS];
bool asleep[POPPERS];

/* For the properties only. */
short popped;                 /* bit x: item x was popped */
byte last_popped[3];
bool has_spilled[3];

/* What went wrong, in the words that pan prints. Asserted false at once: they cost no states. */
bool popped_twice, out_of_order, count_left;
bool put_back, held_up, ring_again;

#define PRODUCER_OF(x) ((x > FIRST) + (x > FIRST + SECOND))

inline tell() {
  atomic {
    told[0] = true; told[1] = true; told[2] = true;
    asleep[0] = false; asleep[1] = false; asleep[2] = false;
    printf("%d: tells\n", _pid)
  }
}

#ifdef NO_LOCK
#define LOCK skip
#define UNLOCK skip
#else
#define LOCK atomic { !locked -> locked = true }
#define UNLOCK locked = false
#endif

/* ---- The ring ---- */

#define HAS_ROOM (tail < SIZE || emptied[tail - SIZE])

/* `at` is the place, or NOWHERE. */
#define NOWHERE 255

inline claim_to_push() {
  atomic {
    if
    :: HAS_ROOM -> at = tail; tail++
    :: else -> at = NOWHERE
    fi;
    printf("%d: claims place %d to push\n", _pid, at)
  }
}

inline fill(x) {
  atomic { place[at] = x; printf("%d: fills place %d with %d\n", _pid, at, x); at = NOWHERE }
}

inline claim_to_pop() {
  atomic {
    if
    :: head < tail && place[head] != 0 -> at = head; head++
    :: else -> at = NOWHERE
    fi;
    printf("%d: claims place %d to pop\n", _pid, at)
  }
}

inline empty_place() {
  atomic { item = place[at]; place[at] = 0; emptied[at] = true; at = NOWHERE }
}

/* ---- Producer: items x .. last ---- */

proctype Producer(byte x; byte last) {
  byte at = NOWHERE, n;
  bool none_spilled;
  do
  :: x <= last ->
#if defined(CLAIM_FIRST)
     claim_to_push();
     if
     :: at != NOWHERE -> count == 0; fill(x); goto pushed
     :: else
     fi;
#elif defined(RING_PAST_CHUNKS)
     claim_to_push();
     if
     :: at != NOWHERE -> fill(x); goto pushed
     :: else
     fi;
#else
     none_spilled = (count == 0);
     if
     :: none_spilled ->
        none_spilled = false;
        claim_to_push();
        if
        :: at != NOWHERE ->
#ifdef RING_AGAIN
           ring_again = has_spilled[PRODUCER_OF(x)];
           assert(!ring_again);
#endif
           fill(x);
           goto pushed
        :: else
        fi
     :: else
     fi;
#endif
     LOCK;
#ifdef NO_LOCK
     n = spill_length;
     atomic { spill[n] = x; spill_length = n + 1; n = 0; printf("%d: spills %d\n", _pid, x) };
#else
     atomic { spill[spill_length] = x; spill_length++; printf("%d: spills %d\n", _pid, x) };
#endif
     atomic {
       count++;
#ifdef RING_AGAIN
       has_spilled[PRODUCER_OF(x)] = true;
#endif
       UNLOCK
     };
pushed:
     tell();
     x++
  :: x > last -> break
  od
}

/* ---- Popper ---- */

inline receive() {
  atomic {
    printf("%d: pops %d\n", _pid, item);
    popped_twice = (popped >> item) & 1;
    assert(!popped_twice);
    popped = popped | (1 << item);
#if ONE_POPPER
    out_of_order = (item <= last_popped[PRODUCER_OF(item)]);
    assert(!out_of_order);
    last_popped[PRODUCER_OF(item)] = item;
#endif
    item = 0
  }
}

/* The chunk: `item`, and taken[0 .. length - 1]. How much is taken is anybody's guess. */
inline take_chunk() {
  item = spill[0];
  do
  :: length < CHUNK - 1 && length + 1 < spill_length -> taken[length] = spill[length + 1]; length++
  :: break
  od;
  do
  :: n + length + 1 < spill_length -> spill[n] = spill[n + length + 1]; n++
  :: else -> break
  od;
  spill_length = n;
  do
  :: n < TOTAL -> spill[n] = 0; n++
  :: else -> break
  od;
  n = 0
}

/* What is left of the chunk, taken[moved .. length - 1], in front of or behind the others. */
inline put_rest_back() {
  left = length - moved;
#ifdef REST_TO_BACK
  do
  :: n < left -> spill[spill_length + n] = taken[moved + n]; n++
  :: else -> break
  od;
#else
  n = spill_length;
  do
  :: n > 0 && left > 0 -> n--; spill[n + left] = spill[n]
  :: else -> break
  od;
  n = 0;
  do
  :: n < left -> spill[n] = taken[moved + n]; n++
  :: else -> break
  od;
#endif
  spill_length = spill_length + left;
  n = 0;
  do
  :: n < length -> taken[n] = 0; n++
  :: else -> break
  od;
  n = 0;
#ifdef PUT_BACK
  put_back = (left > 0);
  assert(!put_back)
#endif
}

proctype Popper(byte me; byte quota) {
  byte at = NOWHERE, item, n, length, moved, left, ring_head;
  byte taken[CHUNK];
  bool spilled;
  do
  :: quota == 0 -> break
  :: quota > 0 ->
     told[me] = false;
     claim_to_pop();
     if
     :: at != NOWHERE -> empty_place(); receive(); goto got_one
     :: else
     fi;
     spilled = (count != 0);
     if
     :: atomic { !spilled -> goto sleep }
     :: else -> spilled = false
     fi;
     LOCK;
     ring_head = head;
     atomic {
       if
#ifdef RING_NOT_ASKED
       :: spill_length > 0 -> take_chunk()
#else
       :: spill_length > 0 && tail <= ring_head -> take_chunk()
#endif
       :: else
       fi;
       ring_head = 0;
       UNLOCK
     };
     if
     :: item == 0 ->
        claim_to_pop();
        if
        :: at != NOWHERE -> empty_place(); receive(); goto got_one
        :: else -> goto sleep
        fi
     :: else
     fi;
     receive();
#ifdef COUNT_EARLY
     count = count - 1 - length;
#endif
     do
     :: moved < length ->
        claim_to_push();
        if
        :: at != NOWHERE -> fill(taken[moved]); moved++
        :: else -> break
        fi
     :: else -> break
     od;
     LOCK;
     atomic {
       put_rest_back();
#if defined(COUNT_EARLY)
       count = count + left;
#elif defined(REST_NOT_COUNTED)
       count = count - 1 - length;
#else
       count = count - 1 - moved;
#endif
       left = 0;
       UNLOCK
     };
     if
#if defined(NEVER_TOLD)
     :: true
#elif defined(TOLD_OF_MOVED)
     :: moved > 0 -> tell()
     :: moved == 0
#else
     :: length > 0 -> tell()
     :: length == 0
#endif
     fi;
     atomic { length = 0; moved = 0 };
got_one:
     quota--;
     goto next;
sleep:
     atomic {
       spilled = false;
#ifdef HELD_UP
       held_up = (spill_length > 0);
       assert(!held_up);
#endif
       asleep[me] = !told[me];
       printf("%d: finds nothing, sleeps: %d\n", _pid, asleep[me])
     };
     !asleep[me];
next:
     skip
  od
}

init {
  atomic {
    run Producer(1, FIRST);
#if SECOND > 0
    run Producer(FIRST + 1, FIRST + SECOND);
#endif
#if THIRD > 0
    run Producer(FIRST + SECOND + 1, TOTAL);
#endif
    run Popper(0, QUOTA_0);
#if QUOTA_1 > 0
    run Popper(1, QUOTA_1);
#endif
#if QUOTA_2 > 0
    run Popper(2, QUOTA_2);
#endif
  };
  atomic {
    _nr_pr == 1 ->
    count_left = (count != 0 || spill_length != 0);
    assert(!count_left)
  }
}
