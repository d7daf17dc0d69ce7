// SPDX-License-Identifier: Apache-2.0
#include "cli/option_table.h"

#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "replay/moves/named_places.h"

#define MAX_OPTIONS 60
#define FIRST_CODE 256 /* of getopt_long(); below are letters */
#define HELP (FIRST_CODE + MAX_OPTIONS)
#define OPERAND 1

struct parsing {
	const struct kymo_option *rows[MAX_OPTIONS];
	char *places[MAX_OPTIONS]; /* place that each option fills; NULL: none */
	struct kymo_words *words;  /* may be NULL */
	struct option names[MAX_OPTIONS + 2];
	char letters[2 * MAX_OPTIONS + 8];
	size_t count;
	uint64_t given; /* bits, by row */
	char *const *argv;
	bool is_out_of_memory;
};

static void prepare_parsing(struct parsing *parsing, const struct kymo_verb *verb, void *into)
{
	const struct kymo_option_table *table;
	const struct kymo_option *row = NULL;
	char *letter = parsing->letters;
	size_t names = 0;

	*letter++ = verb->is_command ? '+' : '-';
	*letter++ = 'h';
	while ((row = kymo_options_next(verb, row, &table))) {
		size_t i = parsing->count++;

		assert(i < MAX_OPTIONS);
		parsing->rows[i] = row;
		parsing->places[i] = into ? (char *)into + table->place + row->place : NULL;
		if (row->name)
			parsing->names[names++] = (struct option){row->name, row->value ? required_argument : no_argument, NULL,
								  FIRST_CODE + (int)i};
		if (row->letter)
			*letter++ = row->letter;
		if (row->letter && row->value)
			*letter++ = ':';
	}
	parsing->names[names] = (struct option){"help", no_argument, NULL, HELP};
}

/* The option's name in messages. */
static const char *name_of(const struct kymo_option *row, char name[64])
{
	if (row->name)
		snprintf(name, 64, "--%s", row->name);
	else
		snprintf(name, 64, "-%c", row->letter);
	return name;
}

static bool is_choice(const char *choices, const char *text)
{
	size_t length = strlen(text), each;

	for (; *choices; choices += each + (choices[each] == ' ')) {
		each = strcspn(choices, " ");
		if (each == length && !strncmp(choices, text, length))
			return true;
	}
	return false;
}

static bool parse_time(char *const *argv, const struct kymo_option *row, const char *name, const char *text, int64_t *ns)
{
	if (kymo_parse_time(text, ns) && (row->type == KYMO_OPTION_TIME || *ns >= 0))
		return true;
	kymo_usage_error(argv, "%s: '%s' is not a %s; write 1.5, 12ms, 30us or 5ns", name, text,
			 row->type == KYMO_OPTION_TIME ? "time" : "duration");
	return false;
}

static bool parse_number(char *const *argv, const struct kymo_option *row, const char *name, const char *text, uint64_t *number)
{
	if (!kymo_parse_number(argv, name, text, number))
		return false;
	if (*number || row->type == KYMO_OPTION_NUMBER)
		return true;
	kymo_usage_error(argv, "%s: it must be at least 1", name);
	return false;
}

static bool fail_without_memory(struct parsing *parsing)
{
	kymo_usage_error(parsing->argv, "out of memory");
	parsing->is_out_of_memory = true;
	return false;
}

static bool keep_word(struct parsing *parsing, const char *name, const char *value)
{
	char *word = NULL;
	bool is_kept = asprintf(&word, "%s=%s", name, value) >= 0 && !kymo_words_add(parsing->words, word);

	free(word);
	return is_kept || fail_without_memory(parsing);
}

