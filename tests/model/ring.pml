// SPDX-License-Identifier: Apache-2.0
/*
 * The ring between one producer and one consumer, in a memory that reorders whatever
 * the protocol does not order.  docs/memory-model.md has the table of the edges; they
 * have the same names here, and -DNO_P1 and so on takes one away.  check_ring.sh runs
 * the whole model, and then shows that without each edge the checker finds an error.
 *
 *   -DOVERWRITE  chunks are reused under the reader's hands; it takes sealed and open ones
 *   -DBLOCK      the producer sleeps until a slot is free; the reader takes all in order
 *                (-DONE_SLOT: in a ring that could not grow)
 *   -DSTREAM     one chunk, whose events need definitions that are written before them
 *   -DKILL       overwrite; the producer may be killed between any two stores
 *
 * Memory: a store goes into its process's buffer and from there into memory in any order,
 * but for two stores to one place; a release store leaves when it is the oldest; what
 * follows a release fence leaves after what is before it; a full fence waits for the
 * buffer to be empty.  That is what the Arm architecture permits, and more than x86-64 does.
 * Loads of a take are done in any order that the acquires leave open.
 */
#ifdef ONE_SLOT
#define SLOTS 1
#else
#define SLOTS 2
#endif
#define EVENTS 2 /* of each chunk */
#ifdef STREAM
#define CHUNKS 1
#else
#define CHUNKS 3
#endif
#define TOTAL (CHUNKS * EVENTS)

/* Places in shared memory. */
#define STATE(slot) (slot)
#define COMMIT(slot) (2 + (slot))
#define FIRST(slot) (4 + (slot)) /* first_ordinal, for line 1 of the header */
#define LAST(slot) (6 + (slot))	 /* last_ordinal, written when the chunk is sealed */
#define CELL(slot, i) (8 + 2 * (slot) + (i))
#define CONSUMED 12
#define WAKE 13
#define SLEEPING 14
#define COMMITTED 15	     /* of the definitions stream */
#define MESSAGE(n) (15 + (n)) /* 1 … TOTAL */
#define PLACES (16 + TOTAL)

#define SLOT_OF(seq) ((seq - 1) % SLOTS)
#define UNREADABLE 0
#define OPEN(seq) ((seq) << 1)
#define SEALED(seq) ((seq) << 1 | 1)
#define SEQ(state) ((state) >> 1)

byte memory[PLACES];

/* The edges.  R_…: 1 for a release store. */
#ifdef NO_P1
#define R_P1 0
#else
#define R_P1 1
#endif
#ifdef NO_P2
#define R_P2 0
#else
#define R_P2 1
#endif
#ifdef NO_P3
#define R_P3 0
#else
#define R_P3 1
#endif
#ifdef NO_P5
#define R_P5 0
#else
#define R_P5 1
#endif
#ifdef NO_C6_WAKE
#define R_WAKE 0
#else
#define R_WAKE 1
#endif

/* Store buffers. */
#define ROOM 4

typedef Buffer {
	byte used;
	byte place[ROOM];
	byte value[ROOM];
	bit release[ROOM];
	bit fence[ROOM]; /* the first store after a fence */
	bit is_fenced;	 /* the next one is */
};

Buffer produced, released;

inline store(buffer, at, what, is_release)
{
	atomic {
		buffer.used < ROOM;
		buffer.place[buffer.used] = at;
		buffer.value[buffer.used] = what;
		buffer.release[buffer.used] = is_release && buffer.used > 0;
		buffer.fence[buffer.used] = buffer.is_fenced && buffer.used > 0;
		buffer.is_fenced = 0;
		buffer.used++;
	}
}

#define OTHER(b, i, j) (b.place[i] != b.place[j])
#define MAY_1(b) (b.used > 1 && !b.fence[1] && !b.release[1] && OTHER(b, 1, 0))
#define MAY_2(b)                                                                                   \
	(b.used > 2 && !b.fence[1] && !b.fence[2] && !b.release[2] && OTHER(b, 2, 0) &&            \
	 OTHER(b, 2, 1))
