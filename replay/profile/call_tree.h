// SPDX-License-Identifier: Apache-2.0
/*
 * Where the time of a run went: the calling context tree of its threads, with calls and times.
 *
 * A node is a function as called by its parent, from one line if lines are wanted. Recursion continues below: a function may be its
 * own ancestor. Memory grows with the number of nodes, which is limited, not with the trace.
 */
#ifndef KYMO_REPLAY_PROFILE_CALL_TREE_H
#define KYMO_REPLAY_PROFILE_CALL_TREE_H

#include "replay/profile/lookup.h"
#include "replay/profile/shares.h"
#include "replay/profile/slice.h"
#include "replay/profile/spread.h"

#define KYMO_CALL_TREE_NODES (1U << 20)
#define KYMO_CALL_NODE_NONE UINT32_MAX

/* A function: the same file, name and first line. Its times are in the share with its number + 1. */
struct kymo_called_function {
	const char *file, *name; /* NULL: none, or not known; as long as the timeline is open */
	uint32_t first_line;
	bool is_c;
	uint64_t calls, resumes; /* as of nodes, in total */
	uint64_t outermost;	 /* of both, those that began while the function was not running yet */
	uint32_t running;
};

/* A function as called by its parent. Its times are in the share with its number + 1. */
struct kymo_call_node {
	uint32_t parent; /* KYMO_CALL_NODE_NONE: none */
	uint32_t function, thread;
	uint32_t line;	 /* of the parent; 0: not wanted, or not known */
	uint64_t calls;	 /* that were seen to begin */
	uint64_t resumes;
	bool is_cut;	 /* some were not seen to begin or to end */
	bool is_more;	 /* not a function, but all that its parent called when there was no more room */
	uint32_t child;	 /* the child called last */
	uint32_t child_function, child_line;
};

struct kymo_called_line {
	uint32_t function, line;
	uint64_t hits;
};

struct kymo_called_thread {
	const struct kymo_stream *stream;
	int64_t begin_ns, end_ns;
	int64_t outside_ns; /* of these, outside wanted calls */
	uint64_t lost;
};

struct kymo_call_tree {
	struct kymo_timeline *timeline;
	bool wants_lines;
	uint32_t node_limit;
	uint64_t events, lost;
	struct kymo_called_function *functions;
	struct kymo_call_node *nodes; /* parents before their children */
	struct kymo_called_line *lines;
	struct kymo_called_thread *threads;
	size_t function_count, node_count, line_count, thread_count;
	struct kymo_shares node_shares, function_shares, line_shares; /* those of number + 1 */
	/* for its own use */
	struct kymo_spread spread;
	size_t function_capacity, node_capacity, line_capacity, thread_capacity;
	struct kymo_identity {
		const void *identity; /* a content, or the name of a function in C */
		uint32_t function;
	} *identities;
	size_t identity_count, identity_capacity;
	struct kymo_lookup by_identity, by_function, by_node, by_line;
	struct kymo_tree_call {
		uint32_t node, function;
		uint32_t line; /* share of the line where it is */
		bool is_inside_more; /* its caller is in the same node, which has is_more */
	} *open;
	size_t open_count, open_capacity;
};

/*
 * Read the part @slice of @timeline, which must outlive @tree. @node_limit: KYMO_CALL_TREE_NODES. Release it in any case.
 */
KYMO_MUST_CHECK
int kymo_call_tree_read(struct kymo_call_tree *tree, struct kymo_timeline *timeline, const struct kymo_slice *slice,
			bool wants_lines, uint32_t node_limit, struct kymo_error *error);
void kymo_call_tree_release(struct kymo_call_tree *tree);

#endif
