// SPDX-License-Identifier: Apache-2.0
#include "replay/diff/likeness.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most comparisons of nodes in one value; beyond that, whether they differ is not known. */
#define STEPS 200000U
/* Most nodes, or keys, searched for one. */
#define SEARCHED 4096U
#define SEARCHED_KEYS 512U
/* Most levels of nested values. */
#define LEVELS 32U

static const struct kymo_value *at(const struct kymo_value_tree *tree, uint32_t number)
{
	return kymo_value_at(tree, number);
}

static uint64_t hash_type(struct kymo_owner *owner, uint64_t id)
{
	struct kymo_type_hash *known = &owner->types[id % (sizeof owner->types / sizeof *owner->types)];
	const char *name;

	if (!id)
		return 0;
	if (known->id != id) {
		name = owner->stream ? kymo_traced_name(owner->stream->process, id) : NULL;
		*known = (struct kymo_type_hash){id, name ? kymo_hash_bytes(22, name, strlen(name)) | 1 : 0};
	}
	return known->hash;
}

/* SEEN stands for what has its id; the number of that, or 0.  Where it would have to be looked for in many, it is not known. */
static uint32_t resolve(const struct kymo_value_tree *tree, const struct kymo_value *seen)
{
	for (uint32_t i = 1; i < tree->count && tree->count <= SEARCHED; i++)
		if (tree->nodes[i].id == seen->id && tree->nodes[i].kind != KYMO_VALUE_SEEN)
			return i;
	return 0;
}

static bool has_pairs(const struct kymo_value *value)
{
	return value->kind == KYMO_VALUE_DICT || value->kind == KYMO_VALUE_OBJECT;
}

static bool is_set(const struct kymo_value *value)
{
	return value->kind == KYMO_VALUE_SET || value->kind == KYMO_VALUE_FROZENSET;
}

static uint64_t hash_node(struct kymo_owner *owner, const struct kymo_value_tree *tree, uint32_t number, unsigned level);

/* Sets and pairs count whatever their order. */
static uint64_t hash_items(struct kymo_owner *owner, const struct kymo_value_tree *tree, const struct kymo_value *value, unsigned level)
{
	uint64_t hash = kymo_mix(23, value->count);

	for (uint32_t i = value->first; at(tree, i); i = at(tree, i)->next) {
		uint64_t item = hash_node(owner, tree, i, level + 1);

		if (has_pairs(value) && at(tree, i)->next) {
			i = at(tree, i)->next;
			item = kymo_mix(item, hash_node(owner, tree, i, level + 1));
		}
		hash = has_pairs(value) || is_set(value) ? hash + kymo_mix(24, item) : kymo_mix(hash, item);
	}
	return hash;
}

static uint64_t hash_node(struct kymo_owner *owner, const struct kymo_value_tree *tree, uint32_t number, unsigned level)
{
	const struct kymo_value *value = at(tree, number);
	uint64_t hash, bits;
	enum kymo_noise noise;
	bool has_noise;

	if (!value || level > LEVELS)
		return 0;
	hash = kymo_mix(kymo_mix(20, value->kind), hash_type(owner, value->type));
	noise = kymo_noise_of(owner, value);
	owner->saw_time |= noise == KYMO_NOISE_TIME;
	if (noise)
		return kymo_mix(hash, noise);
	hash = kymo_mix(hash, value->is_cut);
	switch (value->kind) {
	case KYMO_VALUE_INT:
		return kymo_mix(hash, (uint64_t)value->number);
	case KYMO_VALUE_FLOAT:
	case KYMO_VALUE_COMPLEX:
		memcpy(&bits, &value->real, sizeof bits);
		hash = kymo_mix(hash, bits);
		memcpy(&bits, &value->imaginary, sizeof bits);
		return kymo_mix(hash, bits);
	case KYMO_VALUE_SEEN:
		return kymo_mix(hash, resolve(tree, value));
	case KYMO_VALUE_STR:
	case KYMO_VALUE_BYTES:
	case KYMO_VALUE_BYTEARRAY:
	case KYMO_VALUE_LONG:
		bits = kymo_noise_hash(owner, value, &has_noise);
		return kymo_mix(kymo_mix(hash, has_noise ? 0 : value->count), kymo_mix(bits, value->is_negative));
	default:
		hash = kymo_mix(hash, kymo_noise_hash(owner, value, &has_noise));
		if (value->shape)
			hash = kymo_hash_bytes(hash, value->shape, value->shape_bytes);
		return value->first || value->count ? kymo_mix(hash, hash_items(owner, tree, value, level)) : hash;
	}
}