#define MAY_3(b)                                                                                   \
	(b.used > 3 && !b.fence[1] && !b.fence[2] && !b.fence[3] && !b.release[3] &&               \
	 OTHER(b, 3, 0) && OTHER(b, 3, 1) && OTHER(b, 3, 2))
/* One store that may leave the buffer does. */
inline leave(buffer, i)
{
	if
	:: buffer.used > 0 -> i = 0
	:: MAY_1(buffer) -> i = 1
	:: MAY_2(buffer) -> i = 2
	:: MAY_3(buffer) -> i = 3
	fi;
	memory[buffer.place[i]] = buffer.value[i];
	buffer.used--;
	do
	:: i < buffer.used ->
		buffer.place[i] = buffer.place[i + 1];
		buffer.value[i] = buffer.value[i + 1];
		buffer.release[i] = buffer.release[i + 1] && i > 0;
		buffer.fence[i] = buffer.fence[i + 1] && i > 0;
		i++
	:: else -> break
	od;
	buffer.place[i] = 0;
	buffer.value[i] = 0;
	buffer.release[i] = 0;
	buffer.fence[i] = 0;
	i = 0
}

active proctype memory_of_producer()
{
	byte i;

end:	do
	:: atomic { produced.used > 0 -> leave(produced, i) }
	od
}

active proctype memory_of_reader()
{
	byte i;

end:	do
	:: atomic { released.used > 0 -> leave(released, i) }
	od
}

/* What is true, whoever sees it when. */
byte first_of[CHUNKS + 1];
byte newest_event; /* whose commit was stored */
bit is_asleep;	 /* in FUTEX_WAIT */
bit is_over;	 /* the producer has ended, or was killed */

#ifdef KILL
#define MAYBE_KILLED if :: skip :: goto dead fi
#else
#define MAYBE_KILLED skip
#endif

/*
 * kymo_ring_next_slot() and wait_for_reader() in recorder/ring.c, without time-outs.
 * The futex compares its word and sleeps in one step, and orders nothing else.
 */
inline wait_for_slot(oldest)
{
	do
	:: memory[CONSUMED] >= oldest -> break /* (P4) */
	:: else ->
#ifndef NO_P6_WAKE_FIRST
		seen = memory[WAKE];
#endif
		store(produced, SLEEPING, 1, 0);
#ifndef NO_P6
		produced.used == 0; /* (P6) full fence */
#endif
		if
		:: memory[CONSUMED] >= oldest
		:: else ->
#ifdef NO_P6_WAKE_FIRST
			seen = memory[WAKE];
#endif
			atomic { is_asleep = (memory[WAKE] == seen) };
			!is_asleep
		fi;
		seen = 0;
		store(produced, SLEEPING, 0, 0)
	od
}

/* kymo_ring_open(), appends, kymo_ring_seal(). */
active proctype producer()
{
	byte seq = 1, n = 1, i, seen;

	do
	:: seq > CHUNKS -> break
	:: else ->
#if defined(BLOCK) && !defined(NO_P4)
		if
		:: seq > SLOTS -> wait_for_slot(seq - SLOTS)
		:: else
		fi;
#endif
		first_of[seq] = n;
#ifndef NO_UNREADABLE
		MAYBE_KILLED;
		store(produced, STATE(SLOT_OF(seq)), UNREADABLE, 0);
#endif
#ifndef NO_P0
		produced.is_fenced = 1; /* (P0) */
#endif
		MAYBE_KILLED;
		store(produced, COMMIT(SLOT_OF(seq)), 0, 0);
		store(produced, FIRST(SLOT_OF(seq)), n, 0);
		MAYBE_KILLED;
		store(produced, STATE(SLOT_OF(seq)), OPEN(seq), R_P1); /* (P1) */
#if defined(BLOCK) && defined(NO_P4)
		/* Without the acquire, the look at consumed_seq may come later than the stores. */
		seq <= SLOTS || memory[CONSUMED] >= seq - SLOTS;
#endif
		i = 0;
		do
		:: i < EVENTS ->
#ifdef STREAM
			store(produced, MESSAGE(n), n, 0);
			store(produced, COMMITTED, n, R_P5); /* (P5) */
#endif
			MAYBE_KILLED;
#ifdef NO_CELL_FIRST
			store(produced, COMMIT(SLOT_OF(seq)), i + 1, R_P2);
			newest_event = n;
			MAYBE_KILLED;
			store(produced, CELL(SLOT_OF(seq), i), n, 0);
#else
			store(produced, CELL(SLOT_OF(seq), i), n, 0);
			MAYBE_KILLED;
			store(produced, COMMIT(SLOT_OF(seq)), i + 1, R_P2); /* (P2) */
			newest_event = n;
#endif
			n++;
			i++
		:: else -> break
		od;
		MAYBE_KILLED;
		store(produced, LAST(SLOT_OF(seq)), n - 1, 0);
		MAYBE_KILLED;
		store(produced, STATE(SLOT_OF(seq)), SEALED(seq), R_P3); /* (P3) */
		seq++
	od;
#ifdef KILL
dead:
#endif
	is_over = 1
}

