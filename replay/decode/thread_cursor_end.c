// SPDX-License-Identifier: Apache-2.0
/* The end of a thread: its missing events, and what may have run. */
#include <string.h>

#include "replay/decode/thread_cursor_registers.h"

/* The first reading of the run's clock after the process had ended, or the last one. */
static size_t sample_after_end(const struct kymo_cursor *cursor)
{
	const struct kymo_clock_line *clock = &cursor->timeline->clock;
	const Kymo__ProcessEnd *end = cursor->stream->process->end;
	size_t sample = clock->count - 1;

	while (sample && end && end->ended_unix_ns && clock->samples[sample - 1].unix_ns >= end->ended_unix_ns)
		sample--;
	return sample;
}

void kymo_cursor_miss_end(struct kymo_cursor *cursor)
{
	const struct kymo_traced_thread *thread = cursor->stream->thread;
	struct kymo_clock_line *clock = &cursor->timeline->clock;
	uint64_t last = cursor->known, lost = 0;
	uint32_t reasons = 0;
	int64_t end_ns = cursor->high_ns;

	if (thread && thread->has_ended) {
		last = thread->last_ordinal > last ? thread->last_ordinal : last;
		lost = thread->lost;
		reasons = thread->lost_reasons;
	}
	if (clock->count)
		end_ns = kymo_clock_ns(clock, clock->samples[sample_after_end(cursor)].counter);
	cursor->chunk_end_ns = cursor->high_ns;
	cursor->low_ns = end_ns > cursor->high_ns ? end_ns : cursor->high_ns;
	cursor->high_ns = cursor->low_ns;
	kymo_cursor_miss(cursor, last == UINT64_MAX ? last : last + 1, lost, reasons);
}

static bool leaves_code_out(const struct kymo_timeline *timeline)
{
	const Kymo__Session *session = timeline->definitions.session;
	const Kymo__Config *config = session ? session->config : NULL;

	return !config || config->n_source || config->n_include || config->n_omit || config->no_stdlib;
}

bool kymo_cursor_go_on(struct kymo_cursor *cursor)
{
	const struct kymo_traced_thread *thread = cursor->stream->thread;

	if (cursor->has_told_end || cursor->has_gone_on || !cursor->rebuild || !thread || !thread->stopped_at ||
	    thread->stopped_at > KYMO_NO_UNIT || cursor->is_torn)
		return false;
	cursor->has_gone_on = true;
	if (!kymo_rebuild_stop_at(cursor->rebuild, (uint32_t)thread->stopped_at - 1, &cursor->rebuilt))
		return false;
	cursor->has_told_end = !thread->is_least;
	kymo_cursor_keep_steps(cursor);
	kymo_cursor_fill_event(cursor, &cursor->pending, KYMO_KIND_SPECIAL);
	cursor->has_pending = true;
	cursor->step = 0;
	return true;
}

/* Threads end when a recording is stopped, except those under another GIL, which still have their rings. */
static bool may_miss_end(const struct kymo_cursor *cursor)
{
	const Kymo__ProcessEnd *end = cursor->stream->process->end;
	bool has_ring = false;

	for (size_t i = 0; i < end->n_threads && !has_ring; i++)
		has_ring = cursor->stream->thread && end->threads[i]->thread == cursor->stream->thread->number;
	return end->how != KYMO__PROCESS_END__HOW__STOPPED || has_ring;
}

/*
 * Lines after the last event of a thread that still ran, or was in a call, when its process ended. If the process's end is not in
 * the trace, more events may come. If code was left out, a frame that a fork copied may wait for it to the end.
 */
bool kymo_cursor_take_end(struct kymo_cursor *cursor, struct kymo_event *event)
{
	const struct kymo_traced_process *process = cursor->stream->process;
	struct kymo_rebuilt_end end = {.first_line = KYMO_LINE_NONE};

	if (cursor->has_told_end || !cursor->rebuild || !process->end || !may_miss_end(cursor))
		return false;
	cursor->has_told_end = true;
	if (!cursor->is_torn && (!kymo_rebuild_end(cursor->rebuild, &end) || (end.is_copied && leaves_code_out(cursor->timeline))))
		return false;
	kymo_cursor_fill_event(cursor, event, KYMO_EVENT_UNKNOWN);
	event->code = end.code;
	event->code_id = end.code_id;
	event->k = ++cursor->k;
	if (end.first_line != KYMO_LINE_NONE) {
		event->first_line = end.first_line;
		event->last_line = end.last_line;
	}
	kymo_cursor_set_rebuilt_time(cursor, event);
	return true;
}

/* Why events are missing that were not counted as lost. */
static uint32_t untold_reasons(const struct kymo_cursor *cursor)
{
	const struct kymo_timeline *timeline = cursor->timeline;
	const Kymo__Session *session = timeline->definitions.session;
	uint32_t reasons = 0;

	if (session && session->config && session->config->policy == KYMO_POLICY_OVERWRITE)
		reasons = KYMO_LOSS_OVERWRITTEN;
	return !reasons || timeline->trace.damage_count ? reasons | KYMO_LOSS_DAMAGED : reasons;
}

void kymo_cursor_miss(struct kymo_cursor *cursor, uint64_t next, uint64_t counted, uint32_t reasons)
{
	uint64_t missing = next > cursor->expected ? next - cursor->expected : 0;

	if (counted > missing)
		counted = missing;
	cursor->gaps[0] = (struct kymo_gap){missing - counted, untold_reasons(cursor)};
	cursor->gaps[1] = (struct kymo_gap){counted, reasons};
}

void kymo_cursor_keep_steps(struct kymo_cursor *cursor)
{
	struct kymo_rebuilt *rebuilt = &cursor->rebuilt;

	if (!rebuilt->step_count)
		return;
	if (kymo_grow(&cursor->steps, &cursor->step_capacity, rebuilt->step_count, sizeof *cursor->steps)) {
		rebuilt->step_count = 0;
		rebuilt->is_unknown = true;
	}
	else
		memcpy(cursor->steps, rebuilt->steps, rebuilt->step_count * sizeof *cursor->steps);
}
