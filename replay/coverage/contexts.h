// SPDX-License-Identifier: Apache-2.0
/*
 * Contexts, such as the running test, from marks in a trace: "context:NAME" where one begins, "context:" where it ends.
 *
 * A context applies to a whole process. Its other threads are in it from their first turn of the GIL after that of the mark; if the
 * order of turns is not known, by time. A process without such marks, or before its first, is in the context in which its nearest
 * ancestor with marks was at the time.
 */
#ifndef KYMO_REPLAY_COVERAGE_CONTEXTS_H
#define KYMO_REPLAY_COVERAGE_CONTEXTS_H

#include "replay/trace/timeline.h"

struct kymo_context_mark {
	const char *name;
	uint32_t context;
	uint32_t interpreter;
	uint64_t slice; /* 0: not known */
	int64_t t_ns;
	size_t order; /* order of discovery: within a thread, the order of the marks */
};

/* By kymo_traced_process in definitions.processes. */
struct kymo_process_contexts {
	struct kymo_context_mark *marks; /* in order */
	size_t count, capacity;
	bool is_by_turn; /* all marks are of one GIL, whose turns are known */
};

struct kymo_contexts {
	struct kymo_timeline *timeline;
	const char **names; /* by number, in the order of strcmp(); the first is "": no context */
	uint32_t count;
	struct kymo_process_contexts *processes;
};

/* Find the contexts of @timeline, which must outlive @contexts.  Release it in any case. */
KYMO_MUST_CHECK
int kymo_contexts_find(struct kymo_contexts *contexts, struct kymo_timeline *timeline, struct kymo_error *error);
/* The same; -ENOENT: no context is @test or a phase of it. */
KYMO_MUST_CHECK
int kymo_contexts_find_test(struct kymo_contexts *contexts, struct kymo_timeline *timeline, const char *test,
			    struct kymo_error *error);
void kymo_contexts_release(struct kymo_contexts *contexts);

/* The context that begins, or ends, at a mark with @text (NULL: not defined); KYMO_CONTEXT_SAME: not a context's mark. */
#define KYMO_CONTEXT_SAME UINT32_MAX
uint32_t kymo_contexts_number(const struct kymo_contexts *contexts, const char *text);

/* True if context @number is @test, or one of its phases: "TEST|setup". */
bool kymo_context_is_of(const struct kymo_contexts *contexts, uint32_t number, const char *test);

struct kymo_context_place {
	uint32_t context;
	int64_t until_ns; /* if found by time, valid until before this; INT64_MAX: while the turn lasts */
};
/* The context of @process at @t_ns, in the turn @slice (0: not known) of @interpreter, in which no other thread's marks lie. */
struct kymo_context_place kymo_contexts_at(const struct kymo_contexts *contexts,
					   const struct kymo_traced_process *process, uint32_t interpreter,
					   uint64_t slice, int64_t t_ns);

/* The context of one thread, by its own marks or those of others; all zero before its first event. */
struct kymo_context_walk {
	struct kymo_context_place place;
	uint64_t turn;
	uint32_t interpreter;
	bool is_wanted;
};
/* True if @event, the next one of its thread, belongs to @test; so do the marks that begin and end it. */
bool kymo_context_walk_to(struct kymo_context_walk *walk, const struct kymo_contexts *contexts, const struct kymo_event *event,
			  const char *test);

#endif
