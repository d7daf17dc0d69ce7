// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/values/values.h"

/* The texts of a block's bindings, a line each; with names of types T1, T2 … */
static const char *texts_from(const uint8_t *payload, uint32_t at, uint32_t bytes)
{
	static char lines[1 << 16];
	struct kymo_value_tree tree = {0};
	struct {
		bool is_stop_iteration, is_record;
		char text[8];
	} names[] = {{false, false, "T1"}, {false, false, "type"}};
	struct kymo_definition defined[] = {{.id = 1, .value = &names[0]}, {.id = 2, .value = &names[1]}};
	struct kymo_traced_process process = {.names = {.items = defined, .count = 2, .capacity = 2}};
	char *line = lines;

	*lines = '\0';
	cr_assert_eq(kymo_value_tree_read(&tree, (struct kymo_values){payload, at, bytes}), 0);
	for (const struct kymo_value *value = kymo_value_at(&tree, 1); value; value = kymo_value_at(&tree, value->next)) {
		line += sprintf(line, "%s%d=", line == lines ? "" : "\n", (int)value->name);
		line += kymo_value_text(&tree, value, &process, line, sizeof lines - (size_t)(line - lines));
	}
	if (tree.is_damaged)
		strcpy(line, "!");
	kymo_value_tree_release(&tree);
	return lines;
}

#define TEXTS(...) texts_from((const uint8_t[]){0, __VA_ARGS__}, 0, sizeof((const uint8_t[]){0, __VA_ARGS__}))
#define ID 1, 2, 0, 0, 0, 0, 0, 0
#define K(kind) KYMO_VALUE_##kind

Test(values, bindings_are_told_in_their_order)
{
	cr_assert_str_eq(TEXTS(0, K(NONE), 1, K(TRUE), 6, K(INT), 5), "0=None\n1=True\n6=-3");
	cr_assert_str_eq(TEXTS(1, K(UNBOUND), 1, K(REDACTED), 1, K(CUT)), "1=<unbound>\n1=<redacted>\n1=<not recorded>");
	cr_assert_str_eq(texts_from(NULL, 0, 0), "");
}

Test(values, containers_are_shown_as_repr_has_them)
{
	cr_assert_str_eq(TEXTS(1, K(TUPLE), 0, 0), "1=()");
	cr_assert_str_eq(TEXTS(1, K(TUPLE), 1, 1, K(NONE)), "1=(None,)");
	cr_assert_str_eq(TEXTS(1, K(LIST), ID, 100, 2, K(INT), 2, K(INT), 4), "1=[1, 2, …+98]");
	cr_assert_str_eq(TEXTS(1, K(SET), ID, 0, 0), "1=set()");
	cr_assert_str_eq(TEXTS(1, K(FROZENSET), ID, 1, 1, K(INT), 2), "1=frozenset({1})");
	cr_assert_str_eq(TEXTS(1, K(DICT), ID, 3, 1, K(STR), 1, 1, 1, 'a', K(INT), 2), "1={'a': 1, …+2}");
	cr_assert_str_eq(TEXTS(1, K(RANGE), K(INT), 0, K(INT), 6, K(INT), 2), "1=range(0, 3)");
	cr_assert_str_eq(TEXTS(1, K(SLICE), K(NONE), K(INT), 6, K(NONE)), "1=slice(None, 3, None)");
}

Test(values, texts_are_shown_as_repr_has_them_and_cut_ones_with_what_is_missing)
{
	cr_assert_str_eq(TEXTS(1, K(STR), 232, 7, 3, 3, 'a', 'b', 'c'), "1='abc'…+997");
	cr_assert_str_eq(TEXTS(1, K(STR), 3, 3, 3, 'a', '\'', '\n'), "1=\"a'\\n\"");
	cr_assert_str_eq(TEXTS(1, K(STR), 2, 5, 5, 0xed, 0xb3, 0xbf, 0xc3, 0xa4), "1='\\udcffä'");
	cr_assert_str_eq(TEXTS(1, K(BYTES), 3, 3, 'a', 0xff, 0), "1=b'a\\xff\\x00'");
	cr_assert_str_eq(TEXTS(1, K(BYTEARRAY), ID, 9, 1, 'a'), "1=bytearray(b'a'…+8)");
}

