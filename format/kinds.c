// SPDX-License-Identifier: Apache-2.0
#include "format/kinds.h"

#include <strings.h>
#include <string.h>

static const char *const names[KYMO_KINDS] = {
	[KYMO_PY_START] = "PY_START",
	[KYMO_PY_START_AT] = "PY_START",
	[KYMO_PY_RESUME] = "PY_RESUME",
	[KYMO_PY_RETURN] = "PY_RETURN",
	[KYMO_PY_YIELD] = "PY_YIELD",
	[KYMO_LINE] = "LINE",
	[KYMO_INSTRUCTION] = "INSTRUCTION",
	[KYMO_PY_THROW] = "PY_THROW",
	[KYMO_PY_UNWIND] = "PY_UNWIND",
	[KYMO_RAISE] = "RAISE",
	[KYMO_RERAISE] = "RERAISE",
	[KYMO_EXCEPTION_HANDLED] = "EXCEPTION_HANDLED",
	[KYMO_STOP_ITERATION] = "STOP_ITERATION",
	[KYMO_CALL] = "CALL",
	[KYMO_C_RETURN] = "C_RETURN",
	[KYMO_C_RAISE] = "C_RAISE",
	[KYMO_JUMP] = "JUMP",
	[KYMO_BRANCH] = "BRANCH",
	[KYMO_BRANCH_LEFT] = "BRANCH_LEFT",
	[KYMO_BRANCH_RIGHT] = "BRANCH_RIGHT",
};

const char *kymo_kind_name(enum kymo_kind kind)
{
	return kind < KYMO_KINDS ? names[kind] : NULL;
}

enum kymo_kind kymo_kind_find(const char *name, size_t length)
{
	for (enum kymo_kind kind = KYMO_PY_START; kind < KYMO_KINDS; kind++) {
		if (names[kind] && strlen(names[kind]) == length && !strncasecmp(names[kind], name, length))
			return kind;
	}
	return KYMO_KIND_SPECIAL;
}