uint64_t kymo_likeness_hash(struct kymo_owner *owner, const struct kymo_value_tree *tree, uint32_t number)
{
	return hash_node(owner, tree, number, 0);
}

static bool can_change(const struct kymo_value *value)
{
	return value->kind == KYMO_VALUE_SEEN || value->kind == KYMO_VALUE_BYTEARRAY || value->kind == KYMO_VALUE_LIST ||
	       value->kind == KYMO_VALUE_SET || value->kind == KYMO_VALUE_DICT || value->kind == KYMO_VALUE_OBJECT ||
	       value->kind == KYMO_VALUE_EXCEPTION || value->kind == KYMO_VALUE_ARRAY;
}

static bool has_changing(const struct kymo_value_tree *tree, const struct kymo_value *value, unsigned level)
{
	for (uint32_t i = value->first; at(tree, i); i = at(tree, i)->next)
		if (can_change(at(tree, i)) || level > LEVELS || has_changing(tree, at(tree, i), level + 1))
			return true;
	return false;
}

bool kymo_value_may_be_stale(const struct kymo_value_tree *tree, uint32_t number)
{
	return at(tree, number) && has_changing(tree, at(tree, number), 0);
}

static bool may_be_duration(const struct kymo_likeness_side *side)
{
	const struct kymo_value *value = at(side->tree, side->number);

	return value && value->kind == KYMO_VALUE_FLOAT && value->real >= 0 && value->real != (double)(int64_t)value->real &&
	       value->real * 1e9 <= (double)(side->owner->unix_ns[1] - side->owner->unix_ns[0]);
}

bool kymo_values_may_be_durations(const struct kymo_likeness_side sides[2])
{
	return may_be_duration(&sides[0]) && may_be_duration(&sides[1]);
}

/* Comparing. */

struct comparing {
	struct kymo_likeness_side *sides;
	char *path;
	size_t length;
	uint32_t steps;
};

static enum kymo_likeness compare(struct comparing *comparing, uint32_t left, uint32_t right, unsigned level);

static const struct kymo_value *node(const struct comparing *comparing, size_t side, uint32_t number)
{
	return at(comparing->sides[side].tree, number);
}

/* These differ as a whole, and nothing in them is reported instead. */
static enum kymo_likeness differ(const struct comparing *comparing, uint32_t left, uint32_t right)
{
	comparing->sides[0].number = left;
	comparing->sides[1].number = right;
	return KYMO_NOT_ALIKE;
}

static void put_path(struct comparing *comparing, const char *text)
{
	size_t length = strlen(text), room = KYMO_PATH_BYTES - 1 - comparing->length;

	memcpy(comparing->path + comparing->length, text, length < room ? length + 1 : 0);
	if (length < room)
		comparing->length += length;
}

static void go_back(struct comparing *comparing, size_t length)
{
	comparing->length = length;
	comparing->path[length] = '\0';
}

/* The item behind @key, of a dict or object. */
static void put_key(struct comparing *comparing, uint32_t key, bool is_attribute)
{
	const struct kymo_likeness_side *side = &comparing->sides[1];
	const struct kymo_traced_process *process = side->owner->stream ? side->owner->stream->process : NULL;
	char text[80], step[96];

	if (is_attribute) {
		kymo_value_label(side->tree, at(side->tree, key), process, text, sizeof text);
		snprintf(step, sizeof step, ".%s", text);
	} else {
		kymo_value_text(side->tree, at(side->tree, key), process, text, sizeof text);
		snprintf(step, sizeof step, "[%s]", text);
	}
	put_path(comparing, step);
}

static bool is_ignored(const struct comparing *comparing, size_t number, uint32_t key)
{
	const struct kymo_likeness_side *side = &comparing->sides[number];
	const struct kymo_value *name = at(side->tree, key);
	char text[128];

	if (!*side->owner->ignored || name->kind != KYMO_VALUE_STR)
		return false;
	kymo_value_label(side->tree, name, side->owner->stream ? side->owner->stream->process : NULL, text, sizeof text);
	for (const char *const *glob = side->owner->ignored; *glob; glob++)
		if (!fnmatch(*glob, text, 0))
			return true;
	return false;
}

