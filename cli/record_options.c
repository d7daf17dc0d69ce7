// SPDX-License-Identifier: Apache-2.0
#include "cli/record_options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/pyproject.h"
#include "format/chunk.h"
#include "recorder/session_create.h"

#define FIRST_CODE 256 /* of long options; below are letters */

static const struct setting {
	const char *name;
	char letter;
	enum { WORD, FLAG, LIST } kind;
} settings[KYMO_RECORD_OPTIONS] = {
	[KYMO_RECORD_EVENTS] = {"events", 0, WORD},
	[KYMO_RECORD_C_CALLS] = {"c-calls", 0, FLAG},
	[KYMO_RECORD_VALUES_FOR] = {"values-for", 0, LIST},
	[KYMO_RECORD_REDACT] = {"redact", 0, LIST},
	[KYMO_RECORD_VALUES_LIMITS] = {"values-limits", 0, WORD},
	[KYMO_RECORD_VALUES] = {"values", 0, WORD},
	[KYMO_RECORD_POLICY] = {"policy", 0, WORD},
	[KYMO_RECORD_CLOCK] = {"clock", 0, WORD},
	[KYMO_RECORD_RING_SIZE] = {"ring-size", 0, WORD},
	[KYMO_RECORD_MAX_SIZE] = {"max-size", 0, WORD},
	[KYMO_RECORD_SEGMENT_MEMORY] = {"segment-memory", 0, WORD},
	[KYMO_RECORD_SOURCE] = {"source", 0, LIST},
	[KYMO_RECORD_INCLUDE] = {"include", 0, LIST},
	[KYMO_RECORD_OMIT] = {"omit", 0, LIST},
	[KYMO_RECORD_NO_STDLIB] = {"no-stdlib", 0, FLAG},
	[KYMO_RECORD_NO_SOURCES] = {"no-sources", 0, FLAG},
	[KYMO_RECORD_NO_CODE_WRITES] = {"no-code-writes", 0, FLAG},
	[KYMO_RECORD_NO_SUBPROCESSES] = {"no-subprocesses", 0, FLAG},
	[KYMO_RECORD_EXACT_END] = {"exact-end", 0, FLAG},
	[KYMO_RECORD_SESSION_DIR] = {"session-dir", 0, WORD},
	[KYMO_RECORD_OUTPUT] = {"output", 'o', WORD},
	[KYMO_RECORD_FORCE] = {"force", 'f', FLAG},
	[KYMO_RECORD_QUIET] = {"quiet", 'q', FLAG},
};

enum origin { COMMAND_LINE, ENVIRONMENT, FILE_TABLE };

/* The options while they are read, and where the values of each come from. */
struct reading {
	struct kymo_record_options *options;
	enum origin from[KYMO_RECORD_OPTIONS];
	const char *directory; /* what relative paths are relative to ... */
	char folder[PATH_MAX]; /* ... those in the file, too */
	char file[PATH_MAX];
};

static void variable_name(const char *option, char name[32])
{
	size_t at = (size_t)snprintf(name, 32, "KYMO_%s", option);

	while (at-- > 5)
		name[at] = name[at] == '-' ? '_' : (char)toupper((unsigned char)name[at]);
}

/* A path, as the filter of code objects has it; else the name of a module. */
static bool is_path(const char *source)
{
	size_t length = strlen(source);

	return strchr(source, '/') || !strcmp(source, ".") ||
	       (length > 3 && !strcmp(source + length - 3, ".py"));
}

/* Leading dots are resolved: the filter compares the beginnings of names. */
static int make_absolute(char **path, const char *directory)
{
	size_t length = strlen(directory), dots;
	const char *rest = *path;
	char *absolute;

	if (*rest == '/')
		return 0;
	while ((dots = strspn(rest, ".")) == 1 || dots == 2) {
		if (rest[dots] && rest[dots] != '/')
			break;
		rest += dots + (rest[dots] == '/');
		while (dots == 2 && length && directory[--length] != '/')
			;
	}
	if (asprintf(&absolute, "%.*s/%s", (int)length, directory, rest) < 0)
		return -ENOMEM;
	free(*path);
	*path = absolute;
	return 0;
}

static int set_source(Kymo__Config *config, const struct kymo_words *given, const char *directory)
{
	int result = 0;

	for (size_t i = 0; i < given->count && !result; i++)
		if (is_path(given->words[i]))
			result = make_absolute(&given->words[i], directory);
	config->source = given->words;
	config->n_source = given->count;
	return result;
}

