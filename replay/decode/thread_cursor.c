// SPDX-License-Identifier: Apache-2.0
#include "replay/decode/thread_cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/decode/thread_cursor_registers.h"

static bool is_flow(const struct kymo_timeline *timeline)
{
	return timeline->trace.header.required_features & KYMO_FEATURE_FLOW;
}

void kymo_cursor_init_recorded(struct kymo_cursor *cursor, struct kymo_timeline *timeline,
			       const struct kymo_stream *stream)
{
	const Kymo__Process *process = stream->process->definition;
	int64_t began_ns = stream->start_ns;

	if (process && kymo_clock_ns(&timeline->clock, process->started_clock) < began_ns)
		began_ns = kymo_clock_ns(&timeline->clock, process->started_clock);
	*cursor = (struct kymo_cursor){
		.timeline = timeline,
		.stream = stream,
		.expected = 1,
		.branches = KYMO_BRANCHES_NONE,
		.chunk_end_ns = began_ns,
		.low_ns = stream->start_ns,
		.high_ns = stream->start_ns,
		.recorded_low_ns = stream->start_ns,
		.decode = is_flow(timeline) ? kymo_flow_record_decode : kymo_record_decode,
	};
}

void kymo_cursor_init(struct kymo_cursor *cursor, struct kymo_timeline *timeline,
		      const struct kymo_stream *stream)
{
	kymo_cursor_init_recorded(cursor, timeline, stream);
	if (is_flow(timeline))
		cursor->rebuild = kymo_rebuild_new(stream->process, timeline->rebuilt_kinds);
}

void kymo_cursor_release(struct kymo_cursor *cursor)
{
	kymo_rebuild_free(cursor->rebuild);
	free(cursor->steps);
	kymo_frame_release(&cursor->frame);
}

int kymo_cursor_copy(struct kymo_cursor *cursor, const struct kymo_cursor *from)
{
	size_t bytes = from->in_chunk ? from->frame.header.raw_bytes : 0;

	*cursor = *from;
	cursor->frame = (struct kymo_frame){.header = from->frame.header};
	cursor->steps = NULL;
	cursor->step_capacity = 0;
	cursor->rebuild = from->rebuild ? kymo_rebuild_copy(from->rebuild) : NULL;
	if ((from->rebuild && !cursor->rebuild) ||
	    kymo_grow(&cursor->frame.payload, &cursor->frame.payload_capacity, bytes + 1, 1) ||
	    kymo_grow(&cursor->steps, &cursor->step_capacity, from->rebuilt.step_count + 1U, sizeof(*cursor->steps))) {
		kymo_cursor_release(cursor);
		return -ENOMEM;
	}
	if (bytes)
		memcpy(cursor->frame.payload, from->frame.payload, bytes);
	cursor->values.payload = cursor->pending.values.payload = cursor->frame.payload;
	if (from->has_pending && from->rebuilt.step_count)
		memcpy(cursor->steps, from->steps, from->rebuilt.step_count * sizeof(*cursor->steps));
	return 0;
}

static const struct kymo_index_entry *entry_of(const struct kymo_cursor *cursor, size_t chunk)
{
	return cursor->timeline->chunks[cursor->stream->first_chunk + chunk];
}

void kymo_cursor_seek_chunk(struct kymo_cursor *cursor, size_t chunk)
{
	while (chunk && kymo_is_same_chunk(entry_of(cursor, chunk - 1), entry_of(cursor, chunk)))
		chunk--;
	if (!chunk)
		return;
	cursor->next_chunk = chunk;
	cursor->expected = entry_of(cursor, chunk)->first_ordinal;
}

void kymo_cursor_seek_time(struct kymo_cursor *cursor, int64_t t_ns)
{
	size_t low = 0, high = cursor->stream->chunk_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct kymo_index_entry *entry = entry_of(cursor, middle);

		if (kymo_clock_ns(&cursor->timeline->clock, entry->open_clock) <= t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 1)
		kymo_cursor_seek_chunk(cursor, low - 1);
}

void kymo_cursor_set_code(struct kymo_cursor *cursor, uint64_t id)
{
	if (id != cursor->code_id || !cursor->code)
		cursor->code = kymo_traced_code(cursor->stream->process, id);
	cursor->code_id = id;
	cursor->line = cursor->code ? cursor->code->content->first_line : LINE_UNKNOWN;
	cursor->offset = 0;
}

void kymo_cursor_read_stack(struct kymo_cursor *cursor, const uint8_t *block, size_t bytes)
{
	if (kymo_sync_decode(block, bytes, &cursor->sync) != KYMO_DECODE_OK)
		cursor->sync = (struct kymo_sync){0};
	cursor->has_stack = cursor->wants_stacks;
}

