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

#define GIVEN(option) .place = offsetof(struct kymo_record_options, given[option])
const struct kymo_option kymo_record_rows[] = {
	[KYMO_RECORD_EVENTS] = {"events", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_EVENTS), .value = "LIST", .choices = "flow calls full coverage",
		.help = "record flow (default), calls, full, coverage, or events by name, with commas between them",
		.more = "Names are those of `sys.monitoring.events`. Lines are rebuilt from `flow`."},
	[KYMO_RECORD_C_CALLS] = {"c-calls", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_C_CALLS), .help = "record CALL, C_RETURN and C_RAISE, too"},
	[KYMO_RECORD_VALUES] = {"values", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_VALUES), .value = "SCOPE", .choices = "none args locals globals",
		.help = "record what variables hold, too: args (and what is returned, yielded and raised), locals, globals; none (default)",
		.more = "args are the arguments where a function begins, what is returned and yielded, and exceptions where they are raised; "
			"locals are also variables of functions that changed, at each line; globals are also the names of its module that "
			"a function uses. The trace then holds data of the program."},
	[KYMO_RECORD_VALUES_FOR] = {"values-for", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_VALUES_FOR), .value = "GLOB",
		.help = "record values only in files or functions that match GLOB (default: the project's files; '*': all); may be repeated",
		.more = "Functions are matched by their qualified name, such as `Order.*`. The project's files are not those of the "
			"standard library, of what is installed, or of scripts beside the interpreter. This and the next two do nothing "
			"without --values."},
	[KYMO_RECORD_REDACT] = {"redact", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_REDACT), .value = "PATTERN",
		.help = "record no values of variables and attributes that match PATTERN, in addition to password, token and the like; may "
			"be repeated",
		.more = "PATTERN is a word in the name, or a glob of it, in any case; it is matched against keys, too. password, token, "
			"secret, api_key and the like are always redacted."},
	[KYMO_RECORD_VALUES_LIMITS] = {"values-limits", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_VALUES_LIMITS), .value = "LIST",
		.help = "limit how much of a value is recorded (default: depth=2,items=20,text=200,bytes=4096)",
		.more = "`depth` is that of values in values, `items` are those of a container or object, `text` is in bytes, and `bytes` are "
			"those of one event."},
	[KYMO_RECORD_POLICY] = {"policy", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_POLICY), .value = "POLICY", .choices = "block drop overwrite",
		.help = "when the reader cannot keep up: block (default); drop; overwrite, which keeps only the newest events of each thread",
		.more = "With block, the thread waits at most one second, then events are dropped. Dropped events are counted."},
	[KYMO_RECORD_CLOCK] = {"clock", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_CLOCK), .value = "MODE", .choices = "sampled exact none",
		.help = "take the time sampled (default); exact, at each call and return; none",
		.more = "sampled is every 80 to 500 events, often twice in a row, and after each sleep; exact is the same, and at each call "
			"and return; none is a few times a second."},
	[KYMO_RECORD_RING_SIZE] = {"ring-size", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_RING_SIZE), .value = "SIZE",
		.help = "memory of one thread, such as 4M"},
	[KYMO_RECORD_MAX_SIZE] = {"max-size", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_MAX_SIZE), .value = "SIZE",
		.help = "stop writing when the trace is this large"},
	[KYMO_RECORD_SEGMENT_MEMORY] = {"segment-memory", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_SEGMENT_MEMORY), .value = "SIZE",
		.help = "memory for segments that have not ended (default: 64M)",
		.more = "It is that of their compressed events, in all processes together. What exceeds it goes into an unlinked file "
			"beside the trace."},
	[KYMO_RECORD_SOURCE] = {"source", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_SOURCE), .value = "PLACE",
		.help = "record only code of this file, folder or module; may be repeated"},
	[KYMO_RECORD_INCLUDE] = {"include", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_INCLUDE), .value = "GLOB",
		.help = "record only files matching GLOB; may be repeated"},
	[KYMO_RECORD_OMIT] = {"omit", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_OMIT), .value = "GLOB",
		.help = "skip files matching GLOB; may be repeated"},
	[KYMO_RECORD_NO_STDLIB] = {"no-stdlib", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_NO_STDLIB), .help = "skip code of the standard library"},
	[KYMO_RECORD_NO_SOURCES] = {"no-sources", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_NO_SOURCES),
		.help = "leave the text of source files out of the trace"},
	[KYMO_RECORD_NO_CODE_WRITES] = {"no-code-writes", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_NO_CODE_WRITES),
		.help = "of `coverage`: write into code objects only through `sys.monitoring`; slower",
		.more = "Lines that run often cost more then."},
	[KYMO_RECORD_NO_SUBPROCESSES] = {"no-subprocesses", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_NO_SUBPROCESSES),
		.help = "record only the command itself, not the processes that it starts"},
	[KYMO_RECORD_EXACT_END] = {"exact-end", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_EXACT_END),
		.help = "watch with ptrace where threads are when they are killed, crash or exit",
		.more = "Lines up to there are then known in a recording with `flow`, also where a thread leaves by os._exit or ends while it "
			"is blocked. Costs a stop for each signal and each thread that starts or ends. The program cannot be debugged "
			"meanwhile, and executes no set-user-ID program; signals that it ignores may interrupt its system calls."},
	[KYMO_RECORD_SESSION_DIR] = {"session-dir", 0, KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_SESSION_DIR), .value = "DIR",
		.help = "keep the shared memory in DIR while the command runs",
		.more = "The default is `/dev/shm`, $XDG_RUNTIME_DIR or $TMPDIR."},
	[KYMO_RECORD_OUTPUT] = {"output", 'o', KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_OUTPUT), .value = "FILE",
		.help = "write the trace to FILE (default: kymo-NAME-DATE-TIME.kymo)"},
	[KYMO_RECORD_FORCE] = {"force", 'f', KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_FORCE), .help = "replace FILE if it exists",
		.more = "It must be a regular file that no other recording is writing."},
	[KYMO_RECORD_QUIET] = {"quiet", 'q', KYMO_OPTION_LIST, GIVEN(KYMO_RECORD_QUIET), .help = "print nothing about the trace at the end"},
	[KYMO_RECORD_OPTIONS] = {"until-failure", 0, KYMO_OPTION_COUNT, .place = offsetof(struct kymo_record_options, attempts), .value = "N",
		.help = "run the command until it fails, at most N times; keep the failing trace, FILE, and the last passing one, "
			"FILE-passed",
		.more = "-passed comes before the suffix of FILE. Other attempts leave no trace. If both exist, kymo-diff(1) prints on "
			"standard error where they diverge. The exit status is that of the attempt that failed, or 0."},
	{NULL, 'm', KYMO_OPTION_LAST, .place = offsetof(struct kymo_record_options, module), .value = "MODULE",
	 .help = "run this module, with the words that follow as its arguments"},
	{NULL, 'c', KYMO_OPTION_LAST, .place = offsetof(struct kymo_record_options, code), .value = "CODE",
	 .help = "run this code, with the words that follow as its arguments"},
	{0},
};

