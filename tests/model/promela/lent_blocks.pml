/* lent_blocks.pml: blocks that their owner lends, and whoever has read one gives back by a count.
 *
 * The owner takes a block that it knows to be free, writes to it and lends it by a message, LOANS
 * times. When it knows of none it looks at the counts of all, and if none has changed it says that
 * it will sleep, looks once more, and sleeps until it is woken. READERS read what they were lent,
 * in two steps, as it can change meanwhile if somebody writes to it; they may hold it for as long
 * as they like, and give it back: one store of a count that nobody else writes, then a fence, then
 * a look at whether the owner sleeps.
 *
 * One step is one access to shared memory. With BUFFER the store of the count stays in a store
 * buffer until the fence, or until memory takes it by itself.
 *
 * Properties: what is read is what was lent (torn); no block is free twice (twice); nobody waits
 * for ever (invalid end state); at the end every block came back (kept).
 *
 * check: holds                  -DLOANS=4                      expect holds
 * check: one_block              -DBLOCKS=1                     expect holds
 * check: two_readers            -DREADERS=2 -DLOANS=4          expect holds
 * check: buffered               -DREADERS=2 -DBUFFER           expect holds
 * check: no_endless_run         -DREADERS=2                    expect holds -l
 * check: whims                  -DWHIMS=2                      expect holds
 * check: many long              -DREADERS=2 -DBLOCKS=3 -DLOANS=6 -DBUFFER expect holds
 *
 * Witness: the owner sleeps, and is woken.
 * check: sleeps                 -DWITNESS -DBLOCKS=1           expect reaches:woken
 *
 * Mutations:
 * check: given_back_first       -DGIVEN_BACK_FIRST             expect fails:torn
 * check: not_remembered         -DNOT_REMEMBERED               expect fails:twice
 * check: kept_for_itself        -DKEPT_FOR_ITSELF              expect fails:torn
 * check: no_second_look         -DNO_SECOND_LOOK -DBLOCKS=1    expect fails:invalid_end_state
 * check: look_before_word       -DLOOK_BEFORE_WORD -DBLOCKS=1  expect fails:invalid_end_state
 * check: no_wake                -DNO_WAKE -DBLOCKS=1           expect fails:invalid_end_state
 * check: wake_first             -DWAKE_FIRST -DBLOCKS=1        expect fails:invalid_end_state
 * check: no_fence               -DNO_FENCE -DBUFFER -DBLOCKS=1 expect fails:invalid_end_state
 * check: whim_forgotten         -DWHIM_FORGOTTEN -DWHIMS=1     expect fails:kept
 */
#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef READERS
#define READERS 1
#endif
#ifndef LOANS
#define LOANS 3
#endif
#ifndef WHIMS
#define WHIMS 0
#endif

byte returns[BLOCKS];   /* as memory has them */
byte buffered[BLOCKS];  /* counts that are still in a store buffer; 0: none */
byte contents[BLOCKS];
byte seen[BLOCKS];
bool is_free[BLOCKS];
bool says_sleep;
byte epoch;
byte lent_so_far;
byte read_so_far;
bool torn, twice, woken, kept;

chan loans = [LOANS] of { byte, byte };  /* block, what was written to it */

#ifdef NO_FENCE
#define fence skip
#else
#define fence (buffered[block] == 0)
#endif

/* Every block whose count is another than was seen. */
inline look() {
  i = 0;
  do
  :: i < BLOCKS ->
     now = returns[i];
     if
     :: now != seen[i] ->
        twice = twice || is_free[i];
        assert(!twice);
        is_free[i] = true;
#ifndef NOT_REMEMBERED
        seen[i] = now;
#endif
        found = true
     :: else
     fi;
     i++
  :: else -> break
  od
}

inline pick() {
  if
  :: is_free[0] -> block = 0; found = true
#if BLOCKS > 1
  :: is_free[1] -> block = 1; found = true
#endif
#if BLOCKS > 2
  :: is_free[2] -> block = 2; found = true
#endif
  :: else -> found = false
  fi
}

active proctype owner() {
  byte i, now, block, ticket, whims;
  bool found;
  atomic {
    i = 0;
    do
    :: i < BLOCKS -> is_free[i] = true; i++
    :: else -> break
    od
  }
  do
  :: lent_so_far < LOANS ->
     atomic { pick() };
     do
     :: found -> break
     :: else ->
        look();
        if
        :: found -> skip
        :: else ->
           ticket = epoch;
#ifdef LOOK_BEFORE_WORD
           look();
           says_sleep = true;
#else
           says_sleep = true;
#ifndef NO_SECOND_LOOK
           look();
#endif
#endif
           if
           :: found -> says_sleep = false
           :: else ->
              (epoch != ticket);
#ifdef WITNESS
              woken = true;
              assert(!woken);
#endif
           fi
        fi;
        atomic { pick() }
     od;
#ifndef KEPT_FOR_ITSELF
     is_free[block] = false;
#endif
     if
     :: whims < WHIMS -> /* it is not lent after all */
        whims++;
#ifndef WHIM_FORGOTTEN
        is_free[block] = true
#endif
     :: true ->
        contents[block] = lent_so_far + 1;
        loans ! block, lent_so_far + 1;
        lent_so_far++
     fi
  :: else -> break
  od;
  (read_so_far == LOANS);
  atomic {
    look();
    i = 0;
    do
    :: i < BLOCKS -> kept = kept || !is_free[i]; assert(!kept); i++
    :: else -> break
    od
  }
}

inline give_back() {
#ifdef BUFFER
  buffered[block] = returns[block] + 1;
#else
  returns[block] = returns[block] + 1;
#endif
}

inline wake() {
#ifdef NO_WAKE
  skip
#else
  fence;
  if
  :: says_sleep -> says_sleep = false; epoch++
  :: else
  fi
#endif
}

active [READERS] proctype reader() {
  byte block, expected;
end:
  do
  :: loans ? block, expected ->
#ifdef GIVEN_BACK_FIRST
     give_back();
#endif
     torn = torn || contents[block] != expected;
     assert(!torn);
     torn = torn || contents[block] != expected;
     assert(!torn);
#ifdef WAKE_FIRST
     wake();
#endif
#ifndef GIVEN_BACK_FIRST
     give_back();
#endif
#ifndef WAKE_FIRST
     wake();
#endif
     (buffered[block] == 0);
     atomic { read_so_far++; block = 0; expected = 0 }
  od
}

#ifdef BUFFER
active proctype memory() {
end:
  do
  :: buffered[0] != 0 -> atomic { returns[0] = buffered[0]; buffered[0] = 0 }
#if BLOCKS > 1
  :: buffered[1] != 0 -> atomic { returns[1] = buffered[1]; buffered[1] = 0 }
#endif
#if BLOCKS > 2
  :: buffered[2] != 0 -> atomic { returns[2] = buffered[2]; buffered[2] = 0 }
#endif
  od
}
#endif
