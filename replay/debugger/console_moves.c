// SPDX-License-Identifier: Apache-2.0
/* The console's commands that move. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/console_state.h"
#include "replay/trace/line_table.h"
#include "replay/moves/named_places.h"

typedef int (*kymo_mover)(struct kymo_replay *replay, enum kymo_go go, struct kymo_error *error);

/* Show where a move has led; one that was interrupted has led as far as it came. */
static void show(struct kymo_console *console, int stop, bool is_interrupted, const struct kymo_error *error)
{
	if (is_interrupted)
		kymo_console_fail(console, "interrupted");
	else if (stop < 0)
		kymo_console_fail(console, "%s", error->message);
	kymo_console_put_unknown(console);
	if (is_interrupted || stop > 0)
		kymo_console_put_place(console, is_interrupted ? 0 : stop);
}

/* As often as @argument says, or until something is in the way. */
static void move(struct kymo_console *console, kymo_mover mover, enum kymo_go go, const char *argument)
{
	struct kymo_error error;
	uint64_t times = 1;
	struct kymo_moment from = kymo_moment_of(console->replay->timeline, kymo_replay_event(console->replay));
	int stop = KYMO_STOP_MOVED;

	if (*argument && !kymo_console_number(argument, &times)) {
		kymo_console_fail(console, "'%s' is not a number", argument);
		return;
	}
	console->is_back = mover == kymo_replay_backward;
	while (times && stop == KYMO_STOP_MOVED && !kymo_console_is_interrupted()) {
		stop = mover(console->replay, go, &error);
		times--;
	}
	/* At the end, the user's program is of interest, not what the interpreter does then. */
	if (stop == KYMO_STOP_END && go == KYMO_GO_CONTINUE && !console->is_back) {
		int result = kymo_replay_leave_shutdown(console->replay, &from, &error);

		stop = result ? result : stop;
	}
	show(console, stop, stop == -EINTR || (times && stop == KYMO_STOP_MOVED), &error);
}

#define MOVE(name, direction, go)                                            \
	void kymo_console_##name(struct kymo_console *console, char *argument) \
	{                                                                    \
		move(console, kymo_replay_##direction, go, argument);         \
	}

MOVE(step, forward, KYMO_GO_INTO)
MOVE(next, forward, KYMO_GO_OVER)
MOVE(return, forward, KYMO_GO_OUT)
MOVE(continue, forward, KYMO_GO_CONTINUE)
MOVE(event, forward, KYMO_GO_EVENT)
MOVE(next_switch, forward, KYMO_GO_SWITCH)
MOVE(reverse_step, backward, KYMO_GO_INTO)
MOVE(reverse_next, backward, KYMO_GO_OVER)
MOVE(reverse_return, backward, KYMO_GO_OUT)
MOVE(reverse_continue, backward, KYMO_GO_CONTINUE)
MOVE(reverse_event, backward, KYMO_GO_EVENT)
MOVE(reverse_switch, backward, KYMO_GO_SWITCH)

void kymo_console_until(struct kymo_console *console, char *argument)
{
	struct kymo_replay *replay = console->replay;
	const struct kymo_stack_frame *top = kymo_stack_top(&replay->walker.stack);
	uint64_t depth = kymo_stack_depth(&replay->walker.stack), line = 0;
	struct kymo_error error;
	bool is_there;
	int stop;

	if (top && top->line > 0)
		line = (uint64_t)top->line + 1;
	if (*argument && !kymo_console_number(argument, &line)) {
		kymo_console_fail(console, "until: '%s' is not a line number", argument);
		return;
	}
	do {
		stop = kymo_replay_forward(replay, KYMO_GO_OVER, &error);
		top = kymo_stack_top(&replay->walker.stack);
		is_there = kymo_stack_depth(&replay->walker.stack) < depth || !top || top->line >= (int64_t)line;
	} while (stop == KYMO_STOP_MOVED && !is_there && !kymo_console_is_interrupted());
	show(console, stop, stop == -EINTR || (stop == KYMO_STOP_MOVED && !is_there), &error);
}

/* To where a line of this file runs next in this thread or, if it does not, ran last. */
void kymo_console_jump(struct kymo_console *console, char *argument)
{
	struct kymo_replay *replay = console->replay;
	size_t stream = kymo_replay_stream(replay);
	struct kymo_moment now = kymo_moment_of(replay->timeline, kymo_replay_event(replay)), found;
	const struct kymo_stack_frame *frame;
	struct kymo_breaks breaks;
	struct kymo_stack stack;
	struct kymo_error error;
	uint64_t line, before;
	int result;

	if (!kymo_console_number(argument, &line)) {
		kymo_console_fail(console, "jump: write jump LINE");
		return;
	}
	frame = kymo_console_frame(console, &stack);
	if (!frame)
		return;
	kymo_breaks_init(&breaks, replay->index);
	if (!frame->code || !kymo_break_at_line(&breaks, frame->code->content->file, (int64_t)line)) {
		kymo_console_fail(console, "which file this is is not known here");
	} else {
		before = kymo_replay_hits_up_to(replay, &breaks, &now);
		result = kymo_replay_find_hit(replay, &breaks, stream, before + 1, &found, &error);
		if (!result)
			result = kymo_replay_find_hit(replay, &breaks, stream, before, &found, &error);
		if (result > 0 && !kymo_replay_seek(replay, stream, found.at, &error))
			kymo_console_put_place(console, 0);
		else
			kymo_console_fail(console, "%s", result ? error.message : "this line did not run in this thread");
	}
	kymo_breaks_release(&breaks);
	kymo_stack_release(&stack);
}

void kymo_console_goto(struct kymo_console *console, char *argument)
{
	struct kymo_error error;

	if (!*argument)
		kymo_console_fail(console, "goto: a time (12.5s, 30ms), an event (#123), N%%, start, end, test NAME or a mark");
	else if (kymo_replay_goto(console->replay, argument, &error))
		kymo_console_fail(console, "goto: %s", error.message);
	else
		kymo_console_put_reached(console, argument);
}

void kymo_console_put_reached(struct kymo_console *console, const char *place)
{
	char *reached = place ? kymo_replay_describe_reached(console->replay, place) : NULL;

	if (reached)
		fprintf(console->out, "%s\n", reached);
	free(reached);
	kymo_console_put_place(console, 0);
}

void kymo_console_thread(struct kymo_console *console, char *argument)
{
	struct kymo_error error;
	uint64_t number;
	int result;

	if (!kymo_console_number(argument, &number) || !number || number > console->replay->timeline->stream_count) {
		kymo_console_fail(console, "no thread '%s'; threads lists them", argument);
		return;
	}
	result = kymo_replay_switch(console->replay, (size_t)number - 1, &error);
	if (result < 0)
		kymo_console_fail(console, "%s", error.message);
	else if (!result)
		kymo_console_fail(console, "this thread has not begun at this moment");
	else
		kymo_console_put_place(console, 0);
}
