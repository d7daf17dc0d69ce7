// SPDX-License-Identifier: Apache-2.0
/* What one message of a definitions stream defines. */
#ifndef KYMO_REPLAY_TRACE_DEFINITION_MESSAGES_H
#define KYMO_REPLAY_TRACE_DEFINITION_MESSAGES_H

#include "replay/trace/definitions.h"

/* One definitions stream while it is read: frames put together, cut into messages. */
struct kymo_definition_stream {
	struct kymo_definitions *definitions;
	uint32_t process; /* index in definitions->processes; of the run: unused */
	bool is_run;
	bool has_values; /* the trace's recording */
	uint64_t position; /* of bytes[0] */
	const struct kymo_index_entry *frame; /* the last one, which began or went on what is in @bytes */
	uint8_t *bytes;
	size_t length, capacity;
};

/* Take in one message, which begins at @position of its stream.  One that cannot be read is counted as damaged.  0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_definition_take(struct kymo_definition_stream *stream, const uint8_t *bytes, size_t length, uint64_t position);

/* The next thread that is added to @process will be found by @number.  False: out of memory. */
KYMO_MUST_CHECK
bool kymo_traced_thread_remember(struct kymo_traced_process *process, uint32_t number);

/* How a thread ended, which is made if there is none.  0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_definition_end_thread(struct kymo_traced_process *process, const Kymo__ThreadEnd *message);

#endif
