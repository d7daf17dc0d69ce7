// SPDX-License-Identifier: Apache-2.0
#include "replay/event_values.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/varint.h"
#include "replay/text.h"

#define BRIEF_BYTES 64U
#define BRIEF_ATTRIBUTES 12U

struct json {
	FILE *out;
	const struct kymo_value_tree *tree;
	const struct kymo_traced_process *process;
};

typedef size_t (*text_maker)(const struct kymo_value_tree *tree, const struct kymo_value *value,
			     const struct kymo_traced_process *process, char *text, size_t bytes);

static void put_text(FILE *out, text_maker make, const struct kymo_value_tree *tree, const struct kymo_value *value,
		     const struct kymo_traced_process *process, void (*put)(FILE *out, const char *text))
{
	char few[512], *text = few;
	size_t length = make(tree, value, process, few, sizeof few);

	if (length >= sizeof few) {
		text = malloc(length + 1);
		if (text)
			make(tree, value, process, text, length + 1);
		else
			text = few; /* what there was room for */
	}
	put(out, text);
	if (text != few)
		free(text);
}

static void put_variable(FILE *out, const struct kymo_event *event, uint64_t name, void (*put)(FILE *out, const char *text))
{
	const char *known = kymo_value_name(event->code, name);
	char number[40];

	snprintf(number, sizeof number, "%s %" PRIu64, name & 1 ? "variable" : "name", (name - 1) / 2);
	put(out, known ? known : number);
}

static const struct kymo_value *at(const struct json *json, uint32_t number)
{
	return kymo_value_at(json->tree, number);
}

static void put_value(const struct json *json, const struct kymo_value *value);

static void put_flag(const struct json *json, bool is_set, const char *name)
{
	if (is_set)
		fprintf(json->out, ",\"%s\":true", name);
}

static void put_number(const struct json *json, const char *name, uint64_t number)
{
	fprintf(json->out, ",\"%s\":", name);
	kymo_text_put_u64(json->out, number);
}

/* From @item on; pairs are lists of two. */
static void put_items(const struct json *json, const struct kymo_value *item, bool is_pairs)
{
	fputs(",\"items\":[", json->out);
	for (unsigned i = 0; item; i++) {
		fputs(i ? "," : "", json->out);
		fputs(is_pairs ? "[" : "", json->out);
		put_value(json, item);
		item = at(json, item->next);
		if (is_pairs && item) {
			putc_unlocked(',', json->out);
			put_value(json, item);
			item = at(json, item->next);
		}
		fputs(is_pairs ? "]" : "", json->out);
	}
	putc_unlocked(']', json->out);
}

static void put_attributes(const struct json *json, const struct kymo_value *name)
{
	const char *separator = "";

	fputs(",\"attributes\":{", json->out);
	for (const struct kymo_value *value; name && (value = at(json, name->next)); name = at(json, value->next)) {
		fputs(separator, json->out);
		separator = ",";
		put_text(json->out, kymo_value_label, json->tree, name, json->process, kymo_json_put);
		putc_unlocked(':', json->out);
		put_value(json, value);
	}
	putc_unlocked('}', json->out);
}

static void put_exception(const struct json *json, const struct kymo_value *value)
{
	const struct kymo_value *args = at(json, value->first), *cause = args ? at(json, args->next) : NULL;
	const struct kymo_value *context = cause ? at(json, cause->next) : NULL;

	if (args && args->kind == KYMO_VALUE_TUPLE)
		put_items(json, at(json, args->first), false);
	if (cause && cause->kind != KYMO_VALUE_NONE) {
		fputs(",\"cause\":", json->out);
		put_value(json, cause);
	}
	if (context && context->kind != KYMO_VALUE_NONE) {
		fputs(",\"context\":", json->out);
		put_value(json, context);
	}
	if (value->count)
		put_attributes(json, context ? at(json, context->next) : NULL);
}

static void put_array(const struct json *json, const struct kymo_value *value)
{
	uint64_t size = 0;
	size_t used = 0;

	fputs(",\"dtype\":", json->out);
	put_text(json->out, kymo_value_label, json->tree, value, json->process, kymo_json_put);
	fputs(",\"shape\":[", json->out);
	for (uint32_t i = 0; i < value->dimensions; i++) {
		used += kymo_varint_get(value->shape + used, value->shape_bytes - used, &size);
		fputs(i ? "," : "", json->out);
		kymo_text_put_u64(json->out, size);
	}
	putc_unlocked(']', json->out);
	put_items(json, at(json, value->first), false);
}

