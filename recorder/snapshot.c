// SPDX-License-Identifier: Apache-2.0
/* Ask the reader to write what the rings hold now. */
#include <errno.h>
#include <time.h>

#include "format/atomics.h"
#include "format/counter.h"
#include "recorder/recorder.h"
#include "recorder/session.h"

int kymo_snapshot(struct kymo_session *session, const char *why, uint64_t timeout_ns)
{
	const struct timespec step = {.tv_nsec = 1000000};
	uint64_t start = kymo_monotonic_ns();
	Kymo__Snapshot snapshot = KYMO__SNAPSHOT__INIT;
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	uint32_t wanted;

	snapshot.why = (char *)(uintptr_t)why;
	definition.kind_case = KYMO__DEFINITION__KIND_SNAPSHOT;
	definition.snapshot = &snapshot;
	kymo_define(&definition);
	if (kymo_load_acquire_u32(&session->page->reader_state) != KYMO_READER_LIVE)
		return -ENOTCONN;
	/* Release: what was recorded before is in the snapshot.  The reader loads it with acquire. */
	kymo_fence_release();
	wanted = kymo_add_u32(&session->page->snapshots_wanted, 1) + 1;
	while ((int32_t)(kymo_load_acquire_u32(&session->page->snapshots_done) - wanted) < 0) {
		/* The recording was stopped meanwhile: all that the rings held is in the trace. */
		if (kymo_load_acquire_u32(&session->page->reader_state) == KYMO_READER_CLOSED)
			return 0;
		if (kymo_monotonic_ns() - start > timeout_ns)
			return -ETIMEDOUT;
		nanosleep(&step, NULL);
	}
	return 0;
}