static void open_rebuild(struct kymo_cursor *cursor)
{
	/* A chunk that begins with events of an earlier one does not follow it directly, either. */
	bool is_next = !cursor->skip && !cursor->gaps[0].lost && !cursor->gaps[1].lost;

	if (!cursor->rebuild)
		return;
	/* The stack differs, and did not fit in the last chunk. */
	if (kymo_rebuild_open(cursor->rebuild, &cursor->sync, is_next, &cursor->rebuilt)) {
		kymo_cursor_keep_steps(cursor);
		kymo_cursor_fill_event(cursor, &cursor->pending, KYMO_KIND_SPECIAL);
		cursor->has_pending = true;
		cursor->step = 0;
	}
}

/* Read the next chunk of the stream and set the registers for it.  1: there is one. */
static int open_chunk(struct kymo_cursor *cursor, struct kymo_error *error)
{
	const struct kymo_frame_header *header = &cursor->frame.header;
	bool is_first = !cursor->read;
	int result = -EBADMSG;

	/* The damage is noted; the next may be an older copy, or the ordinals show what is missing. */
	while (result == -EBADMSG) {
		const struct kymo_index_entry *entry;

		if (cursor->next_chunk == cursor->stream->chunk_count)
			return 0;
		entry = entry_of(cursor, cursor->next_chunk++);
		if (entry->last_ordinal > cursor->known)
			cursor->known = entry->last_ordinal;
		if (cursor->read && kymo_is_same_chunk(cursor->read, entry))
			continue;
		result = kymo_trace_read(&cursor->timeline->trace, entry, &cursor->frame, error);
		cursor->is_torn = result;
		if (!result)
			cursor->read = entry;
	}
	if (result)
		return result;

	cursor->chunk_end_ns = cursor->high_ns;
	cursor->in_chunk = true;
	cursor->has_taken_open_branches = false;
	cursor->at = header->sync_bytes;
	cursor->code_id = 0;
	cursor->code = NULL;
	cursor->line = cursor->offset = 0;
	cursor->interpreter = header->interpreter;
	kymo_cursor_set_task(cursor, 0);
	cursor->values.bytes = 0;
	cursor->switches = cursor->slice = header->switch_base;
	cursor->skip = cursor->expected > header->first_ordinal
			       ? cursor->expected - header->first_ordinal
			       : 0;
	kymo_cursor_miss(cursor, header->first_ordinal, header->lost_before, header->lost_reasons);
	kymo_cursor_set_time(cursor, header->open_clock);
	if (is_first || cursor->gaps[0].lost || cursor->gaps[1].lost)
		cursor->recorded_low_ns = cursor->low_ns;
	kymo_cursor_read_stack(cursor, cursor->frame.payload, header->sync_bytes);
	open_rebuild(cursor);
	return 1;
}

static bool take_gap(struct kymo_cursor *cursor, struct kymo_event *event)
{
	if (!(cursor->gaps[0].lost | cursor->gaps[1].lost))
		return false;
	for (size_t i = 0; i < 2; i++) {
		struct kymo_gap *gap = &cursor->gaps[i];
		int64_t width = cursor->low_ns - cursor->chunk_end_ns;

		if (!gap->lost)
			continue;
		if (width < 0) /* the chunk before may have been closed a little later */
			width = 0;
		kymo_cursor_fill_event(cursor, event, KYMO_EVENT_GAP);
		event->t_ns = cursor->low_ns - width + width / 2;
		event->t_err_ns = (uint64_t)(width + 1) / 2;
		event->code = NULL;
		event->code_id = 0;
		event->lost = gap->lost;
		event->lost_reasons = gap->reasons;
		event->slice = 0;
		cursor->expected += gap->lost;
		gap->lost = 0;
		return true;
	}
	return false;
}

/* Count an event, unless it was in an earlier chunk. */
static bool count(struct kymo_cursor *cursor)
{
	if (cursor->skip) {
		cursor->skip--;
		cursor->values.bytes = 0;
		return false;
	}
	cursor->expected++;
	return true;
}

/* The oldest branch is the highest bit below the stop bit. */
static bool take_branch(struct kymo_cursor *cursor, struct kymo_event *event)
{
	while (cursor->branches != KYMO_BRANCHES_NONE) {
		unsigned top = 31U - (unsigned)__builtin_clz(cursor->branches);
		bool is_taken = cursor->branches >> (top - 1) & 1;

		cursor->branches = (cursor->branches & ((1U << (top - 1)) - 1)) | 1U << (top - 1);
		kymo_cursor_fill_event(cursor, event, KYMO_EVENT_BRANCH_BIT);
		event->is_taken = is_taken;
		if (count(cursor))
			return true;
	}
	return false;
}

