// SPDX-License-Identifier: Apache-2.0
#include "replay/trace/describe.h"

#include <inttypes.h>
#include <string.h>

#include "replay/trace/text.h"

const char *kymo_event_may_have_run(const struct kymo_event *event, char text[KYMO_DESCRIBE_BYTES])
{
	if (!event->first_line)
		return NULL;
	if (event->first_line == event->last_line)
		snprintf(text, KYMO_DESCRIBE_BYTES, "line %" PRId32 " may have run", event->first_line);
	else
		snprintf(text, KYMO_DESCRIBE_BYTES, "lines %" PRId32 " to %" PRId32 " may have run", event->first_line,
			 event->last_line);
	return text;
}

static void put_detail(FILE *out, const struct kymo_event *event)
{
	const char *role = kymo_event_name_role(event);
	char lines[KYMO_DESCRIBE_BYTES];

	if (kymo_event_has_dest(event)) {
		fprintf(out, "  -> ");
		if (event->code && kymo_code_line(event->code, event->dest) >= 0)
			fprintf(out, "line %" PRId32 ", ", kymo_code_line(event->code, event->dest));
		fprintf(out, "offset %" PRIu64, event->dest * KYMO_CODE_UNIT);
	} else if (role && !event->values.bytes) {
		fputs("  ", out);
		kymo_text_put(out, event->name ? event->name : "?");
	} else if (event->kind == KYMO_EVENT_MARK) {
		fputs("  ", out);
		kymo_text_put(out, event->text ? event->text : "?");
	} else if (event->kind == KYMO_EVENT_BRANCH_BIT) {
		fputs(event->is_taken ? "  taken" : "  not taken", out);
	} else if (kymo_event_may_have_run(event, lines)) {
		fprintf(out, "  %s", lines);
	}
	if (event->task_id) {
		fprintf(out, "  in task %" PRIu64 " '", event->task_id);
		kymo_text_put(out, event->task ? event->task->name : "?");
		putc_unlocked('\'', out);
	}
}

void kymo_event_put_place(FILE *out, const struct kymo_event *event)
{
	int64_t line = kymo_event_line(event);
	char why[KYMO_LOSS_TEXT_BYTES];

	if (event->kind == KYMO_EVENT_GAP) {
		fprintf(out, "%" PRIu64 " lost: %s", event->lost,
			kymo_loss_text(event->lost_reasons, why));
		return;
	}
	if (event->code) {
		kymo_text_put(out, event->code->content->file);
		if (line >= 0)
			fprintf(out, ":%" PRId64, line);
		putc_unlocked(' ', out);
		kymo_text_put(out, event->code->content->function);
	} else {
		putc_unlocked('?', out);
	}
	put_detail(out, event);
}

const char *kymo_describe_end(const struct kymo_timeline *timeline,
			      const struct kymo_traced_process *process,
			      char text[KYMO_DESCRIBE_BYTES])
{
	static const char *const fixed[] = {
		[KYMO__PROCESS_END__HOW__UNKNOWN] = "end not known",
		[KYMO__PROCESS_END__HOW__EXECED] = "replaced by exec",
		[KYMO__PROCESS_END__HOW__STOPPED] = "recording stopped; the process went on",
		[KYMO__PROCESS_END__HOW__ENDED] = "ended; its status is not known",
		[KYMO__PROCESS_END__HOW__ALIVE] = "still alive when the trace was sealed",
	};
	const Kymo__ProcessEnd *end = process->end;
	const char *name;

	if (!end)
		return timeline->trace.is_complete
			       ? "end not known"
			       : "end not known: the trace was not closed";
	if (end->how == KYMO__PROCESS_END__HOW__EXITED) {
		snprintf(text, KYMO_DESCRIBE_BYTES, "exited with status %" PRId32, end->status);
	} else if (end->how == KYMO__PROCESS_END__HOW__SIGNALED) {
		name = sigabbrev_np(end->status);
		if (name)
			snprintf(text, KYMO_DESCRIBE_BYTES, "killed by SIG%s", name);
		else
			snprintf(text, KYMO_DESCRIBE_BYTES, "killed by signal %" PRId32,
				 end->status);
	} else {
		return (size_t)end->how < sizeof fixed / sizeof *fixed ? fixed[end->how] : fixed[0];
	}
	return text;
}

void kymo_process_put_command(FILE *out, const struct kymo_traced_process *process)
{
	const Kymo__Process *definition = process->definition;

	if (!definition) {
		putc('?', out);
		return;
	}
	if (!definition->n_argv)
		kymo_text_put(out, definition->executable);
	for (size_t i = 0; i < definition->n_argv; i++) {
		if (i)
			putc(' ', out);
		kymo_text_put(out, definition->argv[i]);
	}
}

void kymo_stream_put_name(FILE *out, const struct kymo_stream *stream)
{
	fprintf(out, "thread %" PRIu32, stream->number);
	if (!stream->thread || !stream->thread->name)
		return;
	fputs(" '", out);
	kymo_text_put(out, stream->thread->name);
	putc('\'', out);
}

void kymo_report_damage(const struct kymo_trace *trace)
{
	fflush(stdout);
	for (size_t i = 0; i < trace->damage_count; i++)
		fprintf(stderr, "kymo: damage at offset %" PRIu64 ", %" PRIu64 " bytes: %s\n",
			trace->damage[i].offset, trace->damage[i].bytes, trace->damage[i].what);
	if (trace->damage_more)
		fprintf(stderr, "kymo: damage at %" PRIu64 " more places\n", trace->damage_more);
}
