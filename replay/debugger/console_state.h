// SPDX-License-Identifier: Apache-2.0
/* The console's state, and the functions that its parts share. Only for console*.c. */
#ifndef KYMO_REPLAY_DEBUGGER_CONSOLE_STATE_H
#define KYMO_REPLAY_DEBUGGER_CONSOLE_STATE_H

#include <stdio.h>

#include "replay/debugger/condition.h"
#include "replay/moves/replay.h"
#include "replay/trace/shown_files.h"
#include "replay/trace/sources.h"

struct kymo_console {
	struct kymo_replay *replay;
	const char *path; /* NULL: of whoever asks */
	struct kymo_console_opened *opened; /* holds @replay, once the trace has grown: see console_follow.c */
	FILE *out;
	bool is_terminal;
	bool has_view; /* the screen shows more than what is said: see console_view.c */
	bool is_over;
	bool is_back; /* the last move went backwards */
	bool is_in_editor; /* one command is run, for a client of the debug adapter */
	bool has_failed; /* the last command */
	uint32_t selected; /* frame: 0 is the one on top */
	int64_t listed;	   /* the last line that `list` showed; 0: none since the last move */
	size_t shown_stream; /* that the last place was shown of */
	/* the source that was shown last */
	struct kymo_source source;
	const struct kymo_content *source_of;
	bool has_source;
};

