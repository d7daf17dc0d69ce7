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
#include "cli/growth.h"
#include "cli/launch.h"
#include "cli/python_choice.h"
#include "cli/record_options.h"
#include "cli/until_failure.h"
#include "format/atomics.h"
#include "format/counter.h"
#include "reader/output_name.h"
#include "reader/reader.h"
#include "recorder/recorder.h"
#include "recorder/session_create.h"
#include "replay/trace/text.h"
#include "replay/trace/trace.h"

struct recording {
	struct kymo_record_options options;
	char directory[PATH_MAX]; /* the working directory */
	char output[PATH_MAX];	  /* absolute */
	char name[64];		  /* what is recorded, for the file's name */
	char program[PATH_MAX];
	struct kymo_words command;
	struct kymo_watcher watcher;
	int failure; /* exit status if the command is not run */
};

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

/* The command cannot be run: exit as a shell would. */
static int cannot_run(struct recording *recording, int result)
{
	recording->failure = result == -ENOENT ? KYMO_EXIT_NOT_FOUND : KYMO_EXIT_CANNOT_RUN;
	return result;
}

static int find_program(struct recording *recording, const char *name, struct kymo_error *error)
{
	int result = kymo_program_find(name, recording->program);

	if (!result)
		return 0;
	if (result == -ENOENT)
		kymo_fail(error, result, "cannot find a program or a .py file '%s'", name);
	else
		kymo_fail(error, result, "%s: not executable, and no .py file", name);
	return cannot_run(recording, result);
}

/* Find the interpreter for @script, or NULL for a module or code. */
static int find_python(struct recording *recording, const char *script, struct kymo_error *error)
{
	struct kymo_package package;
	int result;

	if (script && access(script, R_OK))
		return cannot_run(recording,
				  kymo_fail(error, -errno, "%s: %s", script, strerror(errno)));
	result = kymo_package_find(&package, error);
	return result ? result : kymo_python_choose(&package, recording->program, error);
}

/* Put the command line together: [python, flag, its value] and @rest. */
static int build_command(struct recording *recording, char **rest, struct kymo_error *error)
{
	const struct kymo_record_options *options = &recording->options;
	struct kymo_words *command = &recording->command;
	bool is_python = options->flag || is_script(*rest);
	int result = is_python ? find_python(recording, options->flag ? NULL : *rest, error)
			       : find_program(recording, *rest, error);

	if (result)
		return result;
	if (is_python)
		result = kymo_words_add(command, recording->program);
	if (options->flag && !result)
		result = kymo_words_add(command, options->flag);
	if (options->flag && !result)
		result = kymo_words_add(command, options->flag_value);
	while (!result && *rest)
		result = kymo_words_add(command, *rest++);
	return result ? kymo_fail(error, result, "out of memory") : 0;
}

static bool trace_exists(const char *path)
{
	char incomplete[PATH_MAX + 16];

	snprintf(incomplete, sizeof incomplete, "%s.incomplete", path);
	return !access(path, F_OK) || !access(incomplete, F_OK);
}

