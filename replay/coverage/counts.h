// SPDX-License-Identifier: Apache-2.0
/*
 * How often each line and each way of each branch of a trace ran: one pass over it, without an index.
 *
 * Memory grows with the code that ran and the contexts in which it ran, not with the length of the trace.
 */
#ifndef KYMO_REPLAY_COVERAGE_COUNTS_H
#define KYMO_REPLAY_COVERAGE_COUNTS_H

#include "replay/coverage/content_counts.h"
#include "replay/coverage/contexts.h"

struct kymo_counts {
	struct kymo_timeline *timeline;
	struct kymo_content_counts *contents; /* by kymo_content.number; the first is none */
	size_t count, capacity;
	bool wants_contexts;
	bool are_hits_counted; /* false: only 0 and 1 are known */
	bool has_branches;
	bool has_calls;
	struct kymo_contexts contexts;
	uint64_t undefined; /* events of code that the trace does not name */
	/* while counting */
	bool *is_incomplete; /* by process, in definitions.processes: a part of what it ran is missing */
	bool is_short;	     /* out of memory */
	size_t stream;
	struct kymo_context_place place;
	uint32_t interpreter;
	uint64_t slice;
};

/*
 * Count what @timeline holds, which must outlive @counts and have no index.  Release @counts in any case.
 *   -ENODATA  LINE events were neither recorded nor can be rebuilt
 *   -ENOTSUP  contexts are wanted, but each line was recorded once
 */
KYMO_MUST_CHECK
int kymo_counts_read(struct kymo_counts *counts, struct kymo_timeline *timeline, bool wants_contexts,
		     struct kymo_error *error);
void kymo_counts_release(struct kymo_counts *counts);

#endif
