// SPDX-License-Identifier: Apache-2.0
/*
 * The producer: what one thread needs to append records, and the appends themselves.
 *
 * Everything here runs once per event.  No lock, no allocation, no system call, no
 * read-modify-write, no fence on x86-64, no failure: what cannot be recorded is counted.
 *
 * How an event is recorded:
 *
 *   struct kymo_producer *p = kymo_producer;
 *   if (!kymo_is_ready(p) && !(p = kymo_refill(host)))    // a new chunk, the time, a first event
 *           return;                                       // lost, and counted
 *   ... kymo_switch, kymo_append_code where needed ...
 *   kymo_append1(p, KYMO_PY_RETURN, offset);
 *
 * kymo_is_ready() promises KYMO_SLOT_SLACK bytes: enough for one event and the
 * records that go before it, so nothing after it checks for room.
 */
#ifndef KYMO_RECORDER_PRODUCER_H
#define KYMO_RECORDER_PRODUCER_H

#include <stdbool.h>
#include <string.h>

#include "format/atomics.h"
#include "format/chunk.h"
#include "format/record.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records are stored as they lie in memory");

#define kymo_likely(x) __builtin_expect(!!(x), 1)
#define kymo_unlikely(x) __builtin_expect(!!(x), 0)

struct kymo_gil;
struct kymo_process;
struct kymo_ring;

/*
 * One per thread, in private memory that a forked child finds zeroed
 * (MADV_WIPEONFORK): @limit is 0 there, so the child's first event takes the slow path.
 */
struct kymo_producer {
	/* line 0: read by every event */
	uint64_t word;                /* as in the commit word: payload bytes used, open branches */
	uint8_t *payload;             /* of the open chunk */
	_Atomic uint64_t *commit;     /* of the open chunk */
	const _Atomic uint64_t *tick; /* the session's, or a word that never changes */
	uint64_t tick_seen;
	const void *code;             /* code register: address of the code object; NULL: none */
	uint32_t limit;               /* the slow path begins here: chunk full, or time to read the clock */
	uint32_t thread;              /* number in the process, from 1; never 0 while recording */
	uint64_t ordinal;             /* of the last event, lost ones included */
	/* line 1 */
	uint32_t line;                /* line register */
	uint32_t offset;              /* offset register, code units */
	uint64_t clock;               /* counter at the last TIME, or at open */
	uint64_t switched;            /* ordinal of the last SWITCH, or switch_base */
	uint32_t interpreter;         /* that the next event belongs to */
	uint32_t chunk_limit;         /* the chunk is full here */
	struct kymo_process *process;
	struct kymo_ring *ring;       /* NULL: none was to be had, or recording stopped */
	uint64_t lost;                /* since the last chunk was sealed */
	uint64_t chunks;              /* opened by this thread so far */
	/* line 2: cold */
	uint32_t lost_reasons;
	uint32_t retry;               /* without a ring: events until the next try */
	uint32_t name_tries;          /* left, to find the thread's name at TIME records */
	uint32_t in_use;              /* 0: the cell is free */
	struct kymo_gil *gil;         /* that it last recorded under */
	uint64_t name_hash;           /* of the name in the last Thread definition */
	uint8_t reserved[32];
};
static_assert(sizeof(struct kymo_producer) == 192, "three cache lines");

/* This thread's producer; never NULL: before its first event, one whose limit is 0. */
extern _Thread_local struct kymo_producer *kymo_producer __attribute__((tls_model("initial-exec")));

static inline bool kymo_is_ready(const struct kymo_producer *p)
{
	/* The tick may be a little old: it only decides when the clock is read. */
	return kymo_likely((uint32_t)p->word < p->limit && kymo_load_relaxed_u64(p->tick) == p->tick_seen);
}

/* Publish everything up to p->word. */
static inline void kymo_commit(struct kymo_producer *p)
{
	/* (P2) release: payload below the new length before the length.  Pairs with (C2). */
	kymo_store_release_u64(p->commit, p->word);
}

static inline uint8_t *kymo_cursor(struct kymo_producer *p)
{
	return p->payload + (uint32_t)p->word;
}

/* Branches that are still in the word go before the next record.  Not committed here:
 * the record's own store publishes the flushed word and the record together. */
