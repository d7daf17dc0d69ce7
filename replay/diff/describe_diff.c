// SPDX-License-Identifier: Apache-2.0
/* The report as JSON; docs/diff.md has its fields. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replay/diff/around.h"
#include "replay/diff/describe_diff.h"
#include "replay/trace/describe.h"
#include "replay/trace/line_table.h"

static const char *const side_names[] = {"pass", "fail"};

static const char *const kind_names[] = {
	[KYMO_DIFFER_BRANCH] = "branch", [KYMO_DIFFER_LOOP] = "loop",	      [KYMO_DIFFER_CALL] = "call",
	[KYMO_DIFFER_EXCEPTION] = "exception", [KYMO_DIFFER_LEFT] = "left",    [KYMO_DIFFER_THREAD] = "thread",
	[KYMO_DIFFER_PROCESS] = "process", [KYMO_DIFFER_ENDING] = "ending",    [KYMO_DIFFER_ORDER] = "order",
	[KYMO_DIFFER_UNKNOWN] = "unknown",
};

static const char *const what_names[] = {
	[KYMO_TOKEN_ENTER] = "call",   [KYMO_TOKEN_LINE] = "line",   [KYMO_TOKEN_BRANCH] = "branch", [KYMO_TOKEN_RAISE] = "raise",
	[KYMO_TOKEN_RETURN] = "return", [KYMO_TOKEN_YIELD] = "yield", [KYMO_TOKEN_UNWIND] = "unwind", [KYMO_TOKEN_RERAISE] = "raise", [KYMO_TOKEN_MISSING] = "end",
};

/* The number of differences reported with values of variables, which takes decoding chunks again. */
#define VALUES_TOLD 32U

static const struct kymo_content *content_of(const struct kymo_describing *describing, size_t side, uint32_t code)
{
	return kymo_describe_side(describing, side)->codes[code].content;
}

static bool look(struct kymo_describing *describing, size_t side, size_t stream, struct kymo_position at, struct kymo_look *out)
{
	int result = kymo_look(&kymo_describe_side(describing, side)->index, stream, at, out, describing->error);

	if (result)
		describing->result = result;
	return !result && out->is_found;
}

static json_t *stack(struct kymo_describing *describing, size_t side, const struct kymo_look *looked)
{
	json_t *frames = json_array();

	for (uint32_t i = 0; i < looked->frame_count; i++) {
		const struct kymo_stack_frame *frame = &looked->frames[i];

		json_array_append_new(frames, kymo_describe_place(describing, side, frame->code ? frame->code->content : NULL,
								  frame->line));
	}
	return frames;
}

static json_t *code_line(struct kymo_describing *describing, size_t side, const struct kymo_code_line *at)
{
	return kymo_describe_place(describing, side, at->code ? at->code->content : NULL, at->line);
}

/* The first lines that ran where the exception was caught, if that is not library code. */
static json_t *handler(struct kymo_describing *describing, size_t side, const struct kymo_differing *own)
{
	const struct kymo_side *of = kymo_describe_side(describing, side);
	struct kymo_code_line lines[KYMO_HANDLER_LINES];
	int count = kymo_find_handler(&of->index, own->stream, own->raise, lines, describing->error);
	json_t *told;

	if (count < 0)
		describing->result = count;
	if (count <= 0 || !lines[0].code || of->codes[kymo_side_code(of, lines[0].code->content)].is_library)
		return json_null();
	told = json_array();
	for (int i = 0; i < count; i++)
		json_array_append_new(told, code_line(describing, side, &lines[i]));
	return told;
}

static json_t *exception(struct kymo_describing *describing, size_t side, const struct kymo_differing *own)
{
	struct kymo_look looked;
	const struct kymo_content *content;
	json_t *raised;

	if (!own->has_raise || !look(describing, side, own->stream, own->raise, &looked))
		return json_null();
	content = looked.frame_count && looked.frames[0].code ? looked.frames[0].code->content : NULL;
	raised = kymo_describe_place(describing, side, content, looked.frame_count ? looked.frames[0].line : KYMO_LINE_NONE);
	json_object_set_new(raised, "type", kymo_describe_text(looked.name));
	json_object_set_new(raised, "position", kymo_describe_position(own->raise));
	json_object_set_new(raised, "value", kymo_describe_own_value(describing, side, own->stream, own->raise));
	json_object_set_new(raised, "handler", handler(describing, side, own));
	return raised;
}

