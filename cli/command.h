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
	/* as a shell has them, of the command to be recorded */
	KYMO_EXIT_CANNOT_RUN = 126,
	KYMO_EXIT_NOT_FOUND = 127,
};

/* Each returns an exit status; argv[0] is "kymo VERB". */
int kymo_command_combine(int argc, char **argv);
int kymo_command_coverage(int argc, char **argv);
int kymo_command_dap(int argc, char **argv);
int kymo_command_diff(int argc, char **argv);
int kymo_command_events(int argc, char **argv);
int kymo_command_export(int argc, char **argv);
int kymo_command_index(int argc, char **argv);
int kymo_command_info(int argc, char **argv);
int kymo_command_ps(int argc, char **argv);
int kymo_command_read(int argc, char **argv);
int kymo_command_record(int argc, char **argv);
int kymo_command_replay(int argc, char **argv);
int kymo_command_report(int argc, char **argv);
int kymo_command_salvage(int argc, char **argv);
int kymo_command_snapshot(int argc, char **argv);
int kymo_command_source(int argc, char **argv);
int kymo_command_stats(int argc, char **argv);
int kymo_command_suspects(int argc, char **argv);
int kymo_command_tail(int argc, char **argv);
int kymo_command_top(int argc, char **argv);
int kymo_command_verify(int argc, char **argv);

/* Print "VERB: …" to stderr and return KYMO_EXIT_USAGE. */
int kymo_usage_error(char *const *argv, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Print the error to stderr and return KYMO_EXIT_FAILURE. */
int kymo_report(const struct kymo_error *error);
/* Print @value and a line feed to stdout, what could steer a terminal escaped.  0, or -1: it cannot be written as JSON. */
int kymo_put_json(const json_t *value, size_t flags);
/* The one operand that is left after the options, or NULL: reported. */
const char *kymo_single_operand(int argc, char **argv, const char *what);
/* Parse a whole number; false: it is none, reported. */
bool kymo_parse_number(char *const *argv, const char *option, const char *text, uint64_t *value);

/* What is to be shown of @path in the working directory @directory: what is below it is relative. */
const char *kymo_shown_path(const char *path, const char *directory);

/* Events asked for by name: bits of enum kymo_event_kind. */
bool kymo_parse_kinds(char *const *argv, const char *text, uint64_t *kinds);

#endif