Test(values, objects_are_told_by_type_and_identity)
{
	cr_assert_str_eq(TEXTS(1, K(OBJECT), 1, ID, 2, 1, K(STR), 1, 1, 1, 'x', K(INT), 2), "1=<T1 at 0x201: x=1, …+1>");
	cr_assert_str_eq(TEXTS(1, K(OBJECT), 9, ID, 0, 0), "1=<? at 0x201>");
	cr_assert_str_eq(TEXTS(1, K(SEEN), 1, ID), "1=<T1 at 0x201, shown before>");
	cr_assert_str_eq(TEXTS(1, K(NAMED), 2, ID, 1, 1, 'C'), "1=<class 'C'>");
	cr_assert_str_eq(TEXTS(1, K(NAMED), 1, ID, 1, 1, 'f'), "1=<T1 f at 0x201>");
	cr_assert_str_eq(TEXTS(1, K(TEXT), 1, 2, 2, '1', '0'), "1=T1('10')");
	cr_assert_str_eq(TEXTS(1, K(ENUM), 1, ID, 1, 1, 'R', K(INT), 2), "1=T1.R");
	cr_assert_str_eq(TEXTS(1, K(NOT_READ), 1, 3, 3, 'w', 'h', 'y'), "1=<T1, why>");
	cr_assert_str_eq(TEXTS(1, K(ARRAY), 1, ID, 2, 2, 'f', '4', 2, 2, 3, 6, 1, K(INT), 2), "1=<T1 f4 (2, 3): [1, …+5]>");
	cr_assert_str_eq(TEXTS(1, K(ARRAY), 1, ID, 13, 13, 'd', 'a', 't', 'e', 't', 'i', 'm', 'e', '6', '4', '[', 'D', ']', 1, 1, 1, 1, K(INT), 2),
			 "1=<T1 datetime64[D] (1,): [1970-01-02]>");
	cr_assert_str_eq(TEXTS(1, K(SUBCLASS), 1, K(INT), 2), "1=T1(1)");
}

Test(values, exceptions_are_told_with_what_they_came_from)
{
	cr_assert_str_eq(TEXTS(0, K(EXCEPTION), 1, ID, K(TUPLE), 1, 1, K(INT), 2, K(NONE), K(NONE), 0, 0), "0=T1(1)");
	cr_assert_str_eq(TEXTS(0, K(EXCEPTION), 1, ID, K(TUPLE), 0, 0, K(NONE), K(EXCEPTION), 1, ID, K(TUPLE), 0, 0, K(NONE), K(NONE), 0, 0, 1, 1,
			       K(STR), 1, 1, 1, 'x', K(INT), 2),
			 "0=<T1() at 0x201: x=1> while handling T1()");
	cr_assert_str_eq(TEXTS(0, K(EXCEPTION), 1, ID, K(TUPLE), 0, 0, K(SEEN), 1, ID, K(NONE), 0, 0), "0=T1() from <T1 at 0x201, shown before>");
}

Test(values, what_the_chunk_has_is_taken_from_there)
{
	/* an INT; a LIST with it; then a block with the list, itself, the INT */
	static const uint8_t payload[] = {0, 0, K(INT), 6, K(TUPLE), 1, 1, K(SAME), 2, /* 9: */ 0, 1, K(SAME), 4, 1, K(SAME), 11, 3, K(SAME), 2, 5, K(SAME), 7};

	cr_assert_str_eq(texts_from(payload, 9, sizeof payload - 9), "1=(3,)\n1=<not recorded>\n3=3\n5=<not recorded>!");
}

