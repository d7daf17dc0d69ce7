// SPDX-License-Identifier: Apache-2.0
/*
 * A trace as events: the streams of its threads, with the file and the definitions.
 *
 * thread_cursor.h walks one stream, merge.h all of them in one order.
 */
#ifndef KYMO_REPLAY_TRACE_TIMELINE_H
#define KYMO_REPLAY_TRACE_TIMELINE_H

#include "format/record.h"
#include "format/value.h"
#include "replay/trace/clock.h"
#include "replay/trace/definitions.h"
#include "replay/trace/trace.h"

/* The kinds of enum kymo_kind, and: */
enum kymo_event_kind {
	KYMO_EVENT_BRANCH_BIT = KYMO_KINDS, /* a branch that was recorded as one bit */
	KYMO_EVENT_MARK,
	KYMO_EVENT_GAP,
	KYMO_EVENT_UNKNOWN, /* something that cannot be rebuilt happened before the next event; after the last, it may have */
};
#define KYMO_EVENT_KINDS (KYMO_EVENT_UNKNOWN + 1)
/* Only on request: not an event, but the thread's whole stack at this point, in kymo_cursor.sync. */
#define KYMO_EVENT_STACK KYMO_EVENT_KINDS

/* What one thread recorded. */
struct kymo_stream {
	struct kymo_traced_process *process;
	const struct kymo_traced_thread *thread; /* NULL: its definition is lost */
	uint32_t number;			 /* of the thread in its process */
	size_t first_chunk;			 /* in kymo_timeline.chunks */
	size_t chunk_count;			 /* copies included */
	int64_t start_ns;
};

struct kymo_timeline {
	struct kymo_trace trace;
	struct kymo_definitions definitions;
	struct kymo_clock_line clock;
	/* by process, thread, ordinal; of copies of a chunk, the best one first */
	const struct kymo_index_entry **chunks;
	size_t chunk_count;			 /* copies included */
	struct kymo_stream *streams; /* by process, thread */
	size_t stream_count, stream_capacity;
	/* mask of the kinds of events to rebuild; may be changed before the first cursor is made */
	uint64_t rebuilt_kinds;
};

#define KYMO_REBUILT_KINDS                                                                                 \
	(UINT64_C(1) << KYMO_LINE | UINT64_C(1) << KYMO_JUMP | UINT64_C(1) << KYMO_BRANCH |                \
	 UINT64_C(1) << KYMO_BRANCH_LEFT | UINT64_C(1) << KYMO_BRANCH_RIGHT)

struct kymo_event {
	const struct kymo_stream *stream;
	unsigned kind; /* enum kymo_kind or enum kymo_event_kind */
	uint32_t interpreter;
	uint64_t n; /* of a gap: ordinal of the first missing event */
	uint32_t k; /* of a rebuilt event: its number among those before recorded event @n, from 1; else 0 */
	int64_t t_ns; /* since the run began; it happened at most t_err_ns before or after */
	uint64_t t_err_ns;
	uint64_t code_id;	      /* 0: none, or not known */
	const struct kymo_code *code; /* NULL: not defined */
	uint64_t line;		      /* of LINE; for other kinds use kymo_event_line() */
	uint64_t offset;	      /* code units; not of LINE, BRANCH_BIT, MARK and GAP */
	uint64_t dest;		      /* code units; of jumps and branches */
	uint64_t place_plus_1;	      /* code units, plus 1: where the frame was, if CPython reports another place; 0: at @offset */
	const char *name;	      /* callable or exception type; NULL: none, or not defined */
	const char *text;	      /* of MARK; NULL: not defined */
	uint64_t name_id;	      /* id of @name or @text in its process */
	bool is_taken;		      /* of BRANCH_BIT */
	uint64_t lost;		      /* of GAP, and why: enum kymo_loss mask */
	uint32_t lost_reasons;
	int32_t first_line, last_line; /* of UNKNOWN after the last event: lines that may have run lie between these; 0: not known */
	uint64_t slice; /* number of the GIL's turn, from SWITCH records; 0: not known */
	uint64_t task_id; /* of PY_START, PY_RESUME and PY_THROW of a coroutine: the asyncio task; 0: none, or not known */
	const struct kymo_traced_task *task; /* NULL: none, or not defined */
	struct kymo_values values; /* valid until the cursor that returned the event moves; see replay/values/values.h */
};

KYMO_MUST_CHECK
int kymo_timeline_open(struct kymo_timeline *timeline, const char *path, unsigned flags,
		       struct kymo_error *error);
void kymo_timeline_close(struct kymo_timeline *timeline);

/* Frames that hold the same chunk: taken while it was open, at snapshots, and sealed. */
bool kymo_is_same_chunk(const struct kymo_index_entry *a, const struct kymo_index_entry *b);

/* "PY_START", "BRANCH", "MARK", "GAP", … */
const char *kymo_event_kind_name(unsigned kind);
static inline bool kymo_event_has_offset(const struct kymo_event *event)
{
	return event->kind < KYMO_KINDS && event->kind != KYMO_LINE;
}

static inline bool kymo_event_has_dest(const struct kymo_event *event)
{
	return event->kind >= KYMO_JUMP && event->kind <= KYMO_BRANCH_RIGHT;
}

/* "callable" or "exception": what the name of such an event is; NULL: it has no name. */
const char *kymo_event_name_role(const struct kymo_event *event);
/* The event enters a frame. */
static inline bool kymo_kind_enters(unsigned kind)
{
	const uint64_t kinds = UINT64_C(1) << KYMO_PY_START | UINT64_C(1) << KYMO_PY_START_AT | UINT64_C(1) << KYMO_PY_RESUME |
			       UINT64_C(1) << KYMO_PY_THROW;

	return kind < KYMO_KINDS && kinds >> kind & 1;
}

static inline bool kymo_content_is_coroutine(const struct kymo_content *content)
{
	/* co_flags: CO_COROUTINE, CO_ITERABLE_COROUTINE, CO_ASYNC_GENERATOR */
	return content->flags & (0x80 | 0x100 | 0x200);
}

static inline bool kymo_code_is_coroutine(const struct kymo_code *code)
{
	return kymo_content_is_coroutine(code->content);
}

/* The event enters the frame of a coroutine, and may have a task. */
static inline bool kymo_event_enters_coroutine(const struct kymo_event *event)
{
	return kymo_kind_enters(event->kind) && event->code && kymo_code_is_coroutine(event->code);
}

static inline uint64_t kymo_place_of(uint64_t offset, uint64_t place_plus_1)
{
	return place_plus_1 ? place_plus_1 - 1 : offset;
}

/* The line of the event, for exceptions as in a traceback; or KYMO_LINE_NONE. */
static inline int64_t kymo_event_line(const struct kymo_event *event)
{
	if (event->kind == KYMO_LINE)
		return (int64_t)event->line;
	if (!event->code || !kymo_event_has_offset(event))
		return KYMO_LINE_NONE;
	return kymo_code_line(event->code, kymo_place_of(event->offset, event->place_plus_1));
}

/* The causes in an enum kymo_loss mask, e.g. "full,stalled". */
#define KYMO_LOSS_TEXT_BYTES 80
const char *kymo_loss_text(uint32_t reasons, char text[KYMO_LOSS_TEXT_BYTES]);

#endif
