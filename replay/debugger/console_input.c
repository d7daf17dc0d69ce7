// SPDX-License-Identifier: Apache-2.0
/* Lines that are typed, with history and completion by libedit, or that come from a pipe; and Ctrl-C. */
#include <editline/readline.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "replay/debugger/console_state.h"
#include "replay/values/value_path.h"
#include "replay/moves/variables.h"

static volatile sig_atomic_t is_interrupted;
static struct sigaction before;
static sigset_t unblocked; /* signals, while no line is typed */

/* What libedit calls has no context. */
static const struct kymo_console *completed;
static kymo_console_command_name command_name;

static void note_interrupt(int number)
{
	(void)number;
	is_interrupted = true;
}

bool kymo_console_is_interrupted(void)
{
	return is_interrupted;
}

static char *complete_command(const char *text, int state)
{
	static size_t at;
	const char *name;
	size_t length;

	if (!state)
		at = 0;
	while ((name = command_name(at++, &length)))
		if (!strncmp(name, text, strlen(text)))
			return strndup(name, length);
	return NULL;
}

/* A name that steers the terminal is not for typing, and one with a space is no word. */
static bool can_be_typed(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name <= ' ' || *name == 0x7f)
			return false;
	return true;
}

/* Number @at of the names that are offered: of each code object the file and the function. */
static const char *name_at(const struct kymo_hits *ran, uint32_t at)
{
	const struct kymo_content *content = ran->contents[at / 2].content;
	const char *slash = strrchr(content->file, '/');

	return at % 2 ? content->function : slash ? slash + 1 : content->file;
}

static bool was_offered(const struct kymo_hits *ran, uint32_t at)
{
	for (uint32_t before_it = 2 + at % 2; before_it < at; before_it += 2)
		if (!strcmp(name_at(ran, before_it), name_at(ran, at)))
			return true;
	return false;
}

/* Functions and files that ran, behind a command. */
static char *complete_name(const char *text, int state)
{
	static uint32_t at;
	const struct kymo_hits *ran = &completed->replay->index->hits;

	if (!state)
		at = 2; /* the first code object is none */
	for (; at / 2 < ran->content_count; at++) {
		const char *name = name_at(ran, at);

		if (!strncmp(name, text, strlen(text)) && can_be_typed(name) && !was_offered(ran, at))
			return at++, strdup(name);
	}
	return NULL;
}

/* Variables of the frame that is selected. */
static char *complete_variable(const char *text, int state)
{
	static struct kymo_variables variables;
	static uint32_t at;

	if (!state) {
		at = 0;
		kymo_variables_release(&variables);
		if (kymo_variables_read(completed->replay, completed->selected, &variables, NULL))
			return NULL;
	}
	while (at < variables.count) {
		const char *name = variables.items[at++].name;

		if (name && kymo_name_bytes(name) && can_be_typed(name) && !strncmp(name, text, strlen(text)))
			return strdup(name);
	}
	kymo_variables_release(&variables);
	return NULL;
}

static char *complete_info(const char *text, int state)
{
	static const char *const what[] = {"locals", "args"};
	static size_t at;

	for (at = state ? at : 0; at < 2; at++)
		if (!strncmp(what[at], text, strlen(text)))
			return strdup(what[at++]);
	return NULL;
}

static char **complete(const char *text, int start, int end)
{
	static const char of_variables[] = " print p watch history ";
	size_t bytes = strcspn(rl_line_buffer, " \t");
	char command[16];

	(void)end;
	rl_attempted_completion_over = true; /* else files of this folder come next */
	if (!start)
		return rl_completion_matches(text, complete_command);
	snprintf(command, sizeof command, " %.*s ", bytes < 12 ? (int)bytes : 0, rl_line_buffer);
	if (!strcmp(command, " info ") || !strcmp(command, " i "))
		return rl_completion_matches(text, complete_info);
	return rl_completion_matches(text, strstr(of_variables, command) ? complete_variable : complete_name);
}

/* A character that is typed; libedit itself would read on after a signal. */
static int read_character(FILE *in)
{
	struct pollfd typed = {.fd = fileno(in), .events = POLLIN};
	mbstate_t state = {0};
	wchar_t character;
	size_t length;
	char byte;

	do {
		/* Only here a signal comes through, so that none is overlooked just before the wait. */
		while (ppoll(&typed, 1, NULL, &unblocked) < 0)
			if (errno != EINTR || is_interrupted)
				return EOF;
		if (read(typed.fd, &byte, 1) <= 0)
			return EOF;
		length = mbrtowc(&character, &byte, 1, &state);
	} while (length == (size_t)-2);
	return length == (size_t)-1 ? L'?' : (int)character;
}

void kymo_console_begin_input(struct kymo_console *console, kymo_console_command_name name)
{
	struct sigaction action = {.sa_handler = note_interrupt};

	is_interrupted = false;
	console->replay->interrupted = &is_interrupted;
	console->is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	/* Where nobody types, it ends the program, as everywhere. */
	if (!console->is_terminal)
		return;
	completed = console;
	command_name = name;
	sigaction(SIGINT, &action, &before);
	setlocale(LC_CTYPE, ""); /* names that are typed are text */
	rl_getc_function = read_character;
	rl_initialize();
	rl_readline_name = "kymo";
	rl_attempted_completion_function = complete;
	rl_basic_word_break_characters = " \t"; /* <module> and f.<locals>.g are one word */
	using_history();
}

void kymo_console_end_input(struct kymo_console *console)
{
	console->replay->interrupted = NULL;
	if (console->is_terminal)
		sigaction(SIGINT, &before, NULL);
}

static char *read_typed(void)
{
	sigset_t blocked;
	char *line;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigprocmask(SIG_BLOCK, &blocked, &unblocked);
	for (;;) {
		is_interrupted = false;
		line = readline("(kymo) ");
		if (!is_interrupted)
			break;
		free(line);
		putchar('\n');
	}
	sigprocmask(SIG_SETMASK, &unblocked, NULL);
	if (line && *line)
		add_history(line);
	return line;
}

char *kymo_console_read_line(struct kymo_console *console)
{
	char *line = NULL;
	size_t capacity = 0;

	if (console->is_terminal) {
		line = read_typed();
	} else if (getline(&line, &capacity, stdin) <= 0) {
		free(line);
		line = NULL;
	}
	return line;
}
