// SPDX-License-Identifier: Apache-2.0
/* The values that an event carries, as people and as programs are shown them.  Nothing is written where there are none. */
#ifndef KYMO_REPLAY_VALUES_EVENT_VALUES_H
#define KYMO_REPLAY_VALUES_EVENT_VALUES_H

#include <stdio.h>

#include "replay/trace/json_writer.h"
#include "replay/values/values.h"

/*
 * "  x=3, y='a'", of what is returned or yielded "  -> 3", escaped; about @columns wide where that is not 0.  An exception that is
 * not among them is told by its name.
 */
void kymo_event_put_values(FILE *out, const struct kymo_event *event, size_t columns);

/* "values":{"x":{…}},"value":{…}, in the object that is open */
void kymo_event_put_values_json(struct kymo_json *json, const struct kymo_event *event);

/* The same of brief values. */
void kymo_event_put_values_brief(struct kymo_json *json, const struct kymo_event *event);

/* A value as a JSON object, as docs/guide/values.md has it. */
void kymo_value_put_json(FILE *out, const struct kymo_value_tree *tree, const struct kymo_value *value,
			 const struct kymo_traced_process *process);

/*
 * The same without what is in it, but for the first twelve attributes of an object that a variable holds; without ids; with texts of
 * numbers, enum members and short strings alone, else "…".  So values that are alike have the same text, in other runs, too.
 */
void kymo_value_put_brief(FILE *out, const struct kymo_value_tree *tree, const struct kymo_value *value,
			  const struct kymo_traced_process *process);

#endif
