// SPDX-License-Identifier: Apache-2.0
#include "recorder/cells.h"

#include <errno.h>
#include <sys/mman.h>

enum {
	BLOCK_BYTES = 256 * 1024,
	BLOCK_CELLS = BLOCK_BYTES / sizeof(struct kymo_producer),
	MAX_BLOCKS = 4096,
};

/* The table itself survives a fork; the blocks it names are zero then.  Cell 0 of
 * block 0 is never handed out: its in_use is the live word. */
static struct kymo_producer *blocks[MAX_BLOCKS];
static uint32_t block_count;
static uint32_t first_free; /* no cell below is handed out */
static uint32_t end;        /* cells from here on were never handed out */

static struct kymo_producer *cell_at(uint32_t index)
{
	return &blocks[index / BLOCK_CELLS][index % BLOCK_CELLS];
}

static uint32_t index_of(const struct kymo_producer *cell)
{
	for (uint32_t i = 0; i < block_count; i++) {
		if (cell >= blocks[i] && cell < blocks[i] + BLOCK_CELLS)
			return i * BLOCK_CELLS + (uint32_t)(cell - blocks[i]);
	}
	return 0;
}

static int add_block(void)
{
	void *block;

	if (block_count == MAX_BLOCKS)
		return -ENOMEM;
	block = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		return -errno;
	if (madvise(block, BLOCK_BYTES, MADV_WIPEONFORK) < 0) {
		int result = -errno;

		munmap(block, BLOCK_BYTES);
		return result;
	}
	blocks[block_count++] = block;
	return 0;
}

int kymo_cells_init(void)
{
	int result;

	if (kymo_cells_are_live())
		return 0;
	/* In a child, the thread that forked still points to its cell in an old block, and
	 * another thread may be the first to come here: so the old cells stay with their owners. */
	first_free = block_count * BLOCK_CELLS;
	result = add_block();
	if (result == 0)
		blocks[0]->in_use = 1;
	return result;
}

bool kymo_cells_are_live(void)
{
	return block_count && blocks[0]->in_use;
}

struct kymo_producer *kymo_cell_take(void)
{
	uint32_t index = first_free ? first_free : 1;

	while (index < block_count * BLOCK_CELLS && cell_at(index)->in_use)
		index++;
	if (index == block_count * BLOCK_CELLS && add_block() < 0)
		return NULL;
	*cell_at(index) = (struct kymo_producer){.in_use = 1};
	if (index >= end)
		end = index + 1;
	return cell_at(index);
}

void kymo_cell_return(struct kymo_producer *cell)
{
	*cell = (struct kymo_producer){0};
}

struct kymo_producer *kymo_cell_next(const struct kymo_producer *cell)
{
	for (uint32_t i = cell ? index_of(cell) + 1 : 1; i < end; i++) {
		if (cell_at(i)->in_use)
			return cell_at(i);
	}
	return NULL;
}
