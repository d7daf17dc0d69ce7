// SPDX-License-Identifier: Apache-2.0
/* Shared by the formats: the wanted threads, one after the other, and texts for what is cut. */
#ifndef KYMO_REPLAY_PROFILE_EXPORT_THREADS_H
#define KYMO_REPLAY_PROFILE_EXPORT_THREADS_H

#include "replay/profile/export/export.h"
#include "replay/profile/export/measured.h"

struct kymo_exported_thread {
	const struct kymo_stream *stream;
	uint32_t number; /* among those that are exported, from 1 */
	bool is_first_of_process;
	uint64_t pid;
	uint64_t tid;	   /* native id; made up if it is not known, or an earlier thread has the same */
	bool is_tid_made_up;
	const char *name;  /* never NULL */
};

/*
 * Each returns 0 or a negative errno, with a message in the error given at creation. Threads without anything wanted are left out.
 */
struct kymo_thread_writer {
	int (*begin_thread)(void *context, const struct kymo_exported_thread *thread);
	/* @t_ns: call->t_ns for display. */
	int (*step)(void *context, const struct kymo_call *call, int64_t t_ns);
	/*
	 * A task begins to run with this call, or stops with its end, before or after its step; NULL: not wanted.  Steps of
	 * tasks may be nested.
	 */
	int (*begin_task)(void *context, const struct kymo_call *call, int64_t t_ns);
	int (*end_task)(void *context, const struct kymo_traced_task *task, int64_t t_ns);
	int (*end_thread)(void *context, int64_t t_ns);
};

KYMO_MUST_CHECK
int kymo_export_threads(const struct kymo_export *export, const struct kymo_thread_writer *writer, void *context,
			struct kymo_error *error);

/* "Task-1", or by its number where it has no name. */
#define KYMO_TASK_TEXT_BYTES 32
const char *kymo_task_name(const struct kymo_traced_task *task, char text[KYMO_TASK_TEXT_BYTES]);
/* A remark on a step; NULL: none is needed. */
const char *kymo_call_how_text(enum kymo_call_how how);
/* "1,234 events lost (full)" */
#define KYMO_GAP_TEXT_BYTES 160
const char *kymo_gap_text(const struct kymo_call *gap, char text[KYMO_GAP_TEXT_BYTES]);
/* The flaws of a thread's calls, for formats that cannot mark each call. */
struct kymo_caveats {
	uint64_t lost;	    /* events */
	uint64_t cut;	    /* ends of calls that were not recorded */
	uint64_t uncertain; /* calls that are shorter than the error bound of their duration */
};
void kymo_caveats_note(struct kymo_caveats *caveats, const struct kymo_call *call);
/* "3 events lost, 1 end not recorded, …"; @before is written before each; nothing if there are none. */
void kymo_caveats_put(FILE *out, const struct kymo_caveats *caveats, const char *before);

/* The name of a process: its script, module or executable. */
const char *kymo_process_name(const struct kymo_traced_process *process);
/* Unix time at which the run began, in nanoseconds. */
uint64_t kymo_start_unix_ns(const struct kymo_timeline *timeline);

#endif