static void put_inside(const struct json *json, const struct kymo_value *value)
{
	switch (value->kind) {
	case KYMO_VALUE_STR:
	case KYMO_VALUE_BYTES:
	case KYMO_VALUE_BYTEARRAY:
		put_number(json, "length", value->count);
		break;
	case KYMO_VALUE_TUPLE:
	case KYMO_VALUE_LIST:
	case KYMO_VALUE_SET:
	case KYMO_VALUE_FROZENSET:
	case KYMO_VALUE_DICT:
		put_number(json, "length", value->count);
		put_items(json, at(json, value->first), value->kind == KYMO_VALUE_DICT);
		break;
	case KYMO_VALUE_RANGE:
	case KYMO_VALUE_SLICE:
	case KYMO_VALUE_ENUM:
		put_items(json, at(json, value->first), false);
		break;
	case KYMO_VALUE_ARRAY:
		put_array(json, value);
		break;
	case KYMO_VALUE_EXCEPTION:
		put_exception(json, value);
		break;
	case KYMO_VALUE_OBJECT:
		put_attributes(json, at(json, value->first));
		break;
	default:
		break;
	}
}

static void put_value(const struct json *json, const struct kymo_value *value)
{
	const char *type = kymo_value_type(value, json->process);

	fputs("{\"type\":", json->out);
	if (type)
		kymo_json_put(json->out, type);
	else
		fputs("null", json->out);
	if (value->type && kymo_value_base(value)) {
		fputs(",\"base\":", json->out);
		kymo_json_put(json->out, kymo_value_base(value));
	}
	fputs(",\"text\":", json->out);
	put_text(json->out, kymo_value_text, json->tree, value, json->process, kymo_json_put);
	if (value->id)
		put_number(json, "id", value->id);
	put_flag(json, value->is_cut || value->kind == KYMO_VALUE_CUT, "cut");
	put_flag(json, value->kind == KYMO_VALUE_REDACTED, "redacted");
	put_flag(json, value->kind == KYMO_VALUE_UNBOUND, "unbound");
	put_flag(json, value->kind == KYMO_VALUE_SEEN, "seen");
	put_inside(json, value);
	putc_unlocked('}', json->out);
}

static bool has_brief_text(const struct kymo_value *value)
{
	return (value->kind < KYMO_VALUE_TUPLE && value->kind != KYMO_VALUE_SEEN) || value->kind == KYMO_VALUE_TEXT ||
	       value->kind == KYMO_VALUE_ENUM;
}

/* Without what differs from run to run, such as ids, and what is long. */
static void put_brief(const struct json *json, const struct kymo_value *value, bool has_attributes)
{
	const char *type = kymo_value_type(value, json->process), *base = value->type ? kymo_value_base(value) : NULL;
	char text[BRIEF_BYTES] = "…";
	bool is_cut = value->is_cut || value->kind == KYMO_VALUE_CUT;
	const struct kymo_value *name, *attribute;

	if (has_brief_text(value) && kymo_value_text(json->tree, value, json->process, text, sizeof text) >= sizeof text) {
		memcpy(text, "…", sizeof "…");
		is_cut = true;
	}
	fputs("{\"type\":", json->out);
	if (type)
		kymo_json_put(json->out, type);
	else
		fputs("null", json->out);
	if (base) {
		fputs(",\"base\":", json->out);
		kymo_json_put(json->out, base);
	}
	fputs(",\"text\":", json->out);
	kymo_json_put(json->out, text);
	put_flag(json, is_cut, "cut");
	put_flag(json, value->kind == KYMO_VALUE_REDACTED, "redacted");
	put_flag(json, value->kind == KYMO_VALUE_UNBOUND, "unbound");
	put_flag(json, value->kind == KYMO_VALUE_SEEN, "seen");
	if (value->kind >= KYMO_VALUE_STR && value->kind <= KYMO_VALUE_DICT)
		put_number(json, "length", value->count);
	if (has_attributes && value->kind == KYMO_VALUE_OBJECT) {
		fputs(",\"attributes\":{", json->out);
		name = at(json, value->first);
		for (unsigned i = 0; name && i < BRIEF_ATTRIBUTES && (attribute = at(json, name->next)); i++) {
			fputs(i ? "," : "", json->out);
			put_text(json->out, kymo_value_label, json->tree, name, json->process, kymo_json_put);
			putc_unlocked(':', json->out);
			put_brief(json, attribute, false);
			name = at(json, attribute->next);
		}
		putc_unlocked('}', json->out);
	}
	putc_unlocked('}', json->out);
}

