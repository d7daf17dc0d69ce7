// SPDX-License-Identifier: Apache-2.0
#include "replay/index/indexed.h"

int kymo_indexed_open(struct kymo_indexed *indexed, const char *path, bool keeps,
		      const volatile sig_atomic_t *interrupted, struct kymo_error *error)
{
	int result = kymo_timeline_open(&indexed->timeline, path, 0, error);

	if (result)
		return result;
	result = kymo_index_open(&indexed->index, &indexed->timeline, keeps ? path : NULL, interrupted, error);
	if (result)
		kymo_timeline_close(&indexed->timeline);
	return result;
}

void kymo_indexed_close(struct kymo_indexed *indexed)
{
	kymo_index_close(&indexed->index);
	kymo_timeline_close(&indexed->timeline);
}
