// SPDX-License-Identifier: Apache-2.0
#include "replay/coverage/counts.h"

#include <errno.h>
#include <stdlib.h>

#include "replay/decode/pass.h"

#define EVENT(kind) (UINT64_C(1) << (kind))
#define BRANCH_SIDES (EVENT(KYMO_BRANCH_LEFT) | EVENT(KYMO_BRANCH_RIGHT))

static uint32_t python_of(const struct kymo_traced_process *process)
{
	return process && process->definition ? process->definition->python_hex : 0;
}

/* NULL: no memory. */
static struct kymo_content_counts *counts_of(struct kymo_counts *counts, struct kymo_content *content)
{
	const struct kymo_definitions *definitions = &counts->timeline->definitions;
	size_t number = counts->count ? counts->count : 1;

	if (content->number)
		return &counts->contents[content->number];
	if (number >= UINT32_MAX || kymo_grow(&counts->contents, &counts->capacity, number + 1, sizeof(*counts->contents)))
		goto fail;
	if (kymo_content_counts_init(&counts->contents[number], content,
				     python_of(kymo_traced_find(definitions, content->process)),
				     counts->timeline->rebuilt_kinds)) {
		kymo_content_counts_release(&counts->contents[number]);
		goto fail;
	}
	content->number = (uint32_t)number;
	counts->count = number + 1;
	return &counts->contents[number];
fail:
	counts->is_short = true;
	return NULL;
}

static uint32_t context_of(const struct kymo_counts *counts)
{
	return counts->wants_contexts ? counts->place.context : KYMO_NO_CONTEXT;
}

static void count_line(struct kymo_counts *counts, struct kymo_content *content, int64_t line, uint64_t times)
{
	struct kymo_content_counts *of = counts_of(counts, content);

	if (!of || kymo_count_line(of, line, times, context_of(counts)))
		counts->is_short = true;
}

static void count_way(struct kymo_counts *counts, struct kymo_content *content, unsigned kind, uint64_t offset,
		      uint64_t dest, uint64_t times)
{
	struct kymo_content_counts *of;

	if (kind < KYMO_BRANCH || kind > KYMO_BRANCH_RIGHT)
		return;
	of = counts_of(counts, content);
	if (!of || kymo_count_way(of, kind, offset, dest, times, context_of(counts)))
		counts->is_short = true;
}

static void count_call(struct kymo_counts *counts, struct kymo_content *content, uint64_t times)
{
	struct kymo_content_counts *of = counts_of(counts, content);

	if (!of)
		return;
	of->has_run = true;
	of->calls += times;
}

static void count_steps(struct kymo_counts *counts, struct kymo_content *content, const struct kymo_step *steps,
			uint32_t step_count, uint64_t times)
{
	for (uint32_t i = 0; i < step_count; i++) {
		const struct kymo_step *step = &steps[i];

		if (step->kind == KYMO_LINE)
			count_line(counts, content, step->value, times);
		else
			count_way(counts, content, step->kind, step->unit, step->value, times);
	}
}

/* Convert counted moves to lines, branches and calls. */
static void expand_moves(struct kymo_pass *pass)
{
	struct kymo_counting *counting = &pass->counting;
	struct kymo_counts *counts = pass->context;

	for (size_t i = 0; i < counting->touched_count; i++) {
		const struct kymo_counted_move *touched = &counting->touched[i];
		struct kymo_move *move = &touched->moves->moves[touched->move];

		count_steps(counts, touched->content, touched->moves->steps + move->first, move->count, move->hits);
		if (move->kind == KYMO_PY_START)
			count_call(counts, touched->content, move->hits);
		count_way(counts, touched->content, move->kind, move->offset, move->dest, move->hits);
		move->hits = 0;
	}
	counting->touched_count = 0;
}

static const struct kymo_traced_process *process_of(const struct kymo_counts *counts)
{
	return counts->timeline->streams[counts->stream].process;
}

static void set_place(struct kymo_pass *pass, struct kymo_context_place place)
{
	struct kymo_counts *counts = pass->context;

	if (place.context != counts->place.context)
		expand_moves(pass);
	counts->place = place;
}

/* The next events happen in this turn, at this time. */
static void come_to(struct kymo_pass *pass, size_t stream, uint32_t interpreter, uint64_t slice, int64_t t_ns)
{
	struct kymo_counts *counts = pass->context;
	bool is_same = stream == counts->stream && interpreter == counts->interpreter && slice == counts->slice;

	if (!counts->wants_contexts || (is_same && t_ns < counts->place.until_ns))
		return;
	counts->stream = stream;
	counts->interpreter = interpreter;
	counts->slice = slice;
	set_place(pass, kymo_contexts_at(&counts->contexts, process_of(counts), interpreter, slice, t_ns));
}

