/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-replay: reading traces of Kymo, and moving through them.
 *
 * A history is an open trace; events read it from front to back, cursors move forwards and backwards in it. A history with its
 * events and cursors may be used by one thread at a time. Strings belong to the history and live as long as it, unless noted
 * otherwise; those from the recorded program may hold any character. Times are nanoseconds since the run began; offsets are bytes of
 * bytecode, as in sys.monitoring.
 *
 * Functions that can fail return a negative errno and leave a line for people in kymo_history_error().
 *
 * Structures begin with their size, which the caller sets to sizeof before a call (in an array: in the first element). A library of
 * another version then reads and writes the fields that both know.
 */
#ifndef KYMO_HISTORY_H
#define KYMO_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef KYMO_HISTORY_API
#define KYMO_HISTORY_API
#endif

struct kymo_history;
struct kymo_history_events;
struct kymo_history_cursor;

/*
 * Open the trace @path; its index is made if there is none, which takes a while for a long one.  0, or a negative errno with
 * what is wrong in @error.
 */
KYMO_HISTORY_API int kymo_history_open(const char *path, struct kymo_history **history, char *error,
				       size_t error_bytes);
/* After its events and cursors were closed. */
KYMO_HISTORY_API void kymo_history_close(struct kymo_history *history);
/* The message of the last failed call, valid until the next failure. */
KYMO_HISTORY_API const char *kymo_history_error(const struct kymo_history *history);

/*
 * Everything but the events, as a JSON object: version, command, directory, host, started, config, ending, processes, threads,
 * marks. Threads are numbered by their places in its list. Release it with kymo_history_free(); NULL: no memory.
 */
KYMO_HISTORY_API char *kymo_history_describe(struct kymo_history *history);
KYMO_HISTORY_API void kymo_history_free(void *memory);

struct kymo_history_event {
	size_t size;
	uint64_t n;	       /* ordinal in its thread, counting lost events */
	uint32_t k;	       /* of a rebuilt event: its number before event @n, from 1; else 0 */
	uint32_t thread;       /* its number in the history, from 0 */
	const char *kind;      /* "LINE", "PY_START", …; "MARK", "GAP", "UNKNOWN" */
	const char *file;      /* NULL: none, or not known; as for the next ones */
	const char *function;  /* qualified name */
	const char *name;      /* of a callable, an exception's type or a mark */
	int64_t line;	       /* -1: none, or not known */
	int64_t offset;	       /* -1: none */
	int64_t dest;	       /* of a jump or branch; -1: none */
	int64_t t_ns;	       /* at most @t_err_ns before or after */
	uint64_t t_err_ns;
	uint64_t lost;	       /* of GAP: events from @n on that are missing */
	uint32_t lost_reasons; /* bits, as docs/format.md has them */
	uint32_t interpreter;
	uint64_t turn; /* of that interpreter's GIL; 0: not known */
	uint64_t task; /* of PY_START, PY_RESUME and PY_THROW of a coroutine: number, in the process, of the asyncio task that
			  runs; 0: none, or not known */
	const char *task_name;
	/*
	 * Recorded values, as in kymo events --jsonl: {"values": {…}, "value": {…}}, either or both; NULL: none.  Valid until its
	 * reader or cursor is read again, moved or closed.
	 */
	const char *values;
	int64_t first_line, last_line; /* of UNKNOWN after a thread's last event: what may have run lies between these; -1: not known */
};

enum kymo_history_values {
	KYMO_HISTORY_VALUES_ALL = 0,
	KYMO_HISTORY_VALUES_BRIEF = 1, /* types, lengths, numbers and short texts; nested: only attributes of a variable's object; no ids */
	KYMO_HISTORY_VALUES_NONE = 2,
};

/* Which events are read; all zero but @size, @to_ns = INT64_MAX and @thread = -1: all. */
struct kymo_history_slice {
	size_t size;
	int64_t from_ns, to_ns;
	int32_t thread;	   /* -1: all */
	uint32_t values;   /* an enum kymo_history_values */
	const char *kinds; /* "LINE,RAISE"; NULL: all */
	const char *const *files; /* of code, as in kymo_history_event.file; ends with NULL. NULL: all */
};

/*
 * Events of all threads in the order in which they happened. The strings of @slice must stay valid until the events are closed.
 * Events without code, such as marks and gaps, belong to all files.
 */
KYMO_HISTORY_API int kymo_history_events_open(struct kymo_history *history, const struct kymo_history_slice *slice,
					      struct kymo_history_events **events);
/* Read up to @count events to @out. Returns how many; 0: no more. */
KYMO_HISTORY_API int kymo_history_events_read(struct kymo_history_events *events, struct kymo_history_event *out,
					      int count);
KYMO_HISTORY_API void kymo_history_events_close(struct kymo_history_events *events);

/*
 * The values of variables when each line ran last, in the first @most events of @slice (its thread and files are ignored), to
 * *@json, which is released with kymo_history_free():
 *   {"is_cut": false, "rows": [[file, function, line, kind of event, text], …]}
 * in the order of these events. Text is for people, "x=3, y='a'  -> 5", about a hundred columns; null: that event had no values.
 * Values of LINE are listed at the line before, which has run. Line -1: the last call as a whole, from PY_START and PY_RETURN.
 * @threads: by number, nonzero for wanted threads; NULL: all.
 */
KYMO_HISTORY_API int kymo_history_last_values(struct kymo_history *history, const struct kymo_history_slice *slice,
					      const unsigned char *threads, uint64_t most, char **json);