static bool is_unknown(const struct kymo_value *value)
{
	return !value || value->kind == KYMO_VALUE_CUT || value->kind == KYMO_VALUE_REDACTED || value->kind == KYMO_VALUE_INVALID;
}

static bool has_unknown(const struct kymo_value_tree *tree, const struct kymo_value *value, unsigned level)
{
	if (is_unknown(value) || value->is_cut || level > LEVELS)
		return true;
	for (uint32_t i = value->first; at(tree, i); i = at(tree, i)->next)
		if (has_unknown(tree, at(tree, i), level + 1))
			return true;
	return false;
}

static enum kymo_likeness compare_texts(struct comparing *comparing, uint32_t left, uint32_t right)
{
	const struct kymo_value *a = node(comparing, 0, left), *b = node(comparing, 1, right);
	size_t both = a->text_bytes < b->text_bytes ? a->text_bytes : b->text_bytes;
	bool noise[2];
	uint64_t hashes[2] = {kymo_noise_hash(comparing->sides[0].owner, a, &noise[0]),
			      kymo_noise_hash(comparing->sides[1].owner, b, &noise[1])};
	bool has_noise = noise[0] || noise[1], is_cut = a->is_cut || b->is_cut;

	if (!has_noise && a->count != b->count)
		return differ(comparing, left, right);
	if (hashes[0] == hashes[1])
		return is_cut ? KYMO_NOT_KNOWN : KYMO_ALIKE;
	if (is_cut && (has_noise || !both || !memcmp(a->text, b->text, both)))
		return KYMO_NOT_KNOWN;
	return differ(comparing, left, right);
}

static enum kymo_likeness compare_lists(struct comparing *comparing, uint32_t left, uint32_t right, unsigned level)
{
	const struct kymo_value *a = node(comparing, 0, left), *b = node(comparing, 1, right);
	enum kymo_likeness all = a->is_cut || b->is_cut ? KYMO_NOT_KNOWN : KYMO_ALIKE;
	bool has_path = a->kind == KYMO_VALUE_LIST || a->kind == KYMO_VALUE_TUPLE;
	uint32_t i = a->first, j = b->first;
	size_t length = comparing->length;
	char step[24];

	for (unsigned index = 0; i && j && node(comparing, 0, i) && node(comparing, 1, j); index++) {
		enum kymo_likeness one;

		snprintf(step, sizeof step, "[%u]", index);
		if (has_path)
			put_path(comparing, step);
		one = compare(comparing, i, j, level + 1);
		if (one == KYMO_NOT_ALIKE)
			/* Exceptions, ranges and lists of another length are reported as a whole. */
			return has_path && a->count == b->count ? one : (go_back(comparing, length), differ(comparing, left, right));
		go_back(comparing, length);
		if (one == KYMO_NOT_KNOWN)
			all = one;
		i = node(comparing, 0, i)->next;
		j = node(comparing, 1, j)->next;
	}
	return a->count != b->count ? differ(comparing, left, right) : all;
}

