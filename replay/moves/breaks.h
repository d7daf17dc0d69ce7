// SPDX-License-Identifier: Apache-2.0
/*
 * Where a replay stops: lines, functions and exceptions, looked up once for every code object of the trace.
 */
#ifndef KYMO_REPLAY_MOVES_BREAKS_H
#define KYMO_REPLAY_MOVES_BREAKS_H

#include "replay/index/index.h"
#include "replay/decode/walker.h"

enum kymo_break_kind {
	KYMO_BREAK_LINE,
	KYMO_BREAK_FUNCTION,  /* at its call */
	KYMO_BREAK_EXCEPTION, /* where one is raised first */
	KYMO_BREAK_UNCAUGHT,  /* the same, of uncaught ones: see replay_uncaught.h */
};

/* Where a break is hit: an event of the thread @stream. */
struct kymo_break_place {
	size_t stream;
	struct kymo_position at;
};

struct kymo_break {
	uint32_t id; /* from 1; never used again */
	enum kymo_break_kind kind;
	char *name; /* of the file, function or type; a type "" is any type */
	int64_t line;
	bool is_off;
	/*
	 * Called at each hit, with the thread there and the number of hits in this thread up to now; NULL: every hit counts. Must give the
	 * same answer each time.
	 */
	bool (*wants)(const struct kymo_break *at, const struct kymo_walker *walker, uint64_t hits);
	bool needs_hits; /* else @hits is 0 */
	void *context; /* owned by the code that set it */
	uint64_t all_hits; /* in the whole trace */
	/* by stream, and there by chunk of the index: hits before it; made when first needed */
	uint64_t **hits_before;
	/* hits up to the last one that search @search_number found, which was in @counted_chunk */
	uint64_t counted, search_number;
	const struct kymo_chunk_summary *counted_chunk;
	struct kymo_break_place *places; /* KYMO_BREAK_UNCAUGHT: all of them, in order */
	size_t place_count, place_capacity;
	uint32_t *contents; /* numbers of the contents that it is in, ascending */
	uint32_t content_count;
	size_t content_capacity;
};

struct kymo_breaks {
	struct kymo_index *index;
	struct kymo_break *items;
	uint32_t count;
	size_t capacity;
	uint32_t last_id;
	uint8_t *is_watched; /* by number of content: it has a break */
	bool watches_raises, watches_places;
};

void kymo_breaks_init(struct kymo_breaks *breaks, struct kymo_index *index);
void kymo_breaks_release(struct kymo_breaks *breaks);

/*
 * Set a break. @file means all files whose path ends with it, at a /; @function all functions with that qualified name or last part
 * of one; @type all exceptions of that name, and of types derived from it where that was recorded; "" means any. Returns it, valid
 * until the next one is set or removed; NULL: no memory.
 */
struct kymo_break *kymo_break_at_line(struct kymo_breaks *breaks, const char *file, int64_t line);
struct kymo_break *kymo_break_at_function(struct kymo_breaks *breaks, const char *function);
struct kymo_break *kymo_break_at_exception(struct kymo_breaks *breaks, const char *type);
/* A break at places that the caller then adds to it, in order; call kymo_breaks_update() afterwards. */
struct kymo_break *kymo_break_at_places(struct kymo_breaks *breaks, const char *type);
/* False: no such break. */
bool kymo_break_remove(struct kymo_breaks *breaks, uint32_t id);
struct kymo_break *kymo_break_find(const struct kymo_breaks *breaks, uint32_t id);
/* Call it after a change of is_off. */
void kymo_breaks_update(struct kymo_breaks *breaks);

/* The line of @file nearest to @line that ran; KYMO_LINE_NONE: no line of such a file ran. */
int64_t kymo_nearest_line(const struct kymo_index *index, const char *file, int64_t line);
/* True if @file is @name, or ends with it at a /. */
bool kymo_names_file(const char *name, const char *file);

/* The first break at which @walker stands, from number @from of the list on; its wants() is not called. NULL: none. */
struct kymo_break *kymo_breaks_at(const struct kymo_breaks *breaks, const struct kymo_walker *walker, uint32_t from);

/* False if no break can be hit in @chunk. */
bool kymo_breaks_may_hit(struct kymo_breaks *breaks, const struct kymo_chunk_summary *chunk);

/* How often @at is hit in @chunk. */
uint64_t kymo_break_hits_in(struct kymo_breaks *breaks, const struct kymo_break *at,
			    const struct kymo_chunk_summary *chunk);
/* How often @at was hit in the chunks before @chunk of its stream. */
uint64_t kymo_break_hits_before(struct kymo_breaks *breaks, struct kymo_break *at,
				const struct kymo_chunk_summary *chunk);

#endif
