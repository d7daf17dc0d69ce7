// SPDX-License-Identifier: Apache-2.0
/* `kymo record`: run a command and record every Python that it starts. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/launch.h"
#include "cli/python_choice.h"
#include "cli/text.h"
#include "format/atomics.h"
#include "reader/reader.h"
#include "recorder/session_create.h"
#include "replay/trace.h"

static const char help[] =
	"usage: kymo record [options] [--] script.py args…\n"
	"       kymo record [options] -m module args…\n"
	"       kymo record [options] -c code args…\n"
	"       kymo record [options] [--] command args…\n"
	"\n"
	"Run a Python script, module or code, or any command, and record every Python that it\n"
	"starts into one trace. Exit status and output are those of the command.\n"
	"\n"
	"  --events=LIST         calls, full, coverage, or names of events (default: calls)\n"
	"  --c-calls             also CALL, C_RETURN and C_RAISE\n"
	"  --policy=POLICY       when the reader cannot keep up: block (default), drop;\n"
	"                        overwrite: keep only the newest events of each thread\n"
	"  --clock=MODE          sampled (default), exact: at each call and return, none\n"
	"  --ring-size=SIZE      memory of one thread, e.g. 4M\n"
	"  --max-size=SIZE       stop writing when the trace is this large\n"
	"  --source=PATH         only code of this file, folder or module; may be repeated\n"
	"  --include=GLOB        only files like this; may be repeated\n"
	"  --omit=GLOB           no files like this; may be repeated\n"
	"  --no-stdlib           no code of the standard library\n"
	"  --no-subprocesses     only the command itself, no process that it starts\n"
	"  --session-dir=DIR     where the shared memory lies while the command runs\n"
	"  -o, --output=FILE     the trace (default: kymo-NAME-DATE-TIME.kymo)\n"
	"  -f, --force           replace an existing FILE\n"
	"  -q, --quiet           print nothing about the trace at the end\n"
	"  --help                this text\n"
	"\n"
	"The interpreter is $KYMO_PYTHON, that of the active virtual environment, or python3.\n";

struct recording {
	Kymo__Config config;
	const char *output; /* as the user wrote it; NULL: made up */
	char events[256];
	char absolute[PATH_MAX];
	char name[64]; /* what is recorded, for the file's name */
	char program[PATH_MAX];
	char **command; /* allocated; ends with NULL */
	size_t words;
	bool has_lost_reader;
};

static int add_string(size_t *count, char ***list, char *value)
{
	char **grown = reallocarray(*list, *count + 1, sizeof *grown);

	if (!grown)
		return -ENOMEM;
	*list = grown;
	grown[(*count)++] = value;
	return 0;
}

enum option_code {
	OPTION_EVENTS = 256,
	OPTION_C_CALLS,
	OPTION_POLICY,
	OPTION_CLOCK,
	OPTION_RING_SIZE,
	OPTION_MAX_SIZE,
	OPTION_SOURCE,
	OPTION_INCLUDE,
	OPTION_OMIT,
	OPTION_NO_STDLIB,
	OPTION_NO_SUBPROCESSES,
	OPTION_SESSION_DIR,
};

