// SPDX-License-Identifier: Apache-2.0
/*
 * The Firefox Profiler's processed format, of version 55: the last one in which each thread has all of its tables.
 *
 * There is a sample whenever the stack changes, with its duration as its weight. Everything but calls is a marker.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "replay/profile/export/columns.h"
#include "replay/profile/export/intern.h"
#include "replay/profile/export/json.h"
#include "replay/profile/export/threads.h"
#include "replay/trace/text.h"

#define PROCESSED_VERSION 55
#define GECKO_VERSION 31
#define MILLISECONDS 6

enum sample_column { SAMPLE_STACK, SAMPLE_TIME, SAMPLE_WEIGHT, SAMPLE_COLUMNS };
enum marker_column { MARKER_DATA, MARKER_NAME, MARKER_TIME, MARKER_COLUMNS };

/* Kinds of markers: they are the first strings of each thread. */
enum marker { MARKER_MARK, MARKER_EXCEPTION, MARKER_GAP, MARKER_NOTE, MARKERS };
static const char *const marker_names[MARKERS] = {"Mark", "Exception", "Gap", "Note"};
/* and categories follow: */
enum category { CATEGORY_OTHER, CATEGORY_PYTHON, CATEGORY_C };

/* Numbered like stacks, from 1; 0: none. */
struct stack {
	uint32_t prefix, function;
};

struct function {
	const struct kymo_content *content;
	const char *c_name;
};

struct gecko {
	const struct kymo_export *export;
	struct kymo_error *error;
	FILE *out;
	struct kymo_columns samples, markers;
	struct kymo_intern function_numbers, stack_numbers;
	struct function *functions; /* by number, from 1 */
	struct stack *stacks;
	size_t function_capacity, stack_capacity;
	struct kymo_exported_thread thread;
	struct kymo_caveats caveats;
	uint32_t stack; /* now */
	bool has_sample;
	int64_t begin_ns, sample_ns;
};

static int begin_thread(void *context, const struct kymo_exported_thread *thread)
{
	struct gecko *gecko = context;
	int result;

	gecko->thread = *thread;
	gecko->caveats = (struct kymo_caveats){0};
	gecko->stack = 0;
	gecko->has_sample = false;
	kymo_intern_clear(&gecko->function_numbers);
	kymo_intern_clear(&gecko->stack_numbers);
	result = kymo_columns_clear(&gecko->samples, gecko->error);
	return result ? result : kymo_columns_clear(&gecko->markers, gecko->error);
}

static void end_sample(struct gecko *gecko, int64_t t_ns)
{
	if (!gecko->has_sample)
		return;
	kymo_put_units(kymo_column(&gecko->samples, SAMPLE_WEIGHT), t_ns - gecko->sample_ns, MILLISECONDS);
	kymo_columns_next(&gecko->samples);
	gecko->has_sample = false;
}

static void begin_sample(struct gecko *gecko, int64_t t_ns)
{
	FILE *stack = kymo_column(&gecko->samples, SAMPLE_STACK);

	if (!gecko->samples.rows)
		gecko->begin_ns = t_ns;
	if (gecko->stack)
		kymo_text_put_u64(stack, gecko->stack - 1);
	else
		fputs_unlocked("null", stack);
	kymo_put_units(kymo_column(&gecko->samples, SAMPLE_TIME), t_ns, MILLISECONDS);
	gecko->has_sample = true;
	gecko->sample_ns = t_ns;
}

static int enter(struct gecko *gecko, const struct kymo_call *call)
{
	const void *key = call->c_name ? (const void *)call->c_name : (const void *)call->content;
	const struct kymo_interned *function, *stack;
	bool is_new;

	function = kymo_intern_add(&gecko->function_numbers, key, 0, &is_new);
	if (!function || kymo_grow(&gecko->functions, &gecko->function_capacity, function->number + 1U, sizeof *gecko->functions))
		return kymo_fail(gecko->error, -ENOMEM, "out of memory");
	gecko->functions[function->number] = (struct function){call->content, call->c_name};
	stack = kymo_intern_add(&gecko->stack_numbers, (const void *)(uintptr_t)gecko->stack, function->number, &is_new);
	if (!stack || kymo_grow(&gecko->stacks, &gecko->stack_capacity, stack->number + 1U, sizeof *gecko->stacks))
		return kymo_fail(gecko->error, -ENOMEM, "out of memory");
	gecko->stacks[stack->number] = (struct stack){gecko->stack, function->number};
	gecko->stack = stack->number;
	return 0;
}

