// SPDX-License-Identifier: Apache-2.0
/*
 * The sources of what is recorded: which files code objects name, and their text in the trace.
 *
 * Definitions are scanned as they come, and each file that they name is queued once for each
 * process.  The queue is processed while the rings are empty, and for a while at the end.
 * All functions accept NULL for a run without sources, and then do nothing.
 */
#ifndef KYMO_READER_SOURCE_QUEUE_H
#define KYMO_READER_SOURCE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/trace_writer.h"

struct kymo_sources;

/* NULL: no memory.  @pid_namespace: of the reader. */
struct kymo_sources *kymo_sources_make(struct kymo_trace_writer *writer, uint64_t pid_namespace);
void kymo_sources_free(struct kymo_sources *sources);

/*
 * Process @number is in the trace.  It existed at @seen_ns, unix time, if that is not 0; its
 * definitions from @position on will be scanned.
 */
void kymo_sources_begin_process(struct kymo_sources *sources, uint32_t number, uint64_t seen_ns, uint64_t position);
void kymo_sources_end_process(struct kymo_sources *sources, uint32_t number);

/*
 * Scan the whole messages @bytes, at @position of a process's stream; messages that were scanned
 * before are skipped.  @is_past: they were in the trace already, and so may be the sources that
 * they name.
 */
void kymo_sources_scan(struct kymo_sources *sources, uint32_t number, uint64_t position, const uint8_t *bytes,
		       size_t length, bool is_past);
/* The position up to which they were scanned; UINT64_MAX: there is nothing to scan. */
uint64_t kymo_sources_scanned(const struct kymo_sources *sources, uint32_t number);

/* The trace holds the source of @file already. */
void kymo_sources_know(struct kymo_sources *sources, const char *file);

/* Read queued files until the monotonic clock reaches @until_ns, but at least one.  True if more are queued. */
bool kymo_sources_work(struct kymo_sources *sources, uint64_t until_ns);

/* Read all that is queued, as far as @patience_ns allows, and write what was gathered. */
void kymo_sources_finish(struct kymo_sources *sources, uint64_t patience_ns);

#endif
