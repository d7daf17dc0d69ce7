// SPDX-License-Identifier: Apache-2.0
/* What requests say, and what responses and events are made of. */
#include <stdlib.h>

#include "replay/debugger/dap_session.h"
#include "replay/trace/text.h"

/* Numbers of clients that are written in JavaScript end there. */
#define MAX_INTEGER (INT64_C(1) << 53)

json_t *kymo_dap_text(const char *text)
{
	json_t *value = json_string(text);
	char *escaped = NULL;
	size_t bytes;
	FILE *out;

	if (value)
		return value;
	out = open_memstream(&escaped, &bytes);
	if (out) {
		kymo_text_put(out, text);
		fclose(out);
		value = json_string(escaped);
	}
	free(escaped);
	return value;
}

int kymo_dap_answer(json_t **body, json_t *value, struct kymo_error *error)
{
	*body = value;
	return value ? 0 : kymo_fail(error, -ENOMEM, "out of memory");
}

const char *kymo_dap_string(const json_t *arguments, const char *name)
{
	return json_string_value(json_object_get(arguments, name));
}

int64_t kymo_dap_integer(const json_t *arguments, const char *name, int64_t otherwise)
{
	const json_t *value = json_object_get(arguments, name);
	json_int_t integer = json_integer_value(value);

	return json_is_integer(value) && integer > -MAX_INTEGER && integer < MAX_INTEGER ? integer : otherwise;
}

int kymo_dap_thread(const struct kymo_dap *dap, const json_t *arguments, size_t *stream, struct kymo_error *error)
{
	int64_t id = kymo_dap_integer(arguments, "threadId", 0);

	if (id < 1 || (uint64_t)id > dap->trace.timeline.stream_count)
		return kymo_fail(error, -EINVAL, "unknown threadId");
	*stream = (size_t)id - 1;
	return 0;
}

void kymo_dap_event(struct kymo_dap *dap, const char *event, json_t *body)
{
	json_t *message = json_pack("{s:s, s:s, s:o*}", "type", "event", "event", event, "body", body);

	if (message)
		json_array_append_new(dap->events, message);
}

void kymo_dap_output(struct kymo_dap *dap, const char *category, const char *text)
{
	kymo_dap_event(dap, "output", json_pack("{s:s, s:o}", "category", category, "output", kymo_dap_text(text)));
}