/* The absolute path of the trace, a new one unless the user named it. */
static int choose_output(struct recording *recording, struct kymo_error *error)
{
	const char *directory = recording->directory, *named = recording->options.output;
	char *path = recording->output;
	char when[32];
	struct tm local;
	time_t now = time(NULL);
	int length;

	if (named) {
		length = snprintf(path, PATH_MAX, "%s%s%s", *named == '/' ? "" : directory,
				  *named == '/' ? "" : "/", named);
		if (length >= PATH_MAX - 16)
			return kymo_fail(error, -ENAMETOOLONG, "%s: name too long", named);
		return kymo_output_check(named, recording->options.config.force, error);
	}
	localtime_r(&now, &local);
	strftime(when, sizeof when, "%Y%m%d-%H%M%S", &local);
	for (unsigned again = 1; again < 1000; again++) {
		char suffix[16] = "";

		if (again > 1)
			snprintf(suffix, sizeof suffix, "-%u", again);
		length = snprintf(path, PATH_MAX, "%s/kymo-%s-%s%s.kymo", directory,
				  recording->name, when, suffix);
		if (length < PATH_MAX - 16 && !trace_exists(path))
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

/* Set what a Python needs to find the session, and us. */
static int set_environment(const char *dir, struct kymo_error *error)
{
	const char *before = getenv("PYTHONPATH");
	struct kymo_package package;
	char *path = NULL;
	int result = kymo_package_find(&package, error);

	if (result)
		return result;
	if (asprintf(&path, "%s%s%s", package.inject, before ? ":" : "", before ? before : "") < 0 ||
	    setenv("PYTHONPATH", path, 1) || setenv("KYMO_SESSION", dir, 1))
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

static void print_name(const struct recording *recording, const char *suffix)
{
	kymo_text_put(stderr, kymo_shown_path(recording->output, recording->directory));
	fputs(suffix, stderr);
}

/* Print the one line at the end, if the reader has completed the trace. */
static void print_result(const struct recording *recording)
{
	char size[KYMO_TEXT_BYTES];
	struct stat status;

	if (recording->options.config.quiet || stat(recording->output, &status))
		return;
	fprintf(stderr, "kymo: recorded ");
	print_name(recording, "");
	fprintf(stderr, " (%s)%s\n", kymo_text_size((uint64_t)status.st_size, size),
		has_chunks(recording->output) ? ""
					      : ", but no Python recorded anything: kymo ps may say why");
}

/* The same if it could not. */
static void print_failure(const struct recording *recording, const struct kymo_error *error)
{
	char incomplete[PATH_MAX + 16];
	struct kymo_trace trace;
	bool is_whole;

	kymo_report(error);
	snprintf(incomplete, sizeof incomplete, "%s.incomplete", recording->output);
	if (kymo_trace_open(&trace, incomplete, 0, NULL))
		return;
	is_whole = trace.is_complete;
	kymo_trace_close(&trace);
	fprintf(stderr, is_whole ? "kymo: the trace is complete, but is still called " :
				   "kymo: what there is of the trace lies in ");
	print_name(recording, ".incomplete\n");
}

/* Make the reader end; its trace is thrown away. */
static void discard_session(const struct recording *recording, struct kymo_session_page *page, const char *dir)
{
	kymo_store_release_u32(&page->stop_wanted, KYMO_STOP_DISCARD);
	kymo_launch_wait_for_reader(page, dir, &recording->watcher);
}

/* Make the session @dir, and start its reader. */
static int begin_session(struct recording *recording, char dir[KYMO_DIR_BYTES], struct kymo_session_page **page,
		 struct kymo_error *error)
{
	const struct kymo_reader_options reader = {0};
	Kymo__Session session = KYMO__SESSION__INIT;
	int result;

	session.argv = recording->command.words;
	session.n_argv = recording->command.count;
	session.working_directory = recording->directory;
	result = kymo_session_create(&recording->options.config, &session, dir, error);
	if (result)
		return result;
	result = map_session(dir, page, error);
	if (!result)
		result = kymo_reader_spawn(dir, &reader, error);
	if (result)
		kymo_session_remove(dir);
	return result;
}

/* Run the command to its end.  @status is as from waitpid(). */
static int run_command(struct recording *recording, struct kymo_session_page *page, const char *dir, int *status,
	       struct kymo_error *error)
{
	struct kymo_growth growth = {.output = recording->output, .directory = recording->directory, .began_ns = kymo_monotonic_ns()};
	bool may_grow = recording->options.config.values && !recording->options.config.quiet;
	pid_t pid;
	int result = set_environment(dir, error);

	if (!result) {
		result = kymo_launch(recording->program, recording->command.words, &pid, error);
		if (result)
			cannot_run(recording, result);
	}
	if (result) {
		discard_session(recording, page, dir);
		return result;
	}
	recording->watcher = (struct kymo_watcher){0};
	/* The program runs: do not end it only because the watcher failed. */
	if (recording->options.config.exact_end && kymo_watcher_begin(&recording->watcher, pid, dir, error))
		kymo_report(error);
	kymo_store_release_u32(&page->root_pid, (uint32_t)pid);
	*status = kymo_launch_wait(pid, may_grow ? kymo_growth_look : NULL, &growth, &recording->watcher);
	if (*status < 0) {
		kymo_store_release_u32(&page->stop_wanted, KYMO_STOP_SEAL);
	} else {
		kymo_store_relaxed_u32(&page->root_status, (uint32_t)*status);
		/* Release: the status before the word that says it is there. */
		kymo_store_release_u32(&page->root_ended, 1);
	}
	return 0;
}

/* Wait for the trace, and print the result.  False: there is none by its name. */
static bool end_session(const struct recording *recording, struct kymo_session_page *page, const char *dir)
{
	struct kymo_error error;

	if (kymo_launch_wait_for_reader(page, dir, &recording->watcher)) {
		fprintf(stderr, "kymo: the reader was killed; kymo salvage %s makes a trace of what "
				"it left\n", dir);
		return false;
	}
	if (kymo_session_failure(dir, &error)) {
		print_failure(recording, &error);
		/* It holds nothing that the reader has not taken. */
		kymo_session_remove(dir);
		return false;
	}
	print_result(recording);
	return true;
}

/* Record once, into recording->output.  Returns an exit status, or ends as the command did. */
static int record_once(struct recording *recording)
{
	struct kymo_session_page *page = NULL;
	char dir[KYMO_DIR_BYTES];
	struct kymo_error error;
	int status, result;

	do {
		recording->options.config.output = recording->output;
		result = begin_session(recording, dir, &page, &error);
		/* Another recording that began in the same second may have taken the name. */
	} while (result == -EEXIST && !recording->options.output && !choose_output(recording, &error));
	if (!result)
		result = run_command(recording, page, dir, &status, &error);
	if (result) {
		kymo_report(&error);
		return recording->failure;
	}
	if (!end_session(recording, page, dir) && !status)
		return KYMO_EXIT_FAILURE;
	return kymo_launch_end(status);
}

static void put_epilog(FILE *out)
{
	fputs("An option that is not given is read from its variable, such as KYMO_RING_SIZE for\n"
	      "--ring-size, or from [tool.kymo] in the nearest pyproject.toml. The interpreter is\n"
	      "$KYMO_PYTHON, that of the active virtual environment, that of the one from which\n"
	      "kymo is run by path, python3, or the newest python3.X.\n", out);
}

static int record_attempt(void *context)
{
	struct recording *recording = context;

	recording->options.config.quiet = recording->options.config.force = true;
	return record_once(recording);
}

static int run_record(int argc, char **argv)
{
	struct recording recording = {.failure = KYMO_EXIT_FAILURE};
	struct kymo_record_options *options = &recording.options;
	struct kymo_error error;
	int status, result;

	if (!getcwd(recording.directory, sizeof recording.directory))
		strcpy(recording.directory, "/");
	status = kymo_record_options_parse(options, &kymo_verb_record, argc, argv, recording.directory);
	if (status >= 0)
		goto out;
	set_name(&recording, !options->flag		? argv[optind]
			     : options->flag[1] == 'm' ? options->flag_value
						       : "code");
	result = build_command(&recording, argv + optind, &error);
	if (!result)
		result = choose_output(&recording, &error);
	if (result) {
		kymo_report(&error);
		status = recording.failure;
	} else if (options->attempts) {
		status = kymo_record_until_failure(
			&(struct kymo_attempts){
				.output = recording.output,
				.directory = recording.directory,
				.limit = options->attempts,
				.may_replace = options->config.force,
				.record = record_attempt,
			},
			&recording);
	} else {
		status = record_once(&recording);
	}
out:
	kymo_words_free(&recording.command);
	kymo_record_options_free(options);
	return status;
}

const struct kymo_verb kymo_verb_record = {
	.name = "record",
	.summary = "run a command and record every Python that it starts",
	.usage = "[options] [--] script.py args…\n[options] -m module args…\n[options] -c code args…\n[options] [--] command args…",
	.operands = "COMMAND…",
	.text = "Run a Python script, module or code, or any command, and record every Python that it starts into one trace. Exit status and "
		"output are those of the command.",
	.tables = {{kymo_record_rows}},
	.put_epilog = put_epilog,
	.run = run_record,
	.is_command = true,
};
