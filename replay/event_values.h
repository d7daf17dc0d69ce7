// SPDX-License-Identifier: Apache-2.0
/* The values that an event carries, as people and as programs are shown them.  Nothing is written where there are none. */
#ifndef KYMO_REPLAY_EVENT_VALUES_H
#define KYMO_REPLAY_EVENT_VALUES_H

#include <stdio.h>

#include "replay/values.h"

/* "  x=3, y='a'", of what is returned or yielded "  -> 3", escaped; about @columns wide where that is not 0. */
void kymo_event_put_values(FILE *out, const struct kymo_event *event, size_t columns);

/* ,"values":{"x":{…}},"value":{…} */
void kymo_event_put_values_json(FILE *out, const struct kymo_event *event);

/* A value as a JSON object, as docs/guide/values.md has it. */
void kymo_value_put_json(FILE *out, const struct kymo_value_tree *tree, const struct kymo_value *value,
			 const struct kymo_traced_process *process);

#endif