static json_t *alone(const struct kymo_describing *describing, size_t side, const struct kymo_differing *own)
{
	json_t *called = json_array();

	for (uint32_t i = 0; i < own->called_count; i++) {
		const struct kymo_content *content = content_of(describing, side, own->called[i]);

		json_array_append_new(called, kymo_describe_text(content ? content->function : NULL));
	}
	return json_pack("{s:o, s:o, s:o, s:o}", "lines", kymo_describe_number(own->lines), "calls", kymo_describe_number(own->calls), "called", called,
			 "rounds", kymo_describe_number(own->rounds));
}

/* The first line of what it called. */
static json_t *body(struct kymo_describing *describing, size_t side, const struct kymo_differing *own)
{
	struct kymo_code_line first;
	int result = kymo_find_body(&kymo_describe_side(describing, side)->index, own->stream, own->at, &first, describing->error);

	if (result)
		describing->result = result;
	return result || !first.code ? json_null() : code_line(describing, side, &first);
}

/* Where a thread was killed, the lines that may have run after its last event; null if it was not, or nothing is known. */
static json_t *may_have_run(struct kymo_describing *describing, size_t side, const struct kymo_differing *own)
{
	struct kymo_code_line lines[2];
	int result = kymo_find_end(&kymo_describe_side(describing, side)->index, own->stream, own->at, lines, describing->error);

	if (result < 0)
		describing->result = result;
	return result > 0 ? json_pack("{s:o, s:o}", "first_line", kymo_describe_line(lines[0].line), "last_line",
				      kymo_describe_line(lines[1].line))
			  : json_null();
}

/* What the side did next. */
static json_t *next(struct kymo_describing *describing, size_t side, const struct kymo_differing *own)
{
	json_t *described = kymo_describe_place(describing, side, content_of(describing, side, own->code), own->line);

	json_object_set_new(described, "what", kymo_describe_text(own->is_missing ? "missing" : what_names[own->kind]));
	json_object_set_new(described, "alone", json_boolean(own->is_own));
	if (own->kind == KYMO_TOKEN_ENTER && own->is_own && own->called_count) {
		const struct kymo_content *content = content_of(describing, side, own->called[0]);

		json_object_set_new(described, "called", kymo_describe_text(content ? content->function : NULL));
		json_object_set_new(described, "body", body(describing, side, own));
	}
	return described;
}

/* Lines that both ran before the last one, in the order in which they ran. */
static json_t *earlier_lines(struct kymo_describing *describing, size_t side, const struct kymo_differing *own)
{
	json_t *lines = json_array();

	for (size_t i = KYMO_LINES_BEFORE; i-- > 0;)
		if (own->earlier[i] > 0)
			json_array_append_new(lines, kymo_describe_place(describing, side, content_of(describing, side, own->code),
									 own->earlier[i]));
	return lines;
}

/* The for loops around the place that @looked is at. */
static json_t *loops(struct kymo_describing *describing, size_t side, const struct kymo_differing *own, struct kymo_position here,
		     const struct kymo_look *looked)
{
	const struct kymo_stack_frame *frame = &looked->frames[0];
	const struct kymo_content *content = content_of(describing, side, own->code);
	int64_t line = own->common_line == KYMO_LINE_NONE ? own->line : own->common_line;
	struct kymo_loop_round found[KYMO_LOOPS_TOLD];
	json_t *told = json_array();
	int count = 0;

	if (looked->frame_count && frame->code && frame->code->content == content)
		count = kymo_find_loops(&kymo_describe_side(describing, side)->index, own->stream, here, line, frame, found, describing->error);
	if (count < 0)
		describing->result = count;
	for (int i = 0; i < count; i++) {
		json_t *loop = kymo_describe_place(describing, side, content, found[i].line);

		json_object_set_new(loop, "round", found[i].round ? kymo_describe_number(found[i].round) : json_null());
		json_array_append_new(told, loop);
	}
	return told;
}

