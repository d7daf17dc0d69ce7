// SPDX-License-Identifier: Apache-2.0
/* Counts by source file: equal code of several processes is merged; files with different sources are kept apart. */
#ifndef KYMO_REPLAY_COVERAGE_COVERED_FILES_H
#define KYMO_REPLAY_COVERAGE_COVERED_FILES_H

#include "replay/coverage/counts.h"
#include "replay/trace/sources.h"

struct kymo_covered_content {
	struct kymo_content_counts *of;		/* with the hits of all that equal it */
	const struct kymo_source_place *source; /* NULL: not in the trace */
	size_t first_equal, equal_count;	/* in kymo_covered_files.equals: the equal ones, including itself, with their contexts */
	uint32_t hash;
};

struct kymo_covered_files {
	struct kymo_covered_content *contents; /* by file, source and version of CPython, then by first line */
	size_t count;
	struct kymo_content_counts **equals;
};

/* Changes @counts, which must outlive @files. 0 or -ENOMEM; release @files in either case. */
KYMO_MUST_CHECK
int kymo_covered_files_make(struct kymo_covered_files *files, struct kymo_counts *counts);
void kymo_covered_files_release(struct kymo_covered_files *files);

bool kymo_is_same_file(const struct kymo_covered_content *a, const struct kymo_covered_content *b);

#endif
