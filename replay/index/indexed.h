// SPDX-License-Identifier: Apache-2.0
/* A trace together with its index: what is opened to go through a run. */
#ifndef KYMO_REPLAY_INDEX_INDEXED_H
#define KYMO_REPLAY_INDEX_INDEXED_H

#include "replay/index/index.h"

struct kymo_indexed {
	struct kymo_timeline timeline; /* its trace.watch reports the progress of opening */
	struct kymo_index index;
};

/*
 * Open the trace @path, and read its index or make it. @keeps: keep a new index, see index.h. @interrupted: a signal handler sets it
 * to end the making with -EINTR, and nothing is left; NULL: not used.
 */
KYMO_MUST_CHECK
int kymo_indexed_open(struct kymo_indexed *indexed, const char *path, bool keeps,
		      const volatile sig_atomic_t *interrupted, struct kymo_error *error);
void kymo_indexed_close(struct kymo_indexed *indexed);

#endif
