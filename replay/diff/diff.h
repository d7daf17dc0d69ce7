// SPDX-License-Identifier: Apache-2.0
/*
 * Comparing two recorded runs.
 *
 *   side.h         names of code that mean the same in both
 *   tokens.h       a thread's history without what differs by nature
 *   fold.h         activations and their hashes
 *   thread_tree.h  the first pass over a thread
 *   sequence.h     what one activation did itself
 *   comparison.h   pairs of activations, and differences
 *   noise.h        what differs in values by nature
 *   likeness.h     values that are the same in both
 *   value_side.h   what the variables of one thread hold
 *   first_value.h  values that differ before the control flow does
 *   diff.h         all of it, and the report
 */
#ifndef KYMO_REPLAY_DIFF_DIFF_H
#define KYMO_REPLAY_DIFF_DIFF_H

#include <jansson.h>

#include "replay/diff/comparison.h"
#include "replay/diff/first_value.h"

struct kymo_diff_options {
	const char *paths[2];
	const char *tests[2]; /* ids of tests; NULL: all of the trace */
	const struct kymo_ignored *ignored; /* ends with a NULL file */
	const char *const *sources; /* see kymo_sides_identify() */
	const char *const *ignored_values; /* globs of names whose values are not compared; ends with NULL */
	bool without_values;  /* recorded values are not compared */
	bool values_differ;   /* two runs are not the same if values alone differ */
	size_t limit;	      /* most differences that are reported */
	bool has_sources;     /* add the sources of files with a difference */
};

struct kymo_diff {
	const struct kymo_diff_options *options;
	struct kymo_comparison comparison;
	size_t *processes[2];	/* of each process of the side, that of the other, or SIZE_MAX */
	size_t *partners;	/* of each stream of the first side, that of the second, or SIZE_MAX */
	size_t threads;		/* that were compared with another */
	struct kymo_value_findings values;
	struct kymo_error *error;
};

/*
 * Compare two runs whose timelines and indexes are open in diff->comparison.forests[…].side.  0, or
 *   -ENOENT      there is no such test
 *   -ENOTSUP     they hold different things
 *   another negative errno
 */
KYMO_MUST_CHECK
int kymo_diff_run(struct kymo_diff *diff, const struct kymo_diff_options *options, struct kymo_error *error);
void kymo_diff_release(struct kymo_diff *diff);

/* Values of both are compared. */
bool kymo_diff_has_values(const struct kymo_diff *diff);

/* There is no difference between what is known of both, values aside unless they are asked for. */
bool kymo_diff_is_same(const struct kymo_diff *diff);

/* The report as docs/diff.md has it; NULL: reported. */
json_t *kymo_diff_describe(struct kymo_diff *diff, struct kymo_error *error);
/* The same for people. */
void kymo_diff_put_text(FILE *out, const json_t *report, bool has_colour);

/* For diff.c: the parts of it. */

/* Set the ranges of all threads of a side: all, or what belongs to @test. */
KYMO_MUST_CHECK
int kymo_diff_choose_part(struct kymo_forest *forest, const char *test, bool wants_last, struct kymo_error *error);
/* Pair the processes and threads; one that only one side has is a difference. */
KYMO_MUST_CHECK
int kymo_diff_match(struct kymo_diff *diff);
/* Threads that were interrupted in the middle of what another ran meanwhile, on one side alone. */
KYMO_MUST_CHECK
int kymo_diff_find_orders(struct kymo_diff *diff);
/* Values that differ before the first divergence does, or at all, to diff->values. */
KYMO_MUST_CHECK
int kymo_diff_find_values(struct kymo_diff *diff);

#endif
