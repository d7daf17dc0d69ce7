// SPDX-License-Identifier: Apache-2.0
#include "replay/trace/json_writer.h"

#include "replay/trace/text.h"

FILE *kymo_json_next(struct kymo_json *json, const char *key)
{
	if (json->needs_comma)
		putc_unlocked(',', json->out);
	json->needs_comma = true;
	if (key) {
		kymo_json_put(json->out, key);
		putc_unlocked(':', json->out);
	}
	return json->out;
}

void kymo_json_begin(struct kymo_json *json, const char *key, char bracket)
{
	putc_unlocked(bracket, kymo_json_next(json, key));
	json->needs_comma = false;
}

void kymo_json_end(struct kymo_json *json, const char *brackets)
{
	for (; *brackets; brackets++)
		putc_unlocked(*brackets, json->out);
	json->needs_comma = true;
}

void kymo_json_is_key(struct kymo_json *json)
{
	putc_unlocked(':', json->out);
	json->needs_comma = false;
}

void kymo_json_line(struct kymo_json *json)
{
	fputs_unlocked(json->needs_comma ? ",\n" : "\n", json->out);
	json->needs_comma = false;
}

void kymo_json_string(struct kymo_json *json, const char *key, const char *text)
{
	if (text)
		kymo_json_put(kymo_json_next(json, key), text);
	else
		kymo_json_null(json, key);
}

void kymo_json_u64(struct kymo_json *json, const char *key, uint64_t value)
{
	kymo_text_put_u64(kymo_json_next(json, key), value);
}

void kymo_json_i64(struct kymo_json *json, const char *key, int64_t value)
{
	kymo_text_put_i64(kymo_json_next(json, key), value);
}

void kymo_json_bool(struct kymo_json *json, const char *key, bool value)
{
	fputs_unlocked(value ? "true" : "false", kymo_json_next(json, key));
}

void kymo_json_null(struct kymo_json *json, const char *key)
{
	fputs_unlocked("null", kymo_json_next(json, key));
}