/* Put the values of @option where they belong. */
static int apply(struct reading *reading, enum kymo_record_option option, struct kymo_error *error)
{
	struct kymo_record_options *options = reading->options;
	const struct kymo_words *given = &options->given[option];
	bool is_of_file = reading->from[option] == FILE_TABLE;
	const char *directory = is_of_file ? reading->folder : reading->directory;
	Kymo__Config *config = &options->config;
	char **value = &given->words[given->count - 1];
	int result = 0;

	switch (option) {
	case KYMO_RECORD_EVENTS:
		return kymo_config_set_events(config, *value, error);
	case KYMO_RECORD_C_CALLS:
		kymo_config_add_c_calls(config);
		break;
	case KYMO_RECORD_VALUES_FOR:
		options->values.only = given->words;
		options->values.n_only = given->count;
		break;
	case KYMO_RECORD_REDACT:
		options->values.redact = given->words;
		options->values.n_redact = given->count;
		break;
	case KYMO_RECORD_VALUES_LIMITS:
		return kymo_parse_value_limits(*value, &options->values, error);
	case KYMO_RECORD_VALUES:
		return kymo_config_set_values(config, &options->values, *value, error);
	case KYMO_RECORD_POLICY:
		return kymo_parse_policy(*value, &config->policy, error);
	case KYMO_RECORD_CLOCK:
		return kymo_parse_clock(*value, &config->clock_mode, error);
	case KYMO_RECORD_RING_SIZE:
		return kymo_parse_size(*value, &config->ring_bytes, error);
	case KYMO_RECORD_MAX_SIZE:
		return kymo_parse_size(*value, &config->max_bytes, error);
	case KYMO_RECORD_SEGMENT_MEMORY:
		return kymo_parse_size(*value, &config->segment_memory, error);
	case KYMO_RECORD_SOURCE:
		result = set_source(config, given, directory);
		break;
	case KYMO_RECORD_INCLUDE:
		config->include = given->words;
		config->n_include = given->count;
		break;
	case KYMO_RECORD_OMIT:
		config->omit = given->words;
		config->n_omit = given->count;
		break;
	case KYMO_RECORD_NO_STDLIB:
		config->no_stdlib = true;
		break;
	case KYMO_RECORD_NO_SOURCES:
		config->no_sources = true;
		break;
	case KYMO_RECORD_NO_CODE_WRITES:
		config->no_code_writes = true;
		break;
	case KYMO_RECORD_NO_SUBPROCESSES:
		config->no_subprocesses = true;
		break;
	case KYMO_RECORD_EXACT_END:
		config->exact_end = true;
		break;
	case KYMO_RECORD_SESSION_DIR:
		result = make_absolute(value, directory);
		config->session_dir = *value;
		break;
	case KYMO_RECORD_OUTPUT:
		if (is_of_file)
			result = make_absolute(value, directory);
		options->output = *value;
		break;
	case KYMO_RECORD_FORCE:
		config->force = true;
		break;
	default:
		config->quiet = true;
	}
	return result ? kymo_fail(error, result, "out of memory") : 0;
}

/* Which option getopt_long() means by @code. */
static enum kymo_record_option option_of(int code)
{
	if (code >= FIRST_CODE)
		return (enum kymo_record_option)(code - FIRST_CODE);
	return code == 'o' ? KYMO_RECORD_OUTPUT : code == 'f' ? KYMO_RECORD_FORCE : KYMO_RECORD_QUIET;
}

/* Returns an exit status, or -1 to go on. */
static int read_command_line(struct kymo_record_options *options, int argc, char **argv,
			     const char *help)
{
	struct option known[KYMO_RECORD_OPTIONS + 3] = {
		{"help", no_argument, NULL, 'h'},
		{"until-failure", required_argument, NULL, 'u'},
	};
	int code;

	for (int i = 0; i < KYMO_RECORD_OPTIONS; i++)
		known[i + 2] = (struct option){
			.name = settings[i].name,
			.has_arg = settings[i].kind == FLAG ? no_argument : required_argument,
			.val = settings[i].letter ? settings[i].letter : FIRST_CODE + i,
		};
	while (!options->flag && (code = getopt_long(argc, argv, "+o:fqhm:c:", known, NULL)) != -1) {
		if (code == 'h') {
			fputs(help, stdout);
			return KYMO_EXIT_OK;
		}
		if (code == '?')
			return KYMO_EXIT_USAGE;
		if (code == 'u') {
			if (!kymo_parse_number(argv, "--until-failure", optarg, &options->attempts))
				return KYMO_EXIT_USAGE;
			if (!options->attempts)
				return kymo_usage_error(argv, "--until-failure: one attempt at least is needed");
		} else if (code == 'm' || code == 'c') {
			options->flag = code == 'm' ? "-m" : "-c";
			options->flag_value = optarg;
		} else if (kymo_words_add(&options->given[option_of(code)], optarg ? optarg : "")) {
			return kymo_usage_error(argv, "out of memory");
		}
	}
	if (!options->flag && optind == argc)
		return kymo_usage_error(argv, "nothing to record: a script, -m, -c or a command is "
					      "missing");
	return -1;
}

