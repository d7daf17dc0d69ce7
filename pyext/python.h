// SPDX-License-Identifier: Apache-2.0
/*
 * One interpreter of the process, as the recorder's host.
 *
 * Callbacks may come as long as the process lives: from daemon threads while the
 * interpreter ends, and after recording has stopped.  So these structs, and all that a
 * callback touches, are never freed.
 */
#ifndef KYMO_PYEXT_PYTHON_H
#define KYMO_PYEXT_PYTHON_H

#include "pyext/cpython/cpython.h"
#include "recorder/recorder.h"

/* For code that runs once per event: fast paths inlined, the rest out of line. */
#define kymo_inline static inline __attribute__((always_inline))
#define kymo_out_of_line __attribute__((noinline))
#define kymo_cold __attribute__((noinline, cold))

#define KYMO_TOOL_IDS 6
#define KYMO_RECENT_BITS 10
#define KYMO_CODES_BITS 14

struct kymo_code;
struct kymo_name_entry;
struct kymo_tasks;
struct kymo_secrets;
struct kymo_value_types;
struct kymo_value_recorder;

struct kymo_python {
	struct kymo_host host; /* first: the recorder passes this back */
	struct kymo_gil gil;
	bool is_filtered;      /* there may be frames that are not recorded between those that are */
	bool switches_stacks;  /* greenlets are in use: a thread may go on with another stack without an event */
	bool entering;         /* the event at hand entered a frame that was not on the stack before */
	int tool;              /* id with sys.monitoring, or -1 */
	unsigned long local_events; /* coverage: events switched on code by code, as a mask of sys.monitoring; 0: for all code at once */
	unsigned long line_event;   /* the bit of LINE */
	unsigned long local_calls; /* flow: switched on for code that has sites at calls */
	unsigned long local_exceptions; /* switched on for recorded code alone, when it is first seen; 0: for all code */
	bool writes_code;      /* coverage: see kymo_code_writes_begin() */
	uint32_t recording;    /* the recording that its callbacks were made for */
	struct kymo_code *codes[1 << KYMO_CODES_BITS]; /* all that are known, in chains, by address */
	struct kymo_code *recent[1 << KYMO_RECENT_BITS][2]; /* by address; see kymo_code_find() */
	struct kymo_name_entry *names; /* cache, by address */
	struct kymo_tasks *tasks;
	struct kymo_value_types *value_types; /* cache, by address */
	struct kymo_secrets *secrets; /* names whose values are not recorded */
	signed char knows_arrow; /* 1: the layout of pyarrow's text is known; -1: it is not; 0: not checked yet */
	struct kymo_value_recorder *values; /* NULL: none are recorded */
	PyObject *callback_type;
	PyTypeObject *method_wrapper; /* it has no name in the API */
	PyObject *disable;     /* sys.monitoring.DISABLE */
	PyObject *threading, *active, *name; /* strings to look up with */
	PyObject *linecache, *cache, *interactive_cache, *getlines; /* more of them */
	struct kymo_python *next;
};

/* The calling interpreter's; made at the first call (host.c).  NULL with an exception set. */
struct kymo_python *kymo_python_get(void);

/* The calling interpreter's if it has been made; otherwise NULL. */
struct kymo_python *kymo_python_find(void);

/* Make @python known to these functions.  For host.c alone. */
void kymo_python_add(struct kymo_python *python);

#endif
