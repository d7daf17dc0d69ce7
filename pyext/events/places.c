// SPDX-License-Identifier: Apache-2.0
#include "pyext/cpython/frames.h"

#include <stdlib.h>

#include "pyext/events/arms.h"
#include "pyext/cpython/code_writes.h"
#include "pyext/events/places.h"
#include "pyext/line_entries.h"
#include "pyext/tool.h"

#define EVENT(kind) (UINT64_C(1) << KYMO_##kind)
#define LOCAL (EVENT(LINE) | EVENT(BRANCH) | EVENT(BRANCH_LEFT) | EVENT(BRANCH_RIGHT))

bool kymo_places_are_local(const Kymo__Config *config)
{
	return config->once && config->events & EVENT(PY_START) && config->events & EVENT(LINE) &&
	       !(config->events & ~(EVENT(PY_START) | LOCAL));
}

static bool is_marked(const struct kymo_code *known, int64_t line)
{
	return line >= 0 && line < known->covered.line_count && known->covered.lines[line >> 3] >> (line & 7) & 1;
}

/* Mark @line, counted from the first one; true if it was not marked. */
static bool mark(struct kymo_code *known, int64_t line)
{
	if (line < 0 || line >= known->covered.line_count || is_marked(known, line))
		return false;
	known->covered.lines[line >> 3] |= (uint8_t)(1U << (line & 7));
	return true;
}

/* Count the lines of @known that can have an event; false: they cannot be counted. */
static bool count_lines(struct kymo_code *known)
{
	struct kymo_line_entry table = kymo_line_entries(known->code);
	uint32_t found = 0;
	int64_t last = 0;

	while (kymo_line_entry_next(&table)) {
		if (table.line < known->first_line || table.line - known->first_line > UINT16_MAX)
			return false;
		if (table.line > known->first_line + last)
			last = table.line - known->first_line;
	}
	known->covered.line_count = (uint32_t)last + 1;
	known->covered.lines = calloc(known->covered.line_count / 8 + 1, 1);
	if (!known->covered.lines)
		return false;
	/* The first line is that of the `def` or the like, and PY_START stands for it, too. */
	mark(known, 0);
	for (table = kymo_line_entries(known->code); kymo_line_entry_next(&table);)
		found += mark(known, table.line - known->first_line);
	memset(known->covered.lines, 0, known->covered.line_count / 8 + 1);
	mark(known, 0);
	known->covered.lines_left = found;
	return true;
}

void kymo_places_open(struct kymo_python *python, struct kymo_code *known)
{
	unsigned long events = python->local_events;

	if (known->lines_are_on)
		return;
	/* Modules and bodies of classes run once: counting their lines would cost more than it saves. */
	if (known->code->co_flags & CO_OPTIMIZED && !known->covered.lines && count_lines(known) && !known->covered.lines_left)
		events &= ~python->line_event;
	known->lines_are_on = !events || kymo_tool_set_local(python, known->code, events);
}

/* Switch LINE off wherever a seen line begins. */
static void quiet(const struct kymo_python *python, struct kymo_code *known)
{
	uint32_t units = (uint32_t)Py_SIZE(known->code);
	PyObject *bytes = NULL;

	if (!known->covered.lines)
		return;
	for (struct kymo_line_entry table = kymo_line_entries(known->code); kymo_line_entry_next(&table);) {
		if (!is_marked(known, table.line - known->first_line))
			continue;
		for (uint32_t unit = table.unit; unit < table.unit + table.units && unit < units; unit++) {
			if (!kymo_line_is_on(python, known->code, unit) || kymo_arms_need(known, unit))
				continue;
			if (!bytes)
				bytes = kymo_code_bytes(known->code);
			if (bytes)
				kymo_line_switch_off(python, known->code, unit, (const uint8_t *)PyBytes_AS_STRING(bytes));
		}
	}
	Py_XDECREF(bytes);
}

bool kymo_places_repeat(struct kymo_python *python, struct kymo_code *known)
{
	if (kymo_places_are_often(known))
		return true;
	if (++known->covered.repeats < KYMO_REPEATS)
		return false;
	if (!KYMO_HAS_BRANCH_SIDES)
		kymo_arms_read(known);
	quiet(python, known);
	return true;
}

bool kymo_places_add_line(struct kymo_python *python, struct kymo_code *known, uint32_t line)
{
	if (!known->covered.lines)
		return false;
	known->covered.lines_left -= mark(known, (int64_t)line - known->first_line);
	if (!known->covered.lines_left && !kymo_arms_are_pending(known))
		return kymo_tool_set_local(python, known->code, python->local_events & ~python->line_event);
	/* Not at each new line: it walks the whole code object. */
	if (kymo_places_are_often(known) && !(known->covered.lines_left & (known->covered.lines_left - 1)))
		quiet(python, known);
	return false;
}

void kymo_places_begin(struct kymo_python *python)
{
	for (const void *frame = kymo_frame_now(); frame; frame = kymo_frame_caller(frame)) {
		struct kymo_code *known = kymo_code_get(python, (PyObject *)kymo_frame_code(frame));

		if (known && known->is_wanted && python->local_events)
			kymo_places_open(python, known);
	}
}
