// SPDX-License-Identifier: Apache-2.0
/* Everything but the events of a trace, as JSON. */
#ifndef KYMO_REPLAY_LIBRARY_DESCRIBE_JSON_H
#define KYMO_REPLAY_LIBRARY_DESCRIBE_JSON_H

#include "replay/index/index.h"

/* An object; to be freed.  NULL: no memory. */
char *kymo_describe_json(struct kymo_timeline *timeline, const struct kymo_index *index);

#endif
