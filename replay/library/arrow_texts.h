// SPDX-License-Identifier: Apache-2.0
/* All texts that rows of a trace may have, each once: the dictionaries of its batches. */
#ifndef KYMO_REPLAY_LIBRARY_ARROW_TEXTS_H
#define KYMO_REPLAY_LIBRARY_ARROW_TEXTS_H

#include <stddef.h>

#include "replay/library/arrow_columns.h"
#include "replay/trace/timeline.h"

/* In order; UTF-8, other bytes as \xNN. */
struct kymo_arrow_text_table {
	char **items; /* while they are gathered */
	size_t count, capacity;
	/* one after the other, as in Arrow */
	int32_t *offsets; /* count + 1 */
	char *bytes;
};

/* Shared by a stream and its batches; nothing of it changes once it is made. */
struct kymo_arrow_texts {
	_Atomic unsigned users;
	struct kymo_arrow_text_table tables[KYMO_ARROW_DICTIONARIES];
};

/* What the definitions of @timeline name.  NULL: no memory, or too much text for Arrow. */
struct kymo_arrow_texts *kymo_arrow_texts_new(const struct kymo_timeline *timeline);
void kymo_arrow_texts_use(struct kymo_arrow_texts *texts);
void kymo_arrow_texts_release(struct kymo_arrow_texts *texts);

/* The number of @text in @table; -1: it is NULL, or not there. */
int32_t kymo_arrow_text_find(const struct kymo_arrow_texts *texts, enum kymo_arrow_dictionary table, const char *text);

#endif
