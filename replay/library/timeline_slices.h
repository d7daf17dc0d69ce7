/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-replay: the calls of each thread over time, as many as a page has room for.
 *
 * However long the run was, there are at most as many boxes as the caller wants. Calls shorter than a bound, which is as small as
 * that allows, are merged with what they called and with such calls before and after them. Calls nested deeper than a quarter of the
 * number of boxes are merged with the last box around them.
 *
 * All that is read is in one struct kymo_profile_timeline, until it is freed; it may be used by several threads.  Strings that
 * a recorded program made up may hold any character.  Times are nanoseconds since the run began.
 */
#ifndef KYMO_TIMELINE_SLICES_H
#define KYMO_TIMELINE_SLICES_H

#include "replay/library/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

enum kymo_timeline_box_flags {
	KYMO_TIMELINE_MERGED = 1 << 0,	/* more calls than one */
	KYMO_TIMELINE_CUT = 1 << 1,	/* its beginning or end was not recorded */
	KYMO_TIMELINE_RESUMED = 1 << 2, /* a generator or coroutine is resumed: not a call */
};

struct kymo_timeline_box {
	int64_t begin_ns, end_ns;
	uint64_t begin_err_ns, end_err_ns; /* at most this much earlier or later */
	uint64_t calls;	   /* and resumptions, including nested ones */
	uint32_t function; /* number among functions; of merged calls, that of one of the longest */
	uint32_t thread;   /* number among threads */
	uint32_t depth;	   /* calls around it */
	uint32_t flags;	   /* enum kymo_timeline_box_flags */
	int64_t longest_ns; /* only for the library */
};

struct kymo_timeline_gap {
	int64_t t_ns;
	uint64_t t_err_ns;
	uint64_t lost; /* events */
	const char *reasons; /* names, with commas */
	uint32_t thread;
	uint32_t reserved;
};

/* An asyncio task on a thread. */
struct kymo_timeline_task {
	const char *name; /* "": it has none */
	uint32_t id;	  /* in its process */
	uint32_t thread;  /* number among threads */
};

/* A task runs: from where its outermost frame is entered to where it waits, or ends. */
struct kymo_timeline_run {
	int64_t begin_ns, end_ns;
	uint64_t begin_err_ns, end_err_ns; /* at most this much earlier or later */
	uint64_t times;	   /* number of times it ran; the pauses between are merged */
	uint32_t function; /* number among functions, of the first frame */
	uint32_t task;	   /* number among tasks */
	uint32_t flags;	   /* enum kymo_timeline_box_flags without RESUMED */
	uint32_t reserved;
};

struct kymo_profile_timeline {
	size_t size; /* of this structure in the library: later versions may add fields at the end */
	uint64_t function_count, thread_count, box_count, gap_count;
	const struct kymo_profile_function *functions; /* some may occur more than once */
	const struct kymo_profile_thread *threads; /* without outside_ns */
	const struct kymo_timeline_box *boxes; /* by thread and end, inner ones first */
	const struct kymo_timeline_gap *gaps;
	uint64_t calls;		/* and resumptions, in total */
	uint64_t gaps_left_out; /* that did not fit */
	int64_t begin_ns, end_ns; /* of the first and last event that was read */
	int64_t merged_ns;	/* shorter calls are merged; 0: none are */
	uint64_t task_count, run_count; /* at most as many as boxes, each */
	const struct kymo_timeline_task *tasks; /* by thread, in the order in which they first ran */
	const struct kymo_timeline_run *runs;	/* of each task by time */
	uint64_t runs_left_out;	  /* of tasks that did not fit */
	int64_t runs_merged_ns; /* runs of a task that are shorter together are merged; 0: none are */
};

/*
 * Read the trace @path, which may still be written. slice->flags is ignored. @most: limit of boxes, and of gaps, at least 1. 0, or a
 * negative errno with what is wrong in @error.
 */
KYMO_PROFILE_API int kymo_profile_timeline_read(const char *path, const struct kymo_profile_slice *slice, uint64_t most,
						const struct kymo_profile_timeline **timeline, char *error, size_t error_bytes);
KYMO_PROFILE_API void kymo_profile_timeline_free(const struct kymo_profile_timeline *timeline);

#ifdef __cplusplus
}
#endif

#endif
