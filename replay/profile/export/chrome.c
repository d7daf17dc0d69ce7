// SPDX-License-Identifier: Apache-2.0
/* Chrome's trace events as JSON: pairs of B and E, in the order of each thread, so that calls of length 0 nest, too. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "replay/profile/export/intern.h"
#include "replay/profile/export/json.h"
#include "replay/profile/export/threads.h"
#include "replay/trace/text.h"

#define MICROSECONDS 3

/* The JSON that all calls of a function share. */
struct function {
	struct kymo_interned interned;
	char *text;
	size_t length;
};

struct chrome {
	const struct kymo_export *export;
	struct kymo_error *error;
	FILE *out;
	struct kymo_intern functions, tasks;
	struct kymo_exported_thread thread;
	char place[80]; /* process and thread, as JSON */
	bool has_events;
	struct kymo_first_digit error_digit;
};

/* Up to and including the time. */
static void put_head(struct chrome *chrome, const char *phase, int64_t t_ns)
{
	fputs_unlocked(chrome->has_events ? ",\n{\"ph\":\"" : "\n{\"ph\":\"", chrome->out);
	chrome->has_events = true;
	fputs_unlocked(phase, chrome->out);
	fputs_unlocked(chrome->place, chrome->out);
	kymo_put_units(chrome->out, t_ns, MICROSECONDS);
}

static void put_metadata(struct chrome *chrome, const char *what, const char *name)
{
	put_head(chrome, "M", 0);
	fprintf(chrome->out, ",\"name\":\"%s\",\"args\":{\"name\":", what);
	kymo_json_put(chrome->out, name);
	fputs_unlocked("}}", chrome->out);
}

static int begin_thread(void *context, const struct kymo_exported_thread *thread)
{
	struct chrome *chrome = context;

	chrome->thread = *thread;
	kymo_intern_clear(&chrome->tasks);
	snprintf(chrome->place, sizeof chrome->place, "\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"ts\":", thread->pid, thread->tid);
	if (thread->is_first_of_process)
		put_metadata(chrome, "process_name", kymo_process_name(thread->stream->process));
	put_metadata(chrome, "thread_name", thread->name);
	return 0;
}

static int describe(struct function *function, const struct kymo_call *call)
{
	const struct kymo_content *content = call->content;
	FILE *out = open_memstream(&function->text, &function->length);

	if (!out)
		return -ENOMEM;
	fputs(call->c_name ? ",\"cat\":\"C call\",\"name\":" : ",\"cat\":\"call\",\"name\":", out);
	kymo_json_put(out, call->c_name ? call->c_name : content ? content->function : "?");
	if (content) {
		fputs(",\"args\":{\"file\":", out);
		kymo_json_put(out, content->file);
		fprintf(out, ",\"line\":%" PRIu32, content->first_line);
	}
	return fclose(out) ? -ENOMEM : 0;
}

static int put_begin(struct chrome *chrome, const struct kymo_call *call, int64_t t_ns)
{
	const void *key = call->c_name ? (const void *)call->c_name : (const void *)call->content;
	const char *how = kymo_call_how_text(call->how);
	struct function *function = kymo_intern_find(&chrome->functions, key, 0);
	bool is_new;

	if (!function) {
		function = kymo_intern_add(&chrome->functions, key, 0, &is_new);
		if (!function || describe(function, call))
			return kymo_fail(chrome->error, -ENOMEM, "out of memory");
	}
	put_head(chrome, "B", t_ns);
	fwrite_unlocked(function->text, 1, function->length, chrome->out);
	if (how) {
		fputs_unlocked(call->content ? ",\"began\":\"" : ",\"args\":{\"began\":\"", chrome->out);
		fputs_unlocked(how, chrome->out);
		putc_unlocked('"', chrome->out);
	}
	fputs_unlocked(call->content || how ? "}}" : "}", chrome->out);
	return 0;
}

