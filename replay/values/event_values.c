// SPDX-License-Identifier: Apache-2.0
#include "replay/values/event_values.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/varint.h"
#include "replay/trace/text.h"
#include "replay/values/value_ticks.h"

#define BRIEF_BYTES 64U
#define BRIEF_ATTRIBUTES 12U
/* What the texts of one event may cost; see KYMO_VALUE_TEXT_COST.  As JSON what is in a value is told with each value that it is in. */
#define EVENT_COST (4 * (size_t)KYMO_VALUE_TEXT_COST)

struct output {
	struct kymo_json *json;
	const struct kymo_value_tree *tree;
	const struct kymo_traced_process *process;
	size_t left; /* of what it may cost */
};

typedef size_t (*text_maker)(const struct kymo_value_tree *tree, const struct kymo_value *value,
			     const struct kymo_traced_process *process, char *text, size_t bytes, size_t *left);

static size_t make_text(struct output *to, text_maker make, const struct kymo_value *value, char *text, size_t bytes)
{
	size_t share = to->left < KYMO_VALUE_TEXT_COST ? to->left : KYMO_VALUE_TEXT_COST, left = share;
	size_t length = make(to->tree, value, to->process, text, bytes, &left);

	to->left -= share - left;
	return length;
}

static void put_text(struct output *to, FILE *out, text_maker make, const struct kymo_value *value,
		     void (*put)(FILE *out, const char *text))
{
	char few[512], *text = few;
	size_t length = make_text(to, make, value, few, sizeof few);

	if (length >= sizeof few) {
		text = malloc(length + 1);
		if (text)
			make_text(to, make, value, text, length + 1);
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

static const struct kymo_value *at(const struct output *to, uint32_t number)
{
	return kymo_value_at(to->tree, number);
}

static void put_value(struct output *to, const char *key, const struct kymo_value *value);

static void put_json_text(struct output *to, const char *key, text_maker make, const struct kymo_value *value)
{
	put_text(to, kymo_json_next(to->json, key), make, value, kymo_json_put);
}

/* From @item on; pairs are lists of two. */
static void put_items(struct output *to, const struct kymo_value *item, bool is_pairs)
{
	kymo_json_begin(to->json, "items", '[');
	while (item) {
		if (is_pairs)
			kymo_json_begin(to->json, NULL, '[');
		put_value(to, NULL, item);
		item = at(to, item->next);
		if (is_pairs && item) {
			put_value(to, NULL, item);
			item = at(to, item->next);
		}
		if (is_pairs)
			kymo_json_end(to->json, "]");
	}
	kymo_json_end(to->json, "]");
}

static void put_attributes(struct output *to, const struct kymo_value *name)
{
	kymo_json_begin(to->json, "attributes", '{');
	for (const struct kymo_value *value; name && (value = at(to, name->next)); name = at(to, value->next)) {
		put_json_text(to, NULL, kymo_value_label_within, name);
		kymo_json_is_key(to->json);
		put_value(to, NULL, value);
	}
	kymo_json_end(to->json, "}");
}

static void put_exception(struct output *to, const struct kymo_value *value)
{
	const struct kymo_value *args = at(to, value->first), *cause = args ? at(to, args->next) : NULL;
	const struct kymo_value *context = cause ? at(to, cause->next) : NULL;

	if (args && args->kind == KYMO_VALUE_TUPLE)
		put_items(to, at(to, args->first), false);
	if (cause && cause->kind != KYMO_VALUE_NONE)
		put_value(to, "cause", cause);
	if (context && context->kind != KYMO_VALUE_NONE)
		put_value(to, "context", context);
	if (value->count)
		put_attributes(to, context ? at(to, context->next) : NULL);
}

static void put_array(struct output *to, const struct kymo_value *value)
{
	uint64_t size = 0;
	size_t used = 0;

	put_json_text(to, "dtype", kymo_value_label_within, value);
	kymo_json_begin(to->json, "shape", '[');
	for (uint32_t i = 0; i < value->dimensions; i++) {
		used += kymo_varint_get(value->shape + used, value->shape_bytes - used, &size);
		kymo_json_u64(to->json, NULL, size);
	}
	kymo_json_end(to->json, "]");
	put_items(to, at(to, value->first), false);
}

static void put_inside(struct output *to, const struct kymo_value *value)
{
	char time[KYMO_TICKS_TEXT_BYTES];

	switch (value->kind) {
	case KYMO_VALUE_INT:
		if (kymo_value_is_time(value, time))
			kymo_json_i64(to->json, "ticks", value->number);
		break;
	case KYMO_VALUE_STR:
	case KYMO_VALUE_BYTES:
	case KYMO_VALUE_BYTEARRAY:
		kymo_json_u64(to->json, "length", value->count);
		break;
	case KYMO_VALUE_TUPLE:
	case KYMO_VALUE_LIST:
	case KYMO_VALUE_SET:
	case KYMO_VALUE_FROZENSET:
	case KYMO_VALUE_DICT:
		kymo_json_u64(to->json, "length", value->count);
		put_items(to, at(to, value->first), value->kind == KYMO_VALUE_DICT);
		break;
	case KYMO_VALUE_RANGE:
	case KYMO_VALUE_SLICE:
	case KYMO_VALUE_ENUM:
		put_items(to, at(to, value->first), false);
		break;
	case KYMO_VALUE_ARRAY:
		put_array(to, value);
		break;
	case KYMO_VALUE_TEXT:
		put_json_text(to, "str", kymo_value_label_within, value);
		break;
	case KYMO_VALUE_EXCEPTION:
		put_exception(to, value);
		break;
	case KYMO_VALUE_OBJECT:
		put_attributes(to, at(to, value->first));
		break;
	default:
		break;
	}
}

static void put_type(struct output *to, const char *type, const struct kymo_value *value)
{
	const char *base = value->type ? kymo_value_base(value) : NULL;

	kymo_json_string(to->json, "type", type);
	if (base)
		kymo_json_string(to->json, "base", base);
}

static void put_flags(struct kymo_json *json, const struct kymo_value *value, bool is_cut)
{
	if (is_cut)
		kymo_json_bool(json, "cut", true);
	if (value->kind == KYMO_VALUE_REDACTED)
		kymo_json_bool(json, "redacted", true);
	if (value->kind == KYMO_VALUE_UNBOUND)
		kymo_json_bool(json, "unbound", true);
	if (value->kind == KYMO_VALUE_SEEN)
		kymo_json_bool(json, "seen", true);
}

static void put_value(struct output *to, const char *key, const struct kymo_value *value)
{
	const char *type = kymo_value_type(value, to->process);
	size_t type_cost = type ? strlen(type) : 0;

	if (type_cost >= to->left) {
		to->left = 0;
		fputs_unlocked("{\"type\":null,\"text\":\"…\",\"cut\":true}", kymo_json_next(to->json, key));
		return;
	}
	to->left -= type_cost;
	kymo_json_begin(to->json, key, '{');
	put_type(to, type, value);
	put_json_text(to, "text", kymo_value_text_within, value);
	if (value->id)
		kymo_json_u64(to->json, "id", value->id);
	put_flags(to->json, value, value->is_cut || value->kind == KYMO_VALUE_CUT || value->kind == KYMO_VALUE_NOT_READ);
	put_inside(to, value);
	kymo_json_end(to->json, "}");
}

static bool has_brief_text(const struct kymo_value *value)
{
	return (value->kind < KYMO_VALUE_TUPLE && value->kind != KYMO_VALUE_SEEN) || value->kind == KYMO_VALUE_TEXT ||
	       value->kind == KYMO_VALUE_ENUM;
}

/* Without what differs from run to run, such as ids, and what is long. */
static void put_brief(struct output *to, const char *key, const struct kymo_value *value, bool has_attributes)
{
	char text[BRIEF_BYTES] = "…";
	bool is_cut = value->is_cut || value->kind == KYMO_VALUE_CUT;
	const struct kymo_value *name, *attribute;

	if (has_brief_text(value) && kymo_value_text(to->tree, value, to->process, text, sizeof text) >= sizeof text) {
		memcpy(text, "…", sizeof "…");
		is_cut = true;
	}
	kymo_json_begin(to->json, key, '{');
	put_type(to, kymo_value_type(value, to->process), value);
	kymo_json_string(to->json, "text", text);
	put_flags(to->json, value, is_cut);
	if (value->kind >= KYMO_VALUE_STR && value->kind <= KYMO_VALUE_DICT)
		kymo_json_u64(to->json, "length", value->count);
	if (has_attributes && value->kind == KYMO_VALUE_OBJECT) {
		kymo_json_begin(to->json, "attributes", '{');
		name = at(to, value->first);
		for (unsigned i = 0; name && i < BRIEF_ATTRIBUTES && (attribute = at(to, name->next)); i++) {
			put_json_text(to, NULL, kymo_value_label_within, name);
			kymo_json_is_key(to->json);
			put_brief(to, NULL, attribute, false);
			name = at(to, attribute->next);
		}
		kymo_json_end(to->json, "}");
	}
	kymo_json_end(to->json, "}");
}

static void put_brief_binding(struct output *to, const char *key, const struct kymo_value *value)
{
	put_brief(to, key, value, value->name);
}

void kymo_value_put_json(FILE *out, const struct kymo_value_tree *tree, const struct kymo_value *value,
			 const struct kymo_traced_process *process)
{
	struct kymo_json json = {.out = out};

	put_value(&(struct output){&json, tree, process, EVENT_COST}, NULL, value);
}

void kymo_value_put_brief(FILE *out, const struct kymo_value_tree *tree, const struct kymo_value *value,
			  const struct kymo_traced_process *process)
{
	struct kymo_json json = {.out = out};

	put_brief_binding(&(struct output){&json, tree, process, EVENT_COST}, NULL, value);
}

static void put_event(struct kymo_json *json, const struct kymo_event *event,
		      void (*put)(struct output *, const char *key, const struct kymo_value *))
{
	struct kymo_value_tree tree = {0};
	struct output to = {json, &tree, event->stream->process, EVENT_COST};
	const struct kymo_value *value, *own = NULL;
	bool has_variables = false;

	if (!event->values.bytes)
		return;
	if (kymo_value_tree_read(&tree, event->values)) {
		kymo_json_null(json, "values"); /* no memory */
		kymo_value_tree_release(&tree);
		return;
	}
	for (value = at(&to, 1); value; value = at(&to, value->next)) {
		if (!value->name) {
			own = value;
			continue;
		}
		if (!has_variables)
			kymo_json_begin(json, "values", '{');
		has_variables = true;
		put_variable(kymo_json_next(json, NULL), event, value->name, kymo_json_put);
		kymo_json_is_key(json);
		put(&to, NULL, value);
	}
	if (has_variables)
		kymo_json_end(json, "}");
	if (own)
		put(&to, "value", own);
	kymo_value_tree_release(&tree);
}

void kymo_event_put_values_json(struct kymo_json *json, const struct kymo_event *event)
{
	put_event(json, event, put_value);
}

void kymo_event_put_values_brief(struct kymo_json *json, const struct kymo_event *event)
{
	put_event(json, event, put_brief_binding);
}

/* As much of it as @columns have room for; returns how many bytes that were. */
static size_t put_part(FILE *out, const struct kymo_value_tree *tree, const struct kymo_value *value,
		       const struct kymo_traced_process *process, size_t columns)
{
	char text[1024];
	size_t room = columns < sizeof text - 1 ? columns : sizeof text - 1;
	size_t left = 16 * sizeof text; /* to see that there is more than there is room for */
	size_t length = kymo_value_text_within(tree, value, process, text, room + 1, &left);

	kymo_text_put(out, text);
	if (length > room)
		fputs("…", out);
	return length < room ? length : room;
}

static bool tells_exception(const struct kymo_value_tree *tree)
{
	const struct kymo_value *value = kymo_value_at(tree, 1);

	while (value && (value->name || value->kind != KYMO_VALUE_EXCEPTION))
		value = kymo_value_at(tree, value->next);
	return value;
}

void kymo_event_put_values(FILE *out, const struct kymo_event *event, size_t columns)
{
	const struct kymo_traced_process *process = event->stream->process;
	bool is_result = event->kind == KYMO_PY_RETURN || event->kind == KYMO_PY_YIELD;
	struct kymo_value_tree tree = {0};
	struct output to = {NULL, &tree, process, EVENT_COST};
	const char *separator = "  ";
	size_t used = 0;

	if (!event->values.bytes)
		return;
	if (kymo_value_tree_read(&tree, event->values))
		fputs("  <not recorded>", out); /* no memory */
	if (kymo_event_name_role(event) && !tells_exception(&tree)) {
		fputs("  ", out);
		kymo_text_put(out, event->name ? event->name : "?");
	}
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
			put_text(&to, out, kymo_value_text_within, value, kymo_text_put);
	}
	kymo_value_tree_release(&tree);
}
