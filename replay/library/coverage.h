/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-replay: how often each line and each way of each branch of a trace ran, by source file.
 *
 * All that is read is in one struct kymo_coverage, until it is freed; it may be used by several threads.  Strings that a
 * recorded program made up may hold any character.
 */
#ifndef KYMO_COVERAGE_H
#define KYMO_COVERAGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef KYMO_COVERAGE_API
#define KYMO_COVERAGE_API
#endif

enum kymo_coverage_flags {
	/* asked for */
	KYMO_COVERAGE_CONTEXTS = 1 << 0,
	/* set for a trace */
	KYMO_COVERAGE_HITS = 1 << 1,	 /* hits are counted; else each is 0 or 1 */
	KYMO_COVERAGE_BRANCHES = 1 << 2, /* were recorded, or rebuilt */
	/* set for a file */
	KYMO_COVERAGE_SOURCE = 1 << 3,	   /* the trace holds its text */
	KYMO_COVERAGE_VERIFIED = 1 << 4,   /* and it is known to be what ran */
	KYMO_COVERAGE_INCOMPLETE = 1 << 5, /* a part of what ran of it was not recorded */
};

/*
 * A file as code objects name it, with one source and one version of CPython: there may be several with the same name. The parts of
 * each kind lie behind those of the file before.
 */
struct kymo_coverage_file {
	const char *file;
	const char *source; /* NULL: none */
	uint64_t source_bytes;
	uint64_t line_count, branch_count, function_count, set_count;
	uint32_t version; /* major << 8 | minor; 0: not known */
	uint32_t flags;
};

/* A line at which some code object that ran may have a LINE event; in order. */
struct kymo_coverage_line {
	uint64_t hits;
	uint32_t line;
	uint32_t reserved;
};

/* A way of a branch that was taken. */
struct kymo_coverage_branch {
	uint64_t hits;
	uint64_t first_trail, trail_count; /* in kymo_coverage.trails: lines up to the next branch */
	uint32_t line;			   /* of the instruction */
	uint32_t first_line;		   /* of its code object */
	uint32_t is_exit;		   /* the trail ends by leaving the code object */
	uint32_t reserved;
};

/* A code object that ran. */
struct kymo_coverage_function {
	const char *name; /* qualified */
	uint64_t calls;
	uint32_t first_line;
	uint32_t reserved;
};

/* What ran of a file in a context; a line in several code objects may come several times. */
struct kymo_coverage_set {
	uint64_t line_count, branch_count; /* in set_lines and set_branches, behind those of the set before */
	uint32_t context;
	uint32_t reserved;
};

struct kymo_coverage {
	size_t size; /* of this structure in the library: later versions may add fields at the end */
	uint64_t flags;
	uint64_t undefined; /* events of code that the trace does not name */
	uint64_t file_count, context_count;
	uint64_t line_count, branch_count, trail_count, function_count;
	uint64_t set_count, set_line_count, set_branch_count;
	const struct kymo_coverage_file *files;
	const struct kymo_coverage_line *lines;
	const struct kymo_coverage_branch *branches;
	const uint32_t *trails;
	const struct kymo_coverage_function *functions;
	const struct kymo_coverage_set *sets;
	const uint32_t *set_lines;
	const uint32_t *set_branches; /* numbers among the file's branches, from 0 */
	const char *const *contexts;  /* names; the first is "": in none */
};

/*
 * Read the trace @path.  0, or a negative errno with what is wrong in @error:
 *   -ENODATA  its lines were not recorded
 *   -ENOTSUP  contexts are asked for, but each line was recorded only once
 */
KYMO_COVERAGE_API int kymo_coverage_read(const char *path, uint32_t flags, const struct kymo_coverage **coverage,
					 char *error, size_t error_bytes);
KYMO_COVERAGE_API void kymo_coverage_free(const struct kymo_coverage *coverage);

#ifdef __cplusplus
}
#endif

#endif
