// SPDX-License-Identifier: Apache-2.0
/* What a value consists of, as variables of the protocol. */
#include "replay/debugger/dap_values.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/values/value_path.h"

#define NAME_BYTES 256U

/* One of the values that another one consists of. */
struct item {
	uint32_t node;
	uint32_t key;	  /* node of a dict's key or an attribute's name; 0: it has none */
	const char *part; /* "start"; NULL: it has none */
	uint64_t index;
};

struct items {
	const struct kymo_dap_values *values;
	const struct kymo_value *of;
	uint32_t at; /* the next node of its list */
	uint64_t count; /* told */
};

static const struct kymo_value *node_at(const struct kymo_dap_values *values, uint32_t number)
{
	return kymo_value_at(&values->variables.tree, number);
}

static struct items items_of(const struct kymo_dap_values *values, uint32_t number)
{
	const struct kymo_value *of = node_at(values, number);

	return (struct items){.values = values, .of = of, .at = of ? of->first : 0};
}

static bool is_sequence(enum kymo_value_kind kind)
{
	return (kind >= KYMO_VALUE_TUPLE && kind <= KYMO_VALUE_FROZENSET) || kind == KYMO_VALUE_ARRAY;
}

/* What the item number @index is, where that goes by the kind of the value. */
static const char *part_of(enum kymo_value_kind kind, uint64_t index)
{
	static const char *const ranges[] = {"start", "stop", "step"}, *const exceptions[] = {"args", "__cause__", "__context__"};

	if (kind == KYMO_VALUE_ENUM)
		return "value";
	if (index >= 3)
		return NULL;
	return kind == KYMO_VALUE_EXCEPTION ? exceptions[index] : kind == KYMO_VALUE_RANGE || kind == KYMO_VALUE_SLICE ? ranges[index] : NULL;
}

static bool next_item(struct items *items, struct item *item)
{
	const struct kymo_value *node = node_at(items->values, items->at);

	if (!node)
		return false;
	*item = (struct item){.part = part_of(items->of->kind, items->count), .index = items->count};
	if (!item->part && !is_sequence(items->of->kind)) {
		item->key = items->at;
		items->at = node->next;
		node = node_at(items->values, items->at);
		if (!node)
			return false;
	}
	item->node = items->at;
	items->at = node->next;
	items->count++;
	return true;
}

static void put_item_name(const struct items *items, const struct item *item, char name[NAME_BYTES])
{
	const struct kymo_dap_values *values = items->values;
	const struct kymo_value *key = node_at(values, item->key);

	if (item->part)
		snprintf(name, NAME_BYTES, "%s", item->part);
	else if (!key)
		snprintf(name, NAME_BYTES, "%" PRIu64, item->index);
	else if (items->of->kind == KYMO_VALUE_DICT)
		kymo_value_text(&values->variables.tree, key, values->variables.process, name, NAME_BYTES);
	else
		kymo_value_label(&values->variables.tree, key, values->variables.process, name, NAME_BYTES);
}

/* Text that stands for itself, in quotes or as a name. */
static bool is_plain(const struct kymo_value *key, bool is_name)
{
	for (uint32_t i = 0; i < key->text_bytes; i++) {
		uint8_t c = key->text[i];

		if (is_name ? c < 0x80 && c != '_' && !isalnum(c) : c < ' ' || c == '\'' || c == '\\' || c == 0x7f)
			return false;
	}
	return key->kind == KYMO_VALUE_STR && !key->type && !key->is_cut && (!is_name || (key->text_bytes && !isdigit(key->text[0])));
}

/* What leads to @item in an expression; false: nothing does. */
static bool put_step(FILE *out, const struct items *items, const struct item *item)
{
	enum kymo_value_kind kind = items->of->kind;
	const struct kymo_value *key = node_at(items->values, item->key);

	if (item->part)
		return fprintf(out, ".%s", item->part) > 0;
	if (kind == KYMO_VALUE_TUPLE || kind == KYMO_VALUE_LIST)
		return fprintf(out, "[%" PRIu64 "]", item->index) > 0;
	if (!key)
		return false;
	if (kind == KYMO_VALUE_DICT && key->kind == KYMO_VALUE_INT && !key->type)
		return fprintf(out, "[%" PRId64 "]", key->number) > 0;
	if (!is_plain(key, kind != KYMO_VALUE_DICT))
		return false;
	return fprintf(out, kind == KYMO_VALUE_DICT ? "['%.*s']" : ".%.*s", (int)key->text_bytes, (const char *)key->text) > 0;
}

