// SPDX-License-Identifier: Apache-2.0
/* Where producers live: many of them, used again, and gone in a forked child. */
#include "recorder/cells.h"

#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CELLS = 2000 }; /* several blocks */

static struct kymo_producer *cells[CELLS];

static void take_all(void)
{
	cr_assert_not(kymo_cells_are_live());
	cr_assert_eq(kymo_cells_init(), 0);
	for (int i = 0; i < CELLS; i++) {
		cells[i] = kymo_cell_take();
		cr_assert(cells[i]);
		cells[i]->ordinal = (uint64_t)i;
	}
}

TestSuite(cells, .init = take_all, .timeout = 20);

static int count(void)
{
	int found = 0;

	for (struct kymo_producer *p = kymo_cell_next(NULL); p; p = kymo_cell_next(p))
		found++;
	return found;
}

Test(cells, each_is_its_own_and_all_are_found)
{
	int i = 0;

	for (struct kymo_producer *p = kymo_cell_next(NULL); p; p = kymo_cell_next(p), i++) {
		cr_assert_eq(p, cells[i]);
		cr_assert_eq(p->ordinal, (uint64_t)i);
		cr_assert_eq((uintptr_t)p % 64, 0, "three whole cache lines");
	}
	cr_assert_eq(i, CELLS);
}

Test(cells, a_returned_one_is_not_found_and_comes_back_empty)
{
	for (int i = 0; i < CELLS; i += 2)
		kymo_cell_return(cells[i]);
	cr_assert_eq(count(), CELLS / 2);
	for (int i = 0; i < CELLS; i += 2) {
		struct kymo_producer *p = kymo_cell_take();

		cr_assert_eq(p, cells[i], "the lowest free one");
		cr_assert_eq(p->ordinal, 0);
		cr_assert_eq(p->in_use, 1);
	}
	cr_assert_eq(count(), CELLS);
}

/* In a child: the old cells are empty, and stay with the threads that point to them. */
static int look_in_child(void)
{
	struct kymo_producer *fresh;

	if (kymo_cells_are_live())
		return 1;
	for (int i = 0; i < CELLS; i++) {
		if (cells[i]->in_use || cells[i]->ordinal || cells[i]->limit)
			return 2;
	}
	if (kymo_cells_init() < 0 || !kymo_cells_are_live() || count() != 0)
		return 3;
	fresh = kymo_cell_take();
	for (int i = 0; i < CELLS; i++) {
		if (!fresh || fresh == cells[i])
			return 4;
	}
	cells[7]->in_use = 1; /* the thread that forked enrolls in the cell it has */
	return count() == 2 ? 0 : 5;
}

Test(cells, a_forked_child_finds_them_empty)
{
	int status;

	if (fork() == 0)
		_exit(look_in_child());
	wait(&status);
	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0, "step %d", WEXITSTATUS(status));
	cr_assert_eq(count(), CELLS, "the parent keeps its own");
}
