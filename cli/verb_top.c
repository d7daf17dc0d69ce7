// SPDX-License-Identifier: Apache-2.0
/* `kymo top`: finds the trace that a process is recorded into, and hands over to the package. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/hand_over.h"
#include "cli/process_status.h"
#include "cli/sessions.h"
#include "cli/slice_options.h"
#include "reader/output_name.h"

static const char suffix[] = ".incomplete";

/* The session whose command the process @parent started: `kymo record`. */
struct search {
	pid_t parent;
	char *dir;
	bool is_found;
};

static void look_at_session(const char *dir, void *context)
{
	struct search *search = context;
	struct kymo_session_page page;
	Kymo__Config *config;

	if (search->is_found || kymo_session_read(dir, &page, &config))
		return;
	kymo__config__free_unpacked(config, NULL);
	if (page.root_pid && kymo_process_number((pid_t)page.root_pid, "PPid:") == search->parent) {
		snprintf(search->dir, PATH_MAX, "%s", dir);
		search->is_found = true;
	}
}

/* The trace that is being written by the recording of @pid. */
static int find_trace(pid_t pid, char path[PATH_MAX], struct kymo_error *error)
{
	struct kymo_session_page page;
	char dir[PATH_MAX];
	struct search search = {.parent = pid, .dir = dir};
	Kymo__Config *config;
	int result = kymo_session_of_process(pid, dir, error);

	if (result == -ENOENT) {
		kymo_sessions_visit(look_at_session, &search);
		result = search.is_found ? 0 : result;
	}
	if (result)
		return result;
	if (kymo_session_read(dir, &page, &config))
		return kymo_fail(error, -EBADMSG, "cannot read the session %s", dir);
	result = snprintf(path, PATH_MAX, "%s%s", config->output, suffix);
	kymo__config__free_unpacked(config, NULL);
	return result < PATH_MAX ? 0 : kymo_fail(error, -ENAMETOOLONG, "the name of the trace is too long");
}

/* True if @path is NAME.incomplete, and its reader still writes it. */
static bool is_being_written(const char *path)
{
	size_t length = strlen(path);
	bool is_locked;
	int fd;

	if (length < sizeof suffix || strcmp(path + length - (sizeof suffix - 1), suffix))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	is_locked = kymo_output_lock(fd, path, NULL) == -EBUSY;
	close(fd);
	return is_locked;
}

static const struct kymo_option options[] = {
	{"sort", 0, KYMO_OPTION_CHOICE, .value = "COLUMN", .choices = "self total calls", .help = "sort by self (default), total or calls"},
	{NULL, 'n', KYMO_OPTION_COUNT, .value = "N", .help = "print N functions (default: 30, or as many as fit on the terminal)"},
	{"interval", 0, KYMO_OPTION_DURATION, .value = "TIME", .help = "print again after TIME (default: 2 seconds)"},
	{0},
};

static int run_top(int argc, char **argv)
{
	struct kymo_words words = {0};
	char path[PATH_MAX], *end, **operand;
	struct kymo_error error;
	unsigned long pid;
	int status = kymo_options_parse(&kymo_verb_top, argc, argv, NULL, &words);

	if (status >= 0)
		return status;
	operand = argv + optind;
	pid = strtoul(*operand, &end, 10);
	if (pid && !*end && pid <= INT32_MAX && access(*operand, F_OK)) {
		if (find_trace((pid_t)pid, path, &error))
			return kymo_report(&error);
		*operand = path;
	}
	if (is_being_written(*operand) && kymo_words_add(&words, "live=")) {
		kymo_fail(&error, -ENOMEM, "out of memory");
		return kymo_report(&error);
	}
	return kymo_hand_over("top", "kymo.profile.top", &words, operand);
}

const struct kymo_verb kymo_verb_top = {
	.name = "top",
	.summary = "show the functions that took the most time, also of a running recording",
	.operands = "TRACE|PID",
	.text = "Print the functions that took the most time, themselves or with all that they called, or that were called most often: the "
		"project's, and in one row what others took. Of a recording that is still running, named by its NAME.incomplete or a "
		"process of it, again and again on a terminal: ENTER prints it now, q quits.",
	.tables = {{options}, {kymo_part_options}, {kymo_call_options}, {kymo_profile_options}, {kymo_python_option}},
	.run = run_top,
};