static void take_special(struct kymo_cursor *cursor, const struct kymo_record *record,
			 struct kymo_event *event)
{
	if (record->special == KYMO_TAG_BITS) {
		cursor->branches = (uint32_t)record->a;
	} else if (record->extended == KYMO_EXTENDED_INTERPRETER) {
		/* Another GIL: the numbers of its turns are unrelated to those of the last one. */
		cursor->interpreter = (uint32_t)record->a;
		cursor->switches = cursor->slice = 0;
	} else if (record->extended == KYMO_EXTENDED_TASK) {
		kymo_cursor_set_task(cursor, record->a);
	} else if (record->extended == KYMO_EXTENDED_VALUES) {
		kymo_cursor_set_values(cursor, record);
	} else if (record->extended == KYMO_EXTENDED_MARK) {
		kymo_cursor_fill_event(cursor, event, KYMO_EVENT_MARK);
		event->text = kymo_traced_text(cursor->stream->process, record->a);
		event->name_id = record->a;
	}
}

/* Records that go before a recorded event: its values and, if it enters a coroutine, the task. */
static void set_event_belongings(struct kymo_cursor *cursor, struct kymo_event *event)
{
	event->values = cursor->values;
	cursor->values.bytes = 0;
	if (!cursor->task_id || !kymo_event_enters_coroutine(event))
		return;
	event->task_id = cursor->task_id;
	event->task = cursor->task;
}

/* Update the registers by @record and, if it is an event, fill @event, whose kind is not 0 then. */
static void take_record(struct kymo_cursor *cursor, const struct kymo_record *record,
			struct kymo_event *event)
{
	uint64_t offset = record->a;

	event->kind = KYMO_KIND_SPECIAL;
	switch (record->kind) {
	case KYMO_KIND_SPECIAL:
		take_special(cursor, record, event);
		return;
	case KYMO_CODE:
		kymo_cursor_set_code(cursor, record->a);
		return;
	case KYMO_TIME:
		kymo_cursor_set_time(cursor, cursor->clock + record->a);
		return;
	case KYMO_SWITCH:
		cursor->switches += record->a;
		cursor->slice = cursor->switches;
		return;
	case KYMO_LASTI:
		return;
	case KYMO_PY_START:
		kymo_cursor_set_code(cursor, record->a);
		offset = cursor->code ? cursor->code->entry_offset : 0;
		break;
	case KYMO_LINE:
		kymo_cursor_set_line(cursor, record);
		break;
	case KYMO_INSTRUCTION:
		cursor->offset = record->is_delta ? cursor->offset + record->a : record->a;
		offset = cursor->offset;
		break;
	default:
		break;
	}
	kymo_cursor_fill_event(cursor, event, record->kind);
	event->offset = offset;
	if (!kymo_kind_has_two_fields(record->kind))
		return;
	if (kymo_event_has_dest(event)) {
		event->dest = record->b;
	} else if (kymo_event_name_role(event)) {
		event->name = kymo_traced_name(cursor->stream->process, record->b);
		event->name_id = record->b;
	}
}

/* The event of @record where lines are rebuilt; the steps before it stay in the cursor. False: not an event. */
static bool take_rebuilt(struct kymo_cursor *cursor, const struct kymo_record *record, const uint8_t *bytes,
			 struct kymo_event *event)
{
	struct kymo_rebuilt *rebuilt = &cursor->rebuilt;
	bool is_event = kymo_rebuild_take(cursor->rebuild, record, bytes, rebuilt);

	if (cursor->wants_stacks && kymo_is_stack(record))
		kymo_cursor_read_stack(cursor, bytes + KYMO_EXTENDED_BYTES, record->bytes - KYMO_EXTENDED_BYTES);
	kymo_cursor_keep_steps(cursor);
	take_record(cursor, record, event);
	if (!is_event)
		return event->kind != KYMO_KIND_SPECIAL;
	if (event->kind == KYMO_KIND_SPECIAL) /* a stack */
		kymo_cursor_fill_event(cursor, event, KYMO_KIND_SPECIAL);
	else if (event->kind < KYMO_KINDS)
		event->kind = rebuilt->kind;
	event->code = rebuilt->code;
	event->code_id = rebuilt->code_id;
	event->offset = rebuilt->offset;
	event->place_plus_1 = rebuilt->place_plus_1;
	if (kymo_event_has_dest(event))
		event->dest = rebuilt->dest;
	return true;
}

