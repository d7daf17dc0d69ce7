// SPDX-License-Identifier: Apache-2.0
/* A trace together with its index: what whoever goes through a run opens. */
#ifndef KYMO_REPLAY_INDEX_INDEXED_H
#define KYMO_REPLAY_INDEX_INDEXED_H

#include "replay/index/index.h"

struct kymo_indexed {
	struct kymo_timeline timeline; /* its trace.watch tells how far opening is */
	struct kymo_index index;
};

/*
 * Open the trace @path, and read its index or make it.  @keeps: what is made is kept, as index.h says.  @interrupted: what a
 * signal handler sets so that making it ends with -EINTR and leaves nothing; NULL: none does.
 */
KYMO_MUST_CHECK
int kymo_indexed_open(struct kymo_indexed *indexed, const char *path, bool keeps,
		      const volatile sig_atomic_t *interrupted, struct kymo_error *error);
void kymo_indexed_close(struct kymo_indexed *indexed);

#endif
