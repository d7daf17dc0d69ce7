// SPDX-License-Identifier: Apache-2.0
#include "replay/debugger/console.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/console_state.h"
#include "replay/trace/text.h"

static void put_where(struct kymo_console *console, char *argument);
static void go_up(struct kymo_console *console, char *argument);
static void go_down(struct kymo_console *console, char *argument);
static void put_list(struct kymo_console *console, char *argument);
static void put_threads(struct kymo_console *console, char *argument);
static void put_info(struct kymo_console *console, char *argument);
static void put_help(struct kymo_console *console, char *argument);
static void quit(struct kymo_console *console, char *argument);

enum command_flags {
	REPEATS = 1 << 0, /* at an empty line */
	ITS_OWN = 1 << 1, /* an editor has another way to do it */
};

static const struct command {
	const char *names; /* the first is the long one */
	const char *argument;
	const char *summary;
	kymo_console_command run;
	unsigned flags;
} commands[] = {
	{"step s", "[N]", "to the next line, into calls", kymo_console_step, REPEATS},
	{"next n", "[N]", "to the next line of this frame, over calls", kymo_console_next, REPEATS},
	{"return finish fin r", "", "to where this frame is left", kymo_console_return, REPEATS},
	{"continue cont c", "", "to the next breakpoint of any thread, or the end", kymo_console_continue, REPEATS},
	{"until unt", "[LINE]", "to a line further down in this frame, or its end", kymo_console_until, REPEATS},
	{"jump j", "LINE", "to where LINE of this file runs next, or else ran last", kymo_console_jump, 0},
	{"reverse-step rs", "[N]", "back to the line before, also of a call that was made", kymo_console_reverse_step, REPEATS},
	{"reverse-next rn", "[N]", "back to the line before of this frame, or its caller's", kymo_console_reverse_next, REPEATS},
	{"reverse-return reverse-finish rr", "", "back to the line that called this frame", kymo_console_reverse_return, REPEATS},
	{"reverse-continue rc", "", "back to the breakpoint before, or the start", kymo_console_reverse_continue, REPEATS},
	{"event e", "[N]", "to the next event, whatever it is", kymo_console_event, REPEATS},
	{"reverse-event re", "[N]", "back to the event before", kymo_console_reverse_event, REPEATS},
	{"next-switch ns", "", "to where another thread goes on", kymo_console_next_switch, REPEATS},
	{"reverse-switch rsw", "", "back to where another thread was, before this one's turn", kymo_console_reverse_switch, REPEATS},
	{"goto g", "WHERE", "to a time (12.5s, 30ms), an event (#123), N%, start, end, test NAME or a mark", kymo_console_goto, 0},
	{"break b", "[WHERE [if CONDITION]]", "stop at FILE:LINE, LINE or FUNCTION; without WHERE, list all", kymo_console_break, ITS_OWN},
	{"catch", "[uncaught] [TYPE]", "stop where an exception is raised, or one that nothing catches", kymo_console_catch, ITS_OWN},
	{"condition", "N [CONDITION]", "only where it holds: hits, depth, caller, time, thread, …", kymo_console_condition, ITS_OWN},
	{"ignore", "N COUNT", "not the first COUNT times of each thread", kymo_console_ignore, ITS_OWN},
	{"delete clear d cl", "[N]", "remove a breakpoint or watchpoint, or all", kymo_console_delete, ITS_OWN},
	{"disable", "N", "keep a breakpoint, but do not stop there", kymo_console_disable, ITS_OWN},
	{"enable", "N", "stop there again", kymo_console_enable, ITS_OWN},
	{"hits", "[WHERE [K]]", "every time that a line ran; go to the K-th", kymo_console_hits, 0},
	{"where bt w", "[--all|FILE]", "the stack, the innermost frame last; frames of other code are counted", put_where, 0},
	{"print p", "EXPR", "what a variable held, or a part of it: order.items[\"tea\"][0].x", kymo_console_print, 0},
	{"args a", "", "the arguments of this frame (info args)", kymo_console_args, 0},
	{"locals", "", "all variables of this frame (info locals)", kymo_console_locals, 0},
	{"history", "EXPR", "every value that it had in this call, and when", kymo_console_history, 0},
	{"watch", "[EXPR]", "continue and reverse-continue stop where it has changed; without EXPR, list all", kymo_console_watch, ITS_OWN},
	{"up u", "[N]", "select the caller", go_up, ITS_OWN},
	{"down", "[N]", "select what was called", go_down, ITS_OWN},
	{"list l", "[FIRST[,LAST]]", "source, as it was when recorded", put_list, REPEATS},
	{"threads", "", "all threads at this moment", put_threads, 0},
	{"tasks", "", "asyncio's tasks of this thread at this moment", kymo_console_put_tasks, 0},
	{"thread t", "N", "look at another thread, at the same moment", kymo_console_thread, 0},
	{"view", "[on|off]", "on a terminal: source, variables, watches and the stack in view", kymo_console_view, ITS_OWN},
	{"info i", "[locals|args]", "where this is, and what is known of it; or variables of this frame", put_info, 0},
	{"help h ?", "[COMMAND]", "this list", put_help, 0},
	{"quit q exit", "", "leave", quit, ITS_OWN},
};

