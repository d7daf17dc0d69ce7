// SPDX-License-Identifier: Apache-2.0
/*
 * From the records of a thread to rows.
 *
 * Most records are converted here, by their bytes. Rare ones, and all that is between chunks, are left to thread_cursor.h, which
 * gives the same result for any event. So is everything if rows of a test are wanted.
 */
#ifndef KYMO_REPLAY_LIBRARY_ARROW_RECORDS_H
#define KYMO_REPLAY_LIBRARY_ARROW_RECORDS_H

#include "replay/coverage/contexts.h"
#include "replay/library/arrow_rows.h"
#include "replay/decode/thread_cursor.h"

#define KYMO_ARROW_LATELY 1024U

/* Recently used codes, names and tasks, by id: looking them up takes longer than a row. */
struct kymo_arrow_recent_code {
	uint64_t id; /* 0: none */
	const struct kymo_code *code;
};

struct kymo_arrow_recent_name {
	uint64_t id; /* 0: none */
	int32_t number;
};

/* What rows of a kind of event have in common. */
struct kymo_arrow_kind {
	int32_t is_line, has_no_dest; /* -1 or 0: or-ed to a column that is null then */
	uint8_t event;		      /* number of its text */
	bool is_wanted, has_name;
};

struct kymo_arrow_reader {
	struct kymo_timeline *timeline;
	struct kymo_arrow_texts *texts;
	const struct kymo_arrow_code *codes; /* by kymo_content.number; the first is for none */
	struct kymo_arrow_kind kinds[KYMO_EVENT_KINDS];
	int64_t from_ns, to_ns;
	const struct kymo_contexts *contexts; /* of @test; NULL: rows of all are wanted */
	const char *test;
	struct kymo_context_walk walk;
	struct kymo_cursor cursor;
	bool is_open; /* there is a thread */
	struct kymo_arrow_recent_code recent_codes[KYMO_ARROW_LATELY];
	struct kymo_arrow_recent_name recent_names[KYMO_ARROW_LATELY], recent_tasks[KYMO_ARROW_LATELY];
	/* what a record leads to, and how far that has become rows */
	struct kymo_rebuilt rebuilt;
	struct kymo_record record;
	uint32_t step;
	bool has_rest;
};

/* The caller fills in all fields before @cursor. */
void kymo_arrow_reader_open(struct kymo_arrow_reader *reader, const struct kymo_stream *stream);
void kymo_arrow_reader_close(struct kymo_arrow_reader *reader);

/* Fill @rows up to their capacity. 1: there may be more; 0: the thread has no more; a negative errno when memory or the disk fails. */
KYMO_MUST_CHECK
int kymo_arrow_reader_fill(struct kymo_arrow_reader *reader, struct kymo_arrow_rows *rows, struct kymo_error *error);

#endif