static int compare_u64(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static uint64_t *list_hashes(const struct kymo_likeness_side *side, const struct kymo_value *value)
{
	uint64_t *hashes = calloc(value->kept + 1, sizeof *hashes);
	size_t count = 0;

	for (uint32_t i = value->first; hashes && count < value->kept && at(side->tree, i); i = at(side->tree, i)->next)
		hashes[count++] = kymo_likeness_hash(side->owner, side->tree, i);
	if (count)
		qsort(hashes, count, sizeof *hashes, compare_u64);
	return hashes;
}

/* Which items of a set were cut, depends on their order. */
static enum kymo_likeness compare_sets(struct comparing *comparing, uint32_t left, uint32_t right)
{
	const struct kymo_value *a = node(comparing, 0, left), *b = node(comparing, 1, right);
	uint64_t *hashes[2];
	bool are_same;

	if (a->count != b->count)
		return differ(comparing, left, right);
	if (a->is_cut || b->is_cut || a->kept != b->kept)
		return KYMO_NOT_KNOWN;
	hashes[0] = list_hashes(&comparing->sides[0], a);
	hashes[1] = list_hashes(&comparing->sides[1], b);
	are_same = !hashes[0] || !hashes[1] || !memcmp(hashes[0], hashes[1], a->kept * sizeof *hashes[0]);
	free(hashes[0]);
	free(hashes[1]);
	if (are_same)
		return KYMO_ALIKE;
	return has_unknown(comparing->sides[0].tree, a, 0) || has_unknown(comparing->sides[1].tree, b, 0) ? KYMO_NOT_KNOWN
													  : differ(comparing, left, right);
}

/* The key of @pairs, from @first on, that is @key of the other side, or 0; *is_sure: if there is none, that is known. */
static uint32_t find_key(struct comparing *comparing, const struct kymo_value *pairs, size_t side, uint32_t key, uint32_t hint,
			 bool *is_sure)
{
	const struct kymo_likeness_side *own = &comparing->sides[side], *other = &comparing->sides[1 - side];
	uint64_t hash = kymo_likeness_hash(other->owner, other->tree, key);
	unsigned searched = 0;

	if (has_unknown(other->tree, at(other->tree, key), 0)) {
		*is_sure = false;
		return 0;
	}
	if (hint && kymo_likeness_hash(own->owner, own->tree, hint) == hash)
		return hint;
	for (uint32_t i = pairs->first; at(own->tree, i) && at(own->tree, i)->next; i = at(own->tree, at(own->tree, i)->next)->next) {
		if (++comparing->steps > STEPS || ++searched > SEARCHED_KEYS) {
			*is_sure = false;
			break;
		}
		if (kymo_likeness_hash(own->owner, own->tree, i) == hash)
			return i;
		if (has_unknown(own->tree, at(own->tree, i), 0))
			*is_sure = false;
	}
	*is_sure = *is_sure && !pairs->is_cut;
	return 0;
}

/* One side has a key that the other is known not to have. */
static bool has_lonely_key(struct comparing *comparing, const struct kymo_value *pairs, size_t side, const struct kymo_value *others)
{
	const struct kymo_value_tree *tree = comparing->sides[side].tree;

	for (uint32_t i = pairs->first; at(tree, i) && at(tree, i)->next; i = at(tree, at(tree, i)->next)->next) {
		bool is_sure = true;

		if (!is_ignored(comparing, side, i) && !find_key(comparing, others, 1 - side, i, 0, &is_sure) && is_sure)
			return true;
	}
	return false;
}

static enum kymo_likeness compare_pairs(struct comparing *comparing, uint32_t left, uint32_t right, unsigned level)
{
	const struct kymo_value *a = node(comparing, 0, left), *b = node(comparing, 1, right);
	enum kymo_likeness all = a->is_cut || b->is_cut ? KYMO_NOT_KNOWN : KYMO_ALIKE;
	const struct kymo_value_tree *const trees[] = {comparing->sides[0].tree, comparing->sides[1].tree};
	uint32_t hint = a->first;
	size_t length = comparing->length;
	bool has_lonely = a->count != b->count, is_sure = true;

	for (uint32_t j = b->first; at(trees[1], j) && at(trees[1], j)->next; j = at(trees[1], at(trees[1], j)->next)->next) {
		uint32_t i = find_key(comparing, a, 0, j, hint, &is_sure);
		enum kymo_likeness one;

		hint = hint && at(trees[0], hint) && at(trees[0], at(trees[0], hint)->next) ? at(trees[0], at(trees[0], hint)->next)->next
											     : 0;
		if (!i) {
			all = KYMO_NOT_KNOWN;
			continue;
		}
		if (is_ignored(comparing, 1, j))
			continue;
		put_key(comparing, j, b->kind == KYMO_VALUE_OBJECT);
		one = compare(comparing, at(trees[0], i)->next, at(trees[1], j)->next, level + 1);
		if (one == KYMO_NOT_ALIKE)
			return one;
		go_back(comparing, length);
		if (one == KYMO_NOT_KNOWN)
			all = one;
	}
	if (all && !has_lonely)
		has_lonely = has_lonely_key(comparing, a, 0, b) || has_lonely_key(comparing, b, 1, a);
	/* Attributes that were cut are not counted alike by all layouts of objects. */
	if (has_lonely && (a->kind == KYMO_VALUE_DICT || (!a->is_cut && !b->is_cut)))
		return differ(comparing, left, right);
	return all;
}

static enum kymo_likeness compare_insides(struct comparing *comparing, uint32_t left, uint32_t right, unsigned level)
{
	const struct kymo_value *a = node(comparing, 0, left), *b = node(comparing, 1, right);
	enum kymo_likeness texts;

	switch (a->kind) {
	case KYMO_VALUE_INT:
		return a->number == b->number ? KYMO_ALIKE : differ(comparing, left, right);
	case KYMO_VALUE_FLOAT:
	case KYMO_VALUE_COMPLEX:
		/* By their bits: NaN is like NaN, and 0.0 is not -0.0. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
		return memcmp(&a->real, &b->real, sizeof a->real) || memcmp(&a->imaginary, &b->imaginary, sizeof a->imaginary)
			       ? differ(comparing, left, right)
			       : KYMO_ALIKE;
	case KYMO_VALUE_LONG:
		if (a->is_negative != b->is_negative)
			return differ(comparing, left, right);
		/* fallthrough */
	case KYMO_VALUE_STR:
	case KYMO_VALUE_BYTES:
	case KYMO_VALUE_BYTEARRAY:
		return compare_texts(comparing, left, right);
	case KYMO_VALUE_SET:
	case KYMO_VALUE_FROZENSET:
		return compare_sets(comparing, left, right);
	case KYMO_VALUE_DICT:
	case KYMO_VALUE_OBJECT:
		return compare_pairs(comparing, left, right, level);
	case KYMO_VALUE_NAMED:
	case KYMO_VALUE_TEXT:
		return compare_texts(comparing, left, right);
	case KYMO_VALUE_ENUM:
	case KYMO_VALUE_ARRAY:
		if (a->shape_bytes != b->shape_bytes || (a->shape && b->shape && memcmp(a->shape, b->shape, a->shape_bytes) != 0))
			return differ(comparing, left, right);
		texts = a->text_bytes == b->text_bytes && (!a->text || !b->text || !memcmp(a->text, b->text, a->text_bytes))
				? KYMO_ALIKE
				: KYMO_NOT_ALIKE;
		return texts ? differ(comparing, left, right) : compare_lists(comparing, left, right, level);
	case KYMO_VALUE_TUPLE:
	case KYMO_VALUE_LIST:
	case KYMO_VALUE_RANGE:
	case KYMO_VALUE_SLICE:
	case KYMO_VALUE_EXCEPTION:
		return compare_lists(comparing, left, right, level);
	default:
		return KYMO_ALIKE;
	}
}

static enum kymo_likeness compare(struct comparing *comparing, uint32_t left, uint32_t right, unsigned level)
{
	const struct kymo_value *a = node(comparing, 0, left), *b = node(comparing, 1, right);
	uint64_t types[2];
	enum kymo_noise noise;

	if (is_unknown(a) || is_unknown(b) || ++comparing->steps > STEPS || level > LEVELS)
		return KYMO_NOT_KNOWN;
	if (a->kind == KYMO_VALUE_SEEN || b->kind == KYMO_VALUE_SEEN) {
		if (a->kind == KYMO_VALUE_SEEN)
			left = resolve(comparing->sides[0].tree, a);
		if (b->kind == KYMO_VALUE_SEEN)
			right = resolve(comparing->sides[1].tree, b);
		/* Two that hold themselves are alike as far as they were gone through. */
		if (a->kind == b->kind && level > LEVELS / 2)
			return KYMO_ALIKE;
		return left && right ? compare(comparing, left, right, level + 1) : KYMO_NOT_KNOWN;
	}
	types[0] = hash_type(comparing->sides[0].owner, a->type);
	types[1] = hash_type(comparing->sides[1].owner, b->type);
	if ((a->type && !types[0]) || (b->type && !types[1]))
		return KYMO_NOT_KNOWN;
	if (a->kind != b->kind || types[0] != types[1])
		return differ(comparing, left, right);
	noise = kymo_noise_of(comparing->sides[0].owner, a);
	if (noise && noise == kymo_noise_of(comparing->sides[1].owner, b))
		return KYMO_ALIKE;
	return compare_insides(comparing, left, right, level);
}

enum kymo_likeness kymo_values_compare(struct kymo_likeness_side sides[2], char path[KYMO_PATH_BYTES])
{
	struct comparing comparing = {.sides = sides, .path = path};

	*path = '\0';
	return compare(&comparing, sides[0].number, sides[1].number, 0);
}