static int read_variable(struct kymo_words *given, const struct setting *setting)
{
	char name[32];
	const char *value;

	variable_name(setting->name, name);
	value = getenv(name);
	if (!value || !*value || (setting->kind == FLAG && !strcmp(value, "0")))
		return 0;
	return setting->kind == LIST ? kymo_words_split(given, value) : kymo_words_add(given, value);
}

static int read_values(struct kymo_words *given, const struct setting *setting, const json_t *values,
		       struct kymo_error *error)
{
	const char *first = json_string_value(json_array_get(values, 0));
	const json_t *value;
	size_t at;

	if (setting->kind != LIST && json_array_size(values) != 1)
		return kymo_fail(error, -EINVAL, "one value is needed");
	if (setting->kind == FLAG && !strcmp(first, "false"))
		return 0;
	if (setting->kind == FLAG && strcmp(first, "true") != 0)
		return kymo_fail(error, -EINVAL, "true or false is needed");
	json_array_foreach(values, at, value)
		if (kymo_words_add(given, json_string_value(value)))
			return kymo_fail(error, -ENOMEM, "out of memory");
	return 0;
}

static int find_setting(const char *name)
{
	for (int option = 0; option < KYMO_RECORD_OPTIONS; option++)
		if (!strcmp(settings[option].name, name))
			return option;
	return -1;
}

/* Take from the file what is not given yet. */
static int read_file(struct reading *reading, struct kymo_error *error)
{
	json_t *table, *values;
	struct kymo_error why;
	const char *name;
	int result = kymo_pyproject_read(reading->directory, reading->file, &table, error);

	if (!table)
		return result;
	snprintf(reading->folder, sizeof reading->folder, "%s", reading->file);
	*strrchr(reading->folder, '/') = '\0';
	json_object_foreach(table, name, values) {
		int option = find_setting(name);

		if (option < 0)
			result = kymo_fail(&why, -EINVAL, "there is no such option");
		else if (!reading->options->given[option].count)
			result = read_values(&reading->options->given[option], &settings[option],
					     values, &why);
		else
			continue;
		if (result) {
			kymo_fail(error, result, "%s: [tool.kymo] %s: %s", reading->file, name,
				  why.message);
			break;
		}
		reading->from[option] = FILE_TABLE;
	}
	json_decref(table);
	return result;
}

/* Apply @option with, where that fails, what it is called where it was given. */
static int apply_given(struct reading *reading, enum kymo_record_option option,
		       struct kymo_error *error)
{
	const char *name = settings[option].name;
	struct kymo_error why;
	char variable[32];
	int result = apply(reading, option, &why);

	variable_name(name, variable);
	if (result && reading->from[option] == COMMAND_LINE)
		kymo_fail(error, result, "--%s: %s", name, why.message);
	else if (result && reading->from[option] == ENVIRONMENT)
		kymo_fail(error, result, "%s: %s", variable, why.message);
	else if (result)
		kymo_fail(error, result, "%s: [tool.kymo] %s: %s", reading->file, name, why.message);
	return result;
}

/* What the command line has left open. */
static int complete(struct reading *reading, struct kymo_error *error)
{
	struct kymo_words *given = reading->options->given;
	int result = 0;

	for (int option = 0; option < KYMO_RECORD_OPTIONS && !result; option++) {
		if (given[option].count)
			continue;
		reading->from[option] = ENVIRONMENT;
		result = read_variable(&given[option], &settings[option]);
	}
	if (result)
		return kymo_fail(error, result, "out of memory");
	result = read_file(reading, error);
	if (!result && !given[KYMO_RECORD_EVENTS].count &&
	    kymo_words_add(&given[KYMO_RECORD_EVENTS], "flow"))
		result = kymo_fail(error, -ENOMEM, "out of memory");
	for (int option = 0; option < KYMO_RECORD_OPTIONS && !result; option++)
		if (given[option].count)
			result = apply_given(reading, (enum kymo_record_option)option, error);
	return result;
}

int kymo_record_options_parse(struct kymo_record_options *options, int argc, char **argv,
			      const char *help, const char *directory)
{
	struct reading reading = {.options = options, .directory = directory};
	struct kymo_error error;
	int status;

	*options = (struct kymo_record_options){.config = KYMO__CONFIG__INIT, .values = KYMO__VALUES__INIT};
	options->config.policy = KYMO_POLICY_BLOCK;
	options->config.clock_mode = KYMO_CLOCK_SAMPLED;
	status = read_command_line(options, argc, argv, help);
	if (status < 0 && complete(&reading, &error))
		status = kymo_usage_error(argv, "%s", error.message);
	return status;
}

void kymo_record_options_free(struct kymo_record_options *options)
{
	for (size_t i = 0; i < KYMO_RECORD_OPTIONS; i++)
		kymo_words_free(&options->given[i]);
}
