// SPDX-License-Identifier: Apache-2.0
/* `kymo top`: finds the trace that a process is recorded into, and hands over to the package. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/hand_over.h"
#include "cli/sessions.h"
#include "cli/slice_options.h"
#include "reader/output_name.h"

static const char help[] =
	"usage: kymo top [options] TRACE|PID\n"
	"\n"
	"Print the functions that took most time, themselves or with all that they called, or that\n"
	"were called most often: the project's, and in one row what others took. Of a recording\n"
	"that still runs, named by its NAME.incomplete or a process of it, again and again on a\n"
	"terminal: ENTER prints anew, q ends.\n"
	"\n"
	"  --sort=COLUMN        self, total or calls; self if not given\n"
	"  -n N                 so many functions; 30 if not given, or as many as the terminal has\n"
	"                       room for\n"
	"  --interval=TIME      how long to wait before it is printed again; 2 if not given\n"
	KYMO_SLICE_HELP
	KYMO_SHOWN_HELP
	"  --overhead=TIME      take so much off for each call and return\n"
	"  --python=PROGRAM     the Python to use; else one of the version that recorded\n"
	"  --help               this text\n";

static const char suffix[] = ".incomplete";

/* The session whose command the process @parent started: `kymo record`. */
struct search {
	pid_t parent;
	char *dir;
	bool is_found;
};

static pid_t parent_of(pid_t pid)
{
	char path[64], line[256];
	long parent = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && !parent && fgets(line, sizeof line, file))
		if (!strncmp(line, "PPid:", 5))
			parent = strtol(line + 5, NULL, 10);
	if (file)
		fclose(file);
	return (pid_t)parent;
}

static void look_at(const char *dir, void *context)
{
	struct search *search = context;
	struct kymo_session_page page;
	Kymo__Config *config;

	if (search->is_found || kymo_session_read(dir, &page, &config))
		return;
	kymo__config__free_unpacked(config, NULL);
	if (page.root_pid && parent_of((pid_t)page.root_pid) == search->parent) {
		snprintf(search->dir, PATH_MAX, "%s", dir);
		search->is_found = true;
	}
}

/* The trace that is being written of the recording that @pid belongs to. */
static int find_trace(pid_t pid, char path[PATH_MAX], struct kymo_error *error)
{
	struct kymo_session_page page;
	char dir[PATH_MAX];
	struct search search = {.parent = pid, .dir = dir};
	Kymo__Config *config;
	int result = kymo_session_of_process(pid, dir, error);

	if (result == -ENOENT) {
		kymo_sessions_visit(look_at, &search);
		result = search.is_found ? 0 : result;
	}
	if (result)
		return result;
	if (kymo_session_read(dir, &page, &config))
		return kymo_fail(error, -EBADMSG, "%s is no session that can be read", dir);
	result = snprintf(path, PATH_MAX, "%s%s", config->output, suffix);
	kymo__config__free_unpacked(config, NULL);
	return result < PATH_MAX ? 0 : kymo_fail(error, -ENAMETOOLONG, "the name of the trace is too long");
}

/* True if @path is NAME.incomplete, and its reader goes on writing it. */
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

/* The operand among the words, which may be anywhere; NULL: there is not one. */
static char **find_operand(int argc, char **argv)
{
	static const char *const with_value[] = {
		"--sort", "-n", "--interval", "--from", "--to", "--process", "--thread", "--test", "--function",
		"--min-duration", "--overhead", "--python", "--file",
	};
	char **operand = NULL;

	for (int i = 1; i < argc; i++) {
		bool has_value = false;

		for (size_t o = 0; o < sizeof with_value / sizeof *with_value; o++)
			has_value |= !strcmp(argv[i], with_value[o]);
		if (has_value)
			i++;
		else if (argv[i][0] != '-' || !argv[i][1]) {
			if (operand)
				return NULL;
			operand = &argv[i];
		}
	}
	return operand;
}

int kymo_command_top(int argc, char **argv)
{
	static char live[] = "--live", path[PATH_MAX];
	char **operand = find_operand(argc, argv), **words;
	struct kymo_error error;
	char *end;
	unsigned long pid = operand ? strtoul(*operand, &end, 10) : 0;

	if (pid && !*end && pid <= INT32_MAX && access(*operand, F_OK)) {
		if (find_trace((pid_t)pid, path, &error))
			return kymo_report(&error);
		*operand = path;
	}
	if (!operand || !is_being_written(*operand))
		return kymo_hand_over("top", "kymo.profile.top", help, argc, argv);
	words = calloc((size_t)argc + 2, sizeof *words);
	if (!words) {
		kymo_fail(&error, -ENOMEM, "out of memory");
		return kymo_report(&error);
	}
	memcpy(words, argv, (size_t)argc * sizeof *words);
	words[argc] = live;
	return kymo_hand_over("top", "kymo.profile.top", help, argc + 1, words);
}
