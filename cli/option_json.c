// SPDX-License-Identifier: Apache-2.0
/* `kymo _options`: all tables as JSON, from which ./dev man makes the OPTIONS of manual pages. */
#include <jansson.h>

#include "cli/command.h"
#include "cli/option_table.h"

static json_t *json_of(const struct kymo_option *row)
{
	char letter[2] = {row->letter};

	return json_pack("{ss*, ss*, ss*, ss*, ss, ss*}", "name", row->name, "letter", row->letter ? letter : NULL, "value", row->value,
			 "choices", row->choices, "help", row->help, "more", row->more);
}

int kymo_put_options(const struct kymo_verb *const verbs[])
{
	json_t *all = json_object();

	for (; *verbs; verbs++) {
		const struct kymo_option *row = NULL;
		json_t *rows = json_array();

		while ((row = kymo_options_next(*verbs, row, NULL)))
			json_array_append_new(rows, json_of(row));
		if ((*verbs)->summary)
			json_object_set_new(all, (*verbs)->name, json_pack("{ss, so}", "summary", (*verbs)->summary, "options", rows));
		else
			json_decref(rows);
	}
	kymo_put_json(all, JSON_INDENT(1));
	json_decref(all);
	return KYMO_EXIT_OK;
}