static void put_marker(struct gecko *gecko, enum marker marker, const char *text, int64_t t_ns)
{
	FILE *data = kymo_column(&gecko->markers, MARKER_DATA);

	fprintf(data, "{\"type\":\"%s\",\"text\":", marker_names[marker]);
	kymo_json_put(data, text ? text : "?");
	putc_unlocked('}', data);
	kymo_text_put_u64(kymo_column(&gecko->markers, MARKER_NAME), marker);
	kymo_put_units(kymo_column(&gecko->markers, MARKER_TIME), t_ns, MILLISECONDS);
	kymo_columns_next(&gecko->markers);
}

static int step(void *context, const struct kymo_call *call, int64_t t_ns)
{
	struct gecko *gecko = context;
	char text[KYMO_GAP_TEXT_BYTES];
	int result = 0;

	kymo_caveats_note(&gecko->caveats, call);
	switch (call->step) {
	case KYMO_CALL_BEGIN:
	case KYMO_CALL_END:
		end_sample(gecko, t_ns);
		if (call->step == KYMO_CALL_BEGIN)
			result = enter(gecko, call);
		else
			gecko->stack = gecko->stacks[gecko->stack].prefix;
		begin_sample(gecko, t_ns);
		break;
	case KYMO_CALL_RAISE:
		put_marker(gecko, MARKER_EXCEPTION, call->text, t_ns);
		break;
	case KYMO_CALL_MARK:
		put_marker(gecko, MARKER_MARK, call->text, t_ns);
		break;
	case KYMO_CALL_GAP:
		put_marker(gecko, MARKER_GAP, kymo_gap_text(call, text), t_ns);
		break;
	case KYMO_CALL_LINE:
		break;
	}
	return result;
}

/* Statements about all calls together. */
static int put_note(struct gecko *gecko)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (out)
		kymo_caveats_put(out, &gecko->caveats, " · ");
	if (!out || fclose(out)) {
		free(text);
		return kymo_fail(gecko->error, -ENOMEM, "out of memory");
	}
	if (length)
		put_marker(gecko, MARKER_NOTE, text + sizeof " · " - 1, gecko->begin_ns);
	free(text);
	return 0;
}

/* "name":[value, value, …] of @count rows; @value gives the value for a row's number. */
static void put_column(struct gecko *gecko, const char *name, uint64_t count, void (*value)(struct gecko *gecko, uint64_t row))
{
	fprintf(gecko->out, "\"%s\":[", name);
	for (uint64_t row = 0; row < count; row++) {
		if (row)
			putc_unlocked(',', gecko->out);
		value(gecko, row);
	}
	fputs_unlocked("],", gecko->out);
}

static void put_null(struct gecko *gecko, uint64_t row)
{
	(void)row;
	fputs_unlocked("null", gecko->out);
}

static void put_zero(struct gecko *gecko, uint64_t row)
{
	(void)row;
	putc_unlocked('0', gecko->out);
}

static void put_minus_one(struct gecko *gecko, uint64_t row)
{
	(void)row;
	fputs_unlocked("-1", gecko->out);
}

static void put_false(struct gecko *gecko, uint64_t row)
{
	(void)row;
	fputs_unlocked("false", gecko->out);
}

static void put_row(struct gecko *gecko, uint64_t row)
{
	kymo_text_put_u64(gecko->out, row);
}

static void put_stack_prefix(struct gecko *gecko, uint64_t row)
{
	uint32_t prefix = gecko->stacks[row + 1].prefix;

	if (prefix)
		kymo_text_put_u64(gecko->out, prefix - 1);
	else
		fputs_unlocked("null", gecko->out);
}

static void put_stack_frame(struct gecko *gecko, uint64_t row)
{
	kymo_text_put_u64(gecko->out, gecko->stacks[row + 1].function - 1);
}

static void put_frame_category(struct gecko *gecko, uint64_t row)
{
	kymo_text_put_u64(gecko->out, gecko->functions[row + 1].c_name ? CATEGORY_C : CATEGORY_PYTHON);
}

