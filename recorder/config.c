// SPDX-License-Identifier: Apache-2.0
/* Turn options of the command line and of kymo.record() into a Config. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "format/chunk.h"
#include "format/kinds.h"
#include "recorder/session_create.h"

#define EVENT(kind) (UINT64_C(1) << KYMO_##kind)

#define CALLS                                                                                     \
	(EVENT(PY_START) | EVENT(PY_RESUME) | EVENT(PY_THROW) | EVENT(PY_RETURN) |                \
	 EVENT(PY_YIELD) | EVENT(PY_UNWIND) | EVENT(RAISE) | EVENT(RERAISE))
#define C_CALLS (EVENT(CALL) | EVENT(C_RETURN) | EVENT(C_RAISE))
#define BRANCHES (EVENT(BRANCH) | EVENT(BRANCH_LEFT) | EVENT(BRANCH_RIGHT))

static const struct value_limit {
	const char *name;
	size_t field;
	uint32_t usual, most;
} value_limits[] = {
	{"depth", offsetof(Kymo__Values, max_depth), 2, 32},
	{"items", offsetof(Kymo__Values, max_items), 20, 10000},
	{"text", offsetof(Kymo__Values, max_text_bytes), 200, 16384},
	{"bytes", offsetof(Kymo__Values, max_bytes), 4096, 16384},
};

static uint32_t *limit_field(Kymo__Values *values, size_t limit)
{
	return (uint32_t *)((char *)values + value_limits[limit].field);
}

static const struct profile {
	const char *name;
	uint64_t events;
	bool once;
	bool branch_bits;
	bool flow;
} profiles[] = {
	{"flow", CALLS | BRANCHES | EVENT(JUMP), .flow = true},
	{"calls", CALLS, .flow = false},
	{"full", CALLS | C_CALLS | BRANCHES | EVENT(EXCEPTION_HANDLED) | EVENT(STOP_ITERATION) | EVENT(LINE) |
			 EVENT(INSTRUCTION) | EVENT(JUMP),
	 .once = false},
	/* From 3.13 on, code of a single line has no LINE event, but has PY_START. */
	{"coverage", EVENT(PY_START) | EVENT(LINE) | BRANCHES, .once = true},
	/* Calls, exceptions and one bit a branch: enough to rebuild lines. */
	{"branch-bits", CALLS | BRANCHES, .branch_bits = true},
};

static const struct profile *find_profile(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
		if (strlen(profiles[i].name) == length && !strncasecmp(profiles[i].name, name, length))
			return &profiles[i];
	}
	return NULL;
}

int kymo_config_set_events(Kymo__Config *config, char *text, struct kymo_error *error)
{
	const char *at = text;

	config->events = 0;
	config->once = false;
	config->branch_bits = false;
	config->flow = false;
	config->profile = text;
	for (;;) {
		size_t length = strcspn(at, ",");
		const struct profile *profile = find_profile(at, length);
		enum kymo_kind kind = kymo_kind_find(at, length);

		if (profile) {
			config->events |= profile->events;
			config->once |= profile->once;
			config->branch_bits |= profile->branch_bits;
			config->flow |= profile->flow;
		} else if (kind != KYMO_KIND_SPECIAL) {
			config->events |= UINT64_C(1) << kind;
		} else {
			return kymo_fail(error, -EINVAL,
					 "no event or profile is called '%.*s': use calls, flow, full, coverage "
					 "or names of sys.monitoring.events such as LINE,PY_START",
					 (int)length, at);
		}
		at += length;
		if (!*at++)
			return 0;
	}
}

void kymo_config_add_c_calls(Kymo__Config *config)
{
	config->events |= C_CALLS;
}

