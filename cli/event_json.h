/* SPDX-License-Identifier: Apache-2.0 */
/* An event as a JSON object: the same fields wherever events are printed. */
#ifndef KYMO_CLI_EVENT_JSON_H
#define KYMO_CLI_EVENT_JSON_H

#include <stdio.h>

#include "replay/trace/timeline.h"

/* As described in docs/guide/recording.md; without a line feed. */
void kymo_event_put_json(FILE *out, const struct kymo_event *event);

#endif
