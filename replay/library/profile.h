/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-replay: where a program spent its time: calls and times of each function, by the calls that led to it.
 *
 * All that is read is in one struct kymo_profile, until it is freed; it may be used by several threads.  Strings that a
 * recorded program made up may hold any character.  Times are nanoseconds.
 */
#ifndef KYMO_PROFILE_H
#define KYMO_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef KYMO_PROFILE_API
#define KYMO_PROFILE_API
#endif

/* What to read, as the options of `kymo export`. Everything: all zero but size, from_ns = INT64_MIN and to_ns = INT64_MAX. */
struct kymo_profile_slice {
	size_t size; /* sizeof(struct kymo_profile_slice) */
	int64_t from_ns, to_ns;
	int64_t process;       /* pid; 0: all */
	int64_t min_duration_ns;
	const char *thread, *function, *test; /* NULL: all */
	uint64_t flags;	       /* enum kymo_profile_flags */
};

enum kymo_profile_flags {
	KYMO_PROFILE_LINES = 1 << 0, /* lines, and lines of callers; takes longer */
};

/* A function.  Code objects of the same file, name and first line are one function. */
struct kymo_profile_function {
	const char *file;    /* NULL: in C, or not known */
	const char *name;    /* qualified; NULL: not known */
	uint32_t first_line; /* 0: none */
	uint32_t is_c;	     /* 1: in C; @name is as the recording has it */
	uint64_t calls, resumes; /* as of nodes */
	uint64_t outermost;  /* of both, those that began while the function was not running yet */
	int64_t self_ns;
	uint64_t self_err_ns;
	int64_t total_ns;    /* time during which it ran, counted once however deep recursion went */
	uint64_t total_err_ns;
};

struct kymo_profile_thread {
	uint64_t pid, native_id; /* native_id 0: not known */
	const char *name;	 /* NULL: not known */
	uint32_t process, number; /* as in the trace */
	int64_t begin_ns, end_ns; /* of its first and last event that was read */
	uint64_t lost;		  /* events */
	int64_t outside_ns;	  /* the part of this time outside all calls read; the rest is the sum of self_ns */
};

/*
 * A function as called by its parent, from one line: a node of the calling context tree. Parents come before their children.
 * Recursion continues below: a function may be its own ancestor.
 */
struct kymo_profile_node {
	uint32_t parent;   /* number among nodes; UINT32_MAX: none */
	uint32_t function; /* number among functions */
	uint32_t thread;   /* number among threads */
	uint32_t call_line; /* in the parent, if lines are wanted and known; else 0 */
	uint64_t calls;	   /* that were seen to begin */
	uint64_t resumes;  /* of generators and coroutines, which do not count as calls */
	int64_t self_ns;
	uint64_t self_err_ns; /* it was at most this much more or less */
	int64_t total_ns;     /* with all that it called: the sum of self_ns here and below */
	uint64_t total_err_ns;
	uint32_t flags;	      /* enum kymo_profile_node_flags */
	uint32_t reserved;
};

enum kymo_profile_node_flags {
	KYMO_PROFILE_CUT = 1 << 0, /* some of its calls were not seen to begin or to end */
	KYMO_PROFILE_MORE = 1 << 1, /* not a function, but all that was called here when there was no more room for nodes */
};

/* The time of a line, in all threads. */
struct kymo_profile_line {
	uint32_t function;
	uint32_t line;
	uint64_t hits;
	int64_t self_ns;
	uint64_t self_err_ns;
};

struct kymo_profile {
	size_t size; /* of this structure in the library: later versions may add fields at the end */
	uint64_t function_count, thread_count, node_count, line_count;
	const struct kymo_profile_function *functions; /* errors are less than the sums of those of their nodes */
	const struct kymo_profile_thread *threads;
	const struct kymo_profile_node *nodes;
	const struct kymo_profile_line *lines; /* by function and line */
	uint64_t events; /* events that were read, without lines */
	uint64_t lost;	 /* events */
	int64_t begin_ns, end_ns; /* of the first and last event that was read */
	int64_t started_unix_ns;  /* when the run began; 0: not known */
};

/* Read the trace @path, which may still be written.  0, or a negative errno with what is wrong in @error. */
KYMO_PROFILE_API int kymo_profile_read(const char *path, const struct kymo_profile_slice *slice,
				       const struct kymo_profile **profile, char *error, size_t error_bytes);
KYMO_PROFILE_API void kymo_profile_free(const struct kymo_profile *profile);

#ifdef __cplusplus
}
#endif

#endif
