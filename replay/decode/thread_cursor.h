// SPDX-License-Identifier: Apache-2.0
/* Walking the events of one thread in recorded order, including gaps. */
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
	bool has_gone_on;  /* what it ran up to its end was added */
	bool has_told_end; /* so was what may have run after that */
	size_t at;
	enum kymo_decode (*decode)(const uint8_t *payload, size_t bytes, struct kymo_record *record);
	uint32_t branches; /* branch word whose bits are still to come; 1: none */
	/* registers of the decoder, as in format/record.h */
	uint64_t code_id;
	const struct kymo_code *code;
	uint64_t line, offset, clock;
	uint64_t slice; /* 0: not known */
	uint64_t switches;
	uint32_t interpreter;
	uint64_t task_id;
	const struct kymo_traced_task *task;
	struct kymo_values values; /* of the next recorded event */
	/* flow: the event that was decoded last, and the steps before it */
	struct kymo_rebuild *rebuild; /* NULL: lines are not rebuilt */
	struct kymo_rebuilt rebuilt;
	struct kymo_step *steps; /* a copy: other threads' cursors walk through the same code */
	size_t step_capacity;
	struct kymo_event pending;
	bool has_pending;
	uint32_t step, k;
	bool wants_stacks; /* KYMO_EVENT_STACK; may be set before the first event is read */
	bool has_stack;	   /* @sync is yet to be returned */
	struct kymo_sync sync;
	/* the events from here to the next TIME lie between these */
	int64_t low_ns, high_ns;
	uint64_t span_first, span_events; /* ordinal of the first of these, and how many were recorded */
	double span_step_ns; /* greatest possible distance from one to the next */
	int64_t recorded_low_ns; /* lower bound of the last recorded event: rebuilt events may have come right after it */
};

void kymo_cursor_init(struct kymo_cursor *cursor, struct kymo_timeline *timeline,
		      const struct kymo_stream *stream);
/* The same for recorded events only: in a `flow` recording, their ordinals, turns and times. */
void kymo_cursor_init_recorded(struct kymo_cursor *cursor, struct kymo_timeline *timeline,
			       const struct kymo_stream *stream);
void kymo_cursor_release(struct kymo_cursor *cursor);
/* A copy at the position of @from, to be released as well. 0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_cursor_copy(struct kymo_cursor *cursor, const struct kymo_cursor *from);

/* The next event.  Returns 1; 0 at the end; a negative errno when memory or the disk fails. */
KYMO_MUST_CHECK
int kymo_cursor_next(struct kymo_cursor *cursor, struct kymo_event *event,
		     struct kymo_error *error);

struct kymo_likely_time {
	int64_t t_ns;		 /* most likely */
	int64_t low_ns, high_ns; /* it happened between these two readings of the clock; equal: the clock was read for it */
	uint32_t window_at;	 /* recorded events between the first of them and this one */
	uint32_t window_events;	 /* between both; 0: not known */
};
/* kymo_cursor_guess() for rebuilt or missing events. */
struct kymo_likely_time kymo_cursor_guess_rebuilt(const struct kymo_cursor *cursor, const struct kymo_event *event);
/*
 * When @event, the last one, most likely happened: as if all events between the same two readings of the clock had taken equally
 * long, within a millisecond at most.
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

/* A skipped record that is an event, with what was rebuilt before it. */
struct kymo_skipped {
	unsigned kind; /* KYMO_KIND_SPECIAL: no event, only steps; KYMO_EVENT_STACK: a stack, in cursor->sync */
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
 * Skip in the open chunk to before event @n and what was rebuilt before it, or to the chunk's end. @skipping (NULL: none) is called
 * for each event on the way. Nothing is skipped while an event is pending, or was in another copy.
 */
void kymo_cursor_skip(struct kymo_cursor *cursor, uint64_t n, kymo_skipping skipping, void *context);

/*
 * Where lines are rebuilt: the ordinal of the next event in the open chunk that leaves at most @depth frames on the stack, or that
 * is preceded by a line of a frame at most @line_depth deep; UINT64_MAX: none, or not known. Afterwards @cursor can only be
 * released.
 */
uint64_t kymo_cursor_find_depth(struct kymo_cursor *cursor, uint64_t depth, uint64_t line_depth);

/*
 * Go to @chunk of the stream, in a fresh cursor. What comes before it is skipped, and not reported as a gap.
 */
void kymo_cursor_seek_chunk(struct kymo_cursor *cursor, size_t chunk);
/* The same, to the last chunk that was opened at @t_ns or before. */
void kymo_cursor_seek_time(struct kymo_cursor *cursor, int64_t t_ns);

#endif
