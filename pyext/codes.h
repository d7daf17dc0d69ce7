// SPDX-License-Identifier: Apache-2.0
/*
 * Codes: what is known of a code object, by its address.  A code watcher reports when it is destroyed.
 * Nothing is kept in the code object itself: one with an extra slot in use cannot be passed to another
 * interpreter.
 *
 * Every function is called with the interpreter's GIL held; interpreters with GILs of
 * their own share the tables below, under a lock.
 */
#ifndef KYMO_PYEXT_CODES_H
#define KYMO_PYEXT_CODES_H

#include "pyext/events/covered.h"
#include "pyext/python.h"
#include "pyext/values/code_values.h"

struct kymo_code {
	/* One cache line for what events read. */
	_Alignas(64) struct kymo_start start; /* the PY_START record for @id */
	uint32_t defined;    /* recording in which the code has an id */
	uint32_t id;         /* KYMO_ID_UNKNOWN: its definition was lost, and is tried again now and then */
	uint32_t first_line;
	uint32_t entry;      /* bytes: where PY_START is delivered, ... */
	PyObject *entry_int; /* ... as the interpreter passes it if that is a small int; or NULL, as for coroutines */
	PyCodeObject *code;
	uint32_t name;       /* name id, for calls of it ... */
	uint32_t named;      /* ... in this recording */
	uint32_t decided;    /* recording in which the filter was asked, and ... */
	bool is_wanted;      /* ... its answer */
	bool is_disabled;    /* DISABLE was returned for a place in this code */
	bool has_lines;      /* flow: its lines cannot be rebuilt, and are recorded */
	bool has_values;     /* its values are recorded */
	bool lines_are_on;   /* ... already; coverage: its own events were asked for */
	bool has_calls;      /* flow: some of its calls are sites */
	bool events_are_on;  /* exceptions, or calls, are switched on for it alone */
	uint32_t sights;     /* events since the definition was lost */
	uint16_t *sites;     /* flow: from kymo_flow_sites(); NULL for code whose lines are recorded */
	struct kymo_code_values values;
	struct kymo_covered covered;
	struct kymo_code *next; /* in its chain */
};

/*
 * The recording that ids belong to; 0 while there is none.  It may change under any GIL: read it before defining something,
 * and store it with the id.
 */
extern _Atomic uint32_t kymo_codes_generation __attribute__((visibility("hidden")));

/* The recording is one from which lines are rebuilt. */
extern _Atomic bool kymo_codes_flow __attribute__((visibility("hidden")));

/* Begin a recording: what codes hold from an earlier one is no longer valid.  0: it ends. */
void kymo_codes_begin(uint32_t generation, bool is_flow);

/* Watch for code objects of @python that are destroyed; false with an exception set. */
bool kymo_codes_attach(struct kymo_python *python);

/* The entry of @code, empty at first; NULL: not a code object, or no memory. */
struct kymo_code *kymo_code_of(struct kymo_python *python, PyObject *code);

/*
 * The same with the filter's decision in it and, if the code is wanted, an id.
 * NULL: nothing can be recorded of it.
 */
struct kymo_code *kymo_code_get(struct kymo_python *python, PyObject *code);

static inline uint32_t kymo_code_hash(const void *code)
{
	return (uint32_t)((uintptr_t)code >> 4) * 0x9e3779b1U;
}

/* The two places where @code is found if it was looked up lately. */
static inline struct kymo_code **kymo_code_recent(struct kymo_python *python, const void *code)
{
	return python->recent[kymo_code_hash(code) >> (32 - KYMO_RECENT_BITS)];
}

/* The entry of code that has an id and was looked up lately; otherwise NULL, then see kymo_code_get(). */
static inline const struct kymo_code *kymo_code_find(struct kymo_python *python, PyObject *code)
{
	struct kymo_code **recent = kymo_code_recent(python, code);
	const struct kymo_code *known = recent[0];

	/* Two, so that functions which call each other do not push each other out. */
	if (kymo_unlikely((PyObject *)known->code != code))
		known = recent[1];
	/* Relaxed: this GIL orders the accesses to @known. */
	if (kymo_likely((PyObject *)known->code == code && known->defined == kymo_load_relaxed_u32(&kymo_codes_generation)))
		return known;
	return NULL;
}

/* True if @code is known to be left out of this recording. */
static inline bool kymo_code_is_left_out(const struct kymo_python *python, const void *code)
{
	const struct kymo_code *known = python->codes[kymo_code_hash(code) >> (32 - KYMO_CODES_BITS)];

	while (known && (const void *)known->code != code)
		known = known->next;
	return known && known->decided == kymo_load_relaxed_u32(&kymo_codes_generation) && !known->is_wanted;
}

#endif
