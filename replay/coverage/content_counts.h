// SPDX-License-Identifier: Apache-2.0
/* How often each line and each way of each branch of a code object's content ran, and in which contexts. */
#ifndef KYMO_REPLAY_COVERAGE_CONTENT_COUNTS_H
#define KYMO_REPLAY_COVERAGE_CONTENT_COUNTS_H

#include "replay/decode/flow_code.h"

struct kymo_counted_line {
	int32_t line;
	uint64_t hits;
};

struct kymo_counted_branch {
	uint32_t unit;	   /* of the instruction; of `async for`, from 3.14 on, its END_SEND */
	uint32_t dests[2]; /* where each way leads: first BRANCH_LEFT or not jumped, then the other; KYMO_NO_UNIT: not known */
	uint64_t hits[2];
};

/* What ran in a context: a bit for each line, then two for each branch. */
struct kymo_context_set {
	uint32_t context;
	uint64_t *bits;
};

struct kymo_content_counts {
	struct kymo_content *content;
	struct kymo_flow_code *code; /* NULL: its bytecode is not understood, and none of its branches is counted */
	uint32_t version;	     /* of CPython, as in KYMO_FLOW_VERSION; 0: not known */
	bool has_run;
	bool is_incomplete; /* a part of what ran of it is not known */
	struct kymo_counted_line *lines; /* all lines of its instructions, in order */
	uint32_t line_count, branch_count;
	struct kymo_counted_branch *branches; /* by unit */
	uint64_t calls;
	struct kymo_context_set *sets; /* by context; none if contexts are not wanted */
	uint32_t set_count, last_set;
	size_t set_capacity;
};

#define KYMO_NO_CONTEXT UINT32_MAX

/* 0 or -ENOMEM.  Release @of in either case. */
KYMO_MUST_CHECK
int kymo_content_counts_init(struct kymo_content_counts *of, struct kymo_content *content, uint32_t python_hex,
			     uint64_t kinds);
void kymo_content_counts_release(struct kymo_content_counts *of);

/* Count a line or a way in @context (KYMO_NO_CONTEXT: contexts are not wanted). 0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_count_line(struct kymo_content_counts *of, int64_t line, uint64_t times, uint32_t context);
/*
 * The same for an event BRANCH, BRANCH_LEFT or BRANCH_RIGHT from @offset to @dest. If 3.14 reports a way to the end of a loop a
 * second time there, that is not counted.
 */
KYMO_MUST_CHECK
int kymo_count_way(struct kymo_content_counts *of, unsigned kind, uint64_t offset, uint64_t dest, uint64_t times,
		   uint32_t context);

static inline bool kymo_context_set_has(const struct kymo_context_set *set, uint32_t bit)
{
	return set->bits[bit / 64] >> bit % 64 & 1;
}

#endif
