// SPDX-License-Identifier: Apache-2.0
/*
 * Two histories that are compared, and the differences that were found.
 *
 * Equal activations have the same hash. If two differ, their own tokens are aligned, and calls of the same function in the same line
 * that differ are compared in turn. A difference is a place where two aligned activations did not do the same; a repeated difference
 * is counted.
 */
#ifndef KYMO_REPLAY_DIFF_COMPARISON_H
#define KYMO_REPLAY_DIFF_COMPARISON_H

#include "replay/diff/align.h"
#include "replay/diff/sequence.h"

enum kymo_difference_kind {
	KYMO_DIFFER_BRANCH,    /* went another way */
	KYMO_DIFFER_LOOP,      /* one side went around more often */
	KYMO_DIFFER_CALL,      /* one side called what the other did not */
	KYMO_DIFFER_EXCEPTION, /* one side raised it */
	KYMO_DIFFER_LEFT,      /* left in another way */
	KYMO_DIFFER_THREAD,    /* a thread that only one side has */
	KYMO_DIFFER_PROCESS,   /* a process that only one side has */
	KYMO_DIFFER_ENDING,    /* the process ended in another way */
	KYMO_DIFFER_ORDER,     /* of threads */
	KYMO_DIFFER_UNKNOWN,   /* events are missing on one side or both: it is not known whether they differ */
};

#define KYMO_CALLS_TOLD 4
#define KYMO_LINES_BEFORE 3

struct kymo_differing {
	bool has_place;		     /* it has any such moment */
	size_t stream;
	struct kymo_position at;     /* where it went another way, or what it did instead */
	uint8_t kind;		     /* enum kymo_token_kind of that */
	bool is_missing;	     /* it is not known what that is */
	bool is_own;		     /* it has no match on the other side */
	uint32_t code;		     /* of the frame; 0: not known */
	struct kymo_position begin;  /* of the frame's activation; n is 0: not known */
	int32_t line;		     /* the next line that it ran, or KYMO_LINE_NONE */
	struct kymo_position common; /* the last line that both ran before */
	int32_t common_line;	     /* or KYMO_LINE_NONE */
	int32_t earlier[KYMO_LINES_BEFORE]; /* lines that both ran before that, the last one first */
	uint64_t lines, calls, rounds; /* that only this side has; rounds of the loop */
	uint32_t called[KYMO_CALLS_TOLD]; /* codes */
	uint32_t called_count;
	bool has_raise;
	struct kymo_position raise; /* the first exception that only this side has */
	size_t process; /* of KYMO_DIFFER_PROCESS and _ENDING: in definitions.processes */
};

/* A turn of one thread in which another ran the same code, while the first was in the middle of it. */
struct kymo_interruption {
	size_t stream, other_stream;
	uint32_t code, other_code;
	int32_t last_line, next_line; /* of the first: it stopped between these */
	int32_t low, high; /* lines of the other */
	struct kymo_position last, next, other;
	bool is_same_function;
};

struct kymo_difference {
	enum kymo_difference_kind kind;
	struct kymo_differing sides[2];
	struct kymo_interruption interruption; /* of KYMO_DIFFER_ORDER: of the side that has it */
	uint64_t count;
	uint64_t key; /* the same for differences that are reported as one */
	size_t outer; /* the difference before it in an activation around it; SIZE_MAX: none */
	bool is_library;
	bool is_unaligned; /* what follows was too different to be aligned */
};

/* Two activations that are to be compared. */
struct kymo_pair {
	const struct kymo_thread_tree *trees[2];
	struct kymo_position begin[2];
	uint32_t depth[2];
	uint32_t code[2];
	size_t outer;
};

/* A stretch of tokens that are the same, one by one, in two threads. */
struct kymo_aligned {
	const struct kymo_thread_tree *trees[2];
	struct kymo_position begin[2]; /* n is 0: of all that there is */
	uint64_t size;
};

struct kymo_window {
	struct kymo_sequence sequence;
	struct kymo_item *items;
	size_t count;
	bool is_at_end;
};

struct kymo_comparison {
	struct kymo_forest forests[2];
	struct kymo_pages pages[2];
	struct kymo_difference *differences;
	size_t difference_count, difference_capacity;
	uint32_t *slots; /* of differences, by key; number + 1 */
	struct kymo_pair *pairs; /* still to be compared; the last one is next */
	size_t pair_count, pair_capacity;
	struct kymo_alignment alignment, inner;
	struct kymo_window windows[2];
	bool wants_aligned; /* keep equal stretches in @aligned, for comparing more than tokens */
	struct kymo_aligned *aligned;
	size_t aligned_count, aligned_capacity;
	uint64_t total; /* tokens of both sides */
	uint64_t common; /* tokens of one side that are the same on the other */
	uint64_t common_shown; /* of them, those in no library */
	uint64_t effort;
	uint64_t not_followed; /* pairs of calls that differ and were not compared */
	uint64_t not_kept; /* differences */
	uint64_t unknown; /* places where it is not known whether they differ */
	struct kymo_error *error;
};

#define KYMO_MAX_DIFFERENCES 8192U

/* Both forests have their trees; compare what @pairs has.  0 or a negative errno. */
KYMO_MUST_CHECK
int kymo_compare(struct kymo_comparison *comparison);
void kymo_comparison_release(struct kymo_comparison *comparison);
KYMO_MUST_CHECK
int kymo_comparison_add_pair(struct kymo_comparison *comparison, const struct kymo_pair *pair);
/* Add @aligned, if wanted; only a limited number is kept. */
KYMO_MUST_CHECK
int kymo_comparison_add_aligned(struct kymo_comparison *comparison, const struct kymo_aligned *aligned);
/* Add @difference, or count it with an existing one of the same key. Returns its number; SIZE_MAX: no more room. */
size_t kymo_comparison_add(struct kymo_comparison *comparison, const struct kymo_difference *difference);

static inline const struct kymo_side_code *kymo_comparison_code(const struct kymo_comparison *comparison, size_t side,
								uint32_t code)
{
	return &comparison->forests[side].side.codes[code];
}

#endif