static json_t *describe_side(struct kymo_describing *describing, size_t side, const struct kymo_differing *own)
{
	struct kymo_position at = own->at, here = own->common.n ? own->common : own->at;
	struct kymo_look looked;
	json_t *described;

	if (!own->has_place)
		return json_null();
	if (at.n == UINT64_MAX && own->common.n)
		at = own->common;
	described = json_pack("{s:o, s:o, s:o, s:o, s:o}", "thread", kymo_describe_thread(describing, side, own->stream),
			      "position", kymo_describe_position(at),
			      "next", next(describing, side, own), "alone", alone(describing, side, own), "exception",
			      exception(describing, side, own));
	json_object_set_new(described, "last_common", own->common_line == KYMO_LINE_NONE
							      ? json_null()
							      : kymo_describe_place(describing, side, content_of(describing, side, own->code),
								      own->common_line));
	if (own->common_line != KYMO_LINE_NONE)
		json_object_set_new(json_object_get(described, "last_common"), "position", kymo_describe_position(own->common));
	json_object_set_new(described, "before", earlier_lines(describing, side, own));
	if (look(describing, side, own->stream, here, &looked)) {
		json_object_set_new(described, "loops", loops(describing, side, own, here, &looked));
		json_object_set_new(described, "stack", stack(describing, side, &looked));
		json_object_set_new(described, "depth", kymo_describe_number(looked.depth));
		json_object_set_new(described, "t_ns", json_integer(looked.moment.t_ns));
		json_object_set_new(described, "t_err_ns", kymo_describe_number(looked.t_err_ns));
	}
	return described;
}

static json_t *describe_process(const struct kymo_describing *describing, size_t side, size_t process)
{
	const struct kymo_timeline *timeline = &kymo_describe_side(describing, side)->timeline;
	const struct kymo_traced_process *found = &timeline->definitions.processes[process];
	const Kymo__Process *definition = found->definition;
	char end[KYMO_DESCRIBE_BYTES];
	json_t *words = json_array();

	for (size_t i = 0; definition && i < definition->n_argv; i++)
		json_array_append_new(words, kymo_describe_text(definition->argv[i]));
	return json_pack("{s:o, s:o, s:o}", "pid", kymo_describe_number(found->pid), "argv", words, "ending",
			 kymo_describe_text(kymo_describe_end(timeline, found, end)));
}

static json_t *describe_order(struct kymo_describing *describing, const struct kymo_difference *difference)
{
	const struct kymo_interruption *what = &difference->interruption;
	size_t side = difference->sides[1].has_place;
	json_t *described = json_pack(
		"{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "side", side_names[side], "thread",
		kymo_describe_thread(describing, side, what->stream),
		"before", kymo_describe_place(describing, side, content_of(describing, side, what->code), what->last_line), "after",
		kymo_describe_place(describing, side, content_of(describing, side, what->code), what->next_line), "other_thread",
		kymo_describe_thread(describing, side, what->other_stream), "other",
		kymo_describe_place(describing, side, content_of(describing, side, what->other_code), what->low), "position",
		kymo_describe_position(what->next),
		"other_position", kymo_describe_position(what->other));

	json_object_set_new(json_object_get(described, "other"), "last_line", kymo_describe_line(what->high));
	json_object_set_new(described, "before_position", kymo_describe_position(what->last));
	json_object_set_new(described, "same_function", json_boolean(what->is_same_function));
	return described;
}

static size_t told_as(const struct kymo_report *report, size_t difference)
{
	for (size_t i = 0; i < report->count; i++)
		if (report->order[i] == difference)
			return i + 1;
	return 0;
}

static json_t *describe_difference(struct kymo_describing *describing, const struct kymo_report *report, size_t told)
{
	const struct kymo_comparison *comparison = &describing->diff->comparison;
	const struct kymo_difference *difference = &comparison->differences[report->order[told]];
	size_t beneath = difference->outer == SIZE_MAX ? 0 : told_as(report, difference->outer);
	json_t *described = json_pack("{s:o, s:s, s:o, s:o, s:o, s:o}", "number", kymo_describe_number(told + 1), "kind",
				      kind_names[difference->kind], "count", kymo_describe_number(difference->count), "library",
				      json_boolean(difference->is_library), "beneath", beneath ? kymo_describe_number(beneath) : json_null(),
				      "unaligned", json_boolean(difference->is_unaligned));

	for (size_t s = 0; s < 2; s++) {
		const struct kymo_differing *own = &difference->sides[s];
		bool is_process = difference->kind == KYMO_DIFFER_ENDING || difference->kind == KYMO_DIFFER_PROCESS;

		if (is_process)
			json_object_set_new(described, side_names[s],
					    difference->kind == KYMO_DIFFER_ENDING || own->is_own
						    ? describe_process(describing, s, own->process)
						    : json_null());
		else
			json_object_set_new(described, side_names[s], describe_side(describing, s, own));
		if (difference->kind == KYMO_DIFFER_UNKNOWN && own->has_place)
			json_object_set_new(json_object_get(json_object_get(described, side_names[s]), "next"), "may_have_run",
					    may_have_run(describing, s, own));
	}
	json_object_set_new(described, "values", told < VALUES_TOLD ? kymo_describe_parting(describing, difference) : json_array());
	if (difference->kind == KYMO_DIFFER_ORDER)
		json_object_set_new(described, "order", describe_order(describing, difference));
	return described;
}

