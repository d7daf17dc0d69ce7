// SPDX-License-Identifier: Apache-2.0
#include "replay/decode/summary.h"

#include <errno.h>

#include "replay/values/values.h"

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

static int add_values(struct kymo_summary *summary, const struct kymo_event *event, struct kymo_value_tree *tree)
{
	int result;

	if (!event->values.bytes)
		return 0;
	result = kymo_value_tree_read(tree, event->values);
	summary->values_events++;
	summary->values_bytes += KYMO_EXTENDED_BYTES + event->values.bytes;
	summary->values_damaged += tree->is_damaged;
	for (const struct kymo_value *value = kymo_value_at(tree, 1); value; value = kymo_value_at(tree, value->next))
		summary->values++;
	return result;
}

int kymo_summary_add(struct kymo_summary *summary, struct kymo_timeline *timeline,
		     const struct kymo_stream *stream, struct kymo_error *error)
{
	struct kymo_value_tree tree = {0};
	struct kymo_cursor cursor;
	struct kymo_event event;
	int result;

	kymo_cursor_init(&cursor, timeline, stream);
	while ((result = kymo_cursor_next(&cursor, &event, error)) > 0) {
		add_event(summary, &event);
		if (add_values(summary, &event, &tree)) {
			result = kymo_fail(error, -ENOMEM, "out of memory");
			break;
		}
	}
	kymo_cursor_release(&cursor);
	kymo_value_tree_release(&tree);
	return result;
}

const char *kymo_summary_add_unstored(struct kymo_summary *total, const struct kymo_definitions *definitions)
{
	const Kymo__Ending *ending = definitions->ending;
	uint64_t told = 0, mixed = 0;

	for (uint32_t mask = 0; mask < KYMO_LOSS_MASKS; mask++)
		if (mask & KYMO_LOSS_STORAGE) {
			told += total->lost_by_reasons[mask];
			mixed += mask == KYMO_LOSS_STORAGE ? 0 : total->lost_by_reasons[mask];
		}
	/* The remainder is in no thread. It is larger if not all losses with several causes were the reader's. */
	total->lost_is_least = ending && mixed && ending->unstored > told - mixed;
	if (ending && ending->unstored > told) {
		total->untold = ending->unstored - told;
		total->lost += total->untold;
		total->lost_by_reasons[KYMO_LOSS_STORAGE] += total->untold;
		told = ending->unstored;
	}
	return !told ? NULL : ending ? ending->reason : "events could not be written";
}
