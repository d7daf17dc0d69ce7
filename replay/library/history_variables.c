// SPDX-License-Identifier: Apache-2.0
/* What variables held, as JSON. */
#define KYMO_HISTORY_API __attribute__((visibility("default")))
#include <errno.h>
#include <stdlib.h>

#include "replay/library/history_private.h"
#include "replay/values/event_values.h"
#include "replay/trace/json_writer.h"
#include "replay/trace/line_table.h"
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
	struct kymo_json writer = {.out = open_memstream(json, &bytes)};
	int result;

	if (!writer.out)
		return kymo_fail(&history->error, -ENOMEM, "out of memory");
	result = kymo_variables_read(kymo_history_replay(cursor), frame, &variables, &history->error);
	kymo_json_begin(&writer, NULL, '{');
	for (uint32_t i = 0; i < variables.count && !result; i++) {
		const struct kymo_variable *variable = &variables.items[i];

		/* Where a name is that of two, one has a value. */
		if (!variable->name || variable->state != KYMO_VARIABLE_TOLD || kymo_variables_find(&variables, variable->name) != variable)
			continue;
		kymo_value_put_json(kymo_json_next(&writer, variable->name), &variables.tree,
				    kymo_value_at(&variables.tree, variable->node), variables.process);
	}
	kymo_json_end(&writer, "}");
	kymo_variables_release(&variables);
	return finish(history, writer.out, json, result);
}

struct listing {
	struct kymo_json json;
	const struct kymo_traced_process *process;
};

static bool put_past_value(void *context, const struct kymo_past_value *value)
{
	struct listing *listing = context;
	struct kymo_json *json = &listing->json;

	kymo_json_begin(json, NULL, '{');
	kymo_json_u64(json, "n", value->moment.at.n);
	kymo_json_i64(json, "t_ns", value->moment.t_ns);
	if (value->line == KYMO_LINE_NONE)
		kymo_json_null(json, "line");
	else
		kymo_json_i64(json, "line", value->line);
	if (value->node)
		kymo_value_put_json(kymo_json_next(json, "value"), value->tree, kymo_value_at(value->tree, value->node), listing->process);
	else
		kymo_json_null(json, "value");
	kymo_json_end(json, "}");
	return true;
}

int kymo_history_cursor_past_values(struct kymo_history_cursor *cursor, uint32_t frame, const char *expression, char **json)
{
	struct kymo_history *history = kymo_history_of_cursor(cursor);
	struct kymo_replay *replay = kymo_history_replay(cursor);
	struct listing listing = {0};
	struct kymo_watchpoint watch;
	size_t bytes;
	int result = kymo_watchpoint_set(&watch, replay, frame, expression, &history->error);

	if (result)
		return result;
	listing.process = watch.activation.process;
	listing.json.out = open_memstream(json, &bytes);
	if (listing.json.out) {
		kymo_json_begin(&listing.json, NULL, '[');
		result = kymo_watchpoint_history(replay, &watch, put_past_value, &listing, &history->error);
		kymo_json_end(&listing.json, "]");
		result = finish(history, listing.json.out, json, result);
	} else {
		result = kymo_fail(&history->error, -ENOMEM, "out of memory");
	}
	kymo_watchpoint_release(&watch);
	return result;
}
