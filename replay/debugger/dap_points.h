// SPDX-License-Identifier: Apache-2.0
/*
 * What a client attaches to a breakpoint: when it counts, and what is printed instead of stopping.
 */
#ifndef KYMO_REPLAY_DEBUGGER_DAP_POINTS_H
#define KYMO_REPLAY_DEBUGGER_DAP_POINTS_H

#include "replay/debugger/condition.h"
#include "replay/debugger/dap_session.h"

struct kymo_dap_log_part {
	char *text;
	struct kymo_condition *value; /* what stands there instead; NULL: the text */
};

/* The context of a struct kymo_break. */
struct kymo_dap_point {
	const char *file;                 /* exactly, as code objects have it; NULL: in any */
	uint32_t shown_id;                /* of the breakpoint, for the client */
	struct kymo_condition *condition; /* NULL: none */
	char hits_compare;                /* with the number: '=', '>', 'G' for >=, '<', 'L' for <=, '%'; 0: not */
	uint64_t hits_number;
	struct kymo_dap_log_part *log; /* NULL: it stops */
	size_t log_count, log_capacity;
};

/* What @breakpoint, as a client describes it, asks for of what @index is of.  NULL: it cannot be had; @error says why. */
struct kymo_dap_point *kymo_dap_point_new(const json_t *breakpoint, struct kymo_index *index, struct kymo_error *error);
void kymo_dap_point_free(struct kymo_dap_point *point);

/* Make it the context of @at. */
void kymo_dap_point_apply(struct kymo_dap_point *point, struct kymo_break *at);

/* What a log point prints at a hit, with a line feed; to be freed.  NULL: no memory. */
char *kymo_dap_point_log(const struct kymo_dap_point *point, const struct kymo_walker *walker, uint64_t hits);

#endif
