// SPDX-License-Identifier: Apache-2.0
/* How the segments of a process ended, as its definitions say. */
#ifndef KYMO_READER_SEGMENTS_H
#define KYMO_READER_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many segments are remembered; chunks of older ones are kept. */
#define KYMO_SEGMENTS_KNOWN 65536U

enum kymo_fate {
	KYMO_FATE_KEPT, /* or it lies in no segment */
	KYMO_FATE_DROPPED,
	KYMO_FATE_OPEN, /* not decided */
};

/* Zero at the start of a process. */
struct kymo_segments {
	uint64_t read;     /* position in the definitions stream up to which they were read */
	uint64_t others;   /* end of the last message that is about something else */
	uint64_t ended;    /* the last one */
	uint8_t *dropped;  /* bit N % KYMO_SEGMENTS_KNOWN; NULL: none was */
};

/* Read the whole messages @bytes, at @position of the stream.  True if a segment has ended. */
bool kymo_segments_read(struct kymo_segments *segments, uint64_t position, const uint8_t *bytes, size_t length);

/* What becomes of a chunk of @segment. */
enum kymo_fate kymo_segments_fate(const struct kymo_segments *segments, uint64_t segment);

void kymo_segments_free(struct kymo_segments *segments);

#endif
