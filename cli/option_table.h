// SPDX-License-Identifier: Apache-2.0
/*
 * The options of a verb, in one table each: kymo_options_parse() reads a command line by it, and --help, the shells' completion and
 * the OPTIONS of its manual page (./dev man) are made from it.
 */
#ifndef KYMO_CLI_OPTION_TABLE_H
#define KYMO_CLI_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/words.h"

/* The type that an option fills; options without a value count each time that they are given. */
enum kymo_option_type {
	KYMO_OPTION_FLAG,     /* bool */
	KYMO_OPTION_WORD,     /* const char * */
	KYMO_OPTION_CHOICE,   /* const char *: one of the choices */
	KYMO_OPTION_NUMBER,   /* uint64_t */
	KYMO_OPTION_COUNT,    /* uint64_t, from 1 on */
	KYMO_OPTION_TIME,     /* int64_t: nanoseconds */
	KYMO_OPTION_DURATION, /* the same, from 0 on */
	KYMO_OPTION_KINDS,    /* uint64_t: bits of enum kymo_event_kind, one for each that is named */
	KYMO_OPTION_LIST,     /* struct kymo_words: each value */
	KYMO_OPTION_OPERANDS, /* struct kymo_words: the value, and the operands that follow it */
	KYMO_OPTION_PASSED,   /* nothing: it is only among the words */
	KYMO_OPTION_LAST,     /* const char *: the words after the value are not options */
};

struct kymo_option {
	const char *name; /* long; NULL: there is only the letter */
	char letter;	  /* 0: none */
	enum kymo_option_type type;
	bool is_required;
	size_t place;	     /* offset in what the table fills */
	const char *value;   /* name of its value, by which shells complete it: FILE, DIR, TRACE, PROGRAM */
	const char *choices; /* values, with spaces between them; NULL: any */
	/* Text; in both, `quoted` is printed in another face by the manual page, and --option, NAME, $VARIABLE and kymo-verb(1), too. */
	const char *help; /* without a period */
	const char *more; /* sentences for the manual page alone; NULL: none */
};

/* Rows; the last one has no help.  Several verbs may share them. */
struct kymo_option_table {
	const struct kymo_option *rows;
	size_t place; /* offset of what they fill in what the verb fills */
	const char *title;
};

#define KYMO_MAX_TABLES 5

struct kymo_verb {
	const char *name;
	const char *summary; /* NULL: not for people */
	const char *usage;   /* lines, each what follows the verb; NULL: [options] and the operands */
	const char *operands; /* such as "TRACE [FILE]" or "TRACE…" */
	const char *text;     /* paragraphs with a line feed between them */
	struct kymo_option_table tables[KYMO_MAX_TABLES]; /* the last ones without rows */
	void (*put_epilog)(FILE *out); /* what else --help prints; NULL: nothing */
	int (*run)(int argc, char **argv);
	bool is_command;      /* its operands are a command, whose options are its own */
};

/*
 * Read the command line into @into and, as the words name=value, into @words; either may be NULL. --help prints @verb's help.
 * Returns an exit status, with all messages printed, or -1 to go on: the operands, as many as @verb takes, are from optind on.
 */
KYMO_MUST_CHECK
int kymo_options_parse(const struct kymo_verb *verb, int argc, char **argv, void *into, struct kymo_words *words);

/* @bytes of help text, without its marks. */
void kymo_options_put_text(FILE *out, const char *text, size_t bytes);
void kymo_options_put_help(FILE *out, const struct kymo_verb *verb);

/* The row of @verb after @row, NULL: the first one; NULL: there are no more.  @table (NULL: not asked for) is the one that it is in. */
const struct kymo_option *kymo_options_next(const struct kymo_verb *verb, const struct kymo_option *row,
					    const struct kymo_option_table **table);

/* `kymo _complete WORD…`: completions of the last word, one a line, and a line that says what else may stand there. */
int kymo_complete(const struct kymo_verb *const verbs[], int argc, char **argv);

/* `kymo _options`: all tables as JSON. */
int kymo_put_options(const struct kymo_verb *const verbs[]);

#endif
