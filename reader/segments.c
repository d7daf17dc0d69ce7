// SPDX-License-Identifier: Apache-2.0
#include "reader/segments.h"

#include <stdlib.h>
#include <string.h>

#include "format/unpack.h"
#include "format/varint.h"

/* Definition.segment_end, field 11, length-delimited. */
#define SEGMENT_END_KEY (11U << 3 | 2U)

static void set(struct kymo_segments *segments, uint64_t segment, bool is_dropped)
{
	uint8_t *byte = &segments->dropped[segment % KYMO_SEGMENTS_KNOWN / 8];
	uint8_t bit = (uint8_t)(1U << segment % 8);

	*byte = is_dropped ? *byte | bit : (uint8_t)(*byte & ~bit);
}

/* Those in between, whose end could not be written, were kept. */
static void end(struct kymo_segments *segments, uint64_t segment, bool is_kept)
{
	if (segment <= segments->ended)
		return;
	if (!segments->dropped && !is_kept)
		segments->dropped = calloc(1, KYMO_SEGMENTS_KNOWN / 8);
	if (segments->dropped && segment - segments->ended >= KYMO_SEGMENTS_KNOWN)
		memset(segments->dropped, 0, KYMO_SEGMENTS_KNOWN / 8);
	else if (segments->dropped)
		for (uint64_t between = segments->ended + 1; between < segment; between++)
			set(segments, between, false);
	if (segments->dropped)
		set(segments, segment, !is_kept);
	segments->ended = segment;
}

bool kymo_segments_read(struct kymo_segments *segments, uint64_t position, const uint8_t *bytes, size_t length)
{
	size_t at = segments->read > position ? segments->read - position : 0, n;
	bool has_ended = false;
	uint64_t message;

	while (at < length && (n = kymo_varint_get(bytes + at, length - at, &message)) && message <= length - at - n) {
		const uint8_t *body = bytes + at + n;
		Kymo__Definition *definition = NULL;

		if (message && *body == SEGMENT_END_KEY && kymo_unpack(body, message, &definition, NULL))
			definition = NULL;
		if (definition && definition->kind_case == KYMO__DEFINITION__KIND_SEGMENT_END) {
			end(segments, definition->segment_end->segment, definition->segment_end->keep);
			has_ended = true;
		} else {
			segments->others = position + at + n + message;
		}
		if (definition)
			kymo__definition__free_unpacked(definition, NULL);
		at += n + message;
		segments->read = position + at;
	}
	return has_ended;
}

enum kymo_fate kymo_segments_fate(const struct kymo_segments *segments, uint64_t segment)
{
	if (segment > segments->ended)
		return KYMO_FATE_OPEN;
	if (!segment || !segments->dropped || segments->ended - segment >= KYMO_SEGMENTS_KNOWN)
		return KYMO_FATE_KEPT;
	return segments->dropped[segment % KYMO_SEGMENTS_KNOWN / 8] >> segment % 8 & 1 ? KYMO_FATE_DROPPED :
										     KYMO_FATE_KEPT;
}

void kymo_segments_free(struct kymo_segments *segments)
{
	free(segments->dropped);
	*segments = (struct kymo_segments){0};
}
