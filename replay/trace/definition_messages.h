// SPDX-License-Identifier: Apache-2.0
/* Reading one message of a definitions stream. */
#ifndef KYMO_REPLAY_TRACE_DEFINITION_MESSAGES_H
#define KYMO_REPLAY_TRACE_DEFINITION_MESSAGES_H

#include "replay/trace/definitions.h"

/* A definitions stream while it is read: frames are joined, then split into messages. */
struct kymo_definition_stream {
	struct kymo_definitions *definitions;
	uint32_t process; /* index in definitions->processes; unused for the run's stream */
	bool is_run;
	bool has_values; /* the trace's recording */
	uint64_t position; /* of bytes[0] */
	const struct kymo_index_entry *frame; /* the last one, which began or continued what is in @bytes */
	uint8_t *bytes;
	size_t length, capacity;
};

/* Read one message, which begins at @position of its stream. An unreadable one is counted as damaged. 0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_definition_take(struct kymo_definition_stream *stream, const uint8_t *bytes, size_t length, uint64_t position);

/* Make the next thread that is added to @process known by @number. False: out of memory. */
KYMO_MUST_CHECK
bool kymo_traced_thread_remember(struct kymo_traced_process *process, uint32_t number);

/* Read how a thread ended; the thread is added if missing. 0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_definition_end_thread(struct kymo_traced_process *process, const Kymo__ThreadEnd *message);

#endif
