// SPDX-License-Identifier: Apache-2.0
/* Texts about a trace that several verbs share. */
#ifndef KYMO_REPLAY_TRACE_DESCRIBE_H
#define KYMO_REPLAY_TRACE_DESCRIBE_H

#include <stdio.h>

#include "replay/trace/timeline.h"

/* "file:line function → detail" of an event, escaped; if an exception has values, its name is shown with them instead. */
void kymo_event_put_place(FILE *out, const struct kymo_event *event);

/* "exited with status 1", "killed by SIGKILL", … */
#define KYMO_DESCRIBE_BYTES 96
const char *kymo_describe_end(const struct kymo_timeline *timeline,
			      const struct kymo_traced_process *process,
			      char text[KYMO_DESCRIBE_BYTES]);

/* The command line of a process, escaped; "?": not known. */
void kymo_process_put_command(FILE *out, const struct kymo_traced_process *process);

/* "thread 1 'MainThread'" */
void kymo_stream_put_name(FILE *out, const struct kymo_stream *stream);

/* One line on stderr for each damaged part of the file. */
void kymo_report_damage(const struct kymo_trace *trace);

/* "lines 8 to 10 may have run"; NULL: @event does not carry that. */
const char *kymo_event_may_have_run(const struct kymo_event *event, char text[KYMO_DESCRIBE_BYTES]);

#endif