static inline void kymo_flush_branches(struct kymo_producer *p)
{
	uint32_t branches = (uint32_t)(p->word >> 32);

	if (kymo_likely(branches == KYMO_BRANCHES_NONE))
		return;
	uint8_t *at = kymo_cursor(p);

	at[0] = KYMO_TAG_BITS;
	memcpy(at + 1, &branches, 4);
	p->word = KYMO_COMMIT((uint32_t)p->word + 5, KYMO_BRANCHES_NONE);
}

/* One branch: the low bit of @taken.  Needs kymo_is_ready(), as every append does. */
static inline void kymo_append_branch(struct kymo_producer *p, unsigned taken)
{
	if (kymo_unlikely(p->word >> 63))
		kymo_flush_branches(p);
	uint64_t branches = p->word >> 32;

	p->word = KYMO_COMMIT((uint32_t)p->word, branches << 1 | (taken & 1));
	p->ordinal++;
	kymo_commit(p);
}

/* Width code (0, 1, 2: 1, 2, 4 bytes) of a field that may reach @value. */
static inline unsigned kymo_width(uint32_t value)
{
	return (unsigned)(value > 0xff) + (unsigned)(value > 0xffff);
}

/* Append a record of one field and commit it; it is an event unless kymo_append_code() calls. */
static inline void kymo_put1(struct kymo_producer *p, enum kymo_kind kind, uint32_t a)
{
	unsigned width = kymo_width(a);
	uint64_t bytes = (uint64_t)a << 8 | KYMO_TAG(kind, width);

	kymo_flush_branches(p);
	memcpy(kymo_cursor(p), &bytes, 8); /* bytes beyond the record are never read */
	p->word += 1 + (1U << width);
	kymo_commit(p);
}

static inline void kymo_append1(struct kymo_producer *p, enum kymo_kind kind, uint32_t a)
{
	p->ordinal++;
	kymo_put1(p, kind, a);
}

static inline void kymo_append2(struct kymo_producer *p, enum kymo_kind kind, uint32_t a, uint32_t b)
{
	unsigned width = kymo_width(a | b);
	uint8_t *at;

	p->ordinal++;
	kymo_flush_branches(p);
	at = kymo_cursor(p);
	at[0] = KYMO_TAG(kind, width);
	memcpy(at + 1, &a, 4);
	memcpy(at + 1 + (1U << width), &b, 4);
	p->word += 1 + (2U << width);
	kymo_commit(p);
}

/* Set the code register; @key is the code object's address, @first_line its co_firstlineno. */
static inline void kymo_set_code(struct kymo_producer *p, const void *key, uint32_t first_line)
{
	p->code = key;
	p->line = first_line;
	p->offset = 0;
}

static inline void kymo_append_code(struct kymo_producer *p, const void *key, uint32_t id, uint32_t first_line)
{
	kymo_set_code(p, key, first_line);
	kymo_put1(p, KYMO_CODE, id);
}

static inline void kymo_append_start(struct kymo_producer *p, const void *key, uint32_t id, uint32_t first_line)
{
	kymo_set_code(p, key, first_line);
	kymo_append1(p, KYMO_PY_START, id);
}

static inline void kymo_append_line(struct kymo_producer *p, uint32_t line)
{
	uint32_t step = line - p->line + KYMO_LINE_BIAS;

	p->line = line;
	if (kymo_unlikely(step >= 0x80)) {
		kymo_append1(p, KYMO_LINE, line);
		return;
	}
	p->ordinal++;
	kymo_flush_branches(p);
	*kymo_cursor(p) = (uint8_t)(KYMO_TAG_LINE | step);
	p->word += 1;
	kymo_commit(p);
}

static inline void kymo_append_instruction(struct kymo_producer *p, uint32_t offset)
{
	uint32_t step = offset - p->offset + KYMO_INSTRUCTION_BIAS;

	p->offset = offset;
	if (kymo_unlikely(step >= 0x20)) {
		kymo_append1(p, KYMO_INSTRUCTION, offset);
		return;
	}
	p->ordinal++;
	kymo_flush_branches(p);
	*kymo_cursor(p) = (uint8_t)(KYMO_TAG_INSTRUCTION | step);
	p->word += 1;
	kymo_commit(p);
}

/* A mark: an event that the program itself makes. */
static inline void kymo_append_mark(struct kymo_producer *p, uint32_t text)
{
	uint8_t *at;

	p->ordinal++;
	kymo_flush_branches(p);
	at = kymo_cursor(p);
	at[0] = KYMO_TAG_EXTENDED;
	at[1] = KYMO_EXTENDED_MARK;
	memcpy(at + 2, &text, 4);
	p->word += 6;
	kymo_commit(p);
}

#endif
