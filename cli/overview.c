// SPDX-License-Identifier: Apache-2.0
#include "cli/overview.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/progress.h"
#include "replay/trace/describe.h"

static void add_summary(struct kymo_summary *total, const struct kymo_summary *part)
{
	total->events += part->events;
	total->rebuilt += part->rebuilt;
	total->lost += part->lost;
	total->undefined += part->undefined;
	total->values_events += part->values_events;
	total->values += part->values;
	total->values_bytes += part->values_bytes;
	total->values_damaged += part->values_damaged;
	total->sum_t_err_ns += part->sum_t_err_ns;
	for (size_t i = 0; i < KYMO_EVENT_KINDS; i++)
		total->by_kind[i] += part->by_kind[i];
	for (size_t i = 0; i < KYMO_LOSS_MASKS; i++)
		total->lost_by_reasons[i] += part->lost_by_reasons[i];
	if (part->largest_t_err_ns > total->largest_t_err_ns)
		total->largest_t_err_ns = part->largest_t_err_ns;
	if (part->last_ns > total->last_ns)
		total->last_ns = part->last_ns;
}

static int summarize_trace(struct kymo_overview *overview, const char *path, struct kymo_error *error)
{
	struct kymo_timeline *timeline = &overview->timeline;
	int result;

	*overview = (struct kymo_overview){0};
	result = kymo_timeline_open(timeline, path, 0, error);
	if (result)
		return result;
	overview->streams = calloc(timeline->stream_count + 1, sizeof *overview->streams);
	if (!overview->streams)
		result = kymo_fail(error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < timeline->stream_count && !result; i++) {
		result = kymo_summary_add(&overview->streams[i], timeline, &timeline->streams[i],
					  error);
		add_summary(&overview->total, &overview->streams[i]);
	}
	if (!result)
		kymo_summary_add_unstored(&overview->total, &timeline->definitions);
	else
		kymo_overview_close(overview);
	return result;
}

void kymo_overview_close(struct kymo_overview *overview)
{
	free(overview->streams);
	kymo_timeline_close(&overview->timeline);
}

int kymo_overview_open(struct kymo_overview *overview, const char *what, const char *path)
{
	struct kymo_progress progress;
	struct kymo_error error;
	int result;

	kymo_progress_begin(&progress, what, &overview->timeline.trace.watch);
	result = summarize_trace(overview, path, &error);
	kymo_progress_end(&progress);
	if (result)
		return kymo_report(&error);
	kymo_report_damage(&overview->timeline.trace);
	return KYMO_EXIT_OK;
}
