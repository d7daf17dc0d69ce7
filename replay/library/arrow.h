/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-replay: the events of a trace as a table, by the Arrow C stream interface, which pyarrow, pandas, polars, DuckDB and
 * others read without copying.
 *
 * A stream opens the trace for itself, depends on nothing else, and holds one batch of rows at a time. It may be used by one thread
 * at a time. Batches and schemas belong to the caller that took them, may outlive the stream, and may be released by any thread.
 */
#ifndef KYMO_ARROW_H
#define KYMO_ARROW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef KYMO_ARROW_API
#define KYMO_ARROW_API
#endif

/* As defined by the Arrow C data interface and C stream interface. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
	const char *format;
	const char *name;
	const char *metadata;
	int64_t flags;
	int64_t n_children;
	struct ArrowSchema **children;
	struct ArrowSchema *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};

struct ArrowArray {
	int64_t length;
	int64_t null_count;
	int64_t offset;
	int64_t n_buffers;
	int64_t n_children;
	const void **buffers;
	struct ArrowArray **children;
	struct ArrowArray *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
	int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
	const char *(*get_last_error)(struct ArrowArrayStream *);
	void (*release)(struct ArrowArrayStream *);
	void *private_data;
};

#endif

/* Most rows in a batch. */
#define KYMO_ARROW_ROWS 16384

/* What is read; all zero but @size, @from_ns = INT64_MIN, @to_ns = INT64_MAX and @thread = -1: all.  Needed until kymo_arrow_open() returns. */
struct kymo_arrow_slice {
	size_t size; /* sizeof(struct kymo_arrow_slice) */
	int64_t from_ns, to_ns;
	uint64_t process;	  /* pid; 0: all */
	int32_t thread;		  /* its number in the trace, from 0; -1: all */
	uint32_t reserved;	  /* 0 */
	const char *thread_named; /* by native id, number in its process, or name; NULL: all */
	const char *kinds;	  /* "LINE,RAISE"; NULL: all */
	const char *const *files; /* of code, as the column has them; ends with NULL.  NULL: all */
	const char *function;	  /* glob of qualified names: events of code of such; NULL: all */
	const char *test;	  /* what ran in this context or its phases; NULL: all */
	const char *columns;	  /* "n,t_ns": these, in this order; NULL: all */
};

/*
 * Open the trace @path as a stream of its events: thread after thread, those of a thread in recorded order.  Columns, their
 * types and what null means in each: docs/guide/query.md.  All batches have the same dictionaries.
 *
 * 0, and @stream is to be released by its own callback; or a negative errno with what is wrong in @error.
 */
KYMO_ARROW_API int kymo_arrow_open(const char *path, const struct kymo_arrow_slice *slice, struct ArrowArrayStream *stream,
				   char *error, size_t error_bytes);

#ifdef __cplusplus
}
#endif

#endif