static const struct option options[] = {
	{"events", required_argument, NULL, OPTION_EVENTS},
	{"c-calls", no_argument, NULL, OPTION_C_CALLS},
	{"policy", required_argument, NULL, OPTION_POLICY},
	{"clock", required_argument, NULL, OPTION_CLOCK},
	{"ring-size", required_argument, NULL, OPTION_RING_SIZE},
	{"max-size", required_argument, NULL, OPTION_MAX_SIZE},
	{"source", required_argument, NULL, OPTION_SOURCE},
	{"include", required_argument, NULL, OPTION_INCLUDE},
	{"omit", required_argument, NULL, OPTION_OMIT},
	{"no-stdlib", no_argument, NULL, OPTION_NO_STDLIB},
	{"no-subprocesses", no_argument, NULL, OPTION_NO_SUBPROCESSES},
	{"session-dir", required_argument, NULL, OPTION_SESSION_DIR},
	{"output", required_argument, NULL, 'o'},
	{"force", no_argument, NULL, 'f'},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static int set_option(struct recording *recording, int code, bool *adds_c_calls,
		      struct kymo_error *error)
{
	Kymo__Config *config = &recording->config;

	switch (code) {
	case OPTION_EVENTS:
		if (snprintf(recording->events, sizeof recording->events, "%s", optarg) >=
		    (int)sizeof recording->events)
			return kymo_fail(error, -EINVAL, "--events: too long");
		return 0;
	case OPTION_C_CALLS:
		*adds_c_calls = true;
		return 0;
	case OPTION_POLICY:
		return kymo_parse_policy(optarg, &config->policy, error);
	case OPTION_CLOCK:
		return kymo_parse_clock(optarg, &config->clock_mode, error);
	case OPTION_RING_SIZE:
		return kymo_parse_size(optarg, &config->ring_bytes, error);
	case OPTION_MAX_SIZE:
		return kymo_parse_size(optarg, &config->max_bytes, error);
	case OPTION_SOURCE:
		return add_string(&config->n_source, &config->source, optarg);
	case OPTION_INCLUDE:
		return add_string(&config->n_include, &config->include, optarg);
	case OPTION_OMIT:
		return add_string(&config->n_omit, &config->omit, optarg);
	case OPTION_NO_STDLIB:
		config->no_stdlib = true;
		return 0;
	case OPTION_NO_SUBPROCESSES:
		config->no_subprocesses = true;
		return 0;
	case OPTION_SESSION_DIR:
		config->session_dir = optarg;
		return 0;
	case 'o':
		recording->output = optarg;
		return 0;
	case 'f':
		config->force = true;
		return 0;
	default:
		config->quiet = true;
		return 0;
	}
}

static bool is_script(const char *word)
{
	const char *dot = strrchr(word, '.');
	char main_file[PATH_MAX];

	if (dot && (!strcmp(dot, ".py") || !strcmp(dot, ".pyz") || !strcmp(dot, ".pyw")))
		return true;
	return snprintf(main_file, sizeof main_file, "%s/__main__.py", word) < PATH_MAX &&
	       !access(main_file, R_OK);
}

/* The part of a path or code that a file may be named after. */
static void set_name(struct recording *recording, const char *from)
{
	const char *slash = strrchr(from, '/');
	size_t length;

	if (slash && slash[1])
		from = slash + 1;
	length = strspn(from, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
	if (length > 3 && !strncmp(from + length - 3, ".py", 3))
		length -= 3;
	snprintf(recording->name, sizeof recording->name, "%.*s", length ? (int)length : 1,
		 length ? from : "x");
}

/* Put the command line together: [python, @flag, @flag_value] and @rest. */
static int build_command(struct recording *recording, const char *flag, char *flag_value,
			 char **rest, struct kymo_error *error)
{
	struct kymo_package package;
	bool is_python = flag || is_script(rest[0]);
	int result = 0;

	if (is_python) {
		result = kymo_package_find(&package, error);
		if (!result)
			result = kymo_python_choose(&package, recording->program, error);
		if (result)
			return result;
		result = add_string(&recording->words, &recording->command, recording->program);
	} else if (kymo_program_find(rest[0], recording->program)) {
		return kymo_fail(error, -ENOENT, "there is no program and no .py file '%s'", rest[0]);
	}
	if (!flag && is_python && access(rest[0], R_OK))
		return kymo_fail(error, -errno, "%s: %s", rest[0], strerror(errno));
	if (flag && !result) {
		static char flags[][3] = {"-c", "-m"};

		result = add_string(&recording->words, &recording->command,
				    flags[flag[1] == 'm']);
		if (!result)
			result = add_string(&recording->words, &recording->command, flag_value);
	}
	while (!result && *rest)
		result = add_string(&recording->words, &recording->command, *rest++);
	if (!result)
		result = add_string(&recording->words, &recording->command, NULL);
	if (result)
		return kymo_fail(error, result, "out of memory");
	recording->words--;
	return 0;
}

/* Returns an exit status, or -1 to go on. */
static int parse(struct recording *recording, int argc, char **argv)
{
	Kymo__Config *config = &recording->config;
	struct kymo_error error = {"out of memory"};
	bool adds_c_calls = false;
	const char *flag = NULL;
	char *flag_value = NULL;
	int option;

	while (!flag && (option = getopt_long(argc, argv, "+o:fqhm:c:", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return KYMO_EXIT_OK;
		}
		if (option == '?')
			return KYMO_EXIT_USAGE;
		if (option == 'm' || option == 'c') {
			flag = option == 'm' ? "-m" : "-c";
			flag_value = optarg;
		} else if (set_option(recording, option, &adds_c_calls, &error)) {
			return kymo_usage_error(argv, "%s", error.message);
		}
	}
	if (!flag && optind == argc)
		return kymo_usage_error(argv, "nothing to record: a script, -m, -c or a command is "
					      "missing");
	if (kymo_config_set_events(config, recording->events, &error))
		return kymo_usage_error(argv, "%s", error.message);
	if (adds_c_calls)
		kymo_config_add_c_calls(config);
	set_name(recording, !flag ? argv[optind] : flag[1] == 'm' ? flag_value : "code");
	if (build_command(recording, flag, flag_value, argv + optind, &error))
		return kymo_report(&error);
	return -1;
}

static bool exists(const char *path)
{
	char incomplete[PATH_MAX + 16];

	snprintf(incomplete, sizeof incomplete, "%s.incomplete", path);
	return !access(path, F_OK) || !access(incomplete, F_OK);
}

/* The absolute path of the trace, a new one unless the user named it. */
static int choose_output(struct recording *recording, const char *directory,
			 struct kymo_error *error)
{
	char *path = recording->absolute;
	char when[32];
	struct tm local;
	time_t now = time(NULL);
	int length;

	if (recording->output) {
		length = snprintf(path, PATH_MAX, "%s%s%s",
				  recording->output[0] == '/' ? "" : directory,
				  recording->output[0] == '/' ? "" : "/", recording->output);
		if (length >= PATH_MAX - 16)
			return kymo_fail(error, -ENAMETOOLONG, "%s: name too long", recording->output);
		if (!access(path, F_OK) && !recording->config.force)
			return kymo_fail(error, -EEXIST, "%s exists; -f replaces it",
					 recording->output);
		return 0;
	}
	localtime_r(&now, &local);
	strftime(when, sizeof when, "%Y%m%d-%H%M%S", &local);
	for (unsigned again = 1; again < 1000; again++) {
		char suffix[16] = "";

		if (again > 1)
			snprintf(suffix, sizeof suffix, "-%u", again);
		length = snprintf(path, PATH_MAX, "%s/kymo-%s-%s%s.kymo", directory,
				  recording->name, when, suffix);
		if (length < PATH_MAX - 16 && !exists(path))
			return 0;
	}
	return kymo_fail(error, -EEXIST, "cannot find a name for the trace in %s", directory);
}

static int map_session(const char *dir, struct kymo_session_page **page, struct kymo_error *error)
{
	char path[KYMO_DIR_BYTES + 16];
	int fd, result = 0;

	snprintf(path, sizeof path, "%s/session", dir);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return kymo_fail(error, -errno, "%s: %s", path, strerror(errno));
	*page = mmap(NULL, KYMO_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*page == MAP_FAILED)
		result = kymo_fail(error, -errno, "%s: %s", path, strerror(errno));
	close(fd);
	return result;
}

/* What a Python needs to find the session, and us. */
static int set_environment(const char *dir, struct kymo_error *error)
{
	const char *before = getenv("PYTHONPATH");
	struct kymo_package package;
	char *path = NULL;
	int result = kymo_package_find(&package, error);

	if (result)
		return result;
	if (asprintf(&path, "%s%s%s", package.inject, before ? ":" : "", before ? before : "") < 0 ||
	    setenv("PYTHONPATH", path, 1) || setenv("KYMO_SESSION", dir, 1) ||
	    setenv("KYMO_EXTENSION_DIR", package.folder, 1))
		result = kymo_fail(error, -ENOMEM, "out of memory");
	free(path);
	return result;
}

static bool has_chunks(const char *path)
{
	struct kymo_trace trace;
	bool is_found = false;

	if (kymo_trace_open(&trace, path, 0, NULL))
		return false;
	for (size_t i = 0; i < trace.frame_count && !is_found; i++)
		is_found = trace.frames[i].kind == KYMO_FRAME_CHUNK;
	kymo_trace_close(&trace);
	return is_found;
}

/* The one line at the end; @dir is the session's folder. */
static void print_result(const struct recording *recording, const char *directory, const char *dir)
{
	const char *name = recording->absolute;
	size_t length = strlen(directory);
	char size[KYMO_TEXT_BYTES];
	struct stat status;

	if (!strncmp(name, directory, length) && name[length] == '/')
		name += length + 1;
	if (recording->has_lost_reader) {
		fprintf(stderr, "kymo: the reader was killed; kymo salvage %s makes a trace of what "
				"it left\n", dir);
	} else if (stat(recording->absolute, &status)) {
		fprintf(stderr, "kymo: the trace was not completed; what there is lies in ");
		kymo_text_put(stderr, name);
		fprintf(stderr, ".incomplete\n");
	} else if (!recording->config.quiet) {
		fprintf(stderr, "kymo: recorded ");
		kymo_text_put(stderr, name);
		fprintf(stderr, " (%s)%s\n", kymo_text_size((uint64_t)status.st_size, size),
			has_chunks(recording->absolute)
				? ""
				: ", but no Python recorded anything: kymo ps may say why");
	}
}

/* Everything from the session's start to the program's end.  Returns as waitpid() does. */
static int run(struct recording *recording, const char *dir, int *status, struct kymo_error *error)
{
	const struct kymo_reader_options reader = {0};
	struct kymo_session_page *page;
	pid_t pid;
	int result = map_session(dir, &page, error);

	if (!result)
		result = set_environment(dir, error);
	if (!result)
		result = kymo_reader_spawn(dir, &reader, error);
	if (result) {
		kymo_session_remove(dir);
		return result;
	}
	result = kymo_launch(recording->program, recording->command, &pid, error);
	if (result) {
		kymo_store_release_u32(&page->stop_wanted, 1);
		kymo_launch_wait_for_reader(page);
		unlink(recording->absolute);
		return result;
	}
	kymo_store_release_u32(&page->root_pid, (uint32_t)pid);
	*status = kymo_launch_wait(pid);
	if (*status < 0) {
		kymo_store_release_u32(&page->stop_wanted, 1);
	} else {
		kymo_store_relaxed_u32(&page->root_status, (uint32_t)*status);
		/* Release: the status before the word that says it is there. */
		kymo_store_release_u32(&page->root_ended, 1);
	}
	recording->has_lost_reader = kymo_launch_wait_for_reader(page) != 0;
	return 0;
}

int kymo_command_record(int argc, char **argv)
{
	struct recording recording = {.config = KYMO__CONFIG__INIT, .events = "calls"};
	Kymo__Session session = KYMO__SESSION__INIT;
	char directory[PATH_MAX], dir[KYMO_DIR_BYTES];
	struct kymo_error error;
	int status, result;

	recording.config.policy = KYMO_POLICY_BLOCK;
	recording.config.clock_mode = KYMO_CLOCK_SAMPLED;
	status = parse(&recording, argc, argv);
	if (status >= 0)
		goto out;
	if (!getcwd(directory, sizeof directory))
		strcpy(directory, "/");
	result = choose_output(&recording, directory, &error);
	recording.config.output = recording.absolute;
	session.argv = recording.command;
	session.n_argv = recording.words;
	session.working_directory = directory;
	if (!result)
		result = kymo_session_create(&recording.config, &session, dir, &error);
	if (!result)
		result = run(&recording, dir, &status, &error);
	if (result) {
		status = kymo_report(&error);
		goto out;
	}
	print_result(&recording, directory, dir);
	status = kymo_launch_end(status);
out:
	free(recording.command);
	free(recording.config.source);
	free(recording.config.include);
	free(recording.config.omit);
	return status;
}
