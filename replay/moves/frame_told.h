// SPDX-License-Identifier: Apache-2.0
/* The records of values of one activation of a frame in one chunk. Only for variables.c and variable_watch.c. */
#ifndef KYMO_REPLAY_MOVES_FRAME_TOLD_H
#define KYMO_REPLAY_MOVES_FRAME_TOLD_H

#include "replay/moves/replay_walks.h"

/* A record, where it lies in the payload. */
struct kymo_told_block {
	uint32_t at, bytes;
	int64_t line;	   /* of its event, or KYMO_LINE_NONE */
	struct kymo_moment moment;
};

struct kymo_frame_told {
	struct kymo_told_block *blocks;
	uint32_t count;
	size_t capacity;
	uint8_t *payload; /* a copy of the chunk's */
	uint32_t payload_bytes;
	size_t payload_capacity;
	const struct kymo_code *code; /* of the frame; NULL: not known */
	bool is_there;	  /* the frame exists */
	struct kymo_moment first; /* its first event in the chunk; at.n is 0: the frame was there before */
	bool has_first;	  /* @first entered it */
	struct kymo_moment last; /* its last event, which may be in the chunk before; at.n is 0: it continues */
	bool has_last;	  /* @last left it */
	bool is_lost;	  /* events are missing before @first, or behind @last */
	bool has_ran_line; /* it has reached a line */
};

void kymo_frame_told_release(struct kymo_frame_told *told);

/*
 * Read the frame that is on @level of the stack at @place, in @chunk, up to @limit. @place {0}: the beginning of the chunk; it may
 * lie behind the chunk's end. @told is zeroed, or was filled before and is reused.
 */
KYMO_MUST_CHECK
int kymo_frame_told_read(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, uint64_t level,
			 struct kymo_position place, struct kymo_position limit, struct kymo_frame_told *told,
			 struct kymo_error *error);

/* Only what the event at which @walker stands records of the frame on top. */
KYMO_MUST_CHECK
int kymo_frame_told_here(struct kymo_frame_told *told, const struct kymo_walker *walker, struct kymo_error *error);

static inline struct kymo_values kymo_told_values(const struct kymo_frame_told *told, uint32_t number)
{
	return (struct kymo_values){told->payload, told->blocks[number].at, told->blocks[number].bytes};
}

/*
 * The last chunk before @chunk in which the caller of the frame on @level ran, else the first. The frame is on the stack when @chunk
 * begins, so it was entered in the returned chunk or at the beginning of the next.
 */
const struct kymo_chunk_summary *kymo_chunk_of_entry(const struct kymo_replay *replay, const struct kymo_chunk_summary *chunk,
						     uint64_t level);

/* Which values were recorded in the run. */
static inline unsigned kymo_values_scope(const struct kymo_timeline *timeline)
{
	const Kymo__Session *session = timeline->definitions.session;

	return session && session->config && session->config->values ? (unsigned)session->config->values->scope : 0;
}

#endif
