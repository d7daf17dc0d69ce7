// SPDX-License-Identifier: Apache-2.0
/* How records, returned or skipped, change a cursor's registers. Only for thread_cursor.c, thread_cursor_skip.c and thread_cursor_end.c. */
#ifndef KYMO_REPLAY_DECODE_THREAD_CURSOR_REGISTERS_H
#define KYMO_REPLAY_DECODE_THREAD_CURSOR_REGISTERS_H

#include "replay/trace/line_table.h"
#include "replay/decode/thread_cursor.h"

#define LINE_UNKNOWN ((uint64_t)KYMO_LINE_NONE)

/* The clock was read: what follows happened after @counter, and before the next reading. */
void kymo_cursor_set_time(struct kymo_cursor *cursor, uint64_t counter);
void kymo_cursor_set_code(struct kymo_cursor *cursor, uint64_t id);
/* By a LINE record. */
static inline void kymo_cursor_set_line(struct kymo_cursor *cursor, const struct kymo_record *record)
{
	if (!record->is_delta)
		cursor->line = record->a;
	else if (cursor->line != LINE_UNKNOWN)
		cursor->line += record->a;
}
/* By a TASK record. */
static inline void kymo_cursor_set_task(struct kymo_cursor *cursor, uint64_t id)
{
	if (id != cursor->task_id)
		cursor->task = id ? kymo_traced_task(cursor->stream->process, id) : NULL;
	cursor->task_id = id;
}
/* By a VALUES record, which lies just before cursor->at. */
static inline void kymo_cursor_set_values(struct kymo_cursor *cursor, const struct kymo_record *record)
{
	cursor->values = (struct kymo_values){
		.payload = cursor->frame.payload,
		.at = (uint32_t)(cursor->at - record->a),
		.bytes = (uint32_t)record->a,
	};
}
/* A stack. The part of a damaged one that could be read is worth nothing. */
void kymo_cursor_read_stack(struct kymo_cursor *cursor, const uint8_t *block, size_t bytes);

/* The next existing event has ordinal @next; of the missing ones, @counted were counted as lost. */
void kymo_cursor_miss(struct kymo_cursor *cursor, uint64_t next, uint64_t counted, uint32_t reasons);
/* After the last chunk: the events beyond it, from the thread's end. */
void kymo_cursor_miss_end(struct kymo_cursor *cursor);
/* Rebuilt steps are valid only until the next call. */
void kymo_cursor_keep_steps(struct kymo_cursor *cursor);
/* Make pending what the thread did after its last event, up to where it ended. False: that is not known, or was returned. */
bool kymo_cursor_go_on(struct kymo_cursor *cursor);
/* The same for what may have run after that. False: nothing, or it was returned. */
bool kymo_cursor_take_end(struct kymo_cursor *cursor, struct kymo_event *event);

/* @event gets the next ordinal, and the values of the registers. */
static inline void kymo_cursor_fill_event(const struct kymo_cursor *restrict cursor, struct kymo_event *restrict event, unsigned kind)
{
	uint64_t width_ns = (uint64_t)(cursor->high_ns - cursor->low_ns);

	*event = (struct kymo_event){
		.stream = cursor->stream,
		.kind = kind,
		.interpreter = cursor->interpreter,
		.n = cursor->expected,
		.t_ns = cursor->low_ns + (int64_t)(width_ns / 2),
		.t_err_ns = (width_ns + 1) / 2,
		.code_id = cursor->code_id,
		.code = cursor->code,
		.line = cursor->line,
		.slice = cursor->slice,
	};
}

/* It happened at any time since the recorded event before it. */
static inline void kymo_cursor_set_rebuilt_time(const struct kymo_cursor *cursor, struct kymo_event *event)
{
	int64_t low_ns = cursor->recorded_low_ns;

	event->t_ns = low_ns + (cursor->high_ns - low_ns) / 2;
	event->t_err_ns = (uint64_t)(cursor->high_ns - low_ns + 1) / 2;
}

/* The record at @at: most have one field of one or two bytes, and are decoded inline. */
static inline enum kymo_decode kymo_cursor_decode(const struct kymo_cursor *cursor, size_t at, struct kymo_record *record)
{
	const uint8_t *bytes = cursor->frame.payload + at;
	size_t left = cursor->frame.header.raw_bytes - at;
	unsigned tag, kind, width;

	if (left < 3)
		return cursor->decode(bytes, left, record);
	tag = bytes[0];
	kind = tag >> 2;
	width = tag & 3;
	if (tag >= KYMO_TAG_INSTRUCTION || kind == KYMO_KIND_SPECIAL || kymo_kind_has_two_fields((enum kymo_kind)kind) || width > 1)
		return cursor->decode(bytes, left, record);
	*record = (struct kymo_record){
		.kind = (enum kymo_kind)kind,
		.a = width ? bytes[1] | (uint64_t)bytes[2] << 8 : bytes[1],
		.bytes = 2 + width,
	};
	return KYMO_DECODE_OK;
}

#endif
