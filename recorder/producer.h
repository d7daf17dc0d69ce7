// SPDX-License-Identifier: Apache-2.0
/*
 * The producer: what one thread needs to append records, and the appends themselves.
 *
 * Everything here runs once per event.  No lock, no allocation, no system call, no
 * read-modify-write, no fence on x86-64, no failure: events that cannot be recorded are
 * counted.
 *
 * How an event is recorded:
 *
 *   struct kymo_producer *p = kymo_producer;
 *   if (!kymo_is_ready(p) && !(p = kymo_refill(host)))    // a new chunk, the time, open branches
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
#include <stddef.h>
#include <string.h>

#include "format/atomics.h"
#include "format/chunk.h"
#include "format/flow.h"
#include "format/record.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records are stored as they lie in memory");

#define kymo_likely(x) __builtin_expect(!!(x), 1)
#define kymo_unlikely(x) __builtin_expect(!!(x), 0)

struct kymo_gil;
struct kymo_process;
struct kymo_ring;

/* Flow: what the registers held when another frame was entered. */
struct kymo_caller {
	const void *frame;
	const void *code;      /* NULL: not known */
	const uint16_t *sites; /* of @code */
};

/* Number of callers that are kept; those further out are looked up again on return. */
#define KYMO_CALLERS 128

/*
 * One per thread, in private memory that a forked child finds zeroed
 * (MADV_WIPEONFORK): @limit is 0 there, so the child's first event takes the slow path.
 */
struct kymo_producer {
	/* line 0: read by every event */
	uint64_t word;                /* as in the commit word: payload bytes used, open branches */
	uint64_t limit;               /* @word reaches it when the chunk is full, when the clock is
					 due, and as long as branches are open */
	uint8_t *payload;             /* of the open chunk */
	_Atomic uint64_t *commit;     /* of the open chunk */
	const _Atomic uint64_t *tick; /* the session's, or a word that never changes */
	uint64_t tick_seen;
	const void *code;             /* code register: address of the code object; NULL: none */
	uint64_t ordinal;             /* of the last event, lost ones included */
	/* line 1 */
	uint32_t ticket;              /* unique among the threads of this and any other recording; 0: not enrolled */
	uint32_t line;                /* line register */
	uint32_t offset;              /* offset register, code units */
	uint32_t interpreter;         /* of the next event */
	const uint16_t *sites;        /* flow: sites of the code register's code, by unit; see format/flow.h */
	const void *frame;            /* flow: the frame that is on top of the stack as recorded */
	struct kymo_caller *top;      /* flow: the first free one of @callers */
	uint64_t clock;               /* counter at the last TIME, or at open */
	uint64_t switched;            /* ordinal of the last SWITCH, or switch_base */
	struct kymo_process *process;
	/* line 2: cold */
	struct kymo_ring *ring;       /* NULL: there was no room, or recording stopped */
	uint64_t lost;                /* events lost since the last chunk was sealed */
	uint64_t chunks;              /* opened by this thread so far */
	uint32_t lost_reasons;
	uint32_t retry;               /* without a ring: events until the next try */
	uint32_t name_tries;          /* tries left to find the thread's name at TIME records */
	uint32_t in_use;              /* 0: the cell is free */
	struct kymo_gil *gil;         /* the GIL that it last recorded under: whoever holds it may seal the chunk, or end all; see
	                                 kymo_claim() */
	uint64_t name_hash;           /* hash of the name in the last Thread definition */
	uint32_t chunk_limit;         /* payload bytes at which the chunk is full */
	uint32_t task;                /* task register; 0: none */
	/* line 3: values */
	uint64_t epoch;               /* of the open chunk, changed when a stack is written in it: unique in this process and
					 those that it was forked from; 0: no chunk was open yet */
	uint64_t contexts_seen;       /* flow: for the host, which counts events that may switch stacks */
	uint32_t thread;              /* number in the process, from 1; never 0 while recording */
	uint32_t unused;
	uint64_t reserved[5];
	struct kymo_caller callers[KYMO_CALLERS]; /* flow: registers of the frames below @frame, the nearest last */
};
static_assert(offsetof(struct kymo_producer, callers) == 256, "four cache lines and the callers");
static_assert(sizeof(struct kymo_producer) % 64 == 0, "each begins a cache line");

/* This thread's producer; never NULL: before the first event, a shared one whose limit is 0. */
extern _Thread_local struct kymo_producer *kymo_producer __attribute__((tls_model("initial-exec")));

/*
 * True if there is room for an event and what goes before it, the clock is not due, and
 * no branches are open: one comparison for the three, and one with the tick, which may be
 * a little old, since it only decides when the clock is read.
 */
static inline bool kymo_is_ready(const struct kymo_producer *p)
{
	return kymo_likely(p->word < p->limit && kymo_load_relaxed_u64(p->tick) == p->tick_seen);
}

/* The same for kymo_append_branch(), which leaves branches open. */
static inline bool kymo_is_ready_for_branch(const struct kymo_producer *p)
{
	return kymo_likely((uint32_t)p->word < (uint32_t)p->limit &&
			   kymo_load_relaxed_u64(p->tick) == p->tick_seen);
}

