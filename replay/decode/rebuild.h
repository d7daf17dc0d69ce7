// SPDX-License-Identifier: Apache-2.0
/*
 * Lines, jumps and instructions of one thread, rebuilt from what a `flow` recording holds.
 *
 * Input: records, one by one. Output, before each event: what the interpreter did on the way to it. docs/flow.md has the rules, and
 * the differences between versions of CPython.
 */
#ifndef KYMO_REPLAY_DECODE_REBUILD_H
#define KYMO_REPLAY_DECODE_REBUILD_H

#include "replay/decode/flow_code.h"
#include "replay/trace/timeline.h"

struct kymo_rebuild;

/* A recorded event, and what happened before it. */
struct kymo_rebuilt {
	const struct kymo_code *code; /* in which the event happened; NULL: not known */
	uint64_t code_id;
	unsigned kind;	 /* of a site: JUMP or a branch */
	uint64_t offset; /* code units */
	uint64_t dest;
	uint64_t place_plus_1; /* as in struct kymo_event */
	/* what happened before it, all in @steps_code; valid until the next call */
	const struct kymo_code *steps_code;
	uint64_t steps_code_id;
	const struct kymo_step *steps;
	uint32_t step_count;
	bool is_unknown; /* something else happened that cannot be rebuilt */
};

/*
 * @kinds: mask of the wanted enum kymo_kind; the same for all of a trace. NULL: no memory, or lines cannot be rebuilt for this
 * process because its version of CPython is not known.
 */
struct kymo_rebuild *kymo_rebuild_new(const struct kymo_traced_process *process, uint64_t kinds);
void kymo_rebuild_free(struct kymo_rebuild *rebuild);
/* A copy in the same state; NULL: no memory. */
struct kymo_rebuild *kymo_rebuild_copy(const struct kymo_rebuild *rebuild);

/*
 * A chunk of the thread begins, with @sync.  @is_next: nothing is missing between it and the one before.  True: @out has
 * what happened before its first event.
 */
bool kymo_rebuild_open(struct kymo_rebuild *rebuild, const struct kymo_sync *sync, bool is_next,
		       struct kymo_rebuilt *out);

/* Take the next record. True: it is an event, described by @out. */
bool kymo_rebuild_take(struct kymo_rebuild *rebuild, const struct kymo_record *record, const uint8_t *bytes,
		       struct kymo_rebuilt *out);

/*
 * After the last record: the frame on top was at @raw, where the interpreter had it. True: @out has what happened up to there;
 * false: no silent path leads there, and nothing has changed.
 */
bool kymo_rebuild_stop_at(struct kymo_rebuild *rebuild, uint32_t raw, struct kymo_rebuilt *out);

/* What may have happened after that. */
struct kymo_rebuilt_end {
	const struct kymo_code *code; /* of the frame on top; NULL: not known */
	uint64_t code_id;
	int32_t first_line, last_line; /* all lines lie between these; KYMO_LINE_NONE: none, or not known */
	bool is_copied; /* the frame existed when the process was forked, and has only waited for calls since */
};

/* False: nothing. */
bool kymo_rebuild_end(struct kymo_rebuild *rebuild, struct kymo_rebuilt_end *end);

/*
 * For counting: cached moves (see known_moves.h) are not expanded to steps; only their hits are counted.
 */
struct kymo_counted_move {
	struct kymo_moves *moves;
	struct kymo_content *content;
	uint32_t move;
};

struct kymo_counting {
	bool is_blind; /* count events only: no hits */
	uint64_t events;
	struct kymo_counted_move *touched; /* moves with hits */
	size_t touched_count, touched_capacity;
	uint64_t lowest_depth; /* lowest depth of the stack at any event, without a frame that it enters, with one that it leaves */
	uint64_t stop_below; /* stop after an event that leaves fewer frames than this; 0: never */
	uint64_t line_depth; /* stop before an event that is preceded by lines of a frame at most this deep; 0: never */
};

/*
 * Take records from @payload that only make such moves, up to the first that does more, which is for kymo_rebuild_take(). Returns
 * how many bytes were taken.
 */
size_t kymo_rebuild_count(struct kymo_rebuild *rebuild, const uint8_t *payload, size_t bytes,
			  struct kymo_counting *counting);
/* Number of frames on the stack. */
uint64_t kymo_rebuild_depth(const struct kymo_rebuild *rebuild);

#endif