/* The strings are the names of markers, then name and file of each function. */
static void put_function_name(struct gecko *gecko, uint64_t row)
{
	kymo_text_put_u64(gecko->out, MARKERS + 2 * row);
}

static void put_function_file(struct gecko *gecko, uint64_t row)
{
	if (gecko->functions[row + 1].content)
		kymo_text_put_u64(gecko->out, MARKERS + 2 * row + 1);
	else
		fputs_unlocked("null", gecko->out);
}

static void put_function_line(struct gecko *gecko, uint64_t row)
{
	const struct kymo_content *content = gecko->functions[row + 1].content;

	if (content)
		kymo_text_put_u64(gecko->out, content->first_line);
	else
		fputs_unlocked("null", gecko->out);
}

static void put_strings(struct gecko *gecko)
{
	fputs("\"stringArray\":[", gecko->out);
	for (size_t i = 0; i < MARKERS; i++) {
		if (i)
			putc_unlocked(',', gecko->out);
		kymo_json_put(gecko->out, marker_names[i]);
	}
	for (uint32_t i = 1; i <= gecko->function_numbers.count; i++) {
		const struct function *function = &gecko->functions[i];

		putc_unlocked(',', gecko->out);
		kymo_json_put(gecko->out, function->c_name ? function->c_name : function->content ? function->content->function : "?");
		putc_unlocked(',', gecko->out);
		kymo_json_put(gecko->out, function->content ? function->content->file : "");
	}
	fputs("],", gecko->out);
}

static void put_tables(struct gecko *gecko)
{
	uint64_t functions = gecko->function_numbers.count, stacks = gecko->stack_numbers.count;
	FILE *out = gecko->out;

	fputs("\"stackTable\":{", out);
	put_column(gecko, "frame", stacks, put_stack_frame);
	put_column(gecko, "prefix", stacks, put_stack_prefix);
	fprintf(out, "\"length\":%" PRIu64 "},\n\"frameTable\":{", stacks);
	put_column(gecko, "address", functions, put_minus_one);
	put_column(gecko, "inlineDepth", functions, put_zero);
	put_column(gecko, "category", functions, put_frame_category);
	put_column(gecko, "subcategory", functions, put_zero);
	put_column(gecko, "func", functions, put_row);
	put_column(gecko, "nativeSymbol", functions, put_null);
	put_column(gecko, "innerWindowID", functions, put_zero);
	put_column(gecko, "line", functions, put_null);
	put_column(gecko, "column", functions, put_null);
	fprintf(out, "\"length\":%" PRIu64 "},\n\"funcTable\":{", functions);
	put_column(gecko, "name", functions, put_function_name);
	put_column(gecko, "isJS", functions, put_false);
	put_column(gecko, "relevantForJS", functions, put_false);
	put_column(gecko, "resource", functions, put_minus_one);
	put_column(gecko, "fileName", functions, put_function_file);
	put_column(gecko, "lineNumber", functions, put_function_line);
	put_column(gecko, "columnNumber", functions, put_null);
	fprintf(out, "\"length\":%" PRIu64 "},\n", functions);
	put_strings(gecko);
	fputs("\n\"resourceTable\":{\"lib\":[],\"name\":[],\"host\":[],\"type\":[],\"length\":0},"
	      "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],\"length\":0}}", out);
}

/* "name":[…], copied from a temporary file. */
static int put_spooled(struct gecko *gecko, struct kymo_columns *columns, const char *name, size_t number)
{
	int result;

	fprintf(gecko->out, "\"%s\":[", name);
	result = kymo_columns_copy(columns, number, gecko->out, gecko->error);
	fputs("],", gecko->out);
	return result;
}

static int put_samples(struct gecko *gecko)
{
	int result;

	fputs("\n\"samples\":{\"weightType\":\"tracing-ms\",", gecko->out);
	result = put_spooled(gecko, &gecko->samples, "stack", SAMPLE_STACK);
	if (!result)
		result = put_spooled(gecko, &gecko->samples, "time", SAMPLE_TIME);
	if (!result)
		result = put_spooled(gecko, &gecko->samples, "weight", SAMPLE_WEIGHT);
	fprintf(gecko->out, "\"length\":%" PRIu64 "},\n\"markers\":{", gecko->samples.rows);
	if (!result)
		result = put_spooled(gecko, &gecko->markers, "data", MARKER_DATA);
	if (!result)
		result = put_spooled(gecko, &gecko->markers, "name", MARKER_NAME);
	if (!result)
		result = put_spooled(gecko, &gecko->markers, "startTime", MARKER_TIME);
	put_column(gecko, "endTime", gecko->markers.rows, put_null);
	put_column(gecko, "phase", gecko->markers.rows, put_zero);
	put_column(gecko, "category", gecko->markers.rows, put_zero);
	fprintf(gecko->out, "\"length\":%" PRIu64 "},\n", gecko->markers.rows);
	return result;
}

