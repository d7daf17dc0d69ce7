// SPDX-License-Identifier: Apache-2.0
#include "pyext/cpython/object_layout.h"

#include "pyext/values/times.h"

#include <datetime.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The layout since 3.2; no header has it. */
struct fixed_offset {
	PyObject_HEAD
	PyDateTime_Delta *offset;
	PyObject *name; /* NULL: none was given */
};

struct line {
	char *at;
	size_t room;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
	va_list arguments;
	int bytes;

	va_start(arguments, format);
	bytes = vsnprintf(line->at, line->room, format, arguments);
	va_end(arguments);
	if (bytes > 0 && (size_t)bytes < line->room) {
		line->at += bytes;
		line->room -= (size_t)bytes;
	}
}

static void add_fraction(struct line *line, int microseconds)
{
	if (microseconds)
		add(line, ".%06d", microseconds);
}

static void add_date(struct line *line, PyObject *date)
{
	add(line, "%04d-%02d-%02d", PyDateTime_GET_YEAR(date), PyDateTime_GET_MONTH(date), PyDateTime_GET_DAY(date));
}

/* An offset of at most a day, as +HH:MM and finer parts. */
static void add_offset(struct line *line, const PyDateTime_Delta *offset)
{
	int microseconds = offset->microseconds, seconds = offset->days * 86400 + offset->seconds;
	char sign = '+';

	if (seconds < 0) {
		sign = '-';
		seconds = -seconds;
		if (microseconds) {
			seconds--;
			microseconds = 1000000 - microseconds;
		}
	}
	add(line, "%c%02d:%02d", sign, seconds / 3600, seconds / 60 % 60);
	if (seconds % 60 || microseconds)
		add(line, ":%02d", seconds % 60);
	add_fraction(line, microseconds);
}

static const struct fixed_offset *fixed_offset(struct kymo_python *python, PyObject *zone)
{
	const struct kymo_value_type *type = kymo_value_type_of(python, Py_TYPE(zone));
	const struct fixed_offset *fixed = (const void *)zone;

	if (type->layout != KYMO_LAYOUT_LIBRARY || type->detail != KYMO_LIBRARY_TIMEZONE ||
	    Py_TYPE(zone)->tp_basicsize != sizeof(*fixed))
		return NULL;
	return fixed;
}

PyObject *kymo_zone_name(struct kymo_python *python, PyObject *zone)
{
	const struct fixed_offset *fixed = fixed_offset(python, zone);

	return fixed && fixed->name && PyUnicode_Check(fixed->name) ? fixed->name : NULL;
}

/* The key of a ZoneInfo, which is in a slot; NULL: it has none, or is not a ZoneInfo. */
static const char *zone_key(PyObject *zone)
{
	const PyTypeObject *type = Py_TYPE(zone);

	while (type && !(type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE && !strcmp(type->tp_name, "zoneinfo.ZoneInfo")))
		type = type->tp_base;
	for (const PyMemberDef *member = type ? type->tp_members : NULL; member && member->name; member++) {
		PyObject *key = kymo_is_slot(member) && !strcmp(member->name, "key") ? kymo_slot_value(zone, member) : NULL;

		if (key && PyUnicode_CheckExact(key) && PyUnicode_IS_COMPACT_ASCII(key) && PyUnicode_GET_LENGTH(key) < KYMO_TIME_ZONE)
			return (const char *)PyUnicode_1BYTE_DATA(key);
	}
	return NULL;
}

/* The offset of other zones takes their own code to find: write the zone's name if it has one, as in RFC 9557. */
static void add_zone(struct line *line, struct kymo_python *python, PyObject *zone)
{
	const struct fixed_offset *fixed;

	if (zone == Py_None)
		return;
	fixed = fixed_offset(python, zone);
	if (fixed)
		add_offset(line, fixed->offset);
	else if (zone_key(zone))
		add(line, "[%s]", zone_key(zone));
	else
		add(line, "+??:??");
}

static void add_timedelta(struct line *line, const PyDateTime_Delta *delta)
{
	if (delta->days)
		add(line, "%d day%s, ", delta->days, abs(delta->days) == 1 ? "" : "s");
	add(line, "%d:%02d:%02d", delta->seconds / 3600, delta->seconds / 60 % 60, delta->seconds % 60);
	add_fraction(line, delta->microseconds);
}

static bool add_timezone(struct line *line, struct kymo_python *python, PyObject *zone)
{
	const struct fixed_offset *fixed = fixed_offset(python, zone);

	if (!fixed || fixed->name)
		return false;
	add(line, "UTC");
	if (fixed->offset->days || fixed->offset->seconds || fixed->offset->microseconds)
		add_offset(line, fixed->offset);
	return true;
}

bool kymo_time_text(struct kymo_python *python, PyObject *object, enum kymo_library_type type, char text[KYMO_TIME_TEXT])
{
	struct line line = {.at = text, .room = KYMO_TIME_TEXT};

	(void)PyDateTimeAPI; /* the header defines it; nothing is asked of the module */
	switch (type) {
	case KYMO_LIBRARY_DATE:
		add_date(&line, object);
		return true;
	case KYMO_LIBRARY_DATETIME:
		add_date(&line, object);
		add(&line, " %02d:%02d:%02d", PyDateTime_DATE_GET_HOUR(object), PyDateTime_DATE_GET_MINUTE(object),
		    PyDateTime_DATE_GET_SECOND(object));
		add_fraction(&line, PyDateTime_DATE_GET_MICROSECOND(object));
		add_zone(&line, python, PyDateTime_DATE_GET_TZINFO(object));
		return true;
	case KYMO_LIBRARY_TIME:
		add(&line, "%02d:%02d:%02d", PyDateTime_TIME_GET_HOUR(object), PyDateTime_TIME_GET_MINUTE(object),
		    PyDateTime_TIME_GET_SECOND(object));
		add_fraction(&line, PyDateTime_TIME_GET_MICROSECOND(object));
		add_zone(&line, python, PyDateTime_TIME_GET_TZINFO(object));
		return true;
	case KYMO_LIBRARY_TIMEDELTA:
		add_timedelta(&line, (PyDateTime_Delta *)object);
		return true;
	case KYMO_LIBRARY_TIMEZONE:
		return add_timezone(&line, python, object);
	default:
		return false;
	}
}