/*
 * The text of a source file as recorded by @thread's process, to *@text, which is released with kymo_history_free(). 1 if it is
 * known to be what ran, 0 if not; -ENOENT: not in the trace; -ENOTUNIQ: not a file, and several texts have this name.
 */
KYMO_HISTORY_API int kymo_history_source(struct kymo_history *history, uint32_t thread, const char *file, char **text,
					 size_t *bytes);

/*
 * A cursor stands just after an event of one thread: after a LINE event its line is about to run.
 */
enum kymo_history_move {
	KYMO_HISTORY_EVENT = 0,	   /* to the next event of this thread */
	KYMO_HISTORY_INTO = 1,	   /* to its next line, in any frame */
	KYMO_HISTORY_OVER = 2,	   /* to the next line of this frame or, when it is left, of its caller */
	KYMO_HISTORY_OUT = 3,	   /* forwards: to where this frame is left; backwards: to the line that called it */
	KYMO_HISTORY_CONTINUE = 4, /* to the next break, in any thread */
	KYMO_HISTORY_SWITCH = 5,   /* to the first event after another thread got the GIL; backwards: the last before */
};

/* Why a move ended. */
enum kymo_history_stop {
	KYMO_HISTORY_MOVED = 1,
	KYMO_HISTORY_BREAK = 2,	  /* at a break: see kymo_history_cursor_hit() */
	KYMO_HISTORY_MISSING = 3, /* something was not recorded, or cannot be rebuilt */
	KYMO_HISTORY_END = 4,	  /* at the first or last event of the thread */
};

struct kymo_history_frame {
	size_t size;
	const char *file, *function; /* NULL: not known */
	int64_t line;		     /* -1: not known */
};

/* Opens at the end of the run, or where it died. -ENODATA: it has no events. */
KYMO_HISTORY_API int kymo_history_cursor_open(struct kymo_history *history, struct kymo_history_cursor **cursor);
KYMO_HISTORY_API void kymo_history_cursor_close(struct kymo_history_cursor *cursor);
/* Returns an enum kymo_history_stop. */
KYMO_HISTORY_API int kymo_history_cursor_move(struct kymo_history_cursor *cursor, int is_forward,
					      enum kymo_history_move move);
/* To event @n, @k of @thread, or the last one before it. */
KYMO_HISTORY_API int kymo_history_cursor_seek(struct kymo_history_cursor *cursor, uint32_t thread, uint64_t n,
					      uint32_t k);
/* To "start" or "end" of the run; "#N" or "N%", from 0 to 100, of the thread; a time ("1.5s", "20ms"); or the text of a mark. */
KYMO_HISTORY_API int kymo_history_cursor_goto(struct kymo_history_cursor *cursor, const char *place);
/* To where @thread is at this moment. 1; 0, and nothing has changed: the thread has not begun. */
KYMO_HISTORY_API int kymo_history_cursor_switch(struct kymo_history_cursor *cursor, uint32_t thread);
/* The event after which it stands. */
KYMO_HISTORY_API int kymo_history_cursor_event(struct kymo_history_cursor *cursor,
					       struct kymo_history_event *event);
/* The stack, innermost first: up to @count frames to @out.  Returns how many there are. */
KYMO_HISTORY_API int kymo_history_cursor_stack(struct kymo_history_cursor *cursor, struct kymo_history_frame *out,
					       int count);

/*
 * The recorded values of the variables of frame @frame of the stack, 0 the innermost, where the cursor stands: {"x": {…}, …}, each
 * as in kymo events --jsonl, to *@json, which is released with kymo_history_free().
 */
KYMO_HISTORY_API int kymo_history_cursor_variables(struct kymo_history_cursor *cursor, uint32_t frame, char **json);
/*
 * Every value that @expression, a variable or a part of one as `order.items["tea"]`, had in this call of the frame: [{"n": event
 * that recorded it, "t_ns": …, "line": number or null, "value": {…} or null for none}, …]. -ENODATA: it was not recorded.
 */
KYMO_HISTORY_API int kymo_history_cursor_past_values(struct kymo_history_cursor *cursor, uint32_t frame, const char *expression,
						     char **json);

enum kymo_history_break_kind {
	KYMO_HISTORY_BREAK_LINE = 0,	  /* a line of a file that ran and whose path ends with the name, at a /; -EINVAL: no such line */
	KYMO_HISTORY_BREAK_FUNCTION = 1,  /* at its call; by its qualified name or the last part of it */
	KYMO_HISTORY_BREAK_EXCEPTION = 2, /* where one of this type is raised first; "": of any */
};

/*
 * Set a break; @condition (NULL: none) is an expression in Python's syntax over variables, where they were recorded, and hits,
 * depth, line, file, function, caller, exception, thread, thread_name, pid and time; or one in SQL over these names. It does not
 * stop where its value is not known. Returns its number, above 0. *@hits: number of hits in the whole history, without the
 * condition.
 */
KYMO_HISTORY_API int kymo_history_cursor_break(struct kymo_history_cursor *cursor, enum kymo_history_break_kind kind,
					       const char *name, int64_t line, const char *condition, uint64_t *hits);
KYMO_HISTORY_API int kymo_history_cursor_remove_break(struct kymo_history_cursor *cursor, int number);
/* The break at which the last move ended; 0: none. */
KYMO_HISTORY_API int kymo_history_cursor_hit(const struct kymo_history_cursor *cursor);

#ifdef __cplusplus
}
#endif

#endif
