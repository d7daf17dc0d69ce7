// SPDX-License-Identifier: Apache-2.0
#include "pyext/line_entries.h"

#include <stdlib.h>
#include <string.h>

/* Forms of an entry of co_linetable that say how the line changes. */
enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NO_LINE = 15 };

static uint64_t take_varint(struct kymo_line_entry *table)
{
	uint64_t value = 0;

	for (unsigned shift = 0; table->at < table->end && shift < 60; shift += 6) {
		uint8_t byte = *table->at++;

		value |= (uint64_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			break;
	}
	return value;
}

bool kymo_line_entry_next(struct kymo_line_entry *table)
{
	while (table->at < table->end) {
		unsigned head = *table->at++, form = head >> 3 & 15;

		table->unit += table->units;
		table->units = (head & 7) + 1;
		if (form == NO_COLUMNS || form == LONG) {
			uint64_t change = take_varint(table);

			table->line += change & 1 ? -(int64_t)(change >> 1) : (int64_t)(change >> 1);
		} else if (form >= ONE_LINE && form < NO_COLUMNS) {
			table->line += form - ONE_LINE;
		}
		while (table->at < table->end && !(*table->at & 0x80))
			table->at++;
		if (form != NO_LINE)
			return true;
	}
	return false;
}

struct kymo_line_entry kymo_line_entries(const PyCodeObject *code)
{
	const uint8_t *bytes = (const uint8_t *)PyBytes_AS_STRING(code->co_linetable);

	return (struct kymo_line_entry){
		.at = bytes,
		.end = bytes + PyBytes_GET_SIZE(code->co_linetable),
		.line = code->co_firstlineno,
	};
}

int32_t *kymo_code_lines(const PyCodeObject *code)
{
	size_t units = (size_t)Py_SIZE(code);
	int32_t *lines = malloc((units + 1) * sizeof(*lines));

	if (!lines)
		return NULL;
	memset(lines, -1, (units + 1) * sizeof(*lines));
	for (struct kymo_line_entry table = kymo_line_entries(code); kymo_line_entry_next(&table);)
		for (uint32_t unit = table.unit; unit < table.unit + table.units && unit < units; unit++)
			lines[unit] = (int32_t)table.line;
	return lines;
}
