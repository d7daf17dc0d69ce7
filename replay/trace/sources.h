// SPDX-License-Identifier: Apache-2.0
/*
 * Source files as they were when they were recorded, and the text of code that is in no file, as its process kept it.
 *
 * Where each lies in the trace is known from opening it on; its text is read when it is asked for.
 */
#ifndef KYMO_REPLAY_TRACE_SOURCES_H
#define KYMO_REPLAY_TRACE_SOURCES_H

#include "replay/trace/timeline.h"

struct kymo_source {
	char *text; /* as the file's bytes are, and a NUL behind them; NULL: there is none */
	size_t bytes;
	bool is_verified;    /* known to be what ran */
	bool is_kept;	     /* by the process, of code that is in no file */
	const char *missing; /* why there is no text; as long as the timeline is open */
	/* for kymo_source_line(): where each line begins, and the end */
	size_t *lines;
	size_t line_count;
};

/*
 * The source of @file, as Content has it, that @process ran; NULL: of whoever has none of its own.  If there is no such text, the one
 * that the process kept of code that is called so.
 * Returns 0, also if its text is missing, or
 *   -ENOENT   the trace says nothing of this file
 *   -ENOTUNIQ there is no such file, and several texts of code that is called so: see kymo_content_source()
 *   -EBADMSG  the frame that holds it is damaged
 * Release @out after 0.
 */
KYMO_MUST_CHECK
int kymo_traced_source(struct kymo_timeline *timeline, const struct kymo_traced_process *process, const char *file,
		       struct kymo_source *out, struct kymo_error *error);
/* Where that of a file lies, one of timeline->definitions.sources; NULL: the trace says nothing of it. */
const struct kymo_source_place *kymo_traced_source_place(const struct kymo_definitions *definitions,
							 const struct kymo_traced_process *process, const char *file);
/* The same of the code @content, for which its process may have kept a text: else it is that of its file. */
KYMO_MUST_CHECK
int kymo_content_source(struct kymo_timeline *timeline, const struct kymo_traced_process *process, const struct kymo_content *content,
			struct kymo_source *out, struct kymo_error *error);
const struct kymo_source_place *kymo_content_source_place(const struct kymo_definitions *definitions,
							  const struct kymo_traced_process *process, const struct kymo_content *content);
/* The source that lies there. */
KYMO_MUST_CHECK
int kymo_source_load(struct kymo_timeline *timeline, const struct kymo_source_place *place, struct kymo_source *out,
		     struct kymo_error *error);
void kymo_source_release(struct kymo_source *source);

/*
 * Line @number, from 1, without its end, and its length in @bytes; NULL: there is no such line.
 * Lines end as Python has it: with a line feed, a carriage return, or both.
 */
const char *kymo_source_line(const struct kymo_source *source, uint64_t number, size_t *bytes);

#endif
