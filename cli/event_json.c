// SPDX-License-Identifier: Apache-2.0
#include "cli/event_json.h"

#include "replay/trace/describe.h"
#include "replay/trace/text.h"
#include "replay/values/event_values.h"

static void put_field(FILE *out, const char *name, const char *value)
{
	fputs_unlocked(name, out);
	if (value)
		kymo_json_put(out, value);
	else
		fputs_unlocked("null", out);
}

static void put_number(FILE *out, const char *name, uint64_t value)
{
	fputs_unlocked(name, out);
	kymo_text_put_u64(out, value);
}

static void put_json_place(FILE *out, const struct kymo_event *event)
{
	const struct kymo_content *content = event->code ? event->code->content : NULL;
	int64_t line = kymo_event_line(event);

	put_field(out, ",\"file\":", content ? content->file : NULL);
	put_field(out, ",\"function\":", content ? content->function : NULL);
	if (event->first_line) {
		put_number(out, ",\"first_line\":", (uint64_t)event->first_line);
		put_number(out, ",\"last_line\":", (uint64_t)event->last_line);
	}
	if (event->kind >= KYMO_KINDS)
		return;
	fputs_unlocked(",\"line\":", out);
	if (line >= 0)
		kymo_text_put_i64(out, line);
	else
		fputs_unlocked("null", out);
	if (kymo_event_has_offset(event))
		put_number(out, ",\"offset\":", event->offset * KYMO_CODE_UNIT);
	if (kymo_event_has_dest(event))
		put_number(out, ",\"dest\":", event->dest * KYMO_CODE_UNIT);
}

void kymo_event_put_json(FILE *out, const struct kymo_event *event)
{
	const struct kymo_traced_thread *thread = event->stream->thread;
	const char *role = kymo_event_name_role(event);
	char why[KYMO_LOSS_TEXT_BYTES];

	put_number(out, "{\"pid\":", event->stream->process->pid);
	put_number(out, ",\"tid\":", thread ? thread->native_id : 0);
	put_number(out, ",\"n\":", event->n);
	if (event->k)
		put_number(out, ",\"k\":", event->k);
	fputs_unlocked(",\"t_ns\":", out);
	kymo_text_put_i64(out, event->t_ns);
	put_number(out, ",\"t_err_ns\":", event->t_err_ns);
	put_field(out, ",\"event\":", kymo_event_kind_name(event->kind));
	if (event->kind == KYMO_EVENT_GAP) {
		put_number(out, ",\"lost\":", event->lost);
		put_field(out, ",\"why\":", kymo_loss_text(event->lost_reasons, why));
	} else {
		put_json_place(out, event);
	}
	if (role) {
		put_field(out, *role == 'c' ? ",\"callable\":" : ",\"exception\":", event->name);
	} else if (event->kind == KYMO_EVENT_MARK) {
		put_field(out, ",\"mark\":", event->text);
	} else if (event->kind == KYMO_EVENT_BRANCH_BIT) {
		fputs_unlocked(event->is_taken ? ",\"taken\":true" : ",\"taken\":false", out);
	}
	if (event->task_id) {
		put_number(out, ",\"task\":", event->task_id);
		put_field(out, ",\"task_name\":", event->task ? event->task->name : NULL);
	}
	kymo_event_put_values_json(out, event);
	putc_unlocked('}', out);
}