void kymo_value_put_json(FILE *out, const struct kymo_value_tree *tree, const struct kymo_value *value,
			 const struct kymo_traced_process *process)
{
	put_value(&(struct json){out, tree, process}, value);
}

void kymo_value_put_brief(FILE *out, const struct kymo_value_tree *tree, const struct kymo_value *value,
			  const struct kymo_traced_process *process)
{
	put_brief(&(struct json){out, tree, process}, value, value->name);
}

typedef void (*json_putter)(FILE *out, const struct kymo_value_tree *tree, const struct kymo_value *value,
			    const struct kymo_traced_process *process);

static void put_event(FILE *out, const struct kymo_event *event, json_putter put)
{
	struct kymo_value_tree tree = {0};
	struct json json = {out, &tree, event->stream->process};
	const struct kymo_value *value, *own = NULL;
	bool has_variables = false;

	if (!event->values.bytes)
		return;
	if (kymo_value_tree_read(&tree, event->values)) {
		fputs(",\"values\":null", out); /* no memory */
		kymo_value_tree_release(&tree);
		return;
	}
	for (value = at(&json, 1); value; value = at(&json, value->next)) {
		if (!value->name) {
			own = value;
			continue;
		}
		fputs(has_variables ? "," : ",\"values\":{", out);
		has_variables = true;
		put_variable(out, event, value->name, kymo_json_put);
		putc_unlocked(':', out);
		put(out, &tree, value, json.process);
	}
	fputs(has_variables ? "}" : "", out);
	if (own) {
		fputs(",\"value\":", out);
		put(out, &tree, own, json.process);
	}
	kymo_value_tree_release(&tree);
}

void kymo_event_put_values_json(FILE *out, const struct kymo_event *event)
{
	put_event(out, event, kymo_value_put_json);
}

void kymo_event_put_values_brief(FILE *out, const struct kymo_event *event)
{
	put_event(out, event, kymo_value_put_brief);
}

/* As much of it as @columns have room for; returns how many bytes that were. */
static size_t put_part(FILE *out, const struct kymo_value_tree *tree, const struct kymo_value *value,
		       const struct kymo_traced_process *process, size_t columns)
{
	char text[1024];
	size_t room = columns < sizeof text - 1 ? columns : sizeof text - 1;
	size_t length = kymo_value_text(tree, value, process, text, room + 1);

	kymo_text_put(out, text);
	if (length > room)
		fputs("…", out);
	return length < room ? length : room;
}

void kymo_event_put_values(FILE *out, const struct kymo_event *event, size_t columns)
{
	const struct kymo_traced_process *process = event->stream->process;
	bool is_result = event->kind == KYMO_PY_RETURN || event->kind == KYMO_PY_YIELD;
	struct kymo_value_tree tree = {0};
	const char *separator = "  ";
	size_t used = 0;

	if (!event->values.bytes)
		return;
	if (kymo_value_tree_read(&tree, event->values))
		fputs("  <not recorded>", out); /* no memory */
	for (const struct kymo_value *value = kymo_value_at(&tree, 1); value; value = kymo_value_at(&tree, value->next)) {
		if (columns && used >= columns) {
			fputs(", …", out);
			break;
		}
		fputs(value->name || !is_result ? separator : "  -> ", out);
		separator = ", ";
		if (value->name) {
			const char *name = kymo_value_name(event->code, value->name);

			put_variable(out, event, value->name, kymo_text_put);
			putc_unlocked('=', out);
			used += name ? strlen(name) + 3 : 3;
		}
		if (columns)
			used += put_part(out, &tree, value, process, used < columns ? columns - used : 1);
		else
			put_text(out, kymo_value_text, &tree, value, process, kymo_text_put);
	}
	kymo_value_tree_release(&tree);
}
