// SPDX-License-Identifier: Apache-2.0
/*
 * Source files as they were when they were recorded, and the texts that a process kept of code that is not in a file.
 *
 * The place of each in the trace is known once it is open; the text is read when needed.
 */
#ifndef KYMO_REPLAY_TRACE_SOURCES_H
#define KYMO_REPLAY_TRACE_SOURCES_H

#include "replay/trace/timeline.h"

struct kymo_source {
	char *text; /* the file's bytes and a NUL; NULL: none */
	size_t bytes;
	bool is_verified;    /* known to be what ran */
	bool is_kept;	     /* by the process, for code that is not in a file */
	const char *missing; /* why there is no text; valid as long as the timeline is open */
	/* for kymo_source_line(): where each line begins, and the end */
	size_t *lines;
	size_t line_count;
};

/*
 * The source of @file, as named in Content, that @process ran; NULL: the one for processes without their own. If there is none, the
 * text that the process kept of code with this file name. Returns 0, also if its text is missing, or
 *   -ENOENT   the file is not in the trace
 *   -ENOTUNIQ no such file, but several kept texts with this name: see kymo_content_source()
 *   -EBADMSG  the frame that holds it is damaged
 * Release @out after 0.
 */
KYMO_MUST_CHECK
int kymo_traced_source(struct kymo_timeline *timeline, const struct kymo_traced_process *process, const char *file,
		       struct kymo_source *out, struct kymo_error *error);
/* The place of a file's source, one of timeline->definitions.sources; NULL: not in the trace. */
const struct kymo_source_place *kymo_traced_source_place(const struct kymo_definitions *definitions,
							 const struct kymo_traced_process *process, const char *file);
/* The same for the code @content: the text that its process kept, else the source of its file. */
KYMO_MUST_CHECK
int kymo_content_source(struct kymo_timeline *timeline, const struct kymo_traced_process *process, const struct kymo_content *content,
			struct kymo_source *out, struct kymo_error *error);
const struct kymo_source_place *kymo_content_source_place(const struct kymo_definitions *definitions,
							  const struct kymo_traced_process *process, const struct kymo_content *content);
/* Read the source at that place. */
KYMO_MUST_CHECK
int kymo_source_load(struct kymo_timeline *timeline, const struct kymo_source_place *place, struct kymo_source *out,
		     struct kymo_error *error);
void kymo_source_release(struct kymo_source *source);

/*
 * Line @number, from 1, without its end, and its length in @bytes; NULL: no such line. As in Python, lines end with a line feed, a
 * carriage return, or both.
 */
const char *kymo_source_line(const struct kymo_source *source, uint64_t number, size_t *bytes);

#endif
