// SPDX-License-Identifier: Apache-2.0
/* The times of events: between two readings of the clock. */
#include "replay/decode/thread_cursor_registers.h"

/* How many events @record is or holds. */
static unsigned events_of(const struct kymo_record *record)
{
	if (record->kind != KYMO_KIND_SPECIAL)
		return kymo_kind_is_event(record->kind);
	if (record->special == KYMO_TAG_BITS)
		return record->a ? 31U - (unsigned)__builtin_clz((uint32_t)record->a) : 0;
	return record->extended == KYMO_EXTENDED_MARK;
}

/* Count the events from @at on as long as a record's tag says how long it is.  Returns where that ends. */
static size_t pass_plain(struct kymo_cursor *cursor, size_t at)
{
	const uint8_t *payload = cursor->frame.payload;
	uint64_t events = 0;

	while (cursor->frame.header.raw_bytes - at >= KYMO_MAX_RECORD_BYTES) {
		unsigned tag = payload[at], kind = tag >> 2;

		if (tag >= KYMO_TAG_LINE) { /* or a SITE */
			at++;
			events++;
			continue;
		}
		if (tag >= KYMO_TAG_INSTRUCTION || kind == KYMO_KIND_SPECIAL || kind == KYMO_TIME)
			break;
		at += 1 + ((size_t)(1 + kymo_kind_has_two_fields(kind)) << (tag & 3));
		events += kymo_kind_is_event(kind);
	}
	cursor->span_events += events;
	return at;
}

/* The counter at the next TIME record from @at on, or when the chunk was closed; and the number of events up to there. */
static uint64_t find_next_time(struct kymo_cursor *cursor)
{
	const struct kymo_frame_header *header = &cursor->frame.header;
	struct kymo_record record;

	cursor->span_first = cursor->expected + cursor->gaps[0].lost + cursor->gaps[1].lost - cursor->skip;
	cursor->span_events = 0;
	for (size_t at = pass_plain(cursor, cursor->at); kymo_cursor_decode(cursor, at, &record) == KYMO_DECODE_OK;
	     at = pass_plain(cursor, at + record.bytes)) {
		if (record.kind == KYMO_TIME)
			return cursor->clock + record.a;
		cursor->span_events += events_of(&record);
	}
	return header->close_clock > cursor->clock ? header->close_clock : cursor->clock;
}

void kymo_cursor_set_time(struct kymo_cursor *cursor, uint64_t counter)
{
	struct kymo_clock_line *clock = &cursor->timeline->clock;
	int64_t low, latest, width_ns;

	cursor->clock = counter;
	low = kymo_clock_ns(clock, counter);
	if (low > cursor->low_ns)
		cursor->low_ns = low;
	cursor->high_ns = kymo_clock_ns(clock, find_next_time(cursor));
	latest = kymo_clock_latest_ns(clock, counter);
	if (cursor->high_ns > latest)
		cursor->high_ns = latest;
	if (cursor->high_ns < cursor->low_ns)
		cursor->high_ns = cursor->low_ns;
	/* A thread that does nothing for a millisecond finds another tick, and reads the clock: the remaining time is after its events. */
	width_ns = cursor->high_ns - cursor->low_ns;
	if (clock->has_tick && width_ns > KYMO_USUAL_TICK_NS)
		width_ns = KYMO_USUAL_TICK_NS;
	cursor->span_step_ns = (double)width_ns / (double)(cursor->span_events ? cursor->span_events : 1);
}

struct kymo_likely_time kymo_cursor_guess_rebuilt(const struct kymo_cursor *cursor, const struct kymo_event *event)
{
	/* Half widths are rounded up: these bounds are of the clock's readings. */
	struct kymo_likely_time likely = {
		.t_ns = event->t_ns,
		.low_ns = event->t_ns - (int64_t)event->t_err_ns,
		.high_ns = event->t_ns + (int64_t)event->t_err_ns,
	};
	uint64_t passed = event->n - cursor->span_first;
	double rebuilt;

	if (event->kind == KYMO_EVENT_GAP || passed >= cursor->span_events)
		return likely;
	likely.low_ns = cursor->recorded_low_ns;
	/* Events rebuilt before the first one, for which the clock was read, happened before the reading. */
	likely.high_ns = passed ? cursor->high_ns : cursor->low_ns;
	/* The first line after an event comes at once. */
	rebuilt = cursor->step ? (cursor->step - 1.0) / cursor->rebuilt.step_count : 0;
	if (passed)
		likely.t_ns = cursor->low_ns + (int64_t)(cursor->span_step_ns * ((double)passed - 1 + rebuilt));
	else
		likely.t_ns = likely.low_ns + (int64_t)((double)(likely.high_ns - likely.low_ns) * rebuilt);
	return likely;
}