static int compare_ids(const void *left, const void *right, void *values)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t x = node_at(values, a)->id, y = node_at(values, b)->id;

	return x != y ? (x < y ? -1 : 1) : a < b ? -1 : a > b;
}

/* Who has whom, and who has which id.  False: no memory. */
static bool look_through(struct kymo_dap_values *values)
{
	const struct kymo_value_tree *tree = &values->variables.tree;

	if (values->parents)
		return true;
	if (!values->by_id)
		values->by_id = calloc(tree->count, sizeof(*values->by_id));
	if (values->by_id)
		values->parents = calloc(tree->count, sizeof(*values->parents));
	if (!values->parents)
		return false;
	for (uint32_t i = 1; i < tree->count; i++) {
		for (uint32_t item = tree->nodes[i].first; item; item = tree->nodes[item].next)
			values->parents[item] = i;
		if (tree->nodes[i].id && tree->nodes[i].kind != KYMO_VALUE_SEEN)
			values->by_id[values->id_count++] = i;
	}
	if (values->id_count)
		qsort_r(values->by_id, values->id_count, sizeof(*values->by_id), compare_ids, values);
	return true;
}

/* Where what node @number is was told: SEEN has no items of its own. */
static uint32_t resolve(struct kymo_dap_values *values, uint32_t number)
{
	uint32_t first = 0, end;

	if (node_at(values, number)->kind != KYMO_VALUE_SEEN || !look_through(values))
		return number;
	/* The last one before it that has its id, or else the next. */
	for (end = values->id_count; first < end;) {
		uint32_t middle = first + (end - first) / 2;

		if (compare_ids(&values->by_id[middle], &number, values) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	if (first && node_at(values, values->by_id[first - 1])->id == node_at(values, number)->id)
		return values->by_id[first - 1];
	if (first < values->id_count && node_at(values, values->by_id[first])->id == node_at(values, number)->id)
		return values->by_id[first];
	return number;
}

bool kymo_dap_page_takes(struct kymo_dap_page *page)
{
	if (page->start) {
		page->start--;
		return false;
	}
	return page->left > 0 && page->left--;
}

/* Its whole text where it has room in @bytes, or what has, and "…". */
static json_t *text_of(const struct kymo_dap_values *values, const struct kymo_value *value, size_t bytes)
{
	static const char more[] = "…";
	char *text = malloc(bytes + sizeof(more));
	json_t *json = NULL;

	if (text && kymo_value_text(&values->variables.tree, value, values->variables.process, text, bytes) >= bytes)
		strcat(text, more);
	if (text)
		json = kymo_dap_text(text);
	free(text);
	return json;
}

static bool is_incomplete(const struct kymo_value *value)
{
	enum kymo_value_kind kind = value->kind;
	bool has_items = is_sequence(kind) || kind == KYMO_VALUE_DICT || kind == KYMO_VALUE_OBJECT || kind == KYMO_VALUE_EXCEPTION;

	return has_items && value->count > value->kept;
}

static void put_counts(json_t *shown, const struct kymo_dap_values *values, uint32_t number)
{
	struct items items = items_of(values, number);
	uint64_t indexed = is_sequence(items.of->kind) ? items.of->kept : 0, named = is_incomplete(items.of);
	struct item item;

	if (indexed)
		json_object_set_new(shown, "indexedVariables", json_integer((json_int_t)indexed));
	while (!indexed && next_item(&items, &item))
		named++;
	json_object_set_new(shown, "namedVariables", json_integer((json_int_t)named));
}

void kymo_dap_put_value(const struct kymo_dap *dap, json_t *shown, const char *key, struct kymo_dap_values *values, uint32_t node,
			size_t bytes)
{
	const struct kymo_value *value = node_at(values, node);
	const char *type = kymo_value_type(value, values->variables.process);
	uint32_t of = resolve(values, node);
	bool opens = node_at(values, of)->first;

	json_object_set_new(shown, key, text_of(values, value, bytes));
	if (type && dap->shows_types)
		json_object_set_new(shown, "type", kymo_dap_text(type));
	json_object_set_new(shown, "variablesReference", json_integer(opens ? (json_int_t)values->first + KYMO_DAP_SCOPES + of : 0));
	if (opens)
		put_counts(shown, values, of);
	json_object_set_new(shown, "presentationHint", json_pack("{s:s, s:[s]}", "kind", "data", "attributes", "readOnly"));
}

void kymo_dap_put_when(json_t *shown, const char *key, const struct kymo_dap_values *values)
{
	const char *text = json_string_value(json_object_get(shown, key));

	if (values->is_of_call && text)
		json_object_set_new(shown, key, json_sprintf("%s  (at the call)", text));
}

/* That so many more were there. */
static json_t *missing_items(const struct kymo_value *value)
{
	char text[64];

	snprintf(text, sizeof(text), "%" PRIu64 " of %" PRIu64 " were not recorded", value->count - value->kept, value->count);
	return json_pack("{s:s, s:s, s:i, s:{s:s, s:[s]}}", "name", "…", "value", text, "variablesReference", 0, "presentationHint", "kind",
			 "virtual", "attributes", "readOnly");
}

static json_t *item_variable(const struct kymo_dap *dap, struct kymo_dap_values *values, const struct items *items, const struct item *item,
			     const char *path)
{
	char name[NAME_BYTES], *to = NULL;
	json_t *shown = json_object();
	size_t bytes;
	FILE *out = path ? open_memstream(&to, &bytes) : NULL;
	bool leads = out && fputs(path, out) >= 0 && put_step(out, items, item);

	if (out)
		fclose(out);
	put_item_name(items, item, name);
	json_object_set_new(shown, "name", kymo_dap_text(name));
	kymo_dap_put_value(dap, shown, "value", values, item->node, KYMO_DAP_LISTED_BYTES);
	if (leads)
		json_object_set_new(shown, "evaluateName", kymo_dap_text(to));
	free(to);
	return shown;
}

void kymo_dap_put_items(const struct kymo_dap *dap, json_t *variables, struct kymo_dap_values *values, uint32_t node,
			struct kymo_dap_page page)
{
	struct items items = items_of(values, node);
	bool is_wanted = is_sequence(items.of->kind) ? page.is_indexed : page.is_named;
	char *path = kymo_dap_path(values, node, NULL);
	struct item item;

	while (is_wanted && page.left > 0 && next_item(&items, &item))
		if (kymo_dap_page_takes(&page))
			json_array_append_new(variables, item_variable(dap, values, &items, &item, path));
	if (is_incomplete(items.of) && page.is_named && kymo_dap_page_takes(&page))
		json_array_append_new(variables, missing_items(items.of));
	free(path);
}

/* The name of the variable that @root is the value of. */
static const char *root_name(const struct kymo_dap_values *values, uint32_t root)
{
	for (uint32_t i = 0; i < values->variables.count; i++)
		if (values->variables.items[i].node == root)
			return values->variables.items[i].name;
	return NULL;
}

/* Go on to the one that is @node or, where that is 0, is called @name. */
static bool find_item(struct items *items, uint32_t node, const char *name, struct item *item)
{
	char other[NAME_BYTES];

	while (next_item(items, item)) {
		if (!node)
			put_item_name(items, item, other);
		if (node ? item->node == node : !strcmp(other, name))
			return true;
	}
	return false;
}

/* Behind what leads to node @node: what leads to the one on @way before it, and on; then to @name. */
static bool put_steps(FILE *out, const struct kymo_dap_values *values, uint32_t node, const uint32_t *way, uint32_t count, const char *name)
{
	while (count || name) {
		struct items items = items_of(values, node);
		struct item item;

		node = count ? way[--count] : 0;
		if (!find_item(&items, node, name, &item) || !put_step(out, &items, &item))
			return false;
		if (!node)
			break;
	}
	return true;
}

char *kymo_dap_path(struct kymo_dap_values *values, uint32_t node, const char *item)
{
	uint32_t way[KYMO_VALUE_DEPTH + 1], count = 0;
	const char *variable;
	char *path = NULL;
	size_t bytes;
	FILE *out;
	bool leads;

	if (!look_through(values))
		return NULL;
	for (; values->parents[node] && count < sizeof(way) / sizeof(*way); node = values->parents[node])
		way[count++] = node;
	variable = root_name(values, node);
	out = variable && kymo_name_bytes(variable) ? open_memstream(&path, &bytes) : NULL;
	if (!out)
		return NULL;
	fputs(variable, out);
	leads = put_steps(out, values, node, way, count, item);
	fclose(out);
	if (leads)
		return path;
	free(path);
	return NULL;
}

void kymo_dap_forget_values_from(struct kymo_dap *dap, size_t count)
{
	while (dap->value_count > count) {
		struct kymo_dap_values *values = dap->values[--dap->value_count];

		kymo_variables_release(&values->variables);
		free(values->parents);
		free(values->by_id);
		free(values);
	}
}

void kymo_dap_forget_values(struct kymo_dap *dap)
{
	kymo_dap_forget_values_from(dap, 0);
	/* The next ones are others for a while: a client may still ask for the old ones. */
	if (dap->last_reference > KYMO_DAP_MAX_REFERENCE / 2)
		dap->last_reference = 0;
}
