// SPDX-License-Identifier: Apache-2.0
/*
 * The calls of one thread as nested slices, for timelines to draw and profiles to add up.
 *
 * Nesting is always valid: each BEGIN has its END, the last that began ends first, and times never go back. A call whose beginning
 * or end was not recorded is marked.
 */
#ifndef KYMO_REPLAY_PROFILE_CALLS_H
#define KYMO_REPLAY_PROFILE_CALLS_H

#include "replay/trace/line_table.h"
#include "replay/decode/walker.h"

enum kymo_call_step {
	KYMO_CALL_BEGIN = 1, /* a frame or a function in C begins to run, or continues */
	KYMO_CALL_END,
	KYMO_CALL_MARK,	 /* .text */
	KYMO_CALL_GAP,	 /* .lost events are missing from here on; all calls ended before it */
	KYMO_CALL_RAISE, /* .text: type of an exception that was raised in the frame on top */
	KYMO_CALL_LINE,	 /* the frame on top reaches .line; only if lines are wanted */
};

enum kymo_call_how {
	/* of BEGIN */
	KYMO_CALL_CALLED = 1,
	KYMO_CALL_RESUMED, /* a generator or coroutine is resumed */
	KYMO_CALL_THROWN,  /* the same, with an exception */
	KYMO_CALL_FOUND,   /* it already ran where the recording or the wanted part begins, or a gap ended */
	/* of END */
	KYMO_CALL_RETURNED,
	KYMO_CALL_YIELDED,
	KYMO_CALL_UNWOUND, /* an exception left it */
	KYMO_CALL_LOST,	   /* its end was not recorded */
	KYMO_CALL_OPEN,	   /* it still ran where the recording or the wanted part ends */
};

struct kymo_call {
	enum kymo_call_step step;
	enum kymo_call_how how;
	uint32_t depth;			    /* number of returned calls around it */
	const struct kymo_content *content; /* of a frame; NULL: not defined, or a function in C */
	const char *c_name;		    /* a function in C; else NULL */
	const char *text;		    /* NULL: none, or not defined */
	int64_t line;			    /* of LINE; of BEGIN, where the caller is; else, or not known, KYMO_LINE_NONE */
	int64_t t_ns;			    /* since the run began; it happened at most t_err_ns before or after */
	uint64_t t_err_ns;
	int64_t low_ns, high_ns; /* it happened between these: two readings of the clock; equal: it was read then */
	uint32_t window_at, window_events; /* as in struct kymo_likely_time */
	int64_t begin_ns; /* of END: of its BEGIN */
	uint64_t begin_err_ns;
	uint64_t n;	     /* ordinal of the event in its thread */
	uint64_t lost;	     /* of GAP, and why: enum kymo_loss mask */
	uint32_t lost_reasons;
	const struct kymo_traced_task *task; /* of BEGIN and END: the asyncio task that runs; NULL: none, or not known */
};

struct kymo_open_call {
	const struct kymo_content *content;
	const char *c_name;
	const struct kymo_traced_task *task;
	uint64_t code_id;
	int64_t begin_ns;
	uint64_t begin_err_ns;
};

struct kymo_calls {
	struct kymo_walker walker;
	struct kymo_open_call *open; /* outermost first */
	uint32_t count, frames;	     /* all of them, and those that are frames */
	size_t capacity;
	uint64_t hidden; /* frames below the first one, about which nothing is known */
	bool has_ended;
	bool has_event;	 /* more steps of walker.event are to come */
	enum kymo_call_how entered; /* how walker.event entered a frame; 0: it did not */
	uint32_t before; /* number of frames before it */
	uint32_t wanted; /* how many of the open calls from before the event stay */
	bool has_pending; /* a CALL that may or may not turn out to be into C */
	bool is_pending_told; /* it is into C, and comes before the event */
	const char *pending_name;
	struct kymo_likely_time pending, at, last; /* of that CALL, of walker.event, and of the last step */
	int64_t from_ns;
};

/*
 * Open before the first call of @stream; calls that began before @from_ns are returned as FOUND at that time. INT64_MIN: all. For
 * LINE steps, or lines of callers, leave @timeline's rebuilt_kinds unchanged; else set them to 0 first, which is faster.
 */
void kymo_calls_open(struct kymo_calls *calls, struct kymo_timeline *timeline, const struct kymo_stream *stream,
		     int64_t from_ns);
void kymo_calls_release(struct kymo_calls *calls);

/* Write the next step to @call. 1; 0 at the end; a negative errno when memory or the disk fails. */
KYMO_MUST_CHECK
int kymo_calls_next(struct kymo_calls *calls, struct kymo_call *call, struct kymo_error *error);

#endif
