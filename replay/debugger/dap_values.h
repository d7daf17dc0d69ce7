// SPDX-License-Identifier: Apache-2.0
/*
 * Values as clients are shown them: a tree of variables that opens level by level, each one's items by a reference.
 *
 * A frame's variables are read when they are asked for, and are good until the replay moves.  A reference stands for a node of what was
 * read, so that asking again takes no memory.  For the files dap_*.c alone.
 */
#ifndef KYMO_REPLAY_DEBUGGER_DAP_VALUES_H
#define KYMO_REPLAY_DEBUGGER_DAP_VALUES_H

#include "replay/debugger/dap_session.h"
#include "replay/moves/variables.h"

/* Bytes of a value's text in a list of variables, and where it is looked at alone. */
#define KYMO_DAP_LISTED_BYTES 1024U
#define KYMO_DAP_HOVER_BYTES 8192U
/* References end there, with room for what a client adds to them; a stop that has given out that many gives out no more. */
#define KYMO_DAP_MAX_REFERENCE (1U << 30)

enum kymo_dap_scope { KYMO_DAP_LOCALS, KYMO_DAP_GLOBALS, KYMO_DAP_OWN, KYMO_DAP_SCOPES };

/* The variables of one frame.  Its scopes have the references from @first on, then come the nodes of its values. */
struct kymo_dap_values {
	struct kymo_variables variables;
	int64_t frame; /* id */
	unsigned kind; /* of the event there */
	bool is_of_call; /* only arguments are recorded, as they were at the call: they may have other values by now */
	struct kymo_dap_values *returned; /* of the call that has just ended there: what that returned or yielded; NULL: none, or not recorded */
	uint32_t first;
	uint32_t *parents; /* by node; 0: none.  Made when they are asked for */
	uint32_t *by_id;   /* nodes that have one, SEEN left out, in its order; made with @parents */
	uint32_t id_count;
};

/* Those of the frame @id, read now if they were not; valid until the replay moves. */
KYMO_MUST_CHECK
int kymo_dap_frame_values(struct kymo_dap *dap, int64_t id, struct kymo_dap_values **out, struct kymo_error *error);
/* Forget all but the first @count; all, where the replay stands elsewhere. */
void kymo_dap_forget_values_from(struct kymo_dap *dap, size_t count);
void kymo_dap_forget_values(struct kymo_dap *dap);
/* Those that the reference @reference is of; NULL: none. */
struct kymo_dap_values *kymo_dap_find_values(const struct kymo_dap *dap, int64_t reference);

/* What a client wants of the items of a value. */
struct kymo_dap_page {
	int64_t start, left;
	bool is_indexed, is_named; /* wanted */
};
/* True: the next of them is on the page. */
bool kymo_dap_page_takes(struct kymo_dap_page *page);

/* What node @node is, in @shown, below the key @key ("value", "result"): text of about @bytes at most, type, and how to open it. */
void kymo_dap_put_value(const struct kymo_dap *dap, json_t *shown, const char *key, struct kymo_dap_values *values, uint32_t node,
			size_t bytes);
/* Add when it was so to what stands below @key, where that is not now. */
void kymo_dap_put_when(json_t *shown, const char *key, const struct kymo_dap_values *values);
/* The items of node @node, in @variables. */
void kymo_dap_put_items(const struct kymo_dap *dap, json_t *variables, struct kymo_dap_values *values, uint32_t node,
			struct kymo_dap_page page);

/* An expression for @node or, where @item is not NULL, the item that a client knows by that name; NULL: none leads there.  To be freed. */
char *kymo_dap_path(struct kymo_dap_values *values, uint32_t node, const char *item);

#endif
