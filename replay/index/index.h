// SPDX-License-Identifier: Apache-2.0
/*
 * A summary of each chunk of a trace: which lines ran in it and how often, how deep the stack was, and when. With it, a search reads
 * only the chunks that contain its goal.
 *
 * It is derived from the trace, and kept next to it as TRACE-index or, if that cannot be written, in $XDG_CACHE_HOME/kymo. If
 * neither is possible, it lives as long as the process that made it. So does the index of an unfinished recording, NAME.incomplete:
 * it would be out of date with the next chunk, and be left behind when the trace is renamed. docs/replay.md has the bytes.
 */
#ifndef KYMO_REPLAY_INDEX_INDEX_H
#define KYMO_REPLAY_INDEX_INDEX_H

#include <signal.h>

#include "replay/index/hits.h"
#include "replay/trace/timeline.h"

enum kymo_summary_flags {
	KYMO_SUMMARY_MISSING = 1 << 0, /* a GAP or UNKNOWN is among its events */
	KYMO_SUMMARY_MIXED = 1 << 1,   /* of several interpreters: its turns are not in order */
	/* an exception has left the outermost frame or, in other threads than a process's first, the third one: see replay_uncaught.c */
	KYMO_SUMMARY_UNWOUND = 1 << 2,
};

/* The events from one chunk of a stream up to the next; as it lies in the file. */
struct kymo_chunk_summary {
	uint64_t first_n; /* of its first event, or of a gap before that */
	uint64_t last_n;
	uint64_t lines;			  /* LINE events, rebuilt ones included */
	uint64_t first_slice, last_slice; /* the GIL's turns in which they happened; 0: not known */
	uint64_t hits_offset;		  /* in the file: see hits.h */
	uint32_t hits_bytes, hits_crc;
	uint32_t stream; /* in kymo_timeline.streams */
	uint32_t chunk;	 /* of the stream */
	uint32_t lowest_depth; /* lowest depth of the stack at any event, without a frame that it enters, with one that it leaves */
	uint32_t interpreter;  /* of its first event */
	uint32_t flags;
	uint32_t depth;	 /* from its sync block */
	uint32_t hidden; /* frames that it does not list */
	uint32_t reserved;
};
static_assert(sizeof(struct kymo_chunk_summary) == 88, "on disk");

struct kymo_index_mark {
	uint64_t n;
	uint64_t text; /* id */
	int64_t t_ns;
	uint32_t stream;
	uint32_t chunk;
};
static_assert(sizeof(struct kymo_index_mark) == 32, "on disk");

struct kymo_index {
	struct kymo_timeline *timeline;
	int fd;
	struct kymo_chunk_summary *chunks; /* by stream, chunk */
	size_t chunk_count, chunk_capacity;
	size_t *first_chunks; /* of each stream, in @chunks; one more: their end */
	struct kymo_index_mark *marks; /* by stream, n */
	size_t mark_count, mark_capacity;
	struct kymo_hits hits; /* totals of all chunks; numbers of contents */
	uint64_t file_bytes;
	bool was_made; /* else it was read */
	bool is_kept;
	const volatile sig_atomic_t *interrupted; /* while it is made */
	/* the last part of the file that was read */
	uint8_t *block;
	uint64_t block_offset;
	size_t block_bytes, block_capacity;
};

/*
 * Read the index of @timeline, which was opened as @path, or make it; timeline->trace.watch reports the progress. @path NULL: make
 * it, and do not keep it. @interrupted: a signal handler sets it to end the making with -EINTR; NULL: not used. @timeline must
 * outlive it.
 */
KYMO_MUST_CHECK
int kymo_index_open(struct kymo_index *index, struct kymo_timeline *timeline, const char *path,
		    const volatile sig_atomic_t *interrupted, struct kymo_error *error);
/* Read it from the file @fd, which it closes; false: not a valid index of @timeline. */
bool kymo_index_load(struct kymo_index *index, struct kymo_timeline *timeline, int fd);
void kymo_index_close(struct kymo_index *index);

/* True if @path is the name of an unfinished recording. */
bool kymo_is_incomplete(const char *path);

/* Read what ran in @chunk. False: damaged, and nothing is known. */
bool kymo_index_read_hits(struct kymo_index *index, const struct kymo_chunk_summary *chunk,
			  struct kymo_hits_reader *reader);

/* The last chunk of @stream that begins at @n or before, else the first; NULL: it has no chunk. */
const struct kymo_chunk_summary *kymo_index_find(const struct kymo_index *index, size_t stream, uint64_t n);

/* Open @walker before the first event of @chunk, early enough that all that is known of its frames is returned. */
struct kymo_walker;
void kymo_index_walk(const struct kymo_index *index, struct kymo_walker *walker,
		     const struct kymo_chunk_summary *chunk);

/* Make it; only for index.c. The hits go to index->fd. */
KYMO_MUST_CHECK
int kymo_index_build(struct kymo_index *index, struct kymo_error *error);

#endif