/*
 * Make a record of the branches that are still in the word, before the next record.  To be
 * called before any append but that of a branch, unless kymo_is_ready() returned true.  Not
 * committed here: the next record's own store publishes both together.
 */
static inline void kymo_flush_branches(struct kymo_producer *p)
{
	uint32_t branches = (uint32_t)(p->word >> 32);

	if (kymo_likely(branches <= KYMO_BRANCHES_NONE))
		return;
	uint8_t *at = p->payload + (uint32_t)p->word;

	at[0] = KYMO_TAG_BITS;
	memcpy(at + 1, &branches, 4);
	p->word = KYMO_COMMIT((uint32_t)p->word + 5, KYMO_BRANCHES_NONE);
}

/* Publish everything up to p->word. */
static inline void kymo_commit(struct kymo_producer *p)
{
	/* (P2) release: payload below the new length before the length.  Pairs with (C2). */
	kymo_store_release_u64(p->commit, p->word);
}

/* Append and commit a record: the low @bytes bytes of @record, at most 8. */
static inline void kymo_put(struct kymo_producer *p, uint64_t record, uint64_t bytes)
{
	/* Loaded before the store, which could change them as far as the compiler knows. */
	_Atomic uint64_t *commit = p->commit;
	uint64_t word = p->word;

	assert(word >> 32 == KYMO_BRANCHES_NONE);
	memcpy(p->payload + (uint32_t)word, &record, 8); /* what is beyond @bytes is never read */
	p->word = word + bytes;
	/* (P2) as in kymo_commit(). */
	kymo_store_release_u64(commit, word + bytes);
}

/* One branch: the low bit of @taken. */
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
static inline uint32_t kymo_width(uint32_t value)
{
	return kymo_likely(value <= 0xffff) ? (value + 0xff00) >> 16 : 2;
}

/* A record of one field; not an event by itself. */
static inline void kymo_put1(struct kymo_producer *p, enum kymo_kind kind, uint32_t a)
{
	uint64_t width = kymo_width(a);

	kymo_put(p, ((uint64_t)a << 8) + KYMO_TAG(kind, 0) + width, kymo_likely(width < 2) ? 2 + width : 5);
}

static inline void kymo_append1(struct kymo_producer *p, enum kymo_kind kind, uint32_t a)
{
	p->ordinal++;
	kymo_put1(p, kind, a);
}

static inline void kymo_append2(struct kymo_producer *p, enum kymo_kind kind, uint32_t a, uint32_t b)
{
	uint64_t width = kymo_width(a | b);

	p->ordinal++;
	if (kymo_likely(width < 2)) {
		kymo_put(p, ((uint64_t)b << (16 + 8 * width)) + ((uint64_t)a << 8) + KYMO_TAG(kind, 0) + width,
			 3 + 2 * width);
		return;
	}
	uint8_t *at = p->payload + (uint32_t)p->word;

	at[0] = KYMO_TAG(kind, 2);
	memcpy(at + 1, &a, 4);
	memcpy(at + 5, &b, 4);
	p->word += 9;
	kymo_commit(p);
}

/* Set the code register; @key is the code object's address, @first_line its co_firstlineno. */
static inline void kymo_set_code(struct kymo_producer *p, const void *key, uint32_t first_line)
{
	/* One store for two registers: the upper half is the offset's. */
	const uint64_t line_and_offset = first_line;

	static_assert(offsetof(struct kymo_producer, offset) == offsetof(struct kymo_producer, line) + 4, "");
	p->code = key;
	memcpy((uint8_t *)p + offsetof(struct kymo_producer, line), &line_and_offset, 8);
}

/* Clear the code register and those of callers; the host has written the stack again. */
static inline void kymo_forget_frames(struct kymo_producer *p)
{
	p->code = NULL;
	p->top = p->callers;
}

/* A PY_START record, made once for each code object; a CODE record differs in the tag alone. */
struct kymo_start {
	uint64_t record;
	uint64_t bytes;
};

static inline struct kymo_start kymo_start_make(uint32_t id)
{
	unsigned width = kymo_width(id);

	return (struct kymo_start){(uint64_t)id << 8 | KYMO_TAG(KYMO_PY_START, width), 1 + (1U << width)};
}

static inline void kymo_append_start(struct kymo_producer *p, const void *key, struct kymo_start start,
				     uint32_t first_line)
{
	kymo_set_code(p, key, first_line);
	p->ordinal++;
	kymo_put(p, start.record, start.bytes);
}

/* Where a frame is.  Not committed: the next event does that. */
static inline void kymo_append_lasti(struct kymo_producer *p, uint32_t lasti)
{
	uint64_t width = kymo_width(lasti);
	uint64_t record = ((uint64_t)lasti << 8) + KYMO_TAG(KYMO_LASTI, 0) + width;

	memcpy(p->payload + (uint32_t)p->word, &record, 8);
	p->word += kymo_likely(width < 2) ? 2 + width : 5;
}