/* False: @text is not a valid value of row @i, and that was reported. */
static bool fill_option(struct parsing *parsing, size_t i, const char *text)
{
	const struct kymo_option *row = parsing->rows[i];
	void *place = parsing->places[i];
	char *const *argv = parsing->argv;
	char name[64], shown[32];
	uint64_t number = 0;
	int64_t ns;

	name_of(row, name);
	if (!row->value)
		text = "";
	switch (row->type) {
	case KYMO_OPTION_FLAG:
		if (place)
			*(bool *)place = true;
		break;
	case KYMO_OPTION_CHOICE:
		if (!is_choice(row->choices, text)) {
			kymo_usage_error(argv, "%s: '%s' is not one of %s", name, text, row->choices);
			return false;
		}
		/* fallthrough */
	case KYMO_OPTION_WORD:
	case KYMO_OPTION_LAST:
		if (place)
			*(const char **)place = text;
		break;
	case KYMO_OPTION_NUMBER:
	case KYMO_OPTION_COUNT:
		if (!parse_number(argv, row, name, text, place ? place : &number))
			return false;
		break;
	case KYMO_OPTION_TIME:
	case KYMO_OPTION_DURATION:
		if (!parse_time(argv, row, name, text, place ? place : &ns))
			return false;
		snprintf(shown, sizeof shown, "%" PRId64, place ? *(int64_t *)place : ns);
		text = shown;
		break;
	case KYMO_OPTION_PASSED:
		break;
	case KYMO_OPTION_KINDS:
		if (!kymo_parse_kinds(argv, text, place ? place : &number))
			return false;
		break;
	case KYMO_OPTION_LIST:
	case KYMO_OPTION_OPERANDS:
		if (place && kymo_words_add(place, text))
			return fail_without_memory(parsing);
	}
	parsing->given |= UINT64_C(1) << i;
	return !parsing->words || keep_word(parsing, name + (row->name ? 2 : 1), text);
}

static size_t row_of(const struct parsing *parsing, int code)
{
	size_t i = 0;

	if (code >= FIRST_CODE)
		return (size_t)(code - FIRST_CODE);
	while (parsing->rows[i]->letter != code)
		i++;
	return i;
}

/* True: there are as many operands from optind on as @verb takes. */
static bool check_operands(const struct kymo_verb *verb, char *const *argv, size_t count)
{
	const char *operand = verb->operands;
	size_t least = 0, most = 0, length;

	for (; *operand; operand += length + (operand[length] == ' ')) {
		length = strcspn(operand, " ");
		if (*operand != '[' && count <= least++) {
			kymo_usage_error(argv, "missing argument %.*s; see %s --help", (int)length, operand, argv[0]);
			return false;
		}
		most = strstr(operand, "…") ? SIZE_MAX : most + 1;
	}
	if (count <= most)
		return true;
	kymo_usage_error(argv, "unexpected argument '%s'", argv[optind + (int)most]);
	return false;
}

static bool check_required(const struct parsing *parsing)
{
	char name[64];

	for (size_t i = 0; i < parsing->count; i++) {
		if (!parsing->rows[i]->is_required || parsing->given >> i & 1)
			continue;
		kymo_usage_error(parsing->argv, "missing option %s=%s; see %s --help", name_of(parsing->rows[i], name),
				 parsing->rows[i]->value, parsing->argv[0]);
		return false;
	}
	return true;
}

int kymo_options_parse(const struct kymo_verb *verb, int argc, char **argv, void *into, struct kymo_words *words)
{
	struct parsing parsing = {.words = words, .argv = argv};
	size_t row = SIZE_MAX, operands = 0;
	char **kept = calloc((size_t)argc + 1, sizeof *kept);
	int code, status = kept || fail_without_memory(&parsing) ? -1 : KYMO_EXIT_USAGE;

	prepare_parsing(&parsing, verb, into);
	while (status < 0 && (code = getopt_long(argc, argv, parsing.letters, parsing.names, NULL)) != -1) {
		if (code == OPERAND && (row == SIZE_MAX || parsing.rows[row]->type != KYMO_OPTION_OPERANDS)) {
			kept[operands++] = optarg;
			continue;
		}
		if (code == 'h' || code == HELP) {
			kymo_options_put_help(stdout, verb);
			status = KYMO_EXIT_OK;
			break;
		}
		if (code != OPERAND && code != '?')
			row = row_of(&parsing, code);
		if (code == '?' || !fill_option(&parsing, row, optarg))
			status = KYMO_EXIT_USAGE;
		else if (parsing.rows[row]->type == KYMO_OPTION_LAST)
			break;
	}
	if (status < 0 && !verb->is_command) {
		/* As if the operands had stood behind all options. */
		optind -= (int)operands;
		memcpy(argv + optind, kept, operands * sizeof *kept);
		if (!check_operands(verb, argv, (size_t)(argc - optind)))
			status = KYMO_EXIT_USAGE;
	}
	if (status < 0 && !check_required(&parsing))
		status = KYMO_EXIT_USAGE;
	free(kept);
	return parsing.is_out_of_memory ? KYMO_EXIT_FAILURE : status;
}
