// SPDX-License-Identifier: Apache-2.0
/* Parts of the report, for the files that make it. The caller owns what they return. */
#ifndef KYMO_REPLAY_DIFF_DESCRIBE_DIFF_H
#define KYMO_REPLAY_DIFF_DESCRIBE_DIFF_H

#include "replay/diff/report.h"

struct kymo_describing {
	struct kymo_diff *diff;
	struct kymo_shelf { /* sources that were read, of one side */
		struct kymo_read_source {
			const char *file;
			const struct kymo_source_place *kept; /* where its text lies; NULL: it is a file's */
			struct kymo_source source;
			bool is_there;
		} *entries;
		size_t count, capacity;
	} shelves[2];
	struct kymo_error *error;
	int result;
};

const struct kymo_side *kymo_describe_side(const struct kymo_describing *describing, size_t side);
/* null: there is none. */
json_t *kymo_describe_text(const char *value);
json_t *kymo_describe_number(uint64_t value);
json_t *kymo_describe_line(int64_t line);
json_t *kymo_describe_position(struct kymo_position at);
/* A place in a file, with its text. */
json_t *kymo_describe_place(struct kymo_describing *describing, size_t side, const struct kymo_content *content, int64_t line);
json_t *kymo_describe_thread(const struct kymo_describing *describing, size_t side, size_t stream);

/* The variables that differed, in the frame where the sides parted; null: values are not compared. */
json_t *kymo_describe_parting(struct kymo_describing *describing, const struct kymo_difference *difference);
/* Values that differ before the first divergence, or at all; null: values are not compared. */
json_t *kymo_describe_findings(struct kymo_describing *describing);
/* The value of the event at @at; null: it has none. */
json_t *kymo_describe_own_value(struct kymo_describing *describing, size_t side, size_t stream, struct kymo_position at);

#endif
