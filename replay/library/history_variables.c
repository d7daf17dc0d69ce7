// SPDX-License-Identifier: Apache-2.0
/* What variables held, as JSON. */
#define KYMO_HISTORY_API __attribute__((visibility("default")))
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "replay/library/history_private.h"
#include "replay/values/event_values.h"
#include "replay/trace/line_table.h"
#include "replay/trace/text.h"
#include "replay/moves/variable_watch.h"

/* 0, with what was written to @out in *@text, or a negative errno. */
static int finish(struct kymo_history *history, FILE *out, char **text, int result)
{
	if (fclose(out) && !result)
		result = kymo_fail(&history->error, -ENOMEM, "out of memory");
	if (result) {
		free(*text);
		*text = NULL;
	}
	return result;
}

int kymo_history_cursor_variables(struct kymo_history_cursor *cursor, uint32_t frame, char **json)
{
	struct kymo_history *history = kymo_history_of_cursor(cursor);
	struct kymo_variables variables;
	size_t bytes;
	FILE *out = open_memstream(json, &bytes);
	const char *separator = "";
	int result;

	if (!out)
		return kymo_fail(&history->error, -ENOMEM, "out of memory");
	result = kymo_variables_read(kymo_history_replay(cursor), frame, &variables, &history->error);
	putc('{', out);
	for (uint32_t i = 0; i < variables.count && !result; i++) {
		const struct kymo_variable *variable = &variables.items[i];

		/* Where a name is that of two, one has a value. */
		if (!variable->name || variable->state != KYMO_VARIABLE_TOLD || kymo_variables_find(&variables, variable->name) != variable)
			continue;
		fputs(separator, out);
		kymo_json_put(out, variable->name);
		putc(':', out);
		kymo_value_put_json(out, &variables.tree, kymo_value_at(&variables.tree, variable->node), variables.process);
		separator = ",";
	}
	putc('}', out);
	kymo_variables_release(&variables);
	return finish(history, out, json, result);
}

struct listing {
	FILE *out;
	const struct kymo_traced_process *process;
	const char *separator;
};

static bool put_past_value(void *context, const struct kymo_past_value *value)
{
	struct listing *listing = context;

	fprintf(listing->out, "%s{\"n\":%" PRIu64 ",\"t_ns\":%" PRId64 ",\"line\":", listing->separator, value->moment.at.n,
		value->moment.t_ns);
	if (value->line == KYMO_LINE_NONE)
		fputs("null", listing->out);
	else
		fprintf(listing->out, "%" PRId64, value->line);
	fputs(",\"value\":", listing->out);
	if (value->node)
		kymo_value_put_json(listing->out, value->tree, kymo_value_at(value->tree, value->node), listing->process);
	else
		fputs("null", listing->out);
	putc('}', listing->out);
	listing->separator = ",";
	return true;
}

int kymo_history_cursor_past_values(struct kymo_history_cursor *cursor, uint32_t frame, const char *expression, char **json)
{
	struct kymo_history *history = kymo_history_of_cursor(cursor);
	struct kymo_replay *replay = kymo_history_replay(cursor);
	struct listing listing = {.separator = ""};
	struct kymo_watchpoint watch;
	size_t bytes;
	int result = kymo_watchpoint_set(&watch, replay, frame, expression, &history->error);

	if (result)
		return result;
	listing.process = watch.activation.process;
	listing.out = open_memstream(json, &bytes);
	if (listing.out) {
		putc('[', listing.out);
		result = kymo_watchpoint_history(replay, &watch, put_past_value, &listing, &history->error);
		putc(']', listing.out);
		result = finish(history, listing.out, json, result);
	} else {
		result = kymo_fail(&history->error, -ENOMEM, "out of memory");
	}
	kymo_watchpoint_release(&watch);
	return result;
}
