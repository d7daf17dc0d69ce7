// SPDX-License-Identifier: Apache-2.0
/*
 * Writing Perfetto's packets, one sequence after the other.
 *
 * Most packets of a function differ only in their time. So what follows the time is packed once for each function, by protobuf-c,
 * and copied.
 */
#ifndef KYMO_REPLAY_PROFILE_EXPORT_PACKETS_H
#define KYMO_REPLAY_PROFILE_EXPORT_PACKETS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "replay/profile/export/perfetto.pb-c.h"
#include "format/error.h"

#define KYMO_PACKED_BYTES 34

/* A packet without its time. */
struct kymo_packed {
	uint8_t length;
	uint8_t bytes[KYMO_PACKED_BYTES];
};

#define KYMO_PACKETS_BUFFER 65536
/* Upper limit for a packet with a packed rest. */
#define KYMO_PACKET_MAX (KYMO_PACKED_BYTES + 16)

struct kymo_packets {
	FILE *out;
	uint32_t sequence;
	int64_t last_ns; /* of this sequence: times are written as differences */
	size_t used;
	uint8_t buffer[KYMO_PACKETS_BUFFER];
};

/* Write what was put so far to @out. */
void kymo_packets_flush(struct kymo_packets *packets);

/* Pack @event as a packet of the sequence, without a time.  It must be short. */
void kymo_pack_event(const struct kymo_packets *packets, const Perfetto__TrackEvent *event, struct kymo_packed *packed);

/* Put @packet, of the sequence, as it is. */
int kymo_put_packet(struct kymo_packets *packets, const Perfetto__TracePacket *packet, struct kymo_error *error);

/* Put @event at @t_ns, whatever its length. */
int kymo_put_event(struct kymo_packets *packets, Perfetto__TrackEvent *event, int64_t t_ns, struct kymo_error *error);

static inline void kymo_put_packed(struct kymo_packets *packets, const struct kymo_packed *packed, int64_t t_ns)
{
	uint64_t delta = (uint64_t)(t_ns - packets->last_ns);
	uint8_t *start, *at;

	if (packets->used + KYMO_PACKET_MAX > sizeof packets->buffer)
		kymo_packets_flush(packets);
	start = packets->buffer + packets->used;
	start[0] = 1 << 3 | 2; /* Trace.packet, of the length that follows */
	start[2] = 8 << 3;     /* TracePacket.timestamp */
	for (at = start + 3; delta >= 0x80; delta >>= 7)
		*at++ = (uint8_t)delta | 0x80;
	*at++ = (uint8_t)delta;
	memcpy(at, packed->bytes, KYMO_PACKED_BYTES);
	at += packed->length;
	start[1] = (uint8_t)(at - start - 2);
	packets->used += (size_t)(at - start);
	packets->last_ns = t_ns;
}

#endif