/* Say what went wrong, in one line. */
void kymo_console_fail(struct kymo_console *console, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * What is shown.
 */
/* Where the replay stands, after a move that ended as @stop (0: it was no move) says. */
void kymo_console_put_place(struct kymo_console *console, int stop);
/* The same, after going to @place, or opening there; NULL: nowhere in particular. */
void kymo_console_put_reached(struct kymo_console *console, const char *place);
/* What the move that ended as @stop found of what is watched. */
void kymo_console_put_watched(struct kymo_console *console, int stop);
/* Frames of files that are not @shown are counted, but for the innermost and the one that is selected; NULL: all are shown. */
void kymo_console_put_stack(struct kymo_console *console, struct kymo_stack *stack, struct kymo_shown_files *shown);
void kymo_console_put_frame(struct kymo_console *console, const struct kymo_stack *stack);
void kymo_console_put_lines(struct kymo_console *console, const struct kymo_code *code, int64_t first, int64_t last,
			    int64_t current);
/* "FILE(LINE)FUNCTION()"; @code may be NULL. */
void kymo_console_put_function(FILE *out, const struct kymo_code *code, int64_t line);
/* The thread @stream, with its process where there are several. */
void kymo_console_put_thread(struct kymo_console *console, const struct kymo_stream *stream);
void kymo_console_put_threads(struct kymo_console *console);
/* The asyncio tasks of the current thread; the one that runs, for `info`, if the stack has a coroutine. */
void kymo_console_put_tasks(struct kymo_console *console, char *argument);
void kymo_console_put_task(struct kymo_console *console);
void kymo_console_put_info(struct kymo_console *console);
void kymo_console_put_break(struct kymo_console *console, const struct kymo_break *at);

/* The source of @code's file, until the next one is asked for; NULL: there is none. */
const struct kymo_source *kymo_console_source(struct kymo_console *console, const struct kymo_code *code);
/* The source that was shown last is of a trace that is closed. */
void kymo_console_forget_source(struct kymo_console *console);

/* The frame that is selected, in @stack, which is to be released; NULL: reported. */
const struct kymo_stack_frame *kymo_console_frame(struct kymo_console *console, struct kymo_stack *stack);

/*
 * Commands; @argument is what stands behind the name, without spaces around it, "" if nothing does.
 */
typedef void (*kymo_console_command)(struct kymo_console *console, char *argument);

void kymo_console_step(struct kymo_console *console, char *argument);
void kymo_console_next(struct kymo_console *console, char *argument);
void kymo_console_return(struct kymo_console *console, char *argument);
void kymo_console_continue(struct kymo_console *console, char *argument);
void kymo_console_event(struct kymo_console *console, char *argument);
void kymo_console_next_switch(struct kymo_console *console, char *argument);
void kymo_console_reverse_step(struct kymo_console *console, char *argument);
void kymo_console_reverse_next(struct kymo_console *console, char *argument);
void kymo_console_reverse_return(struct kymo_console *console, char *argument);
void kymo_console_reverse_continue(struct kymo_console *console, char *argument);
void kymo_console_reverse_event(struct kymo_console *console, char *argument);
void kymo_console_reverse_switch(struct kymo_console *console, char *argument);
void kymo_console_until(struct kymo_console *console, char *argument);
void kymo_console_jump(struct kymo_console *console, char *argument);
void kymo_console_goto(struct kymo_console *console, char *argument);
void kymo_console_thread(struct kymo_console *console, char *argument);

void kymo_console_break(struct kymo_console *console, char *argument);
void kymo_console_catch(struct kymo_console *console, char *argument);
void kymo_console_condition(struct kymo_console *console, char *argument);
void kymo_console_ignore(struct kymo_console *console, char *argument);
void kymo_console_delete(struct kymo_console *console, char *argument);
void kymo_console_disable(struct kymo_console *console, char *argument);
void kymo_console_enable(struct kymo_console *console, char *argument);
void kymo_console_hits(struct kymo_console *console, char *argument);
void kymo_console_release_breaks(struct kymo_console *console);
/* The replay is of what the trace has become: so are their conditions. */
void kymo_console_move_breaks(struct kymo_console *console);
/* Where conditions could not be computed since this was asked last. */
void kymo_console_put_unknown(struct kymo_console *console);

void kymo_console_print(struct kymo_console *console, char *argument);
void kymo_console_args(struct kymo_console *console, char *argument);
void kymo_console_locals(struct kymo_console *console, char *argument);
void kymo_console_watch(struct kymo_console *console, char *argument);
void kymo_console_history(struct kymo_console *console, char *argument);
void kymo_console_put_watches(struct kymo_console *console);
/* False: there is no such watchpoint. */
bool kymo_console_remove_watch(struct kymo_console *console, uint64_t id);
void kymo_console_release_watches(struct kymo_console *console);

/*
 * The view of a terminal.
 */
/* What is to be shown of each variable or watch: its text, and whether it is of the event where the replay stands. */
typedef void (*kymo_value_shower)(void *context, const char *name, const char *value, bool is_new);
/* Of the selected frame.  Why there are none, or NULL. */
const char *kymo_console_each_variable(struct kymo_console *console, kymo_value_shower show, void *context);
void kymo_console_each_watch(struct kymo_console *console, kymo_value_shower show, void *context);
/* The terminal can show it. */
bool kymo_console_can_view(const struct kymo_console *console);
/* Draw it, and below it what a command has said. */
void kymo_console_put_view(struct kymo_console *console, const char *said);
void kymo_console_view(struct kymo_console *console, char *argument);

/*
 * What is typed.
 */
/* The long name of a command, by its number in the table; NULL: there are no more. */
typedef const char *(*kymo_console_command_name)(size_t number, size_t *length);
/* From here on SIGINT ends long moves, and no more than that.  Commands are completed by @name. */
void kymo_console_begin_input(struct kymo_console *console, kymo_console_command_name name);
void kymo_console_end_input(struct kymo_console *console);
/* The next line, to be freed; NULL: no more. */
char *kymo_console_read_line(struct kymo_console *console);
bool kymo_console_is_interrupted(void);

/* Go on in what the trace has become since it was opened. */
void kymo_console_follow(struct kymo_console *console);
void kymo_console_end_follow(struct kymo_console *console);

/* The next word of *@text, which goes on behind it; "" if there is none. */
char *kymo_console_word(char **text);
/* A whole number that is all of @text. */
bool kymo_console_number(const char *text, uint64_t *number);

#endif
