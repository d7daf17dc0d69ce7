// SPDX-License-Identifier: Apache-2.0
/*
 * The definitions of the run itself: process 0 of the trace, written by the reader.
 *
 * They are gathered and written as one META frame: when a process is announced, before
 * anything that must follow, and once a second.
 */
#ifndef KYMO_READER_RUN_DEFINITIONS_H
#define KYMO_READER_RUN_DEFINITIONS_H

#include "format/metadata.pb-c.h"
#include "reader/trace_writer.h"

uint64_t kymo_unix_ns(void);

/* What a decoder must know to read a trace of a run with @config: KYMO_FEATURE_… */
uint64_t kymo_run_features(const Kymo__Config *config);

/* @session: a serialized Session message, as the session's creator wrote it. */
void kymo_run_define_session(struct kymo_trace_writer *writer, const uint8_t *session,
			     uint32_t bytes);
void kymo_run_define_process_seen(struct kymo_trace_writer *writer, uint32_t process,
				  const char *folder);
void kymo_run_define_process_end(struct kymo_trace_writer *writer, Kymo__ProcessEnd *end);
void kymo_run_define_discarded(struct kymo_trace_writer *writer, uint32_t process, Kymo__ThreadEnd *threads,
			       uint32_t count);
void kymo_run_define_clock(struct kymo_trace_writer *writer, uint32_t counter);
void kymo_run_define_stall(struct kymo_trace_writer *writer, uint64_t from, uint64_t to);
void kymo_run_define_snapshot(struct kymo_trace_writer *writer, uint32_t number);
void kymo_run_define_unrecorded(struct kymo_trace_writer *writer, Kymo__Unrecorded *unrecorded);
/* @unstored: events that were taken from rings and could not be written. */
void kymo_run_define_ending(struct kymo_trace_writer *writer, const char *reason, uint64_t unstored);

/* Write length-delimited messages as a frame of their own.  Returns 0 or -ENOSPC. */
int kymo_run_put_frame(struct kymo_trace_writer *writer, const uint8_t *bytes, uint32_t length);

/* Write what was gathered. */
void kymo_run_definitions_flush(struct kymo_trace_writer *writer);

#endif