int kymo_parse_size(const char *text, uint64_t *bytes, struct kymo_error *error)
{
	static const char units[] = "KMG";
	char *end;
	unsigned shift = 0;

	errno = 0;
	*bytes = strtoull(text, &end, 10);
	for (const char *unit = units; *end && *unit; unit++) {
		if (*end == *unit || *end == (*unit | 0x20)) {
			shift = 10 * (unsigned)(unit - units + 1);
			end++;
			break;
		}
	}
	if (errno || *text < '0' || *text > '9' || *end || *bytes > UINT64_MAX >> shift)
		return kymo_fail(error, -EINVAL, "not a size: '%s'; use digits and K, M or G, such as 64M", text);
	*bytes <<= shift;
	return 0;
}

static int parse_word(const char *text, const char *const words[], uint32_t *value)
{
	for (uint32_t i = 1; words[i]; i++) {
		if (strcmp(words[i], text) == 0) {
			*value = i;
			return 0;
		}
	}
	return -EINVAL;
}

int kymo_parse_policy(const char *text, uint32_t *policy, struct kymo_error *error)
{
	static const char *const words[] = {
		[0] = "", [KYMO_POLICY_BLOCK] = "block", [KYMO_POLICY_DROP] = "drop",
		[KYMO_POLICY_OVERWRITE] = "overwrite", NULL,
	};

	if (parse_word(text, words, policy) == 0)
		return 0;
	return kymo_fail(error, -EINVAL, "not a policy: '%s'; use block, drop or overwrite", text);
}

int kymo_parse_clock(const char *text, uint32_t *clock_mode, struct kymo_error *error)
{
	static const char *const words[] = {
		[0] = "", [KYMO_CLOCK_SAMPLED] = "sampled", [KYMO_CLOCK_EXACT] = "exact",
		[KYMO_CLOCK_NONE] = "none", NULL,
	};

	if (parse_word(text, words, clock_mode) == 0)
		return 0;
	return kymo_fail(error, -EINVAL, "not a clock: '%s'; use sampled, exact or none", text);
}

int kymo_config_set_values(Kymo__Config *config, Kymo__Values *values, const char *scope, struct kymo_error *error)
{
	static const char *const words[] = {"", "args", "locals", "globals", NULL};
	uint32_t found = KYMO__VALUES__SCOPE__NONE;

	if (strcmp(scope, "none") != 0 && parse_word(scope, words, &found) < 0)
		return kymo_fail(error, -EINVAL, "not a scope of values: '%s'; use args, locals, globals or none", scope);
	if (found && config->once)
		return kymo_fail(error, -EINVAL, "cannot record values with coverage: it records each place only once; use flow");
	values->scope = (Kymo__Values__Scope)found;
	values->project = true;
	for (size_t i = 0; i < sizeof value_limits / sizeof value_limits[0]; i++) {
		uint32_t *field = limit_field(values, i);

		*field = *field ? *field : value_limits[i].usual;
	}
	config->values = found ? values : NULL;
	return 0;
}

int kymo_parse_value_limits(const char *text, Kymo__Values *values, struct kymo_error *error)
{
	for (const char *at = text;;) {
		size_t length = strcspn(at, "="), limit = 0;
		unsigned long long number = 0;
		char *end;

		while (limit < sizeof value_limits / sizeof value_limits[0] &&
		       (strlen(value_limits[limit].name) != length || strncmp(value_limits[limit].name, at, length) != 0))
			limit++;
		if (limit == sizeof value_limits / sizeof value_limits[0] || at[length] != '=')
			break;
		at += length + 1;
		if (*at >= '0' && *at <= '9')
			number = strtoull(at, &end, 10);
		if (number < 1 || number > value_limits[limit].most)
			return kymo_fail(error, -EINVAL, "%s must be a number from 1 to %u", value_limits[limit].name,
					 value_limits[limit].most);
		*limit_field(values, limit) = (uint32_t)number;
		at = end;
		if (!*at)
			return 0;
		if (*at++ != ',')
			break;
	}
	return kymo_fail(error, -EINVAL, "not limits of values: '%s'; use depth, items, text and bytes, such as "
			 "depth=2,items=20,text=200,bytes=4096", text);
}
