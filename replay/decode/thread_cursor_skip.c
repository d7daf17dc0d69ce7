// SPDX-License-Identifier: Apache-2.0
/* Skipping events: as thread_cursor.c, without making what is not wanted. */
#include "replay/decode/thread_cursor_registers.h"

static bool is_extended(const struct kymo_record *record, enum kymo_extended extended)
{
	return record->kind == KYMO_KIND_SPECIAL && record->special == KYMO_TAG_EXTENDED && record->extended == extended;
}

static bool is_mark(const struct kymo_record *record)
{
	return is_extended(record, KYMO_EXTENDED_MARK);
}

static bool is_task(const struct kymo_record *record)
{
	return is_extended(record, KYMO_EXTENDED_TASK);
}

static bool is_values(const struct kymo_record *record)
{
	return is_extended(record, KYMO_EXTENDED_VALUES);
}

/* Update the registers by the skipped @record. */
static void skip_record(struct kymo_cursor *cursor, const struct kymo_record *record, struct kymo_skipped *skipped)
{
	skipped->offset = record->a;
	switch (record->kind) {
	case KYMO_PY_START:
		kymo_cursor_set_code(cursor, record->a);
		skipped->offset = cursor->code ? cursor->code->entry_offset : 0;
		break;
	case KYMO_CODE:
		kymo_cursor_set_code(cursor, record->a);
		break;
	case KYMO_LINE:
		kymo_cursor_set_line(cursor, record);
		break;
	case KYMO_INSTRUCTION:
		skipped->offset = cursor->offset = record->is_delta ? cursor->offset + record->a : record->a;
		break;
	case KYMO_SWITCH:
		cursor->switches += record->a;
		cursor->slice = cursor->switches;
		break;
	case KYMO_KIND_SPECIAL:
		if (is_task(record))
			kymo_cursor_set_task(cursor, record->a);
		else if (is_values(record))
			kymo_cursor_set_values(cursor, record);
		break;
	default:
		break;
	}
	skipped->code = cursor->code;
	skipped->code_id = cursor->code_id;
	skipped->line = cursor->line;
	skipped->name_id = skipped->dest = record->b;
}

/* What @record, at @bytes, is in a recording from which lines are rebuilt. */
static void skip_rebuilt(struct kymo_cursor *cursor, const struct kymo_record *record, const uint8_t *bytes,
			 struct kymo_skipped *skipped)
{
	struct kymo_rebuilt *rebuilt = &cursor->rebuilt;

	/* In code whose lines are recorded. */
	if (record->kind == KYMO_LINE)
		kymo_cursor_set_line(cursor, record);
	skipped->line = cursor->line;
	if (!kymo_rebuild_take(cursor->rebuild, record, bytes, rebuilt))
		return;
	skipped->name_id = record->b;
	skipped->first_k = cursor->k + 1 + rebuilt->is_unknown;
	skipped->is_unknown = rebuilt->is_unknown;
	skipped->steps = rebuilt->steps;
	skipped->step_count = rebuilt->step_count;
	skipped->steps_code = rebuilt->steps_code;
	skipped->steps_code_id = rebuilt->steps_code_id;
	skipped->kind = rebuilt->kind;
	skipped->code = rebuilt->code;
	skipped->code_id = rebuilt->code_id;
	skipped->offset = rebuilt->offset;
	skipped->dest = rebuilt->dest;
	skipped->place_plus_1 = rebuilt->place_plus_1;
	cursor->k += rebuilt->is_unknown + rebuilt->step_count;
	*rebuilt = (struct kymo_rebuilt){0};
}

static void tell_stack(struct kymo_cursor *cursor, kymo_skipping skipping, void *context)
{
	if (cursor->has_stack && skipping)
		(void)skipping(context, &(struct kymo_skipped){.kind = KYMO_EVENT_STACK, .n = cursor->expected});
	cursor->has_stack = false;
}

/* As below, for simple records that no caller asks about. True: some are events. */
static bool skip_blindly(struct kymo_cursor *cursor)
{
	struct kymo_counting counting = {.is_blind = true};

	cursor->at += kymo_rebuild_count(cursor->rebuild, cursor->frame.payload + cursor->at,
					 cursor->frame.header.raw_bytes - cursor->at, &counting);
	cursor->expected += counting.events;
	if (counting.events)
		cursor->k = 0;
	return counting.events;
}

static bool can_skip(const struct kymo_cursor *cursor)
{
	return cursor->in_chunk && !cursor->has_pending && !cursor->skip && cursor->branches == KYMO_BRANCHES_NONE &&
	       !cursor->has_taken_open_branches;
}