/* All that was rebuilt before @event was returned: finish @event itself. False: not an event. */
static bool take_recorded(struct kymo_cursor *cursor, struct kymo_event *event)
{
	if (event->kind == KYMO_KIND_SPECIAL)
		return false;
	cursor->k = 0;
	cursor->recorded_low_ns = cursor->low_ns;
	set_event_belongings(cursor, event);
	return true;
}

/* The next of the rebuilt events, and then the recorded one that they come before. */
static bool take_pending(struct kymo_cursor *cursor, struct kymo_event *event)
{
	struct kymo_rebuilt *rebuilt = &cursor->rebuilt;

	if (!cursor->has_pending)
		return false;
	*event = cursor->pending;
	if (rebuilt->is_unknown) {
		rebuilt->is_unknown = false;
		event->kind = KYMO_EVENT_UNKNOWN;
		event->k = ++cursor->k;
		kymo_cursor_set_rebuilt_time(cursor, event);
		return true;
	}
	if (cursor->step < rebuilt->step_count) {
		const struct kymo_step *step = &cursor->steps[cursor->step++];

		event->kind = step->kind;
		event->code = rebuilt->steps_code;
		event->code_id = rebuilt->steps_code_id;
		event->name = NULL;
		event->place_plus_1 = 0;
		event->offset = step->unit;
		event->line = event->dest = step->value;
		event->k = ++cursor->k;
		kymo_cursor_set_rebuilt_time(cursor, event);
		return true;
	}
	cursor->has_pending = false;
	return take_recorded(cursor, event);
}

static bool take_stack(struct kymo_cursor *cursor, struct kymo_event *event)
{
	if (!cursor->has_stack)
		return false;
	cursor->has_stack = false;
	kymo_cursor_fill_event(cursor, event, KYMO_EVENT_STACK);
	return true;
}

static void note_damage(struct kymo_cursor *cursor, const char *what)
{
	kymo_trace_note_damage(&cursor->timeline->trace,
			       entry_of(cursor, cursor->next_chunk - 1)->file_offset,
			       sizeof cursor->frame.header + cursor->frame.header.stored_bytes, what);
}

/* The next event of the open chunk; false: there is no more. */
static bool decode_chunk(struct kymo_cursor *cursor, struct kymo_event *event)
{
	const struct kymo_frame_header *header = &cursor->frame.header;
	struct kymo_record record;

	for (;;) {
		enum kymo_decode state;

		if (take_stack(cursor, event) || take_branch(cursor, event))
			return true;
		state = kymo_cursor_decode(cursor, cursor->at, &record);
		if (state == KYMO_DECODE_OK) {
			const uint8_t *bytes = cursor->frame.payload + cursor->at;

			cursor->at += record.bytes;
			if (cursor->rebuild) {
				if (!take_rebuilt(cursor, &record, bytes, event) ||
				    (event->kind != KYMO_KIND_SPECIAL && !count(cursor)))
					continue;
				if (!cursor->rebuilt.step_count && !cursor->rebuilt.is_unknown) {
					if (take_recorded(cursor, event))
						return true;
					continue;
				}
				cursor->pending = *event;
				cursor->has_pending = true;
				cursor->step = 0;
				if (take_pending(cursor, event))
					return true;
				continue;
			}
			take_record(cursor, &record, event);
			if (event->kind != KYMO_KIND_SPECIAL && count(cursor)) {
				set_event_belongings(cursor, event);
				return true;
			}
		} else if (state == KYMO_DECODE_END && !cursor->has_taken_open_branches) {
			cursor->has_taken_open_branches = true;
			cursor->branches = header->branches;
		} else {
			cursor->in_chunk = false;
			cursor->is_torn = state != KYMO_DECODE_END;
			if (cursor->is_torn)
				note_damage(cursor, "a record that no recorder writes");
			else if (header->last_ordinal && header->last_ordinal + 1 != cursor->expected &&
				 header->last_ordinal + 1 >= header->first_ordinal)
				note_damage(cursor, "its ordinals do not fit its records");
			return false;
		}
	}
}

int kymo_cursor_next(struct kymo_cursor *cursor, struct kymo_event *event,
		     struct kymo_error *error)
{
	for (;;) {
		int result;

		if (take_gap(cursor, event) || take_pending(cursor, event) || (cursor->in_chunk && decode_chunk(cursor, event)))
			return 1;
		result = open_chunk(cursor, error);
		if (result < 0)
			return result;
		if (result)
			continue;
		kymo_cursor_miss_end(cursor);
		if (take_gap(cursor, event)) {
			cursor->has_told_end = true;
			return 1;
		}
		if (kymo_cursor_go_on(cursor))
			continue;
		return kymo_cursor_take_end(cursor, event);
	}
}
