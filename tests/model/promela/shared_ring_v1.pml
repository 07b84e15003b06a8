/* shared_ring_v1.pml: version 1 of the ring between processes, which is broken, and how.
 *
 * push: load tail and head; full? load the cell, not 0: give up; CAS the cell from 0 to the entry;
 * add 1 to tail. pop: load head and tail; empty? load the cell, 0: empty; CAS head to head + 1;
 * clear the cell. An entry is priority << 32 | slot, so that of slot 0 with priority 0 is 0, which
 * also says "empty". Free slots are a stack without tags: load top, load its next, CAS top to that.
 *
 * One step is one access to shared memory, under sequential consistency. Producers push items 1 ..
 * ITEMS (ZERO_ITEM: one of them is 0); consumers pop until all that was pushed has come out. With
 * DEAD_PRODUCER and so on one of them may stop for good at any step. SHIFTERS is the stack instead:
 * each takes slots and gives them back.
 *
 * Properties: an item comes out once (popped_twice); nobody waits for ever (invalid end state):
 * what was pushed comes out, and a push finds room when the ring is empty; a slot has one holder
 * (two_holders), and comes back (leaked); -E looks past who waits for ever. Version 2, which was
 * made for these, is shared_ring.pml.
 *
 * With one producer and one consumer, and with one who shifts, it holds:
 * check: one_of_each                                       expect holds
 * check: one_shifter            -DSHIFTERS=1               expect holds
 *
 * Faults:
 * check: zero_is_empty          -DZERO_ITEM                expect fails:invalid_end_state
 * check: stale_producer         -DPRODUCERS=2              expect fails:invalid_end_state
 * check: lost_behind_head       -DPRODUCERS=2 -DBEHIND     expect fails:lost_behind_head
 * check: dead_producer -DPRODUCERS=2 -DITEMS=1 -DDEAD_PRODUCER expect fails:invalid_end_state
 * check: dead_consumer          -DCONSUMERS=2 -DDEAD_CONSUMER expect fails:invalid_end_state
 * check: popped_twice           -DPRODUCERS=2 -DCONSUMERS=2 expect fails:popped_twice -E
 * check: free_list_aba          -DSHIFTERS=2               expect fails:two_holders
 * check: slot_lost_by_death     -DSHIFTERS=1 -DDEAD_SHIFTER expect fails:leaked
 */

#ifdef SHIFTERS
#define PRODUCERS 0
#define CONSUMERS 0
#else
#define SHIFTERS 0
#endif
#ifndef PRODUCERS
#define PRODUCERS 1
#endif
#ifndef CONSUMERS
#define CONSUMERS 1
#endif
#ifndef ITEMS
#define ITEMS 3
#endif
#define CAPACITY 2
#define ALL_ITEMS (PRODUCERS * ITEMS)

byte cell[CAPACITY];
byte head, tail;
byte pushed;                    /* how many */
short popped;                   /* bit i: item i */
byte popped_count;
bool death_to_come = true;

/* What went wrong, in the words that pan prints. */
bool popped_twice, lost_behind_head, two_holders, leaked;

#define CELL(position) cell[(position) % CAPACITY]
#define ALL_OUT (popped_count == ALL_ITEMS)

inline may_die(mortal) {
  if
  :: mortal && death_to_come -> death_to_come = false; goto died
  :: true
  fi
}
#ifdef DEAD_PRODUCER
#define PRODUCER_DIES true
#else
#define PRODUCER_DIES false
#endif
#ifdef DEAD_CONSUMER
#define CONSUMER_DIES true
#else
#define CONSUMER_DIES false
#endif
#ifdef DEAD_SHIFTER
#define SHIFTER_DIES true
#else
#define SHIFTER_DIES false
#endif

/* What is left to wait for when a push or a pop gave up: a change that would let it go on. */
#define CAN_PUSH (tail - head < CAPACITY && CELL(tail) == 0)
#define CAN_POP (head < tail && CELL(head) != 0)