static bool has_line(const struct kymo_rebuilt *rebuilt)
{
	for (uint32_t i = 0; i < rebuilt->step_count; i++)
		if (rebuilt->steps[i].kind == KYMO_LINE)
			return true;
	return rebuilt->is_unknown;
}

uint64_t kymo_cursor_find_depth(struct kymo_cursor *cursor, uint64_t depth, uint64_t line_depth)
{
	struct kymo_counting counting = {.is_blind = true, .stop_below = depth + 1, .line_depth = line_depth};
	struct kymo_record record;

	if (!can_skip(cursor))
		return 0;
	for (;;) {
		uint64_t before;
		const uint8_t *bytes;

		counting.events = 0;
		cursor->at += kymo_rebuild_count(cursor->rebuild, cursor->frame.payload + cursor->at,
						 cursor->frame.header.raw_bytes - cursor->at, &counting);
		cursor->expected += counting.events;
		before = kymo_rebuild_depth(cursor->rebuild);
		if (counting.events && before <= depth)
			return cursor->expected - 1;
		bytes = cursor->frame.payload + cursor->at;
		if (kymo_cursor_decode(cursor, cursor->at, &record) != KYMO_DECODE_OK ||
		    (record.kind == KYMO_KIND_SPECIAL && !is_mark(&record) && !is_task(&record) && !is_values(&record) &&
		     !kymo_is_stack(&record)))
			return UINT64_MAX;
		cursor->at += record.bytes;
		if (kymo_rebuild_take(cursor->rebuild, &record, bytes, &cursor->rebuilt)) {
			bool stops = before <= line_depth && has_line(&cursor->rebuilt);

			cursor->rebuilt = (struct kymo_rebuilt){0};
			if (stops)
				return cursor->expected;
		}
		if (!kymo_kind_is_event(record.kind) && !is_mark(&record))
			continue;
		cursor->expected++;
		if (kymo_rebuild_depth(cursor->rebuild) <= depth)
			return cursor->expected - 1;
	}
}

void kymo_cursor_skip(struct kymo_cursor *cursor, uint64_t n, kymo_skipping skipping, void *context)
{
	uint64_t clock = cursor->clock, recorded_clock = clock;
	bool has_skipped = false, is_over = false;
	struct kymo_record record;

	if (!can_skip(cursor))
		return;
	while (!is_over) {
		struct kymo_skipped skipped;
		const uint8_t *bytes;
		bool is_event;

		tell_stack(cursor, skipping, context);
		if (cursor->rebuild && !skipping && n == UINT64_MAX && skip_blindly(cursor)) {
			recorded_clock = clock;
			has_skipped = true;
		}
		skipped = (struct kymo_skipped){.n = cursor->expected};
		bytes = cursor->frame.payload + cursor->at;
		/* Branch words, and other interpreters, are left to code that takes each event. */
		if (kymo_cursor_decode(cursor, cursor->at, &record) != KYMO_DECODE_OK ||
		    (record.kind == KYMO_KIND_SPECIAL && !is_mark(&record) && !is_task(&record) && !is_values(&record) &&
		     !kymo_is_stack(&record)))
			break;
		is_event = kymo_kind_is_event(record.kind) || is_mark(&record);
		if (is_event && cursor->expected >= n)
			break;
		cursor->at += record.bytes;
		if (record.kind == KYMO_TIME)
			clock += record.a;
		else if (!cursor->rebuild || record.kind == KYMO_SWITCH || is_task(&record) || is_values(&record))
			skip_record(cursor, &record, &skipped);
		if (is_mark(&record))
			skipped.kind = KYMO_EVENT_MARK;
		else if (is_event)
			skipped.kind = record.kind;
		if (cursor->wants_stacks && kymo_is_stack(&record))
			kymo_cursor_read_stack(cursor, bytes + KYMO_EXTENDED_BYTES, record.bytes - KYMO_EXTENDED_BYTES);
		if (cursor->rebuild) {
			skip_rebuilt(cursor, &record, bytes, &skipped);
			if (is_mark(&record))
				skipped.kind = KYMO_EVENT_MARK;
		}
		if (skipping && (is_event || skipped.step_count || skipped.is_unknown))
			is_over = !skipping(context, &skipped);
		if (is_event) {
			cursor->values.bytes = 0;
			cursor->expected++;
			cursor->k = 0;
			recorded_clock = clock;
			has_skipped = true;
		}
	}
	if (recorded_clock != cursor->clock)
		kymo_cursor_set_time(cursor, recorded_clock);
	if (has_skipped)
		cursor->recorded_low_ns = cursor->low_ns;
	if (clock != cursor->clock)
		kymo_cursor_set_time(cursor, clock);
}
