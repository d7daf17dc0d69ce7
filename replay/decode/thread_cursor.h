// SPDX-License-Identifier: Apache-2.0
/* Walking the events of one thread, in recorded order, what is missing included. */
#ifndef KYMO_REPLAY_DECODE_THREAD_CURSOR_H
#define KYMO_REPLAY_DECODE_THREAD_CURSOR_H

#include "replay/decode/rebuild.h"
#include "replay/trace/timeline.h"

struct kymo_gap {
	uint64_t lost;
	uint32_t reasons;
};

struct kymo_cursor {
	struct kymo_timeline *timeline;
	const struct kymo_stream *stream;
	size_t next_chunk; /* of the stream */
	uint64_t expected; /* ordinal of the next event */
	uint64_t known;	   /* highest ordinal that any chunk's index entry names */
	uint64_t skip;	   /* events of this chunk that an earlier one had */
	const struct kymo_index_entry *read; /* the last chunk that could be read */
	struct kymo_gap gaps[2];
	int64_t chunk_end_ns; /* when the chunk before was closed */
	/* the chunk that is being decoded */
	struct kymo_frame frame;
	bool in_chunk;
	bool has_taken_open_branches;
	bool is_torn;	   /* the chunk that was read last is damaged, or has a record that no recorder writes */
	bool has_gone_on;  /* to where the thread was when it ended */
	bool has_told_end; /* what may have run after that */
	size_t at;
	enum kymo_decode (*decode)(const uint8_t *payload, size_t bytes, struct kymo_record *record);
	uint32_t branches; /* word whose bits are still to come; 1: none */
	/* registers of the decoder, as format/record.h has them */
	uint64_t code_id;
	const struct kymo_code *code;
	uint64_t line, offset, clock;
	uint64_t slice; /* 0: not known */
	uint64_t switches;
	uint32_t interpreter;
	uint64_t task_id;
	const struct kymo_traced_task *task;
	struct kymo_values values; /* of the next recorded event */
	/* flow: what lies before the event that was decoded last, and that event */
	struct kymo_rebuild *rebuild; /* NULL: lines are not rebuilt */
	struct kymo_rebuilt rebuilt;
	struct kymo_step *steps; /* a copy: other threads' cursors walk through the same code */
	size_t step_capacity;
	struct kymo_event pending;
	bool has_pending;
	uint32_t step, k;
	bool wants_stacks; /* KYMO_EVENT_STACK; may be set before the first event is read */
	bool has_stack;	   /* @sync is still to be told */
	struct kymo_sync sync;
	/* the events from here to the next TIME lie between these */
	int64_t low_ns, high_ns;
	uint64_t span_first, span_events; /* of these: the ordinal of the first, and how many were recorded */
	double span_step_ns; /* from one to the next, if they are as far apart as they can be */
	int64_t recorded_low_ns; /* the same of the last recorded event: what is rebuilt may have come right after it */
};

void kymo_cursor_init(struct kymo_cursor *cursor, struct kymo_timeline *timeline,
		      const struct kymo_stream *stream);
/* The same, of recorded events alone: what a `flow` recording tells of an event is its ordinal, its turn and its time. */
void kymo_cursor_init_recorded(struct kymo_cursor *cursor, struct kymo_timeline *timeline,
			       const struct kymo_stream *stream);
void kymo_cursor_release(struct kymo_cursor *cursor);
/* Another that stands where @from does, to be released, too.  0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_cursor_copy(struct kymo_cursor *cursor, const struct kymo_cursor *from);

/* The next event.  Returns 1; 0 at the end; a negative errno when memory or the disk fails. */
KYMO_MUST_CHECK
int kymo_cursor_next(struct kymo_cursor *cursor, struct kymo_event *event,
		     struct kymo_error *error);

struct kymo_likely_time {
	int64_t t_ns;		 /* most likely */
	int64_t low_ns, high_ns; /* between these: two readings of the clock; equal: it was read then */
	uint32_t window_at;	 /* recorded events between the first of them and this one */
	uint32_t window_events;	 /* and the second; 0: not known */
};
/* kymo_cursor_guess() of what is rebuilt, or missing. */
struct kymo_likely_time kymo_cursor_guess_rebuilt(const struct kymo_cursor *cursor, const struct kymo_event *event);
/*
 * When @event, the last one, happened: most likely as if all between the same two readings of the clock had taken equally
 * long, in a millisecond at most.
 */
static inline struct kymo_likely_time kymo_cursor_guess(const struct kymo_cursor *cursor, const struct kymo_event *event)
{
	uint64_t passed = event->n - cursor->span_first;

	if (event->k || event->kind == KYMO_EVENT_GAP || passed >= cursor->span_events)
		return kymo_cursor_guess_rebuilt(cursor, event);
	/* The clock was read for the first one. */
	return (struct kymo_likely_time){
		.t_ns = cursor->low_ns + (int64_t)(cursor->span_step_ns * (double)(int64_t)passed),
		.low_ns = cursor->low_ns,
		.high_ns = passed ? cursor->high_ns : cursor->low_ns,
		.window_at = (uint32_t)passed,
		.window_events = (uint32_t)cursor->span_events,
	};
}

/* What was passed over at once: a record that is an event, and what was rebuilt before it. */
struct kymo_skipped {
	unsigned kind; /* KYMO_KIND_SPECIAL: no event, steps alone; KYMO_EVENT_STACK: the stack is told, in cursor->sync */
	uint64_t n;
	uint32_t first_k; /* of the first step */
	const struct kymo_code *code, *steps_code;
	uint64_t code_id, steps_code_id;
	uint64_t line, offset, name_id;
	uint64_t dest; /* of jumps and branches */
	uint64_t place_plus_1; /* as in struct kymo_event */
	const struct kymo_step *steps;
	uint32_t step_count;
	bool is_unknown; /* an UNKNOWN comes before the steps */
};
/* False: no more. */
typedef bool (*kymo_skipping)(void *context, const struct kymo_skipped *skipped);

/*
 * Go on in the chunk that is open to before event @n and what was rebuilt before it, or to the chunk's end, and tell
 * @skipping (NULL: nobody) of each event on the way.  Nothing is passed over where an event is still to be told, or was told by
 * another copy.
 */
void kymo_cursor_skip(struct kymo_cursor *cursor, uint64_t n, kymo_skipping skipping, void *context);

/*
 * Where lines are rebuilt: the ordinal of the next event in the chunk that is open that leaves at most @depth frames on the stack,
 * or that is preceded by a line of a frame at most @line_depth deep; UINT64_MAX: none is, or that is not known.  @cursor is good
 * for nothing but its release then.
 */
uint64_t kymo_cursor_find_depth(struct kymo_cursor *cursor, uint64_t depth, uint64_t line_depth);

/*
 * Go to @chunk of the stream, in a fresh cursor.  What comes before it is passed over:
 * it is no gap.
 */
void kymo_cursor_seek_chunk(struct kymo_cursor *cursor, size_t chunk);
/* The same, to the last chunk that was opened at @t_ns or before. */
void kymo_cursor_seek_time(struct kymo_cursor *cursor, int64_t t_ns);

#endif