#define COMMANDS (sizeof commands / sizeof *commands)

static bool has_name(const struct command *command, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = command->names; *at; at += strspn(at, " ")) {
		size_t width = strcspn(at, " ");

		if (width == length && !strncmp(at, name, length))
			return true;
		at += width;
	}
	return false;
}

/* By any of its names, or by what only one command begins with. */
static const struct command *find_command(struct kymo_console *console, const char *name)
{
	const struct command *found = NULL;
	bool is_ambiguous = false;

	for (size_t i = 0; i < COMMANDS; i++)
		if (has_name(&commands[i], name))
			return &commands[i];
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strncmp(commands[i].names, name, strlen(name)))
			continue;
		is_ambiguous |= found != NULL;
		found = &commands[i];
	}
	if (found && !is_ambiguous)
		return found;
	kymo_console_fail(console, is_ambiguous ? "'%s' is the beginning of several commands; help lists them"
						: "no command '%s'; help lists them", name);
	return NULL;
}

static const char *command_name(size_t number, size_t *length)
{
	if (number >= COMMANDS)
		return NULL;
	*length = strcspn(commands[number].names, " ");
	return commands[number].names;
}

static bool number_or_one(struct kymo_console *console, const char *argument, uint64_t *number)
{
	*number = 1;
	if (!*argument || kymo_console_number(argument, number))
		return true;
	kymo_console_fail(console, "'%s' is not a number", argument);
	return false;
}

static void put_where(struct kymo_console *console, char *argument)
{
	struct kymo_shown_files shown = {.file = *argument ? argument : NULL};
	bool is_all = !strcmp(argument, "--all");
	struct kymo_stack stack;
	struct kymo_error error;

	if (kymo_replay_stack(console->replay, &stack, &error)) {
		kymo_console_fail(console, "%s", error.message);
		return;
	}
	kymo_shown_files_read(&shown, &console->replay->timeline->definitions);
	kymo_console_put_stack(console, &stack, is_all ? NULL : &shown);
	kymo_stack_release(&stack);
}

static void select_frame(struct kymo_console *console, const char *argument, bool is_up)
{
	struct kymo_stack stack;
	struct kymo_error error;
	uint64_t steps;

	if (!number_or_one(console, argument, &steps))
		return;
	if (kymo_replay_stack(console->replay, &stack, &error)) {
		kymo_console_fail(console, "%s", error.message);
		return;
	}
	if (is_up ? console->selected + 1 >= stack.count : !console->selected) {
		kymo_console_fail(console, is_up ? "this is the outermost frame" : "this is the innermost frame");
	} else {
		uint64_t most = is_up ? stack.count - 1 - console->selected : console->selected;

		steps = steps < most ? steps : most;
		console->selected = (uint32_t)(is_up ? console->selected + steps : console->selected - steps);
		console->listed = 0;
		kymo_console_put_frame(console, &stack);
	}
	kymo_stack_release(&stack);
}

static void go_up(struct kymo_console *console, char *argument)
{
	select_frame(console, argument, true);
}

static void go_down(struct kymo_console *console, char *argument)
{
	select_frame(console, argument, false);
}

#define LISTED_LINES 11

static bool is_line(const char *text, uint64_t *line)
{
	return kymo_console_number(text, line) && *line && *line <= INT32_MAX;
}

static void put_list(struct kymo_console *console, char *argument)
{
	struct kymo_stack stack;
	const struct kymo_stack_frame *frame = kymo_console_frame(console, &stack);
	char *comma = strchr(argument, ',');
	uint64_t first, last;

	if (!frame)
		return;
	if (comma)
		*comma++ = '\0';
	first = console->listed ? (uint64_t)console->listed + 1
	       : frame->line > LISTED_LINES / 2 ? (uint64_t)frame->line - LISTED_LINES / 2 : 1;
	last = first + LISTED_LINES - 1;
	if (*argument && !is_line(argument, &first))
		kymo_console_fail(console, "list: '%s' is not a line number", argument);
	else if (comma && !is_line(comma, &last))
		kymo_console_fail(console, "list: '%s' is not a line number", comma);
	else if (comma && last < first)
		kymo_console_fail(console, "list: the last line is before the first");
	else if (!frame->code)
		kymo_console_fail(console, "which code this is was not recorded");
	else {
		if (*argument && !comma)
			last = first + LISTED_LINES - 1;
		kymo_console_put_lines(console, frame->code, (int64_t)first, (int64_t)last, frame->line);
	}
	kymo_stack_release(&stack);
}

