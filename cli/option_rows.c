// SPDX-License-Identifier: Apache-2.0
/* Going through the rows of a verb's tables. */
#include "cli/option_table.h"

const struct kymo_option *kymo_options_next(const struct kymo_verb *verb, const struct kymo_option *row,
					    const struct kymo_option_table **table)
{
	const struct kymo_option *last = row;

	for (size_t t = 0; t < KYMO_MAX_TABLES && verb->tables[t].rows; t++) {
		if (table)
			*table = &verb->tables[t];
		for (row = verb->tables[t].rows; row->help; row++) {
			if (!last)
				return row;
			if (row == last)
				last = NULL;
		}
	}
	return NULL;
}
