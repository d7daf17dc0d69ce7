// SPDX-License-Identifier: Apache-2.0
/*
 * The options of `kymo record`.  Each is taken from the command line; if not given there, from its
 * KYMO_* variable; if that is not set, from [tool.kymo] in the nearest pyproject.toml.
 */
#ifndef KYMO_CLI_RECORD_OPTIONS_H
#define KYMO_CLI_RECORD_OPTIONS_H

#include <stdbool.h>

#include "cli/option_table.h"
#include "format/metadata.pb-c.h"

enum kymo_record_option {
	KYMO_RECORD_EVENTS,
	KYMO_RECORD_C_CALLS, /* after the events, which it adds to */
	KYMO_RECORD_VALUES, /* after the events, which must suit */
	KYMO_RECORD_VALUES_FOR,
	KYMO_RECORD_REDACT,
	KYMO_RECORD_VALUES_LIMITS,
	KYMO_RECORD_POLICY,
	KYMO_RECORD_CLOCK,
	KYMO_RECORD_RING_SIZE,
	KYMO_RECORD_MAX_SIZE,
	KYMO_RECORD_SEGMENT_MEMORY,
	KYMO_RECORD_SOURCE,
	KYMO_RECORD_INCLUDE,
	KYMO_RECORD_OMIT,
	KYMO_RECORD_NO_STDLIB,
	KYMO_RECORD_NO_SOURCES,
	KYMO_RECORD_NO_CODE_WRITES,
	KYMO_RECORD_NO_SUBPROCESSES,
	KYMO_RECORD_EXACT_END,
	KYMO_RECORD_SESSION_DIR,
	KYMO_RECORD_OUTPUT,
	KYMO_RECORD_FORCE,
	KYMO_RECORD_QUIET,
	KYMO_RECORD_OPTIONS,
};

struct kymo_record_options {
	Kymo__Config config; /* output is left to the caller */
	Kymo__Values values; /* config.values, where they are recorded */
	const char *output;  /* as the user wrote it; NULL: none */
	const char *flag;    /* "-m", "-c" or NULL */
	const char *flag_value;
	const char *module, *code; /* of the flags; NULL: not given */
	uint64_t attempts; /* at most this many, until one fails; 0: record once, whatever happens */
	struct kymo_words given[KYMO_RECORD_OPTIONS];
};

/* By enum kymo_record_option, then the options that only the command line has. */
extern const struct kymo_option kymo_record_rows[];

/*
 * Fill @options by the tables of @verb; optind is then the first word of what is to be recorded.  Returns an exit
 * status, with all messages printed, or -1 to go on.  Free @options in either case.
 */
KYMO_MUST_CHECK
int kymo_record_options_parse(struct kymo_record_options *options, const struct kymo_verb *verb, int argc, char **argv,
			      const char *directory);
void kymo_record_options_free(struct kymo_record_options *options);

#endif
