// SPDX-License-Identifier: Apache-2.0
/*
 * What happens to a chunk that was taken: it is written, held until its segment has ended, or dropped.
 * Events that are not in the trace are counted, and reported by the thread's next frame, or at its
 * end.
 */
#ifndef KYMO_READER_STORE_H
#define KYMO_READER_STORE_H

#include "reader/image.h"

/* The definitions that the chunk needs must have been written, unless it is dropped. */
void kymo_store_chunk(struct kymo_reader *reader, struct kymo_image *image, uint32_t ring,
		      const struct kymo_chunk *chunk, bool is_snapshot);

/* Read the whole messages @bytes, at @position of the image's definitions: they may say how segments ended. */
void kymo_store_read_segments(struct kymo_reader *reader, struct kymo_image *image, uint64_t position,
			      const uint8_t *bytes, size_t length);

/* No more chunks will come: keep what is held, and define @end, whose threads are filled in here. */
void kymo_store_define_end(struct kymo_reader *reader, struct kymo_image *image, Kymo__ProcessEnd *end);

/* Free what the image holds. */
void kymo_store_forget(struct kymo_reader *reader, struct kymo_image *image);

#endif
