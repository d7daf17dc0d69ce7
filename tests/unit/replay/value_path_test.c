// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "replay/values/value_path.h"

#define ID 1, 2, 0, 0, 0, 0, 0, 0
#define K(kind) KYMO_VALUE_##kind

/* {'tea': [1, 2, …+3], 7: <object .x=3, .itself=SEEN>}, then None and a value that is left out */
static const uint8_t block[] = {
	0,
	1, K(DICT), ID, 4, 2,
	K(STR), 3, 3, 3, 't', 'e', 'a', K(LIST), 9, 2, 0, 0, 0, 0, 0, 0, 5, 2, K(INT), 2, K(INT), 4,
	K(INT), 14, K(OBJECT), 0, 8, 2, 0, 0, 0, 0, 0, 0, 2, 2,
	K(STR), 1, 1, 1, 'x', K(INT), 6, K(STR), 6, 6, 6, 'i', 't', 's', 'e', 'l', 'f', K(SEEN), 0, 8, 2, 0, 0, 0, 0, 0, 0,
	3, K(NONE),
	5, K(CUT),
};

/* Where @path leads from binding @number, from 0: its text, or what is wrong. */
static const char *follow(uint32_t number, const char *path)
{
	static const struct kymo_traced_process nobody;
	static char text[256];
	struct kymo_value_tree tree = {0};
	struct kymo_error error;
	uint32_t node = 1, found;
	char whole[64];

	cr_assert_eq(kymo_value_tree_read(&tree, (struct kymo_values){block, 0, sizeof block}), 0);
	cr_assert_not(tree.is_damaged);
	while (number--)
		node = kymo_value_at(&tree, node)->next;
	snprintf(whole, sizeof whole, "d%s", path);
	if (kymo_value_path(&tree, node, whole, whole + 1, &found, &error))
		strcpy(text, error.message);
	else
		kymo_value_text(&tree, kymo_value_at(&tree, found), &nobody, text, sizeof text);
	kymo_value_tree_release(&tree);
	return text;
}

Test(value_path, it_leads_to_items_and_attributes)
{
	cr_assert_str_eq(follow(0, "['tea'][1]"), "2");
	cr_assert_str_eq(follow(0, " [ \"t\\x65a\" ] [0] "), "1");
	cr_assert_str_eq(follow(0, "[7].x"), "3");
	cr_assert_str_eq(follow(0, "[7].itself.itself.x"), "3");
	cr_assert_str_eq(follow(1, ""), "None");
	cr_assert_str_eq(follow(2, ""), "<not recorded>");
}

Test(value_path, what_is_not_there_is_told)
{
	cr_assert_str_eq(follow(0, "['tea'][2]"), "d['tea'] has no [2] that was recorded: it is cut, 2 of 5 items were");
	cr_assert_str_eq(follow(0, "['tea'][-1]"), "d['tea'] has no [-1] that was recorded: it is cut, 2 of 5 items were");
	cr_assert_str_eq(follow(0, "['tea'][-5]"), "1");
	cr_assert_str_eq(follow(0, "['tea'][-6]"), "d['tea'] has no [-6] that was recorded: it is cut, 2 of 5 items were");
	cr_assert_str_eq(follow(0, "['te']"), "d has no ['te'] that was recorded: it is cut, 2 of 4 items were");
	cr_assert_str_eq(follow(0, "[7].y"), "d[7] has no .y");
	cr_assert_str_eq(follow(1, ".x"), "d has no .x");
	cr_assert_str_eq(follow(2, ".x"), "d was not recorded: a limit of --values-limits left it out");
}

Test(value_path, what_is_no_path_is_refused)
{
	static const char *const paths[] = {".", "..", "[", "[]", "[0", "['", "['a", "[\"\\", "['\\u00']", "[+1]", "[0x1]", "()", " x", "[99999999999999999999]"};

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct kymo_error error;
		char whole[64];

		snprintf(whole, sizeof whole, "d%s", paths[i]);
		cr_assert_lt(kymo_value_path_check(whole, whole + 1, &error), 0, "%s", paths[i]);
		cr_assert(strstr(error.message, "is wanted at"), "%s", error.message);
	}
}

Test(value_path, hashes_are_of_all_that_was_recorded)
{
	static const uint8_t blocks[][16] = {
		{0, 1, K(INT), 2}, {0, 1, K(INT), 4}, {0, 1, K(FLOAT), 0, 0, 0, 0, 0, 0, 240, 63}, {0, 1, K(TRUE)},
		{0, 1, K(TUPLE), 1, 1, K(TRUE)}, {0, 1, K(TUPLE), 2, 1, K(TRUE)}, {0, 1, K(STR), 1, 1, 1, 'a'}, {0, 1, K(STR), 1, 1, 1, 'b'},
	};
	static const uint8_t sizes[] = {4, 4, 11, 3, 6, 6, 7, 7};
	uint64_t hashes[8];

	for (size_t i = 0; i < 8; i++) {
		struct kymo_value_tree tree = {0};

		cr_assert_eq(kymo_value_tree_read(&tree, (struct kymo_values){blocks[i], 0, sizes[i]}), 0);
		hashes[i] = kymo_value_hash(&tree, 1);
		cr_assert_eq(hashes[i], kymo_value_hash(&tree, 1));
		for (size_t k = 0; k < i; k++)
			cr_assert_neq(hashes[k], hashes[i], "%zu and %zu", k, i);
		kymo_value_tree_release(&tree);
	}
}
