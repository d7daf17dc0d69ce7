// SPDX-License-Identifier: Apache-2.0
/*
 * The values of a frame's variables where a replay stands, from the recorded values.
 *
 * These are the values just before the event: at a LINE, before the line runs. For a frame further out they are the last recorded
 * ones, most likely from the line that made the call. If only arguments are recorded, they are those of the call.
 */
#ifndef KYMO_REPLAY_MOVES_VARIABLES_H
#define KYMO_REPLAY_MOVES_VARIABLES_H

#include "replay/moves/replay.h"
#include "replay/values/values.h"

enum kymo_variable_scope {
	KYMO_SCOPE_ARGUMENT,
	KYMO_SCOPE_LOCAL,  /* in a module or class body: the names that it uses */
	KYMO_SCOPE_GLOBAL, /* the globals that a function names */
	KYMO_SCOPE_OWN,	   /* the value that is returned, yielded or raised at the event; it has no name */
};

enum kymo_variable_state {
	KYMO_VARIABLE_TOLD,
	KYMO_VARIABLE_UNBOUND, /* it had no value */
	KYMO_VARIABLE_NOT_RECORDED,
};

struct kymo_variable {
	const char *name; /* NULL: of OWN, or not known */
	uint64_t number;  /* as kymo_value.name */
	enum kymo_variable_scope scope;
	enum kymo_variable_state state;
	/* of a recorded value: its node in kymo_variables.tree, which may itself be REDACTED or CUT; else 0 */
	uint32_t node;
	/* the event that recorded it, its line or KYMO_LINE_NONE, and its time */
	struct kymo_position at;
	int64_t line;
	int64_t t_ns;
};

/* Why something is not recorded. */
enum kymo_untold {
	KYMO_TOLD = 0,
	KYMO_UNTOLD_NO_VALUES, /* the run was recorded without values */
	KYMO_UNTOLD_LEFT_OUT,  /* not in this function, or only its arguments */
	KYMO_UNTOLD_LOST,      /* events are missing since it was recorded */
};

struct kymo_variables {
	struct kymo_variable *items; /* arguments, locals, globals, in the order of the code; then OWN */
	uint32_t count;
	size_t capacity;
	struct kymo_value_tree tree;
	const struct kymo_code *code; /* of the frame; NULL: not known */
	const struct kymo_traced_process *process;
	enum kymo_untold untold; /* why some are NOT_RECORDED */
	uint8_t *payload, *own_payload; /* the payloads that the tree points into */
};

/*
 * The variables of frame @frame of the stack, 0 the innermost, to @variables. The caller releases it whatever is returned; it stays
 * valid until then, wherever the replay goes. 0, or a negative errno; -ENOENT: no such frame.
 */
KYMO_MUST_CHECK
int kymo_variables_read(struct kymo_replay *replay, size_t frame, struct kymo_variables *variables, struct kymo_error *error);
/* The same for the frame on top where @walker stands, which walks the trace of @index. */
KYMO_MUST_CHECK
int kymo_variables_at(struct kymo_index *index, const struct kymo_walker *walker, struct kymo_variables *variables, struct kymo_error *error);
void kymo_variables_release(struct kymo_variables *variables);

/* The local variable of that name, or else the global one; NULL: there is none. One without a record has no value, or was not recorded. */
const struct kymo_variable *kymo_variables_find(const struct kymo_variables *variables, const char *name);
/* The value that is returned, yielded or raised; NULL: none, or it was not recorded. */
const struct kymo_variable *kymo_variables_own(const struct kymo_variables *variables);

/* Why some of @variables are not recorded, in a few words: "the recording has no values". */
const char *kymo_untold_text(enum kymo_untold untold);

/*
 * The value of @path, `order.items["tea"][0].x`: a variable, then attributes, and items by an int or a str. *@node is in
 * variables->tree. 0; -EINVAL: not a path; -ENODATA: nothing was recorded there; both with a line that says what.
 */
KYMO_MUST_CHECK
int kymo_variables_path(const struct kymo_variables *variables, const char *path, uint32_t *node, struct kymo_error *error);

#endif
