// SPDX-License-Identifier: Apache-2.0
#include "replay/index/turns.h"

#include "replay/decode/thread_cursor.h"

bool kymo_has_turns(const struct kymo_chunk_summary *chunk, uint32_t interpreter)
{
	return !(chunk->flags & (KYMO_SUMMARY_MIXED | KYMO_SUMMARY_MISSING)) && chunk->interpreter == interpreter &&
	       chunk->first_slice;
}

struct search {
	const struct kymo_cursor *cursor;
	uint32_t interpreter;
	uint64_t number;	 /* stop at a turn above this */
	uint64_t last;		 /* the last turn up to @number; 0: none */
	struct kymo_turn *above; /* number 0: none was found */
};

/* False: found. */
static bool look_at(struct search *search, uint64_t n, uint64_t slice, uint32_t interpreter)
{
	if (!slice || interpreter != search->interpreter)
		return true;
	if (slice > search->number)
		*search->above = (struct kymo_turn){slice, n};
	else if (slice > search->last)
		search->last = slice;
	return !search->above->number;
}

static bool look_at_skipped(void *context, const struct kymo_skipped *skipped)
{
	struct search *search = context;

	return look_at(search, skipped->n, search->cursor->slice, search->cursor->interpreter);
}

/* The last turn up to @number, and the first above it. */
static int find(const struct kymo_index *index, const struct kymo_chunk_summary *chunk, uint32_t interpreter,
		uint64_t number, uint64_t *last, struct kymo_turn *above, struct kymo_error *error)
{
	struct kymo_cursor cursor;
	struct search search = {&cursor, interpreter, number, 0, above};
	struct kymo_event event;
	int result;

	*above = (struct kymo_turn){0};
	kymo_cursor_init_recorded(&cursor, index->timeline, &index->timeline->streams[chunk->stream]);
	kymo_cursor_seek_chunk(&cursor, chunk->chunk);
	while ((result = kymo_cursor_next(&cursor, &event, error)) > 0 && event.n <= chunk->last_n) {
		if (!look_at(&search, event.n, event.slice, event.interpreter))
			break;
		kymo_cursor_skip(&cursor, chunk->last_n + 1, look_at_skipped, &search);
		if (above->number)
			break;
	}
	kymo_cursor_release(&cursor);
	*last = search.last;
	return result < 0 ? result : 0;
}

int kymo_turn_after(const struct kymo_index *index, const struct kymo_chunk_summary *chunk, uint32_t interpreter,
		    uint64_t number, struct kymo_turn *out, struct kymo_error *error)
{
	uint64_t last;
	int result;

	if (kymo_has_turns(chunk, interpreter) && chunk->last_slice <= number)
		return 0;
	result = find(index, chunk, interpreter, number, &last, out, error);
	return result ? result : out->number != 0;
}

int kymo_turn_before(const struct kymo_index *index, const struct kymo_chunk_summary *chunk, uint32_t interpreter,
		     uint64_t number, uint64_t *out, struct kymo_error *error)
{
	struct kymo_turn above;
	int result;

	if (kymo_has_turns(chunk, interpreter) && chunk->last_slice < number) {
		*out = chunk->last_slice;
		return 1;
	}
	result = find(index, chunk, interpreter, number - 1, out, &above, error);
	return result ? result : *out != 0;
}
