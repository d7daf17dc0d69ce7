// SPDX-License-Identifier: Apache-2.0
#include "replay/trace/line_table.h"

#include <stdbool.h>

enum location_code {
	LOCATION_SHORT_LAST = 9,
	LOCATION_ONE_LINE = 10,
	LOCATION_ONE_LINE_LAST = 12,
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
};

struct input {
	const uint8_t *at, *end;
};

/* Six bits a byte, lowest first, 0x40 on all but the last; unlike the LEB128 of our own format. */
static bool get_varint(struct input *input, uint32_t *value)
{
	unsigned shift = 0;

	*value = 0;
	while (input->at < input->end && shift < 32) {
		uint8_t byte = *input->at++;

		*value |= (uint32_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			return true;
		shift += 6;
	}
	return false;
}

static bool get_line_step(struct input *input, uint32_t *step)
{
	uint32_t value;

	if (!get_varint(input, &value))
		return false;
	*step = value & 1 ? 0U - (value >> 1) : value >> 1;
	return true;
}

/* Read what follows an entry's first byte and advance @line. */
static bool get_entry(struct input *input, unsigned code, uint32_t *line)
{
	uint32_t step = 0, ignored;
	size_t columns = 0;

	if (code <= LOCATION_SHORT_LAST) {
		columns = 1;
	} else if (code <= LOCATION_ONE_LINE_LAST) {
		step = code - LOCATION_ONE_LINE;
		columns = 2;
	} else if (code != LOCATION_NONE && !get_line_step(input, &step)) {
		return false;
	}
	/* Skip three numbers. NOLINTNEXTLINE(misc-redundant-expression) */
	if (code == LOCATION_LONG && (!get_varint(input, &ignored) || !get_varint(input, &ignored) ||
				      !get_varint(input, &ignored)))
		return false;
	if ((size_t)(input->end - input->at) < columns)
		return false;
	input->at += columns;
	*line += step;
	return true;
}

size_t kymo_line_table_decode(const uint8_t *table, size_t bytes, uint32_t first_line,
			      int32_t *lines, size_t units)
{
	struct input input = {table, table + bytes};
	uint32_t line = first_line;
	size_t unit = 0;

	while (input.at < input.end) {
		uint8_t head = *input.at++;
		unsigned code = head >> 3 & 15, length = (head & 7) + 1U;
		int32_t value;

		if (!(head & 0x80) || !get_entry(&input, code, &line))
			break;
		value = code == LOCATION_NONE || line > INT32_MAX ? KYMO_LINE_NONE : (int32_t)line;
		for (unsigned i = 0; i < length; i++, unit++)
			if (unit < units)
				lines[unit] = value;
	}
	return unit;
}