static void put_threads(struct kymo_console *console, char *argument)
{
	(void)argument;
	kymo_console_put_threads(console);
}

static void put_info(struct kymo_console *console, char *argument)
{
	if (!*argument)
		kymo_console_put_info(console);
	else if (!strcmp(argument, "locals"))
		kymo_console_locals(console, argument);
	else if (!strcmp(argument, "args"))
		kymo_console_args(console, argument);
	else
		kymo_console_fail(console, "info: nothing, locals or args");
}

static void put_commands(FILE *out, bool is_terminal)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		const struct command *command = &commands[i];
		char usage[96], names[64];
		char *others;

		if (command->flags & ITS_OWN && !is_terminal)
			continue;

		snprintf(names, sizeof names, "%s", command->names);
		others = strchr(names, ' ');
		if (others)
			*others++ = '\0';
		snprintf(usage, sizeof usage, "%s %s", names, command->argument);
		fprintf(out, "  %-32s %s%s%s%s\n", usage, command->summary, others ? " (" : "", others ? others : "",
			others ? ")" : "");
	}
}

void kymo_console_put_help(FILE *out)
{
	put_commands(out, true);
}

static void put_help(struct kymo_console *console, char *argument)
{
	const struct command *command;

	if (!*argument) {
		put_commands(console->out, !console->is_in_editor);
		return;
	}
	command = find_command(console, argument);
	if (command)
		fprintf(console->out, "%.*s %s: %s\n", (int)strcspn(command->names, " "), command->names,
			command->argument, command->summary);
}

static void quit(struct kymo_console *console, char *argument)
{
	(void)argument;
	console->is_over = true;
}

/* @line is changed.  Returns the command that it was, or NULL. */
static const struct command *run_line(struct kymo_console *console, char *line)
{
	char *end = line + strlen(line), *name;
	const struct command *command;

	while (end > line && isspace((unsigned char)end[-1]))
		*--end = '\0';
	name = kymo_console_word(&line);
	if (!*name || *name == '#')
		return NULL;
	command = find_command(console, name);
	if (command && command->flags & ITS_OWN && console->is_in_editor)
		kymo_console_fail(console, "%s: the editor does that itself", name);
	else if (command)
		command->run(console, line);
	return command;
}

int kymo_console_run_command(struct kymo_replay *replay, const char *line, FILE *out)
{
	struct kymo_console console = {
		.replay = replay,
		.out = out,
		.is_in_editor = true,
		.shown_stream = kymo_replay_stream(replay),
	};
	char *copy = strdup(line);
	bool is_command = copy && run_line(&console, copy);

	free(copy);
	kymo_console_forget_source(&console);
	return console.has_failed && is_command ? -EINVAL : is_command;
}

/* Run @line, or with NULL show that the replay stands at @place, and then the view where there is one. */
static const struct command *run_in_view(struct kymo_console *console, char *line, const char *place)
{
	const struct command *command = NULL;
	char *said = NULL;
	size_t bytes;
	FILE *out = console->has_view ? open_memstream(&said, &bytes) : NULL;

	if (out)
		console->out = out;
	if (line)
		command = run_line(console, line);
	else
		kymo_console_put_reached(console, place);
	console->out = stdout;
	if (!out)
		return command;
	fclose(out);
	if (console->is_over || !said)
		fputs(said ? said : "", stdout);
	else
		kymo_console_put_view(console, said);
	free(said);
	return command;
}

int kymo_console_run(struct kymo_replay *replay, const char *path, bool follows, const char *place)
{
	struct kymo_console console = {
		.replay = replay,
		.path = path,
		.out = stdout,
		.shown_stream = kymo_replay_stream(replay),
	};
	char *line, *last = NULL;
	bool has_failed = false;

	kymo_console_begin_input(&console, command_name);
	console.has_view = kymo_console_can_view(&console);
	run_in_view(&console, NULL, place);
	while (!console.is_over && (line = kymo_console_read_line(&console))) {
		const struct command *command;
		char *typed;

		if (!line[strspn(line, " \t\n")] && last) {
			free(line);
			line = strdup(last);
		}
		typed = line ? strdup(line) : NULL;
		console.has_failed = false;
		if (follows)
			kymo_console_follow(&console);
		command = typed ? run_in_view(&console, line, NULL) : NULL;
		has_failed |= console.has_failed;
		if (command) {
			free(last);
			/* Listing goes on with what follows. */
			last = command->flags & REPEATS ? strdup(command->run == put_list ? "list" : typed) : NULL;
		}
		free(typed);
		free(line);
		fflush(stdout);
	}
	if (console.is_terminal && !console.is_over)
		putchar('\n');
	kymo_console_end_input(&console);
	free(last);
	kymo_console_forget_source(&console);
	kymo_console_release_breaks(&console);
	kymo_console_release_watches(&console);
	kymo_console_end_follow(&console);
	return has_failed && !console.is_terminal ? -1 : 0;
}
