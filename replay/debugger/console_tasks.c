// SPDX-License-Identifier: Apache-2.0
/* asyncio's tasks in the console. */
#include <inttypes.h>

#include "replay/debugger/console_state.h"
#include "replay/moves/task_states.h"
#include "replay/trace/text.h"

static bool read_states(struct kymo_console *console, struct kymo_task_states *states)
{
	struct kymo_replay *replay = console->replay;
	const struct kymo_event *event = kymo_replay_event(replay);
	struct kymo_error error;

	if (!kymo_task_states_at(replay->timeline, event->stream, kymo_position_of(event), replay->interrupted, states, &error))
		return true;
	kymo_console_fail(console, "%s", error.message);
	return false;
}

static void put_name(FILE *out, const struct kymo_task_at *task)
{
	fprintf(out, "%" PRIu64 " '", task->id);
	kymo_text_put(out, task->task ? task->task->name : "?");
	putc('\'', out);
}

static void put_frames(FILE *out, const struct kymo_task_at *task)
{
	char count[KYMO_TEXT_BYTES];

	for (uint32_t i = task->frame_count; i-- > 0;) {
		kymo_console_put_function(out, task->frames[i].code, task->frames[i].line);
		if (i)
			fputs(" awaits ", out);
	}
	if (task->frames_more)
		fprintf(out, ", below %s", kymo_text_counted(task->frames_more, "frame", count));
}

static void put_state(FILE *out, const struct kymo_task_at *task)
{
	static const char *const states[] = {
		[KYMO_TASK_RUNS] = "runs", [KYMO_TASK_WAITS] = "waits", [KYMO_TASK_RETURNED] = "returned",
		[KYMO_TASK_RAISED] = "raised ", [KYMO_TASK_UNKNOWN] = "ran when events were lost",
	};

	fputs(states[task->state], out);
	if (task->state == KYMO_TASK_RAISED)
		kymo_text_put(out, task->exception ? task->exception : "?");
}

void kymo_console_put_tasks(struct kymo_console *console, char *argument)
{
	struct kymo_task_states states;

	(void)argument;
	if (!read_states(console, &states))
		return;
	if (!states.count)
		kymo_console_fail(console, "no asyncio task has run in this thread up to here");
	for (size_t i = 0; i < states.count; i++) {
		const struct kymo_task_at *task = &states.tasks[i];

		fprintf(console->out, "%c ", i == states.current ? '*' : ' ');
		put_name(console->out, task);
		fputs("  ", console->out);
		put_state(console->out, task);
		fputs("  ", console->out);
		put_frames(console->out, task);
		putc('\n', console->out);
	}
	if (states.has_lost)
		fputs("events were lost: tasks may have gone on since\n", console->out);
	kymo_task_states_release(&states);
}

static bool has_coroutine(const struct kymo_stack *stack)
{
	for (uint32_t i = 0; i < stack->count; i++)
		if (stack->frames[i].code && kymo_code_is_coroutine(stack->frames[i].code))
			return true;
	return false;
}

void kymo_console_put_task(struct kymo_console *console)
{
	struct kymo_task_states states;

	if (!has_coroutine(&console->replay->walker.stack) || !read_states(console, &states))
		return;
	fputs("task     ", console->out);
	if (states.current == SIZE_MAX)
		fputs("not known", console->out);
	else
		put_name(console->out, &states.tasks[states.current]);
	putc('\n', console->out);
	kymo_task_states_release(&states);
}