Test(values, of_a_damaged_block_what_came_before_is_told)
{
	cr_assert_str_eq(TEXTS(1, K(INT), 2, 3, K(TUPLE), 3, 3, K(INT), 4), "1=1\n3=(2, <not recorded>, …+1)!");
	cr_assert_str_eq(TEXTS(1, K(INT), 2, 3, 77, 1, 1), "1=1\n3=<not recorded>!");
	cr_assert_str_eq(TEXTS(1, K(STR), 9, 9, 9, 'a'), "1=<not recorded>!");
	cr_assert_str_eq(TEXTS(1, K(TUPLE), 1, 2, K(NONE)), "1=<not recorded>!");
}

Test(values, levels_have_a_limit)
{
	uint8_t block[1024] = {0, 1};
	struct kymo_value_tree tree = {0};
	uint32_t deepest = 0;

	for (int i = 0; i < 300; i++)
		memcpy(block + 2 + 3 * i, (uint8_t[]){K(TUPLE), 1, 1}, 3);
	block[902] = K(NONE);
	cr_assert_eq(kymo_value_tree_read(&tree, (struct kymo_values){block, 0, 903}), 0);
	cr_assert(tree.is_damaged);
	for (const struct kymo_value *value = kymo_value_at(&tree, 1); value; value = kymo_value_at(&tree, value->first))
		deepest++;
	cr_assert_eq(deepest, KYMO_VALUE_DEPTH + 1);
	kymo_value_tree_release(&tree);
}

Test(values, nodes_have_a_limit)
{
	/* tuples of what came before, twice each: 2^30 values */
	uint8_t block[512] = {K(NONE)};
	struct kymo_value_tree tree = {0};
	uint32_t at = 1, last = 0;

	for (int i = 0; i < 30; i++) {
		uint8_t pair[] = {K(TUPLE), 2, 2, K(SAME), (uint8_t)(0x80 | last), (uint8_t)(last >> 7), K(SAME), (uint8_t)(0x80 | last), (uint8_t)(last >> 7)};

		memcpy(block + at, pair, sizeof pair);
		last = at;
		at += sizeof pair;
	}
	memcpy(block + at, (uint8_t[]){0, 1, K(SAME), (uint8_t)(0x80 | last), (uint8_t)(last >> 7)}, 5);
	cr_assert_eq(kymo_value_tree_read(&tree, (struct kymo_values){block, at, 5}), 0);
	cr_assert(tree.is_damaged);
	cr_assert_gt(tree.count, KYMO_VALUE_NODES / 2);
	cr_assert_leq(tree.count, KYMO_VALUE_NODES);
	kymo_value_tree_release(&tree);
}

Test(values, a_text_that_does_not_fit_ends_with_a_whole_character)
{
	static const uint8_t block[] = {0, 1, K(STR), 2, 4, 4, 0xc3, 0xa4, 0xc3, 0xb6};
	struct kymo_value_tree tree = {0};
	char text[5] = "____";

	cr_assert_eq(kymo_value_tree_read(&tree, (struct kymo_values){block, 0, sizeof block}), 0);
	cr_assert_eq(kymo_value_text(&tree, kymo_value_at(&tree, 1), NULL, text, sizeof text), 6);
	cr_assert_str_eq(text, "'ä");
	kymo_value_tree_release(&tree);
}

Test(values, variables_have_the_names_of_their_code)
{
	struct kymo_content content = {.locals = "a\0b", .local_count = 2, .names = "g", .name_count = 1};
	struct kymo_code code = {.content = &content};

	cr_assert_str_eq(kymo_value_name(&code, KYMO_VALUES_LOCAL(1)), "b");
	cr_assert_str_eq(kymo_value_name(&code, KYMO_VALUES_GLOBAL(0)), "g");
	cr_assert_null(kymo_value_name(&code, KYMO_VALUES_OWN));
	cr_assert_null(kymo_value_name(&code, KYMO_VALUES_LOCAL(2)));
	cr_assert_null(kymo_value_name(&code, UINT64_MAX));
	cr_assert_null(kymo_value_name(NULL, 1));
}
