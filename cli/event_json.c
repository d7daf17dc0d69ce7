// SPDX-License-Identifier: Apache-2.0
#include "cli/event_json.h"

#include "replay/trace/describe.h"
#include "replay/trace/json_writer.h"
#include "replay/values/event_values.h"

static void put_place(struct kymo_json *json, const struct kymo_event *event)
{
	const struct kymo_content *content = event->code ? event->code->content : NULL;
	int64_t line = kymo_event_line(event);

	kymo_json_string(json, "file", content ? content->file : NULL);
	kymo_json_string(json, "function", content ? content->function : NULL);
	if (event->first_line) {
		kymo_json_u64(json, "first_line", (uint64_t)event->first_line);
		kymo_json_u64(json, "last_line", (uint64_t)event->last_line);
	}
	if (event->kind >= KYMO_KINDS)
		return;
	if (line >= 0)
		kymo_json_i64(json, "line", line);
	else
		kymo_json_null(json, "line");
	if (kymo_event_has_offset(event))
		kymo_json_u64(json, "offset", event->offset * KYMO_CODE_UNIT);
	if (kymo_event_has_dest(event))
		kymo_json_u64(json, "dest", event->dest * KYMO_CODE_UNIT);
}

void kymo_event_put_json(FILE *out, const struct kymo_event *event)
{
	const struct kymo_traced_thread *thread = event->stream->thread;
	const char *role = kymo_event_name_role(event);
	char why[KYMO_LOSS_TEXT_BYTES];
	struct kymo_json json = {.out = out};

	kymo_json_begin(&json, NULL, '{');
	kymo_json_u64(&json, "pid", event->stream->process->pid);
	kymo_json_u64(&json, "tid", thread ? thread->native_id : 0);
	kymo_json_u64(&json, "n", event->n);
	if (event->k)
		kymo_json_u64(&json, "k", event->k);
	kymo_json_i64(&json, "t_ns", event->t_ns);
	kymo_json_u64(&json, "t_err_ns", event->t_err_ns);
	kymo_json_string(&json, "event", kymo_event_kind_name(event->kind));
	if (event->kind == KYMO_EVENT_GAP) {
		kymo_json_u64(&json, "lost", event->lost);
		kymo_json_string(&json, "why", kymo_loss_text(event->lost_reasons, why));
	} else {
		put_place(&json, event);
	}
	if (role)
		kymo_json_string(&json, *role == 'c' ? "callable" : "exception", event->name);
	else if (event->kind == KYMO_EVENT_MARK)
		kymo_json_string(&json, "mark", event->text);
	else if (event->kind == KYMO_EVENT_BRANCH_BIT)
		kymo_json_bool(&json, "taken", event->is_taken);
	if (event->task_id) {
		kymo_json_u64(&json, "task", event->task_id);
		kymo_json_string(&json, "task_name", event->task ? event->task->name : NULL);
	}
	kymo_event_put_values_json(&json, event);
	kymo_json_end(&json, "}");
}