/* One value, of which the last counts; none; or a value for each time that it is given. */
enum setting_kind { WORD, FLAG, LIST };

static enum setting_kind kind_of(enum kymo_record_option option)
{
	if (!kymo_record_rows[option].value)
		return FLAG;
	switch (option) {
	case KYMO_RECORD_VALUES_FOR:
	case KYMO_RECORD_REDACT:
	case KYMO_RECORD_SOURCE:
	case KYMO_RECORD_INCLUDE:
	case KYMO_RECORD_OMIT:
		return LIST;
	default:
		return WORD;
	}
}

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

/* True for a path, as in the filter of code objects; else it is the name of a module. */
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

/* Store the values of @option. */
static int apply_option(struct reading *reading, enum kymo_record_option option, struct kymo_error *error)
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

/* Returns an exit status, or -1 to go on. */
static int read_command_line(struct kymo_record_options *options, const struct kymo_verb *verb, int argc, char **argv)
{
	int status = kymo_options_parse(verb, argc, argv, options, NULL);

	if (status >= 0)
		return status;
	options->flag = options->module ? "-m" : options->code ? "-c" : NULL;
	options->flag_value = options->module ? options->module : options->code;
	if (!options->flag && optind == argc)
		return kymo_usage_error(argv, "nothing to record; name a script, -m MODULE, -c CODE or a command");
	return -1;
}

