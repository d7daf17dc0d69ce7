// SPDX-License-Identifier: Apache-2.0
/* What stands behind history.h.  For this folder alone. */
#ifndef KYMO_LIBRARY_HISTORY_PRIVATE_H
#define KYMO_LIBRARY_HISTORY_PRIVATE_H

#include "library/history.h"
#include "replay/index.h"

struct kymo_history {
	struct kymo_timeline timeline;
	struct kymo_index index;
	struct kymo_error error;
};

void kymo_history_put_event(const struct kymo_timeline *timeline, const struct kymo_event *event,
			    struct kymo_history_event *out);

#endif
