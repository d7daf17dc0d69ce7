// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile values.  The input: a length of two bytes, so many bytes of the chunk that lie before the block, and the block.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "replay/values/event_values.h"
#include "replay/values/value_path.h"

#define CHECK(condition) ((condition) ? (void)0 : abort())

/* Of the largest tree. */
#define MAX_JSON (16U << 20)
/* Values of one input that are written: with more it is slow, and tells nothing new. */
#define MAX_WRITTEN 8U

static const struct kymo_traced_process nobody;

/* The list that begins with @number: what it has was made after @parent, so that no value is in itself. */
static void check_list(const struct kymo_value_tree *tree, uint32_t number, uint32_t parent, uint32_t level)
{
	const struct kymo_value *value;

	for (; number; parent = number, number = value->next) {
		CHECK(level <= KYMO_VALUE_DEPTH + 1);
		CHECK(number > parent && number < tree->count);
		value = kymo_value_at(tree, number);
		CHECK(value->kind > KYMO_VALUE_INVALID && value->kind < KYMO_VALUE_KINDS);
		CHECK(value->kind != KYMO_VALUE_SAME && value->kind != KYMO_VALUE_SUBCLASS);
		CHECK(value->kept <= value->count);
		CHECK(value->is_cut || value->kept == value->count);
		check_list(tree, value->first, number, level + 1);
	}
}

/* The same at every length, of which what does not fit is cut. */
static void check_text(const struct kymo_value_tree *tree, const struct kymo_value *value)
{
	static const size_t rooms[] = {0, 1, 2, 7, 60};
	size_t length = kymo_value_text(tree, value, &nobody, NULL, 0);
	char *whole = malloc(length + 1), *part;

	CHECK(whole);
	CHECK(length <= KYMO_VALUE_TEXT_COST + strlen("…"));
	CHECK(kymo_value_text(tree, value, &nobody, whole, length + 1) == length);
	CHECK(strlen(whole) == length);
	for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
		part = malloc(rooms[i] ? rooms[i] : 1);
		CHECK(part);
		CHECK(kymo_value_text(tree, value, &nobody, part, rooms[i]) == length);
		CHECK(!rooms[i] || !memcmp(part, whole, strlen(part)));
		free(part);
	}
	free(whole);
}

typedef void (*json_putter)(FILE *out, const struct kymo_value_tree *tree, const struct kymo_value *value,
			    const struct kymo_traced_process *process);

static void check_json(const struct kymo_value_tree *tree, const struct kymo_value *value, json_putter put)
{
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	json_t *json;

	CHECK(out);
	put(out, tree, value, &nobody);
	CHECK(!fclose(out));
	CHECK(bytes <= MAX_JSON);
	json = json_loadb(text, bytes, JSON_DECODE_INT_AS_REAL, NULL);
	CHECK(json_is_string(json_object_get(json, "text")));
	json_decref(json);
	free(text);
}

static void check_paths(const struct kymo_value_tree *tree, uint32_t number)
{
	static const char *const paths[] = {"", "[0]", "[-1]", "[0][1]", ".x", "['a'].x", ".args[0]", ".value", ".stop", ".__cause__.__context__.x"};

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct kymo_error error;
		uint32_t found;
		int result = kymo_value_path(tree, number, paths[i], paths[i], &found, &error);

		CHECK(result == 0 || result == -ENODATA);
		CHECK(result ? !found : found >= number && found < tree->count);
	}
	CHECK(kymo_value_hash(tree, number));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct kymo_value_tree tree; /* used again and again, as by who goes through events */
	struct kymo_values values = {0};
	uint8_t *payload;
	unsigned written = 0;

	if (size < 2 || size > KYMO_VALUES_MAX_BYTES)
		return 0;
	size -= 2;
	payload = malloc(size + !size); /* where a byte too many is seen */
	CHECK(payload);
	memcpy(payload, data + 2, size);
	values.payload = payload;
	values.at = data[0] | (uint32_t)data[1] << 8;
	if (values.at > size)
		values.at = (uint32_t)size;
	values.bytes = (uint32_t)size - values.at;
	CHECK(!kymo_value_tree_read(&tree, values));
	CHECK(tree.count >= 1 && tree.count <= KYMO_VALUE_NODES);
	if (tree.count > 1)
		check_list(&tree, 1, 0, 1);
	for (const struct kymo_value *value = kymo_value_at(&tree, 1); value && written < MAX_WRITTEN; value = kymo_value_at(&tree, value->next)) {
		check_paths(&tree, (uint32_t)(value - tree.nodes));
		check_text(&tree, value);
		check_json(&tree, value, kymo_value_put_json);
		check_json(&tree, value, kymo_value_put_brief);
		kymo_value_name(NULL, value->name);
		written++;
	}
	free(payload);
	return 0;
}