static int end_thread(void *context, int64_t t_ns)
{
	struct gecko *gecko = context;
	const struct kymo_exported_thread *thread = &gecko->thread;
	FILE *out = gecko->out;
	int result;

	end_sample(gecko, t_ns);
	result = put_note(gecko);
	if (result)
		return result;
	fprintf(out, "%s{\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":",
		thread->number > 1 ? ",\n" : "\n");
	kymo_put_units(out, gecko->samples.rows ? gecko->begin_ns : 0, MILLISECONDS);
	fputs(",\"unregisterTime\":", out);
	kymo_put_units(out, t_ns, MILLISECONDS);
	fputs(",\"pausedRanges\":[],\"name\":", out);
	kymo_json_put(out, thread->name);
	fputs(",\"processName\":", out);
	kymo_json_put(out, kymo_process_name(thread->stream->process));
	fprintf(out, ",\"isMainThread\":%s,\"pid\":\"%" PRIu64 "\",\"tid\":%" PRIu64 ",", thread->is_first_of_process ? "true" : "false",
		thread->pid, thread->tid);
	result = put_samples(gecko);
	put_tables(gecko);
	return result;
}

static void put_meta(const struct kymo_export *export)
{
	FILE *out = export->out;

	fputs("{\"meta\":{\"interval\":0.001,\"startTime\":", out);
	kymo_put_units(out, (int64_t)kymo_start_unix_ns(export->timeline), MILLISECONDS);
	fprintf(out, ",\"processType\":0,\"product\":");
	kymo_json_put(out, export->timeline->definitions.process_count ? kymo_process_name(export->timeline->definitions.processes) : "?");
	fprintf(out, ",\"stackwalk\":1,\"version\":%d,\"preprocessedProfileVersion\":%d,\"symbolicated\":true,\"importedFrom\":\"kymo "
		KYMO_VERSION "\",\n\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Python\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"C\",\"color\":\"blue\",\"subcategories\":[\"Other\"]}],\n\"markerSchema\":[",
		GECKO_VERSION, PROCESSED_VERSION);
	for (size_t i = 0; i < MARKERS; i++)
		fprintf(out, "%s{\"name\":\"%s\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
			"\"chartLabel\":\"{marker.data.text}\",\"tableLabel\":\"{marker.data.text}\",\"tooltipLabel\":\"%s: {marker.data.text}\","
			"\"fields\":[{\"key\":\"text\",\"label\":\"Text\",\"format\":\"string\"}]}", i ? "," : "", marker_names[i], marker_names[i]);
	fputs("]},\n\"libs\":[],\"pages\":[],\"counters\":[],\"threads\":[", out);
}

int kymo_export_gecko(const struct kymo_export *export, struct kymo_error *error)
{
	static const struct kymo_thread_writer writer = {begin_thread, step, NULL, NULL, end_thread};
	struct gecko gecko = {
		.export = export,
		.error = error,
		.out = export->out,
		.function_numbers.entry_bytes = sizeof(struct kymo_interned),
		.stack_numbers.entry_bytes = sizeof(struct kymo_interned),
	};
	int result = kymo_columns_open(&gecko.samples, SAMPLE_COLUMNS, error);

	if (!result)
		result = kymo_columns_open(&gecko.markers, MARKER_COLUMNS, error);
	put_meta(export);
	if (!result)
		result = kymo_export_threads(export, &writer, &gecko, error);
	fputs("]}\n", export->out);
	kymo_columns_release(&gecko.samples);
	kymo_columns_release(&gecko.markers);
	kymo_intern_free(&gecko.function_numbers);
	kymo_intern_free(&gecko.stack_numbers);
	free(gecko.functions);
	free(gecko.stacks);
	return result;
}
