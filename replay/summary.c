// SPDX-License-Identifier: Apache-2.0
#include "replay/summary.h"

static void add_event(struct kymo_summary *summary, const struct kymo_event *event)
{
	bool needs_code = event->kind < KYMO_EVENT_BRANCH_BIT;

	summary->by_kind[event->kind]++;
	if (event->k) {
		summary->rebuilt += event->kind != KYMO_EVENT_UNKNOWN;
		if (event->code)
			event->code->content->events++;
		return;
	}
	if (event->kind == KYMO_EVENT_GAP) {
		summary->lost += event->lost;
		summary->lost_by_reasons[event->lost_reasons % KYMO_LOSS_MASKS] += event->lost;
		return;
	}
	summary->events++;
	if (event->code)
		event->code->content->events++;
	if ((needs_code && !event->code) || (kymo_event_name_role(event) && !event->name))
		summary->undefined++;
	summary->sum_t_err_ns += (double)event->t_err_ns;
	if (event->t_err_ns > summary->largest_t_err_ns)
		summary->largest_t_err_ns = event->t_err_ns;
	if (event->t_ns > summary->last_ns)
		summary->last_ns = event->t_ns;
}

int kymo_summary_add(struct kymo_summary *summary, struct kymo_timeline *timeline,
		     const struct kymo_stream *stream, struct kymo_error *error)
{
	struct kymo_cursor cursor;
	struct kymo_event event;
	int result;

	kymo_cursor_init(&cursor, timeline, stream);
	while ((result = kymo_cursor_next(&cursor, &event, error)) > 0)
		add_event(summary, &event);
	kymo_cursor_release(&cursor);
	return result;
}
