// SPDX-License-Identifier: Apache-2.0
/* The verbs of `kymo`, and what they share. */
#ifndef KYMO_CLI_COMMAND_H
#define KYMO_CLI_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/error.h"

enum kymo_exit {
	KYMO_EXIT_OK = 0,
	KYMO_EXIT_FAILURE = 1,
	KYMO_EXIT_USAGE = 2, /* the command line is wrong */
	/* as in a shell, for the command to be recorded */
	KYMO_EXIT_CANNOT_RUN = 126,
	KYMO_EXIT_NOT_FOUND = 127,
};

struct kymo_verb;
extern const struct kymo_verb kymo_verb_combine, kymo_verb_coverage, kymo_verb_dap, kymo_verb_diff, kymo_verb_events, kymo_verb_export,
	kymo_verb_index, kymo_verb_info, kymo_verb_ps, kymo_verb_read, kymo_verb_record, kymo_verb_replay, kymo_verb_report,
	kymo_verb_salvage, kymo_verb_snapshot, kymo_verb_source, kymo_verb_stats, kymo_verb_suspects, kymo_verb_tail, kymo_verb_top,
	kymo_verb_verify;

/* Print "kymo VERB: …" to stderr and return KYMO_EXIT_USAGE; argv[0] is "kymo VERB". */
int kymo_usage_error(char *const *argv, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Print the error to stderr and return KYMO_EXIT_FAILURE. */
int kymo_report(const struct kymo_error *error);
/* Print @value and a line feed to stdout, terminal control characters escaped.  0, or -1: it cannot be written as JSON. */
int kymo_put_json(const json_t *value, size_t flags);
/* Parse a whole number; false: it is not one, and that was reported. */
bool kymo_parse_number(char *const *argv, const char *option, const char *text, uint64_t *value);

/* A new JSON string; text that is not UTF-8 is replaced. */
json_t *kymo_json_text(const char *text);

/* @path as shown in the working directory @directory: relative if it is below it. */
const char *kymo_shown_path(const char *path, const char *directory);

/* Events asked for by name: bits of enum kymo_event_kind. */
bool kymo_parse_kinds(char *const *argv, const char *text, uint64_t *kinds);

#endif
