// SPDX-License-Identifier: Apache-2.0
/* A session as a recorded process holds it. */
#ifndef KYMO_RECORDER_SESSION_H
#define KYMO_RECORDER_SESSION_H

#include "format/chunk.h"
#include "format/metadata.pb-c.h"

struct kymo_session {
	struct kymo_session_page *page;
	Kymo__Config *config;
	_Atomic uint32_t references; /* one for each open or hold, and one for each process that records into it */
	char dir[];
};

#endif