static uint32_t python_of(const struct kymo_side *side)
{
	const struct kymo_definitions *definitions = &side->timeline.definitions;
	const Kymo__Process *process = definitions->process_count ? definitions->processes[0].definition : NULL;

	return process ? process->python_hex : 0;
}

static json_t *describe_run(const struct kymo_describing *describing, size_t s)
{
	const struct kymo_side *side = kymo_describe_side(describing, s);
	const struct kymo_definitions *definitions = &side->timeline.definitions;
	uint32_t python = python_of(side);
	char end[KYMO_DESCRIBE_BYTES], version[32];

	snprintf(version, sizeof version, "%" PRIu32 ".%" PRIu32 ".%" PRIu32, python >> 24, python >> 16 & 0xff, python >> 8 & 0xff);
	return json_pack("{s:o, s:o, s:o, s:o}", "trace", kymo_describe_text(describing->diff->options->paths[s]), "test",
			 kymo_describe_text(describing->diff->options->tests[s]), "ending",
			 kymo_describe_text(definitions->process_count ? kymo_describe_end(&side->timeline, &definitions->processes[0], end) : NULL),
			 "python", kymo_describe_text(python ? version : NULL));
}

static void add_note(json_t *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_note(json_t *notes, const char *format, ...)
{
	char note[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(note, sizeof note, format, args);
	va_end(args);
	json_array_append_new(notes, kymo_describe_text(note));
}

/* Which values were recorded; NULL: none. */
static const char *scope_of(const struct kymo_side *side)
{
	static const char *const names[] = {NULL, "args", "locals", "globals"};
	const Kymo__Session *session = side->timeline.definitions.session;
	const Kymo__Values *values = session && session->config ? session->config->values : NULL;

	return values && (size_t)values->scope < sizeof names / sizeof *names ? names[values->scope] : NULL;
}

static void describe_scopes(const struct kymo_describing *describing, json_t *notes)
{
	const struct kymo_value_findings *found = &describing->diff->values;
	const char *scopes[] = {scope_of(kymo_describe_side(describing, 0)), scope_of(kymo_describe_side(describing, 1))};

	if (!scopes[0] != !scopes[1])
		add_note(notes, "only %s was recorded with --values: values are not compared", scopes[0] ? "PASS" : "FAIL");
	else if (scopes[0] && strcmp(scopes[0], scopes[1]) != 0)
		add_note(notes, "PASS was recorded with --values=%s, FAIL with --values=%s: what both have is compared", scopes[0],
			 scopes[1]);
	if (found->has_more)
		add_note(notes, "too many values could be the same or not: some were not compared");
}

static json_t *describe_notes(const struct kymo_describing *describing)
{
	const struct kymo_comparison *comparison = &describing->diff->comparison;
	const struct kymo_side *left = kymo_describe_side(describing, 0), *right = kymo_describe_side(describing, 1);
	uint32_t a = python_of(left), b = python_of(right);
	json_t *notes = json_array();
	size_t changed = 0;
	bool has_more_turns = false;

	for (size_t s = 0; s < 2; s++)
		for (size_t i = 0; i < comparison->forests[s].tree_count; i++)
			has_more_turns |= comparison->forests[s].trees[i].has_more_turns;
	for (size_t i = 0; i < right->file_count; i++)
		changed += right->files[i].has_changed;
	if (a >> 16 != b >> 16 && a && b)
		add_note(notes, "Python 3.%" PRIu32 " and 3.%" PRIu32 ": compared by the text of lines", a >> 16 & 0xff, b >> 16 & 0xff);
	else
		for (size_t i = 0; i < right->file_count && changed <= 5; i++)
			if (right->files[i].has_changed)
				add_note(notes, "%s is not the same on both sides: what changed in it is compared by the text of lines",
					 right->files[i].name);
	if (a >> 16 == b >> 16 && changed > 5)
		add_note(notes, "%zu files are not the same on both sides: what changed in them is compared by the text of lines", changed);
	if (!describing->diff->options->without_values)
		describe_scopes(describing, notes);
	if (comparison->total && !comparison->common_shown)
		add_note(notes, "the two have nothing in common");
	if (comparison->unknown)
		add_note(notes, "%" PRIu64 " places where something was lost, or cannot be rebuilt: there it is not known whether they differ",
			 comparison->unknown);
	if (comparison->not_followed)
		add_note(notes, "%" PRIu64 " more calls differ and were not looked into: there are too many", comparison->not_followed);
	if (has_more_turns)
		add_note(notes, "threads took turns too often for all of them to be looked at");
	return notes;
}

/* True if another text has the same name as the one at @index: nothing but the name identifies them. */
static bool is_one_of_several(const struct kymo_shelf *shelf, size_t index)
{
	for (size_t i = 0; i < shelf->count; i++)
		if (i != index && !strcmp(shelf->entries[i].file, shelf->entries[index].file))
			return true;
	return false;
}

static json_t *describe_sources(struct kymo_describing *describing)
{
	json_t *sources = json_object();

	for (size_t s = 0; s < 2; s++) {
		json_t *files = json_object();

		for (size_t i = 0; i < describing->shelves[s].count; i++) {
			const struct kymo_read_source *entry = &describing->shelves[s].entries[i];
			const struct kymo_side *side = kymo_describe_side(describing, s);
			bool is_shown = entry->is_there && entry->source.text && !is_one_of_several(&describing->shelves[s], i);
			json_t *content = is_shown ? json_stringn(entry->source.text, entry->source.bytes) : NULL;

			for (size_t f = 0; content && f < side->file_count; f++)
				if (!strcmp(side->files[f].path, entry->file))
					json_object_set_new(files, entry->file,
							    json_pack("{s:o, s:O}", "name", kymo_describe_text(side->files[f].name), "text", content));
			json_decref(content);
		}
		json_object_set_new(sources, side_names[s], files);
	}
	return sources;
}

json_t *kymo_diff_describe(struct kymo_diff *diff, struct kymo_error *error)
{
	const struct kymo_comparison *comparison = &diff->comparison;
	struct kymo_describing describing = {.diff = diff, .error = error};
	json_t *differences = json_array(), *described = NULL;
	struct kymo_report report;

	describing.result = kymo_report_choose(diff, diff->options->limit, &report, error);
	for (size_t i = 0; i < report.count && !describing.result; i++)
		json_array_append_new(differences, describe_difference(&describing, &report, i));
	if (!describing.result)
		described = json_pack("{s:i, s:b, s:o, s:o, s:o, s:{s:o, s:o, s:o}, s:o, s:o, s:o}", "format", 1, "same",
				      kymo_diff_is_same(diff), "pass", describe_run(&describing, 0), "fail", describe_run(&describing, 1),
				      "notes", describe_notes(&describing), "compared", "threads", kymo_describe_number(diff->threads), "steps",
				      kymo_describe_number(comparison->total), "common", kymo_describe_number(2 * comparison->common), "differences", differences,
				      "more", kymo_describe_number(report.more), "unknown", kymo_describe_number(comparison->unknown));
	else
		json_decref(differences);
	if (described)
		json_object_set_new(described, "values", kymo_describe_findings(&describing));
	if (describing.result) {
		json_decref(described);
		described = NULL;
	}
	if (described && diff->options->has_sources)
		json_object_set_new(described, "sources", describe_sources(&describing));
	for (size_t s = 0; s < 2; s++) {
		for (size_t i = 0; i < describing.shelves[s].count; i++)
			if (describing.shelves[s].entries[i].is_there)
				kymo_source_release(&describing.shelves[s].entries[i].source);
		free(describing.shelves[s].entries);
	}
	free(report.order);
	if (!described && !describing.result)
		kymo_fail(error, -ENOMEM, "out of memory");
	return described;
}