/* This thread begins or ends a context. */
static void take_mark(struct kymo_pass *pass, uint64_t text)
{
	struct kymo_counts *counts = pass->context;
	struct kymo_context_place place = {0, INT64_MAX};

	if (!counts->wants_contexts)
		return;
	place.context = kymo_contexts_number(&counts->contexts, kymo_traced_text(process_of(counts), text));
	if (place.context != KYMO_CONTEXT_SAME)
		set_place(pass, place);
}

static void miss(struct kymo_counts *counts, const struct kymo_traced_process *process)
{
	counts->is_incomplete[process - counts->timeline->definitions.processes] = true;
}

/* What @code did is not known; NULL: the code is not known, either. */
static void note_unknown(struct kymo_counts *counts, const struct kymo_stream *stream, const struct kymo_code *code)
{
	struct kymo_content_counts *of = code ? counts_of(counts, code->content) : NULL;

	if (of)
		of->is_incomplete = true;
	else
		miss(counts, stream->process);
}

static void note_undefined(struct kymo_counts *counts, const struct kymo_stream *stream)
{
	counts->undefined++;
	miss(counts, stream->process);
}

static int check_memory(const struct kymo_pass *pass)
{
	const struct kymo_counts *counts = pass->context;

	return counts->is_short ? kymo_fail(pass->error, -ENOMEM, "out of memory") : 0;
}

static void begin_chunk(struct kymo_pass *pass, const struct kymo_passed_chunk *chunk, const struct kymo_sync *sync)
{
	struct kymo_counts *counts = pass->context;

	(void)sync;
	come_to(pass, chunk->stream, chunk->interpreter, chunk->slice, chunk->t_ns);
	counts->stream = chunk->stream;
	if (chunk->is_missing)
		miss(counts, process_of(counts));
}

static int end_chunk(struct kymo_pass *pass)
{
	struct kymo_counts *counts = pass->context;

	if (pass->is_damaged)
		miss(counts, process_of(counts));
	return check_memory(pass);
}

static int take_event(struct kymo_pass *pass, const struct kymo_walker *walker)
{
	const struct kymo_event *event = &walker->event;
	int64_t earliest_ns = event->t_ns - (int64_t)event->t_err_ns;
	struct kymo_content *content = event->code ? event->code->content : NULL;
	struct kymo_counts *counts = pass->context;

	/* Lines of an unknown version of CPython. */
	if (!walker->cursor.rebuild && counts->timeline->trace.header.required_features & KYMO_FEATURE_FLOW)
		miss(counts, event->stream->process);
	switch (event->kind) {
	case KYMO_EVENT_GAP:
		miss(counts, event->stream->process);
		return 0;
	case KYMO_EVENT_UNKNOWN:
		note_unknown(counts, event->stream, event->code);
		return 0;
	case KYMO_EVENT_MARK:
		come_to(pass, counts->stream, event->interpreter, event->slice, earliest_ns);
		take_mark(pass, event->name_id);
		return 0;
	default:
		break;
	}
	come_to(pass, counts->stream, event->interpreter, event->slice, earliest_ns);
	if (!content)
		note_undefined(counts, event->stream);
	else if (event->kind == KYMO_LINE)
		count_line(counts, content, (int64_t)event->line, 1);
	else if (event->kind == KYMO_PY_START || event->kind == KYMO_PY_START_AT)
		count_call(counts, content, 1);
	else
		count_way(counts, content, event->kind, event->offset, event->dest, 1);
	return check_memory(pass);
}

static void take_rebuilt(struct kymo_pass *pass, const struct kymo_record *record, const struct kymo_rebuilt *rebuilt)
{
	struct kymo_counts *counts = pass->context;
	const struct kymo_stream *stream = &counts->timeline->streams[counts->stream];
	struct kymo_content *content = rebuilt->code ? rebuilt->code->content : NULL;

	if (rebuilt->is_unknown)
		note_unknown(counts, stream, rebuilt->code);
	if (rebuilt->steps_code)
		count_steps(counts, rebuilt->steps_code->content, rebuilt->steps, rebuilt->step_count, 1);
	if (rebuilt->kind == KYMO_KIND_SPECIAL)
		return;
	if (!content)
		note_undefined(counts, stream);
	else if (rebuilt->kind == KYMO_LINE)
		count_line(counts, content, (int64_t)record->a, 1);
	else if (rebuilt->kind == KYMO_PY_START || rebuilt->kind == KYMO_PY_START_AT)
		count_call(counts, content, 1);
	else
		count_way(counts, content, rebuilt->kind, rebuilt->offset, rebuilt->dest, 1);
}

