// SPDX-License-Identifier: Apache-2.0
#include "replay/profile/export/threads.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replay/trace/text.h"

/* Larger than any id that Linux assigns. */
#define MADE_UP_TID (UINT64_C(1) << 22)

/* Tasks that run in the thread, the innermost last. */
struct running_task {
	const struct kymo_traced_task *task;
	uint32_t depth; /* of its outermost frame */
};

struct walk {
	const struct kymo_export *export;
	const struct kymo_thread_writer *writer;
	void *context;
	struct kymo_error *error;
	struct kymo_measured measured;
	struct running_task *tasks;
	size_t task_count, task_capacity;
	bool has_threads;
};

static const char *const how_texts[] = {
	[KYMO_CALL_RESUMED] = "resumed",
	[KYMO_CALL_THROWN] = "resumed with an exception",
	[KYMO_CALL_FOUND] = "began before",
	[KYMO_CALL_YIELDED] = "yielded",
	[KYMO_CALL_UNWOUND] = "left by an exception",
	[KYMO_CALL_LOST] = "its end is lost",
	[KYMO_CALL_OPEN] = "still ran at the end",
};

const char *kymo_call_how_text(enum kymo_call_how how)
{
	return (size_t)how < sizeof how_texts / sizeof *how_texts ? how_texts[how] : NULL;
}

const char *kymo_task_name(const struct kymo_traced_task *task, char text[KYMO_TASK_TEXT_BYTES])
{
	if (*task->name)
		return task->name;
	snprintf(text, KYMO_TASK_TEXT_BYTES, "task %" PRIu32, task->id);
	return text;
}

const char *kymo_gap_text(const struct kymo_call *gap, char text[KYMO_GAP_TEXT_BYTES])
{
	char count[KYMO_TEXT_BYTES], why[KYMO_LOSS_TEXT_BYTES];

	snprintf(text, KYMO_GAP_TEXT_BYTES, "%s lost (%s)", kymo_text_counted(gap->lost, "event", count),
		 kymo_loss_text(gap->lost_reasons, why));
	return text;
}

void kymo_caveats_note(struct kymo_caveats *caveats, const struct kymo_call *call)
{
	caveats->lost += call->lost;
	caveats->cut += call->how == KYMO_CALL_FOUND || call->how == KYMO_CALL_LOST || call->how == KYMO_CALL_OPEN;
	caveats->uncertain += call->step == KYMO_CALL_END && kymo_is_uncertain(call);
}

static void put_caveat(FILE *out, const char *before, uint64_t count, const char *noun, const char *what)
{
	char text[KYMO_TEXT_BYTES];

	if (count)
		fprintf(out, "%s%s %s", before, kymo_text_counted(count, noun, text), what);
}

void kymo_caveats_put(FILE *out, const struct kymo_caveats *caveats, const char *before)
{
	put_caveat(out, before, caveats->lost, "event", "lost");
	put_caveat(out, before, caveats->cut, "end", "not recorded");
	put_caveat(out, before, caveats->uncertain, "call", "shorter than the error bound");
}

const char *kymo_process_name(const struct kymo_traced_process *process)
{
	const Kymo__Process *definition = process->definition;
	const char *name = NULL, *slash;

	if (!definition)
		return "?";
	/* The first word that is not an option of the interpreter: a script or a module. */
	for (size_t i = 1; i < definition->n_argv && !name; i++) {
		if (!strcmp(definition->argv[i], "-m") && i + 1 < definition->n_argv)
			return definition->argv[i + 1];
		if (!strcmp(definition->argv[i], "-c"))
			return "-c";
		if (*definition->argv[i] != '-')
			name = definition->argv[i];
	}
	if (!name)
		name = definition->executable;
	slash = strrchr(name, '/');
	return slash ? slash + 1 : name;
}

uint64_t kymo_start_unix_ns(const struct kymo_timeline *timeline)
{
	const struct kymo_definitions *definitions = &timeline->definitions;

	if (!definitions->clock_count)
		return timeline->trace.header.created_unix_ns;
	return definitions->clocks[0].unix_ns - (definitions->clocks[0].monotonic_ns - (uint64_t)timeline->clock.start_ns);
}

static uint64_t native_id(const struct kymo_stream *stream)
{
	return stream->thread ? stream->thread->native_id : 0;
}