/* Loads of a take, each done once. */
#define L_STATE 1
#define L_COMMIT 2
#define L_FIRST 4
#define L_LAST 8
#define L_CELL_0 16
#define L_CELL_1 32
#define L_AGAIN 64
#define L_COMMITTED 128
#define L_MESSAGE 256
#define L_COPY (L_COMMIT | L_FIRST | L_LAST | L_CELL_0 | L_CELL_1)
#ifdef STREAM
#define L_ALL (L_STATE | L_COPY | L_AGAIN | L_COMMITTED | L_MESSAGE)
#else
#define L_ALL (L_STATE | L_COPY | L_AGAIN)
#endif

/* Which loads must be done before. */
#ifdef NO_C1
#define B_C1 0
#else
#define B_C1 L_STATE
#endif
#ifdef NO_C2
#define B_C2 0
#else
#define B_C2 L_COMMIT
#endif
#ifdef NO_C0
#define B_C0 L_STATE
#else
#define B_C0 (L_STATE | L_COPY)
#endif
#ifdef NO_C5
#define B_C5 0
#else
#define B_C5 L_COMMITTED
#endif
#ifdef NO_C5_ORDER
#define B_C5_ORDER 0
#else
#define B_C5_ORDER (L_STATE | L_COPY)
#endif

#define CAN(load, before) (!(loaded & (load)) && ((loaded & (before)) == (before)))
#define IS_WANTED(state) ((state) == SEALED(seq) || (is_tail && (state) == OPEN(seq)))

short loaded;
byte state, commit, first, last, cell_0, cell_1, again, committed, message, wanted_message;
bit is_taken;

inline load(bits, into, place)
{
	atomic { into = memory[place]; loaded = loaded | (bits) }
}

/*
 * take() in reader/take.c, of chunk @seq, which may be open if @is_tail.  In the code
 * (C1) and (C3) are one load; here it is (C1) for both.  What is copied is copied in one
 * order: each of it is checked by itself, so only what comes before and after all matters.
 */
