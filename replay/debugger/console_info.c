// SPDX-License-Identifier: Apache-2.0
/* `info` and `threads`: where the replay stands, and the others. */
#include <inttypes.h>

#include "replay/debugger/console_state.h"
#include "replay/trace/describe.h"
#include "replay/trace/text.h"

static void put_other_thread(struct kymo_console *console, size_t stream, const struct kymo_moment *now)
{
	struct kymo_replay *replay = console->replay;
	const struct kymo_stream *of = &replay->timeline->streams[stream];
	bool is_current = stream == now->stream;
	struct kymo_stack_frame top = {.line = KYMO_LINE_NONE};
	struct kymo_error error;
	int result = kymo_replay_top(replay, stream, now, &top, &error);

	fprintf(console->out, "%c %zu  ", is_current ? '*' : ' ', stream + 1);
	kymo_console_put_thread(console, of);
	fputs("  ", console->out);
	if (result < 0)
		kymo_text_put(console->out, error.message);
	else if (result == KYMO_THREAD_NOT_BEGUN)
		fputs("not begun", console->out);
	else if (result == KYMO_THREAD_UNKNOWN)
		fputs("not recorded", console->out);
	else if (result == KYMO_THREAD_ENDED && !is_current)
		fputs("ended", console->out);
	else
		kymo_console_put_function(console->out, top.code, top.line);
	putc('\n', console->out);
}

void kymo_console_put_threads(struct kymo_console *console)
{
	struct kymo_moment now = kymo_moment_of(console->replay->timeline, kymo_replay_event(console->replay));

	for (size_t i = 0; i < console->replay->timeline->stream_count; i++)
		put_other_thread(console, i, &now);
}

void kymo_console_put_info(struct kymo_console *console)
{
	struct kymo_replay *replay = console->replay;
	const struct kymo_event *event = kymo_replay_event(replay);
	const struct kymo_timeline *timeline = replay->timeline;
	char text[KYMO_DESCRIBE_BYTES], error[KYMO_TEXT_BYTES];
	FILE *out = console->out;

	if (console->path) {
		fputs("trace    ", out);
		kymo_text_put(out, console->path);
		putc('\n', out);
	}
	fputs("thread   ", out);
	kymo_console_put_thread(console, event->stream);
	fprintf(out, "\ntime     %.9f s ± %s\nevent    %" PRIu64, (double)event->t_ns / 1e9,
		kymo_text_duration((double)event->t_err_ns, error), event->n);
	if (event->k)
		fprintf(out, ", rebuilt %" PRIu32, event->k);
	fprintf(out, ": %s\ndepth    %" PRIu64 "\nprocess  %" PRIu32 " ", kymo_event_kind_name(event->kind),
		kymo_stack_depth(&replay->walker.stack), event->stream->process->pid);
	kymo_process_put_command(out, event->stream->process);
	fprintf(out, ", %s\n", kymo_describe_end(timeline, event->stream->process, text));
	kymo_console_put_task(console);
	for (size_t i = 0; i < replay->index->mark_count; i++) {
		const struct kymo_index_mark *mark = &replay->index->marks[i];
		const struct kymo_stream *stream = &timeline->streams[mark->stream];
		const char *name = kymo_traced_text(stream->process, mark->text);

		fprintf(out, "mark     %14.6f s  ", (double)mark->t_ns / 1e9);
		kymo_console_put_thread(console, stream);
		fputs("  ", out);
		kymo_text_put(out, name ? name : "?");
		putc('\n', out);
	}
}