/* True if no stream before @stream has its pid and native id, which Linux reuses. */
static bool is_new_thread(const struct kymo_timeline *timeline, const struct kymo_stream *stream)
{
	if (!native_id(stream))
		return false;
	for (const struct kymo_stream *other = timeline->streams; other < stream; other++)
		if (native_id(other) == native_id(stream) && other->process->pid == stream->process->pid)
			return false;
	return true;
}

static void describe(struct kymo_exported_thread *thread, const struct kymo_timeline *timeline,
		     const struct kymo_stream *stream)
{
	const struct kymo_traced_process *before = thread->stream ? thread->stream->process : NULL;

	thread->stream = stream;
	thread->number++;
	thread->is_first_of_process = stream->process != before;
	thread->pid = stream->process->pid;
	thread->is_tid_made_up = !is_new_thread(timeline, stream);
	thread->tid = thread->is_tid_made_up ? MADE_UP_TID + (uint64_t)(stream - timeline->streams) : native_id(stream);
	thread->name = stream->thread && stream->thread->name ? stream->thread->name : "?";
}

static int begin_task(struct walk *walk, const struct kymo_call *call, int64_t t_ns)
{
	if (walk->task_count && walk->tasks[walk->task_count - 1].task == call->task)
		return 0;
	if (kymo_grow(&walk->tasks, &walk->task_capacity, walk->task_count + 1, sizeof *walk->tasks))
		return kymo_fail(walk->error, -ENOMEM, "out of memory");
	walk->tasks[walk->task_count++] = (struct running_task){call->task, call->depth};
	return walk->writer->begin_task(walk->context, call, t_ns);
}

static int end_task(struct walk *walk, const struct kymo_call *call, int64_t t_ns)
{
	if (!walk->task_count || walk->tasks[walk->task_count - 1].depth != call->depth)
		return 0;
	walk->task_count--;
	return walk->writer->end_task(walk->context, walk->tasks[walk->task_count].task, t_ns);
}

static int step(struct walk *walk, const struct kymo_call *call)
{
	int64_t t_ns = kymo_measured_ns(&walk->measured, call->t_ns, call->t_err_ns);
	int result = 0;

	if (call->step == KYMO_CALL_BEGIN && call->task && walk->writer->begin_task)
		result = begin_task(walk, call, t_ns);
	if (!result)
		result = walk->writer->step(walk->context, call, t_ns);
	if (!result && call->step == KYMO_CALL_END && walk->task_count)
		result = end_task(walk, call, t_ns);
	return result;
}

static int write_thread(struct walk *walk, const struct kymo_exported_thread *thread)
{
	const struct kymo_export *export = walk->export;
	struct kymo_sliced_calls *calls;
	struct kymo_call call;
	bool has_begun = false;
	int result;

	walk->measured = (struct kymo_measured){0};
	walk->task_count = 0;
	result = kymo_sliced_calls_open(&calls, export->timeline, thread->stream, export->slice, export->contexts, walk->error);
	while (!result && (result = kymo_sliced_calls_next(calls, &call, walk->error)) > 0) {
		result = has_begun ? 0 : walk->writer->begin_thread(walk->context, thread);
		has_begun = walk->has_threads = true;
		if (!result)
			result = step(walk, &call);
		if (!result && ferror_unlocked(export->out))
			result = kymo_fail(walk->error, -EIO, "%s", "");
	}
	if (!result && has_begun)
		result = walk->writer->end_thread(walk->context, walk->measured.last_ns);
	kymo_sliced_calls_close(calls);
	return result;
}

int kymo_export_threads(const struct kymo_export *export, const struct kymo_thread_writer *writer, void *context,
			struct kymo_error *error)
{
	struct walk walk = {.export = export, .writer = writer, .context = context, .error = error};
	struct kymo_exported_thread thread = {0};
	struct kymo_timeline *timeline = export->timeline;
	int result = 0;

	/* Lines are in none of the formats. */
	timeline->rebuilt_kinds = 0;
	for (size_t i = 0; i < timeline->stream_count && !result; i++) {
		if (!kymo_slice_wants_stream(export->slice, &timeline->streams[i]))
			continue;
		describe(&thread, timeline, &timeline->streams[i]);
		result = write_thread(&walk, &thread);
	}
	free(walk.tasks);
	if (!result && !walk.has_threads)
		result = kymo_fail(error, -ENODATA, "the trace has no calls, or none of what is asked for");
	return result;
}
