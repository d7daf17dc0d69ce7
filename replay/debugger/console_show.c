// SPDX-License-Identifier: Apache-2.0
/* What the console shows: places, source, stacks, threads. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "replay/debugger/console_state.h"
#include "replay/trace/describe.h"
#include "replay/trace/line_table.h"
#include "replay/trace/text.h"

const struct kymo_source *kymo_console_source(struct kymo_console *console, const struct kymo_code *code)
{
	const struct kymo_traced_process *process = kymo_replay_event(console->replay)->stream->process;

	if (console->source_of != code->content) {
		kymo_console_forget_source(console);
		console->source_of = code->content;
		console->has_source = !kymo_content_source(console->replay->timeline, process, code->content, &console->source, NULL);
	}
	return console->has_source && console->source.text ? &console->source : NULL;
}

void kymo_console_forget_source(struct kymo_console *console)
{
	if (console->has_source)
		kymo_source_release(&console->source);
	console->source_of = NULL;
	console->has_source = false;
}

static void put_source_line(struct kymo_console *console, const char *line, size_t bytes)
{
	kymo_text_put_lines(console->out, line, bytes);
	putc('\n', console->out);
}

static void put_event(FILE *out, const struct kymo_event *event)
{
	char why[KYMO_LOSS_TEXT_BYTES], count[KYMO_TEXT_BYTES], lines[KYMO_DESCRIBE_BYTES];

	switch (event->kind) {
	case KYMO_LINE:
		break;
	case KYMO_PY_START:
	case KYMO_PY_START_AT:
		fputs("--Call--\n", out);
		break;
	case KYMO_PY_RETURN:
		fputs("--Return--\n", out);
		break;
	case KYMO_EVENT_GAP:
		fprintf(out, "--Missing-- %s lost: %s\n", kymo_text_counted(event->lost, "event", count),
			kymo_loss_text(event->lost_reasons, why));
		break;
	case KYMO_EVENT_UNKNOWN:
		if (kymo_event_may_have_run(event, lines))
			fprintf(out, "--Unknown-- nothing was recorded after this: %s\n", lines);
		else
			fputs("--Unknown-- what ran since the last event cannot be told\n", out);
		break;
	default:
		fprintf(out, "--%s--", kymo_event_kind_name(event->kind));
		if (event->name || event->text) {
			putc(' ', out);
			kymo_text_put(out, event->name ? event->name : event->text);
		}
		putc('\n', out);
	}
}

void kymo_console_put_function(FILE *out, const struct kymo_code *code, int64_t line)
{
	if (!code) {
		fputs("?", out);
		return;
	}
	kymo_text_put(out, code->content->file);
	if (line >= 0)
		fprintf(out, "(%" PRId64 ")", line);
	else
		fputs("(line not known)", out);
	kymo_text_put(out, code->content->function);
	fputs("()", out);
}

void kymo_console_put_thread(struct kymo_console *console, const struct kymo_stream *stream)
{
	if (console->replay->timeline->definitions.process_count > 1)
		fprintf(console->out, "process %" PRIu32 ", ", stream->process->pid);
	kymo_stream_put_name(console->out, stream);
}

static void put_code_line(struct kymo_console *console, const struct kymo_code *code, int64_t line)
{
	const struct kymo_source *source = code && line > 0 ? kymo_console_source(console, code) : NULL;
	size_t bytes;
	const char *text = source ? kymo_source_line(source, (uint64_t)line, &bytes) : NULL;

	if (!text)
		return;
	fputs("-> ", console->out);
	while (bytes && (*text == ' ' || *text == '\t')) {
		text++;
		bytes--;
	}
	put_source_line(console, text, bytes);
}

void kymo_console_put_place(struct kymo_console *console, int stop)
{
	const struct kymo_replay *replay = console->replay;
	const struct kymo_event *event = kymo_replay_event(replay);
	const struct kymo_stack_frame *top = kymo_stack_top(&replay->walker.stack);
	size_t stream = kymo_replay_stream(replay);

	console->selected = 0;
	console->listed = 0;
	if (stop == KYMO_STOP_END)
		fprintf(console->out, "--End-- nothing more was recorded of this thread in this direction; %s\n",
			console->is_back ? "continue goes on from here" : "reverse-continue goes back");
	if (stop == KYMO_STOP_BREAK && replay->hit)
		fprintf(console->out, "Breakpoint %" PRIu32 "\n", replay->hit->id);
	if (stop == KYMO_STOP_BREAK || stop == KYMO_STOP_WATCH || stop == KYMO_STOP_WATCH_OVER)
		kymo_console_put_watched(console, stop);
	if (stream != console->shown_stream) {
		fputs("[", console->out);
		kymo_console_put_thread(console, event->stream);
		fputs("]\n", console->out);
	}
	console->shown_stream = stream;
	put_event(console->out, event);
	if (console->has_view)
		return;
	fputs("> ", console->out);
	kymo_console_put_function(console->out, top ? top->code : NULL, top ? top->line : KYMO_LINE_NONE);
	putc('\n', console->out);
	if (top)
		put_code_line(console, top->code, top->line);
}

const struct kymo_stack_frame *kymo_console_frame(struct kymo_console *console, struct kymo_stack *stack)
{
	struct kymo_error error;

	if (kymo_replay_stack(console->replay, stack, &error)) {
		kymo_console_fail(console, "%s", error.message);
		return NULL;
	}
	if (console->selected < stack->count)
		return &stack->frames[stack->count - 1 - console->selected];
	kymo_stack_release(stack);
	kymo_console_fail(console, "the stack is not known here");
	return NULL;
}

static void put_folded(struct kymo_console *console, uint32_t count)
{
	char text[KYMO_TEXT_BYTES];

	if (count)
		fprintf(console->out, "  … %s of other code (where --all)\n", kymo_text_counted(count, "frame", text));
}

void kymo_console_put_stack(struct kymo_console *console, struct kymo_stack *stack, struct kymo_shown_files *shown)
{
	char count[KYMO_TEXT_BYTES];
	uint32_t folded = 0;

	if (stack->hidden)
		fprintf(console->out, "  %s, not known\n", kymo_text_counted(stack->hidden, "frame", count));
	for (uint32_t i = 0; i < stack->count; i++) {
		const struct kymo_stack_frame *frame = &stack->frames[i];
		bool is_selected = i + 1 + console->selected == stack->count, is_innermost = i + 1 == stack->count;

		if (shown && !is_selected && !is_innermost && !kymo_shown_files_has(shown, frame->code ? frame->code->content : NULL)) {
			folded++;
			continue;
		}
		put_folded(console, folded);
		folded = 0;
		fputs(is_selected ? "> " : "  ", console->out);
		kymo_console_put_function(console->out, frame->code, frame->line);
		putc('\n', console->out);
		put_code_line(console, frame->code, frame->line);
	}
}

void kymo_console_put_frame(struct kymo_console *console, const struct kymo_stack *stack)
{
	const struct kymo_stack_frame *frame = &stack->frames[stack->count - 1 - console->selected];

	fputs("> ", console->out);
	kymo_console_put_function(console->out, frame->code, frame->line);
	putc('\n', console->out);
	put_code_line(console, frame->code, frame->line);
}

void kymo_console_put_lines(struct kymo_console *console, const struct kymo_code *code, int64_t first, int64_t last,
			    int64_t current)
{
	const struct kymo_source *source = kymo_console_source(console, code);
	const char *text = NULL;
	size_t bytes;

	if (!source) {
		const char *why = console->has_source ? console->source.missing : NULL;

		kymo_console_fail(console, "the trace does not hold this source%s%s", why ? ": " : "", why ? why : "");
		return;
	}
	for (int64_t line = first; line <= last; line++) {
		text = kymo_source_line(source, (uint64_t)line, &bytes);
		if (!text)
			break;
		fprintf(console->out, "%5" PRId64 "%s ", line, line == current ? " ->" : "   ");
		put_source_line(console, text, bytes);
		console->listed = line;
	}
	if (console->listed < first)
		kymo_console_fail(console, "[end of file]");
	else if (!source->is_verified && first <= current && current <= last)
		fprintf(console->out, "      (not verified: %s)\n",
			source->is_kept ? "the text that the program had for this code" : "the file may have changed before it was read");
}