/*
 * A PY_START and, before it, where the frame below is.  Flow only: sets no register; the caller sets those of frames.
 */
static inline void kymo_append_entry(struct kymo_producer *p, struct kymo_start start, uint32_t lasti)
{
	p->ordinal++;
	if (kymo_likely(lasti <= 0xff)) {
		kymo_put(p, start.record << 16 | lasti << 8 | KYMO_TAG(KYMO_LASTI, 0), start.bytes + 2);
		return;
	}
	kymo_append_lasti(p, lasti);
	kymo_put(p, start.record, start.bytes);
}

/* A CODE record.  Not committed: the next event's store publishes both. */
static inline void kymo_append_code(struct kymo_producer *p, const void *key, struct kymo_start start,
				    uint32_t first_line)
{
	uint64_t record = start.record - KYMO_TAG(KYMO_PY_START, 0) + KYMO_TAG(KYMO_CODE, 0);

	kymo_set_code(p, key, first_line);
	memcpy(p->payload + (uint32_t)p->word, &record, 8);
	p->word += start.bytes;
}

/* A PY_RESUME at @offset and the CODE before it.  Flow only, as kymo_append_entry(). */
static inline void kymo_append_reentry(struct kymo_producer *p, struct kymo_start start, uint32_t offset)
{
	uint64_t record = start.record - KYMO_TAG(KYMO_PY_START, 0) + KYMO_TAG(KYMO_CODE, 0);

	memcpy(p->payload + (uint32_t)p->word, &record, 8);
	p->word += start.bytes;
	kymo_append1(p, KYMO_PY_RESUME, offset);
}

static inline void kymo_append_line(struct kymo_producer *p, uint32_t line)
{
	uint32_t step = line - p->line + KYMO_LINE_BIAS;

	p->line = line;
	p->ordinal++;
	if (kymo_likely(step < 0x80))
		kymo_put(p, KYMO_TAG_LINE | step, 1);
	else
		kymo_put1(p, KYMO_LINE, line);
}

static inline void kymo_append_instruction(struct kymo_producer *p, uint32_t offset)
{
	uint32_t step = offset - p->offset + KYMO_INSTRUCTION_BIAS;

	p->offset = offset;
	p->ordinal++;
	if (kymo_likely(step < 0x20))
		kymo_put(p, KYMO_TAG_INSTRUCTION | step, 1);
	else
		kymo_put1(p, KYMO_INSTRUCTION, offset);
}

/* A branch or jump at a site of the code of the frame on top, by the number in kymo_flow_sites(). */
static inline void kymo_append_site(struct kymo_producer *p, uint32_t site, uint32_t is_taken)
{
	uint32_t field = 2 * (site & ~KYMO_SITE_HAS_CACHE) + is_taken;
	uint32_t step = field - KYMO_SITE_BIAS;

	p->ordinal++;
	if (kymo_likely(step < KYMO_SHORT_SITES))
		kymo_put(p, KYMO_TAG_SITE | step, 1);
	else
		kymo_put1(p, KYMO_SITE, field);
}

static inline void kymo_put_extended(struct kymo_producer *p, enum kymo_extended kind, uint32_t value)
{
	kymo_put(p, (uint64_t)value << 16 | (uint64_t)kind << 8 | KYMO_TAG_EXTENDED, 6);
}

/* The task of the coroutine that is entered next.  Not committed, as kymo_append_code(). */
static inline void kymo_append_task(struct kymo_producer *p, uint32_t task)
{
	uint64_t record = (uint64_t)task << 16 | KYMO_EXTENDED_TASK << 8 | KYMO_TAG_EXTENDED;

	if (p->task == task)
		return;
	p->task = task;
	memcpy(p->payload + (uint32_t)p->word, &record, 8);
	p->word += KYMO_EXTENDED_BYTES;
}

/*
 * The head of a record VALUES whose block of @bytes lies behind it already.  Branches must be flushed; there is room, or the block
 * could not lie there.  Not committed, as kymo_append_code().
 */
static inline void kymo_append_values(struct kymo_producer *p, uint32_t bytes)
{
	uint64_t limit = (uint32_t)p->limit;
	uint8_t *at = p->payload + (uint32_t)p->word;

	at[0] = KYMO_TAG_EXTENDED;
	at[1] = KYMO_EXTENDED_VALUES;
	memcpy(at + 2, &bytes, 4);
	p->word += KYMO_EXTENDED_BYTES + bytes;
	/* Values do not make the clock due. */
	limit += limit ? KYMO_EXTENDED_BYTES + bytes : 0;
	p->limit = KYMO_COMMIT(limit < p->chunk_limit ? limit : p->chunk_limit, KYMO_BRANCHES_NONE);
}

/* A mark: an event that the program itself makes. */
static inline void kymo_append_mark(struct kymo_producer *p, uint32_t text)
{
	p->ordinal++;
	kymo_put_extended(p, KYMO_EXTENDED_MARK, text);
}

#endif
