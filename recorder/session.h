// SPDX-License-Identifier: Apache-2.0
/* A session as a recorded process holds it. */
#ifndef KYMO_RECORDER_SESSION_H
#define KYMO_RECORDER_SESSION_H

#include <stdbool.h>

#include "format/chunk.h"
#include "format/metadata.pb-c.h"

struct kymo_session {
	struct kymo_session_page *page;
	Kymo__Config *config;
	bool is_pinned; /* threads under another GIL may still look at the page: it stays mapped */
	char dir[];
};

#endif
