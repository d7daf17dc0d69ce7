// SPDX-License-Identifier: Apache-2.0
#include "replay/diff/pages.h"

#include <errno.h>
#include <stdlib.h>

struct filling {
	struct kymo_page *page;
	size_t skip;
	bool is_short;
};

static bool take(void *context, const struct kymo_token_run *run)
{
	struct filling *filling = context;
	struct kymo_page *page = filling->page;

	for (size_t i = 0; i < run->count; i++) {
		if (filling->skip) {
			filling->skip--;
			continue;
		}
		if (page->count == KYMO_PAGE_TOKENS) {
			page->has_more = true;
			return false;
		}
		if (kymo_grow(&page->tokens, &page->capacity, page->count + 1, sizeof *page->tokens)) {
			filling->is_short = true;
			return false;
		}
		page->tokens[page->count++] = run->tokens[i];
	}
	return true;
}

static int fill(struct kymo_pages *pages, struct kymo_page *page, struct kymo_error *error)
{
	struct filling filling = {.page = page, .skip = (size_t)page->part * KYMO_PAGE_TOKENS};
	const struct kymo_token_walking walking = {
		.side = &pages->forest->side,
		.range = page->tree->range,
		.first_chunk = page->chunk,
		.end_chunk = page->chunk + 1,
		.depths = page->tree->depths,
		.take = take,
		.context = &filling,
	};
	int result = kymo_tokens_walk(&walking, error);

	pages->decoded += page->count + (size_t)page->part * KYMO_PAGE_TOKENS;
	return filling.is_short ? kymo_fail(error, -ENOMEM, "out of memory") : result;
}

struct kymo_page *kymo_page_get(struct kymo_pages *pages, const struct kymo_thread_tree *tree, size_t chunk, uint32_t part,
				struct kymo_error *error)
{
	struct kymo_page *oldest = NULL;

	for (size_t i = 0; i < KYMO_PAGES; i++) {
		struct kymo_page *page = &pages->pages[i];

		if (page->tree == tree && page->chunk == chunk && page->part == part) {
			page->users++;
			page->used = ++pages->now;
			return page;
		}
		if (!page->users && (!oldest || page->used < oldest->used))
			oldest = page;
	}
	if (!oldest) {
		kymo_fail(error, -ENOBUFS, "all pages are in use");
		return NULL;
	}
	oldest->tree = tree;
	oldest->chunk = chunk;
	oldest->part = part;
	oldest->count = 0;
	oldest->has_more = false;
	oldest->used = ++pages->now;
	if (fill(pages, oldest, error)) {
		oldest->tree = NULL;
		return NULL;
	}
	oldest->users = 1;
	return oldest;
}

void kymo_pages_release(struct kymo_pages *pages)
{
	for (size_t i = 0; i < KYMO_PAGES; i++)
		free(pages->pages[i].tokens);
}