static void take_record(struct kymo_pass *pass, const struct kymo_record *record, const struct kymo_rebuilt *rebuilt)
{
	struct kymo_counts *counts = pass->context;
	bool is_special = record && record->kind == KYMO_KIND_SPECIAL;

	if (rebuilt)
		take_rebuilt(pass, record, rebuilt);
	if (!record || !counts->wants_contexts)
		return;
	if (is_special && record->extended == KYMO_EXTENDED_MARK)
		take_mark(pass, record->a);
	else if (is_special || record->kind == KYMO_SWITCH || record->kind == KYMO_TIME)
		come_to(pass, counts->stream, pass->interpreter, pass->slice,
			kymo_clock_ns(&counts->timeline->clock, pass->clock));
}

/* In a gap, @process may have run all code that it had defined, or that was defined when it was forked. */
static void mark_incomplete(struct kymo_counts *counts, const struct kymo_traced_process *process)
{
	uint64_t limit = UINT64_MAX;

	for (; process; process = process->forked_from) {
		for (size_t i = 0; i < process->contents.count; i++) {
			struct kymo_content_counts *of =
				process->contents.items[i].position < limit ? counts_of(counts, process->contents.items[i].value) : NULL;

			if (of)
				of->is_incomplete = true;
		}
		if (process->definition)
			limit = process->definition->forked_at;
	}
}

/*
 * Without a process's definition, the version that decides about lines and branches is not known; without its end in the trace, the
 * last contents of its rings are not known.
 */
static bool has_lost_all_of_something(const struct kymo_traced_process *process)
{
	const Kymo__ProcessEnd *end = process->end;

	return !process->definition || !end || end->undefined || end->threads_unrecorded || end->events_unrecorded;
}

static bool has_branches(const struct kymo_timeline *timeline, const Kymo__Config *config)
{
	if (config->flow || config->branch_bits)
		return config->flow;
	for (size_t i = 0; i < timeline->definitions.process_count; i++) {
		uint32_t version = KYMO_FLOW_VERSION(python_of(&timeline->definitions.processes[i]));
		bool has_sides = (config->events & BRANCH_SIDES) == BRANCH_SIDES;

		if (!kymo_opcodes(version))
			return false;
		if (!(config->events & EVENT(KYMO_BRANCH)) && !(has_sides && version >= KYMO_CPYTHON_3_14))
			return false;
	}
	return true;
}

/* The settings of the recording decide what can be reported. */
static int check_config(struct kymo_counts *counts, struct kymo_error *error)
{
	const Kymo__Session *session = counts->timeline->definitions.session;
	const Kymo__Config *config = session ? session->config : NULL;

	if (!config)
		return kymo_fail(error, -ENODATA, "the trace does not say which events were recorded: its first frame is lost");
	if (!config->flow && !(config->events & EVENT(KYMO_LINE)))
		return kymo_fail(error, -ENODATA, "no lines were recorded (--events=%s): coverage needs flow, full, coverage, or a "
				 "list with LINE", config->profile);
	if (config->once && counts->wants_contexts)
		return kymo_fail(error, -ENOTSUP, "--events=%s records each line once, so that only the first context to run it is "
				 "known: record with --events=flow", config->profile);
	counts->are_hits_counted = !config->once;
	counts->has_branches = has_branches(counts->timeline, config);
	counts->has_calls = config->events & EVENT(KYMO_PY_START);
	return 0;
}

int kymo_counts_read(struct kymo_counts *counts, struct kymo_timeline *timeline, bool wants_contexts,
		     struct kymo_error *error)
{
	static const struct kymo_passing tell = {begin_chunk, end_chunk, take_event, take_record};
	struct kymo_pass pass = {.timeline = timeline, .tell = &tell, .context = counts, .error = error};
	size_t processes = timeline->definitions.process_count;
	int result;

	*counts = (struct kymo_counts){.timeline = timeline, .wants_contexts = wants_contexts, .stream = SIZE_MAX};
	result = check_config(counts, error);
	if (result)
		return result;
	counts->is_incomplete = calloc(processes + 1, sizeof(*counts->is_incomplete));
	if (!counts->is_incomplete)
		return kymo_fail(error, -ENOMEM, "out of memory");
	if (wants_contexts)
		result = kymo_contexts_find(&counts->contexts, timeline, error);
	if (!result)
		result = kymo_pass_run(&pass);
	if (!result)
		expand_moves(&pass);
	kymo_pass_release(&pass);
	for (size_t i = 0; i < processes && !result; i++)
		if (counts->is_incomplete[i] || has_lost_all_of_something(&timeline->definitions.processes[i]))
			mark_incomplete(counts, &timeline->definitions.processes[i]);
	return result ? result : check_memory(&pass);
}

void kymo_counts_release(struct kymo_counts *counts)
{
	for (size_t i = 1; i < counts->count; i++) {
		counts->contents[i].content->number = 0;
		kymo_content_counts_release(&counts->contents[i]);
	}
	free(counts->contents);
	free(counts->is_incomplete);
	kymo_contexts_release(&counts->contexts);
	*counts = (struct kymo_counts){0};
}
