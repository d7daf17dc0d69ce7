// SPDX-License-Identifier: Apache-2.0
/*
 * One client of the debug adapter, from its first message to its last. Only for the files dap_*.c.
 *
 * A request is answered before the next one is read: nothing happens in between, as a replay never runs by itself.
 */
#ifndef KYMO_REPLAY_DEBUGGER_DAP_SESSION_H
#define KYMO_REPLAY_DEBUGGER_DAP_SESSION_H

#include <errno.h>

#include "replay/debugger/dap.h"
#include "replay/debugger/dap_wire.h"
#include "replay/index/indexed.h"
#include "replay/moves/replay.h"
#include "replay/trace/shown_files.h"

/* The stack of one thread where the replay stands; made when it is asked for. */
struct kymo_dap_view {
	size_t stream;
	struct kymo_stack stack;
	char *missing;     /* what is not known of it, below all frames; NULL: nothing */
	uint32_t first_id; /* of its frames, from the one on top on */
};

/* What a client may go to. */
struct kymo_dap_target {
	uint32_t id;
	struct kymo_moment moment;
};

struct kymo_dap {
	const struct kymo_dap_options *options;
	struct kymo_dap_wire wire;
	uint64_t sent;  /* messages */
	json_t *events; /* to be sent behind the response */
	bool is_over;   /* the client has left */
	bool is_initialized;
	int64_t lines_from, columns_from; /* what the client calls the first one */
	bool shows_types;
	bool has_uris; /* paths of sources are file: URIs for the client */

	bool has_trace; /* it was launched */
	struct kymo_indexed trace;
	struct kymo_replay replay; /* where it stands, and where it stops */
	struct kymo_replay logs;   /* its breaks are the log points */
	struct kymo_replay side;   /* to look elsewhere from there */
	uint32_t last_point_id;
	char *source_root;
	struct kymo_dap_file *files; /* by name: see dap_files.h */
	size_t file_count;
	struct kymo_shown_files shown;
	bool stops_on_entry, is_configured, goes_on_forwards;

	struct kymo_dap_view *views;
	size_t view_count, view_capacity;
	uint32_t last_frame_id;
	struct kymo_dap_values **values; /* that were asked for: see dap_values.h */
	size_t value_count, value_capacity;
	uint32_t last_reference;
	struct kymo_watchpoint *watches; /* that the client knows; those that are set are the replay's */
	size_t watch_count, watch_capacity, set_capacity;
	struct kymo_dap_target *targets;
	size_t target_count, target_capacity;
	uint32_t last_target_id;
};

/* Returns when the client has left; a negative errno when it cannot be understood or reached any more. */
KYMO_MUST_CHECK
int kymo_dap_session(const struct kymo_dap_options *options, int in, int out, struct kymo_error *error);

/* One line for whoever started the server. */
void kymo_dap_warn(const struct kymo_error *error);

/* Answers a request: 0, and @body, which may stay NULL; or a negative errno. */
typedef int (*kymo_dap_request)(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);

/* A text of a trace or a message as JSON; bytes that are no UTF-8 are escaped. */
json_t *kymo_dap_text(const char *text);
/* @body, or the error that there was no memory for it. */
KYMO_MUST_CHECK
int kymo_dap_answer(json_t **body, json_t *value, struct kymo_error *error);
/* Have the event sent behind the response; takes over @body. */
void kymo_dap_event(struct kymo_dap *dap, const char *event, json_t *body);
/* Show @text in the client's console; @category as the protocol has it. */
void kymo_dap_output(struct kymo_dap *dap, const char *category, const char *text);

/* What a request says; NULL and @otherwise: it says nothing, or something else. */
const char *kymo_dap_string(const json_t *arguments, const char *name);
int64_t kymo_dap_integer(const json_t *arguments, const char *name, int64_t otherwise);
/* The thread that "threadId" names. */
KYMO_MUST_CHECK
int kymo_dap_thread(const struct kymo_dap *dap, const json_t *arguments, size_t *stream, struct kymo_error *error);

static inline int64_t kymo_dap_thread_id(size_t stream)
{
	return (int64_t)stream + 1;
}

/* dap_launch.c */
int kymo_dap_initialize(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_launch(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_attach(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_configuration_done(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_terminate(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
/* Close the trace. */
void kymo_dap_close(struct kymo_dap *dap);
int kymo_dap_disconnect(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);

/* dap_breakpoints.c */
int kymo_dap_set_breakpoints(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_set_function_breakpoints(struct kymo_dap *dap, const json_t *arguments, json_t **body,
				      struct kymo_error *error);
int kymo_dap_set_exception_breakpoints(struct kymo_dap *dap, const json_t *arguments, json_t **body,
				       struct kymo_error *error);
int kymo_dap_breakpoint_locations(struct kymo_dap *dap, const json_t *arguments, json_t **body,
				  struct kymo_error *error);
void kymo_dap_remove_breakpoints(struct kymo_dap *dap);

/* dap_stack.c */
int kymo_dap_threads(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_stack_trace(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
/* The id of the frame that "frameId" names; of the one on top where it stands, if nothing does. */
KYMO_MUST_CHECK
int kymo_dap_frame_id(struct kymo_dap *dap, const json_t *arguments, int64_t *id, struct kymo_error *error);
/*
 * A replay that stands where it has the frame @id, as its frame *@frame, 0 the innermost; valid until the next call, and not to be
 * moved. NULL: not a frame, but the label for missing ones.
 */
KYMO_MUST_CHECK
int kymo_dap_stand_in(struct kymo_dap *dap, int64_t id, struct kymo_replay **replay, size_t *frame, struct kymo_error *error);
/* The replay stands elsewhere. */
void kymo_dap_forget_views(struct kymo_dap *dap);
/* Report the new position, and why it stopped; @more: of the body, or NULL; taken over. */
void kymo_dap_stopped(struct kymo_dap *dap, const char *reason, const char *description, json_t *more);

/* dap_variables.c */
int kymo_dap_scopes(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_variables(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_exception_info(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);

/* dap_watches.c */
int kymo_dap_data_breakpoint_info(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_set_data_breakpoints(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
/* Report a stop where a watched variable has changed or, if @stop is KYMO_STOP_WATCH_OVER, has not. */
void kymo_dap_tell_watch(struct kymo_dap *dap, int stop);
/* True where the call begins or ends in which something is watched. */
bool kymo_dap_is_at_edge(const struct kymo_dap *dap);
void kymo_dap_forget_watches(struct kymo_dap *dap);

/* dap_files.c */
int kymo_dap_source(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_loaded_sources(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);

/* dap_moves.c */
int kymo_dap_next(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_step_in(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_step_out(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_step_back(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_continue(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_reverse_continue(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_pause(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
/* To the next breakpoint, or the one before. */
KYMO_MUST_CHECK
int kymo_dap_run(struct kymo_dap *dap, bool is_forwards, struct kymo_error *error);
/* Report that @stream, where it stood, and all other threads continued, before a stop that no request to move has caused. */
void kymo_dap_tell_leaving(struct kymo_dap *dap, size_t stream);
/* The same as kymo_dap_stopped(), for a stop that no request to move has caused. */
void kymo_dap_arrived(struct kymo_dap *dap);

/* dap_goto.c */
int kymo_dap_goto_targets(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);
int kymo_dap_goto(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);

/* dap_evaluate.c */
int kymo_dap_evaluate(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error);

#endif