inline take(seq, is_tail)
{
	loaded = (is_tail -> L_LAST : 0);
	do
	:: CAN(L_STATE, 0) -> load(L_STATE, state, STATE(SLOT_OF(seq)))
	:: CAN(L_COMMIT, B_C1) -> load(L_COMMIT, commit, COMMIT(SLOT_OF(seq)))
	:: CAN(L_FIRST, B_C1 | B_C2) -> load(L_FIRST, first, FIRST(SLOT_OF(seq)))
	:: CAN(L_LAST, L_FIRST) -> load(L_LAST, last, LAST(SLOT_OF(seq)))
	:: CAN(L_CELL_0, L_FIRST | L_LAST) -> load(L_CELL_0, cell_0, CELL(SLOT_OF(seq), 0))
	:: CAN(L_CELL_1, L_CELL_0) -> load(L_CELL_1, cell_1, CELL(SLOT_OF(seq), 1))
	:: CAN(L_AGAIN, B_C0) -> load(L_AGAIN, again, STATE(SLOT_OF(seq)))
#ifdef STREAM
	:: CAN(L_COMMITTED, B_C5_ORDER) -> load(L_COMMITTED, committed, COMMITTED)
	:: CAN(L_MESSAGE, B_C5) -> load(L_MESSAGE, message, MESSAGE(wanted_message))
#endif
	:: (loaded & L_STATE) && !IS_WANTED(state) -> break
	:: loaded == L_ALL -> break
	od;
	atomic {
#ifdef NO_RECHECK
		is_taken = loaded == L_ALL && IS_WANTED(state);
#else
		is_taken = loaded == L_ALL && IS_WANTED(state) && SEQ(again) == seq;
#endif
		if
		:: is_taken ->
			/* Nothing stale: header and payload are this chunk's. */
			assert(first == first_of[seq]);
			assert(commit <= EVENTS);
			assert(commit < 1 || cell_0 == first);
			assert(commit < 2 || cell_1 == first + 1);
			/* Nothing missing: a sealed chunk is whole. */
			assert(state != SEALED(seq) || commit == EVENTS);
			assert(is_tail || last == first + EVENTS - 1);
#ifdef STREAM
			/* What its events use is defined. */
			assert(committed >= first + commit - 1);
			assert(committed < wanted_message || message == wanted_message);
#endif
		:: else
		fi;
		loaded = 0; state = 0; commit = 0; first = 0; last = 0; cell_0 = 0; cell_1 = 0;
		again = 0; committed = 0; message = 0
	}
}

#ifdef BLOCK
/* drain_ring() in reader/drain.c and kymo_ring_view_release() in reader/take.c. */
active proctype reader()
{
	byte next = 1;

	do
	:: next > CHUNKS -> break
	:: else ->
		if
		:: take(next, 1)
		:: skip
		fi;
		memory[STATE(SLOT_OF(next))] == SEALED(next);
#ifdef NO_C4
		store(released, CONSUMED, next, 0);
#endif
		take(next, 0);
		assert(is_taken); /* nobody reuses a slot that was not given back */
		is_taken = 0;
#ifndef NO_C4
		store(released, CONSUMED, next, 1); /* (C4): all loads of the take are done */
#endif
		store(released, WAKE, next, R_WAKE);
#ifndef NO_C6
		released.used == 0; /* (C6) full fence */
#endif
		if
		:: memory[SLEEPING] -> is_asleep = 0 /* FUTEX_WAKE */
		:: else
		fi;
		next++
	od
}
#endif

#if defined(OVERWRITE) || defined(STREAM)
/* Any one take at any time: a reader that takes more remembers nothing from take to take. */
active proctype reader()
{
	byte wanted;

	select(wanted : 1 .. CHUNKS);
#ifdef STREAM
	select(wanted_message : 1 .. TOTAL);
#endif
	if
	:: take(wanted, 0)
	:: take(wanted, 1)
	fi
}
#endif

#ifdef KILL
/* kymo salvage: when the process is gone, its stores have all reached memory. */
active proctype salvage()
{
	byte slot, seq, newest, newest_end, older_end, end_of_chunk;

	is_over && produced.used == 0;
	atomic {
		do
		:: slot < SLOTS ->
			if
			:: memory[STATE(slot)] != UNREADABLE ->
				seq = SEQ(memory[STATE(slot)]);
				assert(memory[FIRST(slot)] == first_of[seq]);
				end_of_chunk = memory[FIRST(slot)] + memory[COMMIT(slot)];
				assert(memory[COMMIT(slot)] < 1 ||
				       memory[CELL(slot, 0)] == first_of[seq]);
				assert(memory[COMMIT(slot)] < 2 ||
				       memory[CELL(slot, 1)] == first_of[seq] + 1);
				if
				:: seq > newest ->
					older_end = newest_end;
					newest_end = end_of_chunk;
					newest = seq
				:: else -> older_end = end_of_chunk
				fi
			:: else
			fi;
			slot++
		:: else -> break
		od;
		/* An exact prefix: up to the last event that was committed, without a gap. */
		assert(newest_event == 0 || newest_end == newest_event + 1);
		assert(older_end == 0 || older_end == first_of[newest])
	}
}
#endif
