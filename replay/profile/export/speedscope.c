// SPDX-License-Identifier: Apache-2.0
/*
 * speedscope's own format: one evented profile for each thread.  Frames are numbered as they are met, and stand at the end.
 *
 * The format only knows frames: a gap is a frame, and cut or uncertain calls are counted in the profile's name.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "replay/profile/export/intern.h"
#include "replay/profile/export/json.h"
#include "replay/profile/export/threads.h"
#include "replay/trace/text.h"

/* What is called, or a gap. */
struct frame {
	const struct kymo_content *content; /* NULL: none */
	const char *c_name;
	uint32_t lost_reasons; /* of a gap, else 0 */
};

struct speedscope {
	const struct kymo_export *export;
	struct kymo_error *error;
	FILE *out;
	struct kymo_intern numbers;
	struct frame *frames; /* by number, from 1 */
	size_t frame_capacity;
	struct kymo_exported_thread thread;
	uint32_t gap; /* the frame of the gap that is open; 0: none */
	bool has_events;
	int64_t begin_ns;
	struct kymo_caveats caveats;
};

/* Roles of what is numbered. */
enum { ROLE_FUNCTION, ROLE_GAP };

/* The number of @frame, from 1; 0: no memory. */
static uint32_t number_of(struct speedscope *speedscope, const void *key, uint32_t role, struct frame frame)
{
	bool is_new;
	const struct kymo_interned *interned = kymo_intern_add(&speedscope->numbers, key, role, &is_new);

	if (!interned || (is_new && kymo_grow(&speedscope->frames, &speedscope->frame_capacity, interned->number + 1U,
					      sizeof *speedscope->frames))) {
		kymo_fail(speedscope->error, -ENOMEM, "out of memory");
		return 0;
	}
	if (is_new)
		speedscope->frames[interned->number] = frame;
	return interned->number;
}

static void put_event(struct speedscope *speedscope, char type, uint32_t number, int64_t t_ns)
{
	FILE *out = speedscope->out;

	if (!speedscope->has_events)
		speedscope->begin_ns = t_ns;
	fputs_unlocked(speedscope->has_events ? ",\n{\"type\":\"" : "\n{\"type\":\"", out);
	speedscope->has_events = true;
	putc_unlocked(type, out);
	fputs_unlocked("\",\"frame\":", out);
	kymo_text_put_u64(out, number - 1);
	fputs_unlocked(",\"at\":", out);
	kymo_text_put_i64(out, t_ns);
	putc_unlocked('}', out);
}

static int begin_thread(void *context, const struct kymo_exported_thread *thread)
{
	struct speedscope *speedscope = context;

	speedscope->thread = *thread;
	speedscope->has_events = false;
	speedscope->gap = 0;
	speedscope->begin_ns = 0;
	speedscope->caveats = (struct kymo_caveats){0};
	fputs(thread->number > 1 ? ",\n{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"events\":["
				 : "\n{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"events\":[", speedscope->out);
	return 0;
}

static int put_call(struct speedscope *speedscope, const struct kymo_call *call, int64_t t_ns)
{
	const void *key = call->c_name ? (const void *)call->c_name : (const void *)call->content;
	struct frame frame = {call->content, call->c_name, 0};
	uint32_t number = number_of(speedscope, key, ROLE_FUNCTION, frame);

	if (!number)
		return -ENOMEM;
	put_event(speedscope, call->step == KYMO_CALL_BEGIN ? 'O' : 'C', number, t_ns);
	return 0;
}

static int put_gap(struct speedscope *speedscope, const struct kymo_call *call, int64_t t_ns)
{
	struct frame frame = {.lost_reasons = call->lost_reasons};

	speedscope->gap = number_of(speedscope, NULL, ROLE_GAP + call->lost_reasons, frame);
	if (!speedscope->gap)
		return -ENOMEM;
	put_event(speedscope, 'O', speedscope->gap, t_ns);
	return 0;
}

static int step(void *context, const struct kymo_call *call, int64_t t_ns)
{
	struct speedscope *speedscope = context;

	if (speedscope->gap && call->step != KYMO_CALL_MARK) {
		put_event(speedscope, 'C', speedscope->gap, t_ns);
		speedscope->gap = 0;
	}
	kymo_caveats_note(&speedscope->caveats, call);
	switch (call->step) {
	case KYMO_CALL_BEGIN:
	case KYMO_CALL_END:
		return put_call(speedscope, call, t_ns);
	case KYMO_CALL_GAP:
		return put_gap(speedscope, call, t_ns);
	case KYMO_CALL_MARK:
	case KYMO_CALL_RAISE:
	case KYMO_CALL_LINE:
		break;
	}
	return 0;
}

static int end_thread(void *context, int64_t t_ns)
{
	struct speedscope *speedscope = context;
	FILE *out = speedscope->out;
	size_t length;
	char *name = NULL;
	FILE *text = open_memstream(&name, &length);

	if (!text)
		return kymo_fail(speedscope->error, -ENOMEM, "out of memory");
	fprintf(text, "%s %" PRIu64 ": %s", kymo_process_name(speedscope->thread.stream->process), speedscope->thread.pid,
		speedscope->thread.name);
	kymo_caveats_put(text, &speedscope->caveats, ", ");
	if (fclose(text)) {
		free(name);
		return kymo_fail(speedscope->error, -ENOMEM, "out of memory");
	}
	if (speedscope->gap)
		put_event(speedscope, 'C', speedscope->gap, t_ns);
	fputs("],\n\"startValue\":", out);
	kymo_text_put_i64(out, speedscope->begin_ns);
	fputs(",\"endValue\":", out);
	kymo_text_put_i64(out, t_ns);
	fputs(",\"name\":", out);
	kymo_json_put(out, name);
	putc('}', out);
	free(name);
	return 0;
}

static void put_frame(FILE *out, const struct frame *frame)
{
	char why[KYMO_LOSS_TEXT_BYTES], text[KYMO_LOSS_TEXT_BYTES + 32];

	snprintf(text, sizeof text, "[events lost: %s]", kymo_loss_text(frame->lost_reasons, why));
	fputs("\n{\"name\":", out);
	kymo_json_put(out, frame->lost_reasons ? text : frame->c_name ? frame->c_name : frame->content ? frame->content->function : "?");
	if (frame->content) {
		fputs(",\"file\":", out);
		kymo_json_put(out, frame->content->file);
		fprintf(out, ",\"line\":%" PRIu32, frame->content->first_line);
	}
	putc('}', out);
}

int kymo_export_speedscope(const struct kymo_export *export, struct kymo_error *error)
{
	static const struct kymo_thread_writer writer = {begin_thread, step, NULL, NULL, end_thread};
	struct speedscope speedscope = {
		.export = export,
		.error = error,
		.out = export->out,
		.numbers.entry_bytes = sizeof(struct kymo_interned),
	};
	int result;

	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"kymo " KYMO_VERSION "\",\n\"profiles\":[",
	      export->out);
	result = kymo_export_threads(export, &writer, &speedscope, error);
	fputs("],\n\"shared\":{\"frames\":[", export->out);
	for (uint32_t i = 1; i <= speedscope.numbers.count; i++) {
		if (i > 1)
			putc(',', export->out);
		put_frame(export->out, &speedscope.frames[i]);
	}
	fputs("]}}\n", export->out);
	kymo_intern_free(&speedscope.numbers);
	free(speedscope.frames);
	return result;
}
