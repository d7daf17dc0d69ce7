// SPDX-License-Identifier: Apache-2.0
/* Tokens that were decoded again: the chunks that were looked at last, in parts of bounded size. */
#ifndef KYMO_REPLAY_DIFF_PAGES_H
#define KYMO_REPLAY_DIFF_PAGES_H

#include "replay/diff/thread_tree.h"

#define KYMO_PAGE_TOKENS (1U << 16)
#define KYMO_PAGES 32U

struct kymo_page {
	const struct kymo_thread_tree *tree; /* NULL: the page is free */
	size_t chunk; /* in index.chunks */
	uint32_t part; /* of the chunk: its tokens from this times KYMO_PAGE_TOKENS on */
	struct kymo_token *tokens;
	size_t count, capacity;
	bool has_more; /* the chunk has another part */
	unsigned users;
	uint64_t used; /* when */
};

struct kymo_pages {
	const struct kymo_forest *forest;
	struct kymo_page pages[KYMO_PAGES];
	uint64_t now;
	uint64_t decoded; /* tokens */
};

/* Have @part of @chunk of @tree; it stays until kymo_page_put().  NULL: reported. */
struct kymo_page *kymo_page_get(struct kymo_pages *pages, const struct kymo_thread_tree *tree, size_t chunk, uint32_t part,
				struct kymo_error *error);
static inline void kymo_page_put(struct kymo_page *page)
{
	if (page)
		page->users--;
}
void kymo_pages_release(struct kymo_pages *pages);

#endif
