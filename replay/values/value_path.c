// SPDX-License-Identifier: Apache-2.0
#include "replay/values/value_path.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One step: an attribute or a key of that text, or an item with that number. */
struct step {
	bool is_attribute, is_text;
	const char *begin; /* where it stands in the path */
	size_t bytes;
	char *text; /* decoded */
	size_t text_bytes;
	int64_t number;
};

static bool begins_name(unsigned char character)
{
	return isalpha(character) || character == '_' || character >= 0x80;
}

size_t kymo_name_bytes(const char *text)
{
	size_t bytes = 0;

	if (begins_name((unsigned char)*text))
		while (begins_name((unsigned char)text[bytes]) || isdigit((unsigned char)text[bytes]))
			bytes++;
	return bytes;
}

static size_t put_character(char *text, unsigned long character)
{
	if (character < 0x80) {
		text[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		text[0] = (char)(0xc0 | character >> 6);
		text[1] = (char)(0x80 | (character & 0x3f));
		return 2;
	}
	text[0] = (char)(0xe0 | character >> 12);
	text[1] = (char)(0x80 | (character >> 6 & 0x3f));
	text[2] = (char)(0x80 | (character & 0x3f));
	return 3;
}

/* Decode the escape behind a backslash. Returns what follows it; NULL: not an escape. */
static const char *read_escape(const char *at, struct step *step)
{
	static const char names[] = "nrt\\'\"", meant[] = "\n\r\t\\'\"";
	const char *name = *at ? strchr(names, *at) : NULL;
	unsigned digits = *at == 'x' ? 2 : *at == 'u' ? 4 : 0;
	char number[5] = "";

	if (name) {
		step->text[step->text_bytes++] = meant[name - names];
		return at + 1;
	}
	for (unsigned i = 0; i < digits; i++) {
		if (!isxdigit((unsigned char)at[1 + i]))
			return NULL;
		number[i] = at[1 + i];
	}
	if (!digits)
		return NULL;
	step->text_bytes += put_character(step->text + step->text_bytes, strtoul(number, NULL, 16));
	return at + 1 + digits;
}

static const char *read_text(const char *at, struct step *step)
{
	char quote = *at++;

	while (*at && *at != quote) {
		if (*at == '\\')
			at = read_escape(at + 1, step);
		else
			step->text[step->text_bytes++] = *at++;
		if (!at)
			return NULL;
	}
	return *at ? at + 1 : NULL;
}

static const char *read_item(const char *at, struct step *step)
{
	at += strspn(at, " \t");
	if (*at == '\'' || *at == '"') {
		step->is_text = true;
		at = read_text(at, step);
	} else {
		char *end;

		errno = 0;
		step->number = strtoll(at, &end, 10);
		at = end > at && !errno && (isdigit((unsigned char)*at) || *at == '-') ? end : NULL;
	}
	if (!at)
		return NULL;
	at += strspn(at, " \t");
	return *at == ']' ? at + 1 : NULL;
}

/* Parse the first step of @path, which is not empty; its text goes to @text. Returns what follows; NULL: not a step. */
static const char *read_step(const char *path, char *text, struct step *step)
{
	const char *end = NULL;

	*step = (struct step){.begin = path, .text = text, .is_attribute = *path == '.'};
	if (step->is_attribute) {
		path += 1 + strspn(path + 1, " \t");
		step->text_bytes = kymo_name_bytes(path);
		memcpy(text, path, step->text_bytes);
		end = step->text_bytes ? path + step->text_bytes : NULL;
	} else if (*path == '[') {
		end = read_item(path + 1, step);
	}
	step->bytes = end ? (size_t)(end - step->begin) : 0;
	return end;
}

/* The location for an error message. */
static int fail(struct kymo_error *error, int code, const char *whole, const struct step *step, const char *why)
{
	return kymo_fail(error, code, "%.*s %s", (int)(step->begin - whole), whole, why);
}

static bool has_text(const struct kymo_value *value, const struct step *step)
{
	return value && value->kind == KYMO_VALUE_STR && !value->is_cut && value->text_bytes == step->text_bytes &&
	       (!step->text_bytes || !memcmp(value->text, step->text, step->text_bytes));
}

static bool is_key(const struct kymo_value *value, const struct step *step)
{
	if (step->is_text)
		return has_text(value, step);
	return value && value->kind == KYMO_VALUE_INT && value->number == step->number;
}

/* The record of an object that contains itself, or came before in the same variable, below @from; 0: none. */
static uint32_t find_seen(const struct kymo_value_tree *tree, uint32_t from, uint64_t id)
{
	const struct kymo_value *value = kymo_value_at(tree, from);
	uint32_t found = value->id == id && value->kind != KYMO_VALUE_SEEN ? from : 0;

	for (uint32_t item = value->first; item && !found; item = kymo_value_at(tree, item)->next)
		found = find_seen(tree, item, id);
	return found;
}

static uint32_t nth(const struct kymo_value_tree *tree, uint32_t item, uint64_t number)
{
	while (item && number--)
		item = kymo_value_at(tree, item)->next;
	return item;
}

/* The value behind the name or key @step in the list of pairs that begins with @item. */
static uint32_t find_pair(const struct kymo_value_tree *tree, uint32_t item, const struct step *step)
{
	while (item) {
		const struct kymo_value *key = kymo_value_at(tree, item);

		if (step->is_attribute ? has_text(key, step) : is_key(key, step))
			return key->next;
		item = key->next ? kymo_value_at(tree, key->next)->next : 0;
	}
	return 0;
}

static bool is_named(const struct step *step, const char *name)
{
	return step->text_bytes == strlen(name) && !memcmp(step->text, name, step->text_bytes);
}

static uint32_t find_part(const struct kymo_value_tree *tree, const struct kymo_value *value, const struct step *step,
			  const char *const names[3])
{
	for (uint32_t i = 0; i < 3; i++)
		if (names[i] && is_named(step, names[i]))
			return nth(tree, value->first, i);
	return 0;
}

static uint32_t find_attribute(const struct kymo_value_tree *tree, const struct kymo_value *value, const struct step *step)
{
	uint32_t found;

	switch (value->kind) {
	case KYMO_VALUE_OBJECT:
		return find_pair(tree, value->first, step);
	case KYMO_VALUE_EXCEPTION:
		found = find_part(tree, value, step, (const char *const[]){"args", "__cause__", "__context__"});
		return found ? found : find_pair(tree, nth(tree, value->first, 3), step);
	case KYMO_VALUE_RANGE:
	case KYMO_VALUE_SLICE:
		return find_part(tree, value, step, (const char *const[]){"start", "stop", "step"});
	case KYMO_VALUE_ENUM:
		return find_part(tree, value, step, (const char *const[]){"value", NULL, NULL});
	default:
		return 0;
	}
}

static bool has_items(const struct kymo_value *value)
{
	return value->kind == KYMO_VALUE_LIST || value->kind == KYMO_VALUE_TUPLE || (value->kind == KYMO_VALUE_ARRAY && value->dimensions == 1);
}

/* The value of attribute @number of an object if its name is @name; else NULL. */
static const struct kymo_value *attribute_called(const struct kymo_value_tree *tree, const struct kymo_value *value, uint32_t number,
						 const char *name)
{
	const struct kymo_value *key = kymo_value_at(tree, nth(tree, value->first, 2 * (uint64_t)number));

	return key && key->kind == KYMO_VALUE_STR && key->text_bytes == strlen(name) && !memcmp(key->text, name, key->text_bytes)
		       ? kymo_value_at(tree, key->next)
		       : NULL;
}

static bool is_series(const struct kymo_value_tree *tree, const struct kymo_value *value)
{
	return value->kind == KYMO_VALUE_OBJECT && value->count == 3 && attribute_called(tree, value, 0, "name") &&
	       attribute_called(tree, value, 1, "index") && attribute_called(tree, value, 2, "values");
}

/* The index of @number in the range that begins with @item; -1: none. */
static int64_t place_in_range(const struct kymo_value_tree *tree, uint32_t item, int64_t number)
{
	int64_t parts[3];

	for (unsigned i = 0; i < 3; i++, item = kymo_value_at(tree, item)->next) {
		const struct kymo_value *part = kymo_value_at(tree, item);

		if (!part || part->kind != KYMO_VALUE_INT)
			return -1;
		parts[i] = part->number;
	}
	if (!parts[2] || (parts[2] > 0 ? number < parts[0] || number >= parts[1] : number > parts[0] || number <= parts[1]) ||
	    __builtin_sub_overflow(number, parts[0], &number) || number % parts[2])
		return -1;
	return number / parts[2];
}

/* The index of the value of a Series whose label is @step; -1: none is known. */
static int64_t place_of(const struct kymo_value_tree *tree, const struct kymo_value *labels, const struct step *step)
{
	int64_t place = 0;

	if (labels->kind == KYMO_VALUE_RANGE)
		return step->is_text ? -1 : place_in_range(tree, labels->first, step->number);
	if (labels->kind != KYMO_VALUE_ARRAY)
		return -1;
	for (uint32_t label = labels->first; label; label = kymo_value_at(tree, label)->next, place++)
		if (is_key(kymo_value_at(tree, label), step))
			return place;
	return -1;
}

/* The value of a Series, or the column of a DataFrame, whose label is @step. */
static uint32_t find_labelled(const struct kymo_value_tree *tree, const struct kymo_value *value, const struct step *step)
{
	const struct kymo_value *first = attribute_called(tree, value, 0, "columns"), *values;
	char text[24];
	struct step number = {.text = text};
	int64_t place;

	if (is_series(tree, value)) {
		values = attribute_called(tree, value, 2, "values");
		place = place_of(tree, attribute_called(tree, value, 1, "index"), step);
		return place < 0 || values->kind != KYMO_VALUE_ARRAY ? 0 : nth(tree, values->first, (uint64_t)place);
	}
	if (first && first->kind == KYMO_VALUE_NOT_READ)
		return 0; /* its columns are named by number */
	if (step->is_text)
		return find_pair(tree, value->first, step);
	number.text_bytes = (size_t)snprintf(text, sizeof text, "%" PRId64, step->number);
	number.is_attribute = true;
	return find_pair(tree, value->first, &number);
}

static uint32_t find_item(const struct kymo_value_tree *tree, const struct kymo_value *value, const struct step *step)
{
	uint64_t number = (uint64_t)step->number;

	if (value->kind == KYMO_VALUE_OBJECT)
		return find_labelled(tree, value, step);
	if (value->kind == KYMO_VALUE_DICT)
		return find_pair(tree, value->first, step);
	if (!has_items(value) || step->is_text)
		return 0;
	if (step->number < 0)
		number += value->count;
	return number < value->kept ? nth(tree, value->first, number) : 0;
}

const char *kymo_value_unread_labels(const struct kymo_value_tree *tree, const struct kymo_value *value, char why[KYMO_UNREAD_BYTES])
{
	static const char *const names[] = {"columns", "index", "index"};

	/* The row labels come first, or behind the column labels, or behind a name. */
	for (uint32_t i = 0; value->kind == KYMO_VALUE_OBJECT && i < 3; i++) {
		const struct kymo_value *labels = attribute_called(tree, value, i / 2, names[i]);

		if (labels && labels->kind == KYMO_VALUE_NOT_READ) {
			kymo_value_label(tree, labels, NULL, why, KYMO_UNREAD_BYTES);
			return i ? "rows" : "columns";
		}
	}
	return NULL;
}

/* The error where @step leads nowhere. */
static int explain(const struct kymo_value_tree *tree, const struct kymo_value *value, const char *whole, const struct step *step,
		   struct kymo_error *error)
{
	char why[KYMO_UNREAD_BYTES];
	const char *unread = step->is_attribute ? NULL : kymo_value_unread_labels(tree, value, why);
	bool has_parts = step->is_attribute ? value->kind == KYMO_VALUE_OBJECT || value->kind == KYMO_VALUE_EXCEPTION
					    : value->kind == KYMO_VALUE_DICT || has_items(value);
	const char *parts = step->is_attribute ? "attributes" : "items";
	int bytes = (int)(step->begin - whole);

	switch (value->kind) {
	case KYMO_VALUE_REDACTED:
		return fail(error, -ENODATA, whole, step, "was redacted");
	case KYMO_VALUE_CUT:
		return fail(error, -ENODATA, whole, step, "was not recorded: a limit of --values-limits left it out");
	case KYMO_VALUE_SEEN:
		return fail(error, -ENODATA, whole, step, "is an object of which nothing else was recorded");
	default:
		break;
	}
	if (unread && (*unread == 'c' || is_series(tree, value)))
		return kymo_fail(error, -ENODATA, "%.*s has no %.*s that was recorded: the labels of its %s were not read, %s", bytes, whole,
				 (int)step->bytes, step->begin, unread, why);
	if (!step->is_attribute && is_series(tree, value)) {
		value = attribute_called(tree, value, 2, "values");
		has_parts = true;
	}
	if (has_parts && value->kept < value->count)
		return kymo_fail(error, -ENODATA, "%.*s has no %.*s that was recorded: it is cut, %" PRIu64 " of %" PRIu64 " %s were",
				 bytes, whole, (int)step->bytes, step->begin, value->kept, value->count, parts);
	return kymo_fail(error, -ENODATA, "%.*s has no %.*s", bytes, whole, (int)step->bytes, step->begin);
}

/* Follow @path from @node; if @tree is NULL, only check its syntax. */
static int follow(const struct kymo_value_tree *tree, uint32_t node, const char *whole, const char *path, uint32_t *found,
		  struct kymo_error *error)
{
	char *text = malloc(strlen(path) + 1);
	uint32_t root = node;
	int result = text ? 0 : kymo_fail(error, -ENOMEM, "out of memory");

	path += strspn(path, " \t");
	while (!result && *path) {
		const struct kymo_value *value = tree ? kymo_value_at(tree, node) : NULL;
		struct step step;

		path = read_step(path, text, &step);
		if (!path) {
			result = kymo_fail(error, -EINVAL, "'%s': an attribute, .x, or an item, [0] or [\"key\"], is wanted at '%s'", whole,
					   step.begin);
			break;
		}
		path += strspn(path, " \t");
		if (!tree)
			continue;
		if (value->kind == KYMO_VALUE_SEEN && value->id) {
			uint32_t seen = find_seen(tree, root, value->id);

			value = seen ? kymo_value_at(tree, seen) : value;
		}
		node = step.is_attribute ? find_attribute(tree, value, &step) : find_item(tree, value, &step);
		if (!node)
			result = explain(tree, value, whole, &step, error);
	}
	free(text);
	if (!result && found)
		*found = node;
	return result;
}

int kymo_value_path(const struct kymo_value_tree *tree, uint32_t node, const char *whole, const char *path, uint32_t *found,
		    struct kymo_error *error)
{
	*found = 0;
	return node && node < tree->count ? follow(tree, node, whole, path, found, error) : kymo_fail(error, -ENODATA, "%s has no value", whole);
}

int kymo_value_path_check(const char *whole, const char *path, struct kymo_error *error)
{
	return follow(NULL, 0, whole, path, NULL, error);
}

static uint64_t mix(uint64_t hash, uint64_t number)
{
	hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint64_t mix_bytes(uint64_t hash, const uint8_t *bytes, uint32_t count)
{
	hash = mix(hash, count);
	for (uint32_t i = 0; i < count; i++)
		hash = mix(hash, bytes[i]);
	return hash;
}

static uint64_t mix_value(uint64_t hash, const struct kymo_value_tree *tree, const struct kymo_value *value)
{
	const uint64_t numbers[] = {value->kind, value->id, value->type, value->count, value->kept, (uint64_t)value->number,
				    value->is_negative, value->dimensions};
	uint64_t parts[2];

	memcpy(&parts[0], &value->real, sizeof parts[0]);
	memcpy(&parts[1], &value->imaginary, sizeof parts[1]);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		hash = mix(hash, numbers[i]);
	hash = mix(mix(hash, parts[0]), parts[1]);
	hash = mix_bytes(hash, value->text, value->text ? value->text_bytes : 0);
	hash = mix_bytes(hash, value->shape, value->shape ? value->shape_bytes : 0);
	for (uint32_t item = value->first; item; item = kymo_value_at(tree, item)->next)
		hash = mix_value(mix(hash, 1), tree, kymo_value_at(tree, item));
	return mix(hash, 2);
}

uint64_t kymo_value_hash(const struct kymo_value_tree *tree, uint32_t node)
{
	const struct kymo_value *value = kymo_value_at(tree, node);
	uint64_t hash = value ? mix_value(1, tree, value) : 0;

	return hash ? hash : 1;
}
