// SPDX-License-Identifier: Apache-2.0
/*
 * How often each line ran, each function was called and each exception type was raised: in one chunk, and in total.
 *
 * A chunk's hits are encoded as LEB128 numbers:
 *
 *   contents that have any
 *   of each, by number:  its number less that of the one before, calls, bytes of what follows,
 *                        { line less the one before, or the code's first line, folded; times }
 *   types of exceptions
 *   of each:             name id, times
 *
 * A folded number is 2n for n >= 0, and -2n - 1 below.
 */
#ifndef KYMO_REPLAY_INDEX_HITS_H
#define KYMO_REPLAY_INDEX_HITS_H

#include "replay/trace/definitions.h"

/* A content, by its number in the index, from 1. */
struct kymo_content_hits {
	struct kymo_content *content;
	int64_t first_line; /* the lowest that its instructions have */
	uint32_t line_count;
	bool is_touched; /* has hits in this chunk */
	uint64_t calls, all_calls;
	uint64_t *lines; /* times in this chunk, by line - first_line */
	uint64_t *all_lines;
};

struct kymo_raised {
	uint64_t name;
	uint64_t times;
};

struct kymo_hits {
	struct kymo_content_hits *contents; /* [0] is none */
	uint32_t content_count;		    /* including [0] */
	size_t content_capacity;
	uint32_t *touched; /* numbers */
	uint32_t touched_count;
	size_t touched_capacity;
	struct kymo_raised *raised; /* in this chunk */
	uint32_t raised_count;
	size_t raised_capacity;
	uint64_t line_events; /* in this chunk */
	bool is_short;	      /* out of memory: something was not counted */
	/* the last encoding */
	uint8_t *bytes;
	size_t byte_count, byte_capacity;
};

void kymo_hits_release(struct kymo_hits *hits);

void kymo_hits_line(struct kymo_hits *hits, struct kymo_content *content, int64_t line, uint64_t times);
void kymo_hits_call(struct kymo_hits *hits, struct kymo_content *content, uint64_t times);
void kymo_hits_raise(struct kymo_hits *hits, uint64_t name);

/* Encode the chunk's hits into @bytes, add them to the totals, and begin the next chunk. 0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_hits_end_chunk(struct kymo_hits *hits);
/* Encode the totals; and decode them, for contents that were added before with the same numbers. */
KYMO_MUST_CHECK
int kymo_hits_encode_all(struct kymo_hits *hits);
/* -EBADMSG: they are damaged. */
KYMO_MUST_CHECK
int kymo_hits_decode_all(struct kymo_hits *hits, const uint8_t *bytes, size_t count);

/* Give @content the next number.  0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_hits_add(struct kymo_hits *hits, struct kymo_content *content);

/* Reading the encoding; whatever the bytes are, nothing outside of them is read. */
struct kymo_hits_reader {
	const uint8_t *at, *end;
	uint64_t contents_left;
	uint64_t number; /* of the content that was read last */
	uint64_t calls;
	const uint8_t *lines_end;
	uint64_t raised_left;
	bool is_bad;
};

void kymo_hits_read(struct kymo_hits_reader *reader, const uint8_t *bytes, size_t count);
/* The next content; false: no more. */
bool kymo_hits_next_content(struct kymo_hits_reader *reader);
/* Its next line, from @line, which is the content's first line at first. */
bool kymo_hits_next_line(struct kymo_hits_reader *reader, int64_t *line, uint64_t *times);
/* After the last content. */
bool kymo_hits_next_raised(struct kymo_hits_reader *reader, uint64_t *name, uint64_t *times);

#endif