static void put_end(struct chrome *chrome, const struct kymo_call *call, int64_t t_ns)
{
	const char *how = kymo_call_how_text(call->how);
	bool is_uncertain = kymo_is_uncertain(call);

	put_head(chrome, "E", t_ns);
	if (how) {
		fputs_unlocked(",\"args\":{\"ended\":\"", chrome->out);
		fputs_unlocked(how, chrome->out);
		putc_unlocked('"', chrome->out);
	}
	if (is_uncertain) {
		fputs_unlocked(how ? ",\"duration_error_ns\":" : ",\"args\":{\"duration_error_ns\":", chrome->out);
		kymo_text_put_u64(chrome->out, kymo_shown_err_ns(&chrome->error_digit, kymo_duration_err_ns(call)));
	}
	fputs_unlocked(how || is_uncertain ? "}}" : "}", chrome->out);
}

static void put_instant(struct chrome *chrome, const char *category, const char *text, int64_t t_ns)
{
	put_head(chrome, "i", t_ns);
	fprintf(chrome->out, ",\"s\":\"t\",\"cat\":\"%s\",\"name\":", category);
	kymo_json_put(chrome->out, text ? text : "?");
	putc_unlocked('}', chrome->out);
}

static int step(void *context, const struct kymo_call *call, int64_t t_ns)
{
	struct chrome *chrome = context;
	char text[KYMO_GAP_TEXT_BYTES];

	switch (call->step) {
	case KYMO_CALL_BEGIN:
		return put_begin(chrome, call, t_ns);
	case KYMO_CALL_END:
		put_end(chrome, call, t_ns);
		break;
	case KYMO_CALL_RAISE:
		put_instant(chrome, "exception", call->text, t_ns);
		break;
	case KYMO_CALL_MARK:
		put_instant(chrome, "mark", call->text, t_ns);
		break;
	case KYMO_CALL_GAP:
		put_instant(chrome, "gap", kymo_gap_text(call, text), t_ns);
		break;
	case KYMO_CALL_LINE:
		break;
	}
	return 0;
}

/* Steps of a task are nestable asynchronous events of one id. */
static int put_task(struct chrome *chrome, const char *phase, const struct kymo_traced_task *task, const struct kymo_call *begin,
		    int64_t t_ns)
{
	char text[KYMO_TASK_TEXT_BYTES];
	bool is_new;
	const struct kymo_interned *interned = kymo_intern_add(&chrome->tasks, task, 0, &is_new);

	if (!interned)
		return kymo_fail(chrome->error, -ENOMEM, "out of memory");
	put_head(chrome, phase, t_ns);
	fprintf(chrome->out, ",\"cat\":\"task\",\"id\":\"%" PRIu32 ".%" PRIu32 "\",\"name\":", chrome->thread.number, interned->number);
	kymo_json_put(chrome->out, kymo_task_name(task, text));
	if (begin && begin->content) {
		fputs_unlocked(",\"args\":{\"frame\":", chrome->out);
		kymo_json_put(chrome->out, begin->content->function);
		putc_unlocked('}', chrome->out);
	}
	putc_unlocked('}', chrome->out);
	return 0;
}

static int begin_task(void *context, const struct kymo_call *call, int64_t t_ns)
{
	return put_task(context, "b", call->task, call, t_ns);
}

static int end_task(void *context, const struct kymo_traced_task *task, int64_t t_ns)
{
	return put_task(context, "e", task, NULL, t_ns);
}

static int end_thread(void *context, int64_t t_ns)
{
	(void)context;
	(void)t_ns;
	return 0;
}

int kymo_export_chrome(const struct kymo_export *export, struct kymo_error *error)
{
	static const struct kymo_thread_writer writer = {begin_thread, step, begin_task, end_task, end_thread};
	struct chrome chrome = {
		.export = export,
		.error = error,
		.out = export->out,
		.functions.entry_bytes = sizeof(struct function),
		.tasks.entry_bytes = sizeof(struct kymo_interned),
	};
	int result;

	fprintf(chrome.out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"exporter\":\"kymo " KYMO_VERSION "\",\"start_unix_ns\":\"%" PRIu64
		"\"},\n\"traceEvents\":[", kymo_start_unix_ns(export->timeline));
	result = kymo_export_threads(export, &writer, &chrome, error);
	fputs("\n]}\n", chrome.out);
	for (size_t i = 0; i < chrome.functions.capacity; i++) {
		struct function *function = kymo_intern_at(&chrome.functions, i);

		if (function)
			free(function->text);
	}
	kymo_intern_free(&chrome.functions);
	kymo_intern_free(&chrome.tasks);
	return result;
}
