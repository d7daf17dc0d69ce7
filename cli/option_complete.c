// SPDX-License-Identifier: Apache-2.0
/* `kymo _complete`: called by the scripts in cli/completions/. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/option_table.h"
#include "replay/trace/timeline.h"

static bool begins_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* What a shell completes a value with, beside the words offered; the shells' scripts know these. */
static const char *place_of(const char *value)
{
	static const struct {
		const char *value, *place;
	} places[] = {
		{"TRACE", "traces"}, {"PASS", "traces"},  {"FAIL", "traces"},      {"SESSION", "folders"}, {"DIR", "folders"},
		{"FILE", "files"},   {"PLACE", "files"}, {"PROGRAM", "commands"}, {"COMMAND", "files"},
	};

	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (begins_with(value, places[i].value))
			return places[i].place;
	return "nothing";
}

static void put_choice(const char *before, size_t before_bytes, const char *choice, size_t bytes)
{
	printf("%.*s%.*s\n", (int)before_bytes, before, (int)bytes, choice);
}

static const char *offer_values(const struct kymo_option *row, const char *text)
{
	const char *comma = strrchr(text, ','), *last = comma && row->type != KYMO_OPTION_CHOICE ? comma + 1 : text;
	size_t before = (size_t)(last - text), bytes;

	for (const char *choice = row->choices; choice && *choice; choice += bytes + (choice[bytes] == ' ')) {
		bytes = strcspn(choice, " ");
		if (strlen(last) <= bytes && begins_with(choice, last))
			put_choice(text, before, choice, bytes);
	}
	for (unsigned kind = 0; row->type == KYMO_OPTION_KINDS && kind < KYMO_EVENT_KINDS; kind++) {
		const char *name = kymo_event_kind_name(kind);

		if (name && begins_with(name, last))
			put_choice(text, before, name, strlen(name));
	}
	return row->choices || row->type == KYMO_OPTION_KINDS ? "nothing" : place_of(row->value);
}

static void offer_option(const struct kymo_option *row, const char *text)
{
	char label[64];

	if (row->name)
		snprintf(label, sizeof label, "--%s%s", row->name, row->value ? "=" : "");
	else
		snprintf(label, sizeof label, "-%c", row->letter);
	if (!begins_with(label, text))
		return;
	printf("%s\t", label);
	kymo_options_put_text(stdout, row->help, strlen(row->help));
	putchar('\n');
}

/* The row that @word names, with @value behind its =, or else NULL; NULL: none. */
static const struct kymo_option *find_row(const struct kymo_verb *verb, const char *word, const char **value)
{
	const struct kymo_option *row = NULL;
	const char *equals = strchr(word, '=');
	size_t bytes = equals ? (size_t)(equals - word) : strlen(word);

	*value = equals ? equals + 1 : NULL;
	while ((row = kymo_options_next(verb, row, NULL)))
		if ((row->name && begins_with(word, "--") && strlen(row->name) + 2 == bytes && !strncmp(word + 2, row->name, bytes - 2)) ||
		    (row->letter && bytes == 2 && word[0] == '-' && word[1] == row->letter))
			break;
	return row;
}

static const char *place_of_operand(const char *operands, size_t at)
{
	for (; at && strchr(operands, ' '); at--)
		operands = strchr(operands, ' ') + 1;
	return !*operands || (at && !strstr(operands, "…")) ? "nothing" : place_of(operands + (*operands == '['));
}

/* Complete the last of the words after the verb, @words[count - 1].  Returns what else may stand there. */
static const char *complete_verb(const struct kymo_verb *verb, char **words, int count)
{
	static const struct kymo_option help = {.name = "help", .help = "show this help"};
	const struct kymo_option *row = NULL;
	const char *word = words[count - 1], *value;
	size_t operands = 0;
	bool is_value = false;

	for (int i = 0; i < count - 1; i++) {
		if (!is_value && words[i][0] == '-' && words[i][1]) {
			row = find_row(verb, words[i], &value);
			is_value = row && row->value && !value;
			if (!strcmp(words[i], "--"))
				return place_of_operand(verb->operands, operands);
		} else {
			operands += !is_value;
			if (verb->is_command && (!is_value || row->type == KYMO_OPTION_LAST))
				return "files"; /* the rest is the command's */
			is_value = false;
		}
	}
	if (is_value)
		return offer_values(row, word);
	if (word[0] != '-') /* an option with more than one value takes the operands behind it */
		return row && row->type == KYMO_OPTION_OPERANDS ? place_of(row->value) : place_of_operand(verb->operands, operands);
	row = find_row(verb, word, &value);
	if (value)
		return row && row->value ? offer_values(row, value) : "nothing";
	row = NULL;
	while ((row = kymo_options_next(verb, row, NULL)))
		offer_option(row, word);
	offer_option(&help, word);
	return "nothing";
}

int kymo_complete(const struct kymo_verb *const verbs[], int argc, char **argv)
{
	const char *place = "nothing";

	for (; argc > 1 && *verbs; verbs++) {
		if (!(*verbs)->summary)
			continue;
		if (argc == 2 && begins_with((*verbs)->name, argv[1]))
			printf("%s\t%s\n", (*verbs)->name, (*verbs)->summary);
		else if (argc > 2 && !strcmp((*verbs)->name, argv[1]))
			place = complete_verb(*verbs, argv + 2, argc - 2);
	}
	printf(":%s\n", place);
	return KYMO_EXIT_OK;
}