static int read_variable(struct kymo_words *given, enum kymo_record_option option)
{
	char name[32];
	const char *value;

	variable_name(kymo_record_rows[option].name, name);
	value = getenv(name);
	if (!value || !*value || (kind_of(option) == FLAG && !strcmp(value, "0")))
		return 0;
	return kind_of(option) == LIST ? kymo_words_split(given, value) : kymo_words_add(given, value);
}

static int read_values(struct kymo_words *given, enum kymo_record_option option, const json_t *values,
		       struct kymo_error *error)
{
	const char *first = json_string_value(json_array_get(values, 0));
	const json_t *value;
	size_t at;

	if (kind_of(option) != LIST && json_array_size(values) != 1)
		return kymo_fail(error, -EINVAL, "it takes one value");
	if (kind_of(option) == FLAG && !strcmp(first, "false"))
		return 0;
	if (kind_of(option) == FLAG && strcmp(first, "true") != 0)
		return kymo_fail(error, -EINVAL, "it must be true or false");
	json_array_foreach(values, at, value)
		if (kymo_words_add(given, json_string_value(value)))
			return kymo_fail(error, -ENOMEM, "out of memory");
	return 0;
}

static int find_setting(const char *name)
{
	for (int option = 0; option < KYMO_RECORD_OPTIONS; option++)
		if (!strcmp(kymo_record_rows[option].name, name))
			return option;
	return -1;
}

/* Take options that are not given yet from the file. */
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
			result = kymo_fail(&why, -EINVAL, "unknown option");
		else if (!reading->options->given[option].count)
			result = read_values(&reading->options->given[option],
					     (enum kymo_record_option)option, values, &why);
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

/* Apply @option; a failure's message has its name as it was given. */
static int apply_given(struct reading *reading, enum kymo_record_option option,
		       struct kymo_error *error)
{
	const char *name = kymo_record_rows[option].name;
	struct kymo_error why;
	char variable[32];
	int result = apply_option(reading, option, &why);

	variable_name(name, variable);
	if (result && reading->from[option] == COMMAND_LINE)
		kymo_fail(error, result, "--%s: %s", name, why.message);
	else if (result && reading->from[option] == ENVIRONMENT)
		kymo_fail(error, result, "%s: %s", variable, why.message);
	else if (result)
		kymo_fail(error, result, "%s: [tool.kymo] %s: %s", reading->file, name, why.message);
	return result;
}

/* Fill in what the command line left open. */
static int complete_options(struct reading *reading, struct kymo_error *error)
{
	struct kymo_words *given = reading->options->given;
	int result = 0;

	for (int option = 0; option < KYMO_RECORD_OPTIONS && !result; option++) {
		if (given[option].count)
			continue;
		reading->from[option] = ENVIRONMENT;
		result = read_variable(&given[option], (enum kymo_record_option)option);
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

int kymo_record_options_parse(struct kymo_record_options *options, const struct kymo_verb *verb, int argc, char **argv,
			      const char *directory)
{
	struct reading reading = {.options = options, .directory = directory};
	struct kymo_error error;
	int status;

	*options = (struct kymo_record_options){.config = KYMO__CONFIG__INIT, .values = KYMO__VALUES__INIT};
	options->config.policy = KYMO_POLICY_BLOCK;
	options->config.clock_mode = KYMO_CLOCK_SAMPLED;
	status = read_command_line(options, verb, argc, argv);
	if (status < 0 && complete_options(&reading, &error))
		status = kymo_usage_error(argv, "%s", error.message);
	return status;
}

void kymo_record_options_free(struct kymo_record_options *options)
{
	for (size_t i = 0; i < KYMO_RECORD_OPTIONS; i++)
		kymo_words_free(&options->given[i]);
}