proctype Producer(byte next; byte last) {
  byte t, h, c;
again:
  do
  :: atomic { next <= last && CAN_PUSH -> may_die(PRODUCER_DIES); t = tail };
     atomic { may_die(PRODUCER_DIES); h = head };
     if
     :: t - h >= CAPACITY -> goto again
     :: else
     fi;
     atomic { may_die(PRODUCER_DIES); c = CELL(t) };
     if
     :: c != 0 -> goto again
     :: else
     fi;
     atomic {
       may_die(PRODUCER_DIES);
       if
       :: CELL(t) == 0 ->
#ifdef ZERO_ITEM
          CELL(t) = next - 1;
#else
          CELL(t) = next;
#endif
          pushed++;
          printf("%d: writes item %d at position %d, head is %d\n", _pid, next, t, head);
#ifdef BEHIND
          lost_behind_head = (t < head);
          assert(!lost_behind_head);
#endif
          next++
       :: else -> goto again
       fi
     };
     atomic { may_die(PRODUCER_DIES); tail++; t = 0; h = 0; c = 0 }
  :: next > last -> break
  od;
  goto finish;
died:
  /* What it had not pushed yet is nobody's loss. */
  atomic { popped_count = popped_count + (last + 1 - next) };
finish:
}

proctype Consumer() {
  byte h, t, c;
again:
  do
  :: atomic { CAN_POP -> may_die(CONSUMER_DIES); h = head };
     atomic { may_die(CONSUMER_DIES); t = tail };
     if
     :: h >= t -> goto again
     :: else
     fi;
     atomic { may_die(CONSUMER_DIES); c = CELL(h) };
     if
     :: c == 0 -> goto again
     :: else
     fi;
     atomic {
       may_die(CONSUMER_DIES);
       if
       :: head == h ->
          head = h + 1;
          printf("%d: pops item %d from position %d\n", _pid, c, h);
          popped_twice = ((popped & (1 << c)) != 0);
          assert(!popped_twice);
          popped = popped | (1 << c);
          popped_count++
       :: else -> goto again
       fi
     };
     atomic { may_die(CONSUMER_DIES); CELL(h) = 0; h = 0; t = 0; c = 0 }
  :: ALL_OUT -> break
  od;
died:
}

/* ---- The stack of free slots ---- */

#define SLOTS 3
#define NONE SLOTS
byte top = NONE;
byte next_of[SLOTS];
byte holders[SLOTS];

inline take_slot(slot) {
  do
  :: atomic { may_die(SHIFTER_DIES); slot = top };
     if
     :: slot == NONE -> break
     :: else
     fi;
     atomic { may_die(SHIFTER_DIES); below = next_of[slot] };
     atomic {
       if
       :: top == slot -> top = below; holders[slot]++; break
       :: else
       fi
     }
  od;
  below = 0;
  two_holders = (slot != NONE && holders[slot] > 1);
  assert(!two_holders)
}

inline give_slot(slot) {
  atomic { may_die(SHIFTER_DIES); holders[slot]--; printf("%d: gives %d back\n", _pid, slot) };
  do
  :: atomic { may_die(SHIFTER_DIES); below = top };
     atomic { may_die(SHIFTER_DIES); next_of[slot] = below };
     atomic {
       may_die(SHIFTER_DIES);
       if
       :: top == below -> top = slot; below = 0; break
       :: else
       fi
     }
  od
}

proctype Shifter() {
  byte first = NONE, second = NONE, below;
  take_slot(first);
  take_slot(second);
  if
  :: first != NONE -> give_slot(first)
  :: else
  fi;
  take_slot(first);
  if
  :: first != NONE -> give_slot(first)
  :: else
  fi;
  if
  :: second != NONE -> give_slot(second)
  :: else
  fi;
died:
}

init {
  byte i, free;
  atomic {
    for (i : 0 .. SLOTS - 1) { next_of[i] = top; top = i }
    i = 0;
    do
    :: i < PRODUCERS -> run Producer(i * ITEMS + 1, (i + 1) * ITEMS); i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < CONSUMERS -> run Consumer(); i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < SHIFTERS -> run Shifter(); i++
    :: else -> break
    od;
    i = 0
  };
  atomic {
    _nr_pr == 1 ->
    i = top;
    do
    :: i != NONE && free < SLOTS -> free++; i = next_of[i]
    :: else -> break
    od;
    leaked = (free != SLOTS);
    assert(!leaked)
  }
}
