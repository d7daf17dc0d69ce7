// SPDX-License-Identifier: Apache-2.0
#include "replay/profile/export/packets.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

void kymo_packets_flush(struct kymo_packets *packets)
{
	fwrite_unlocked(packets->buffer, 1, packets->used, packets->out);
	packets->used = 0;
}

void kymo_pack_event(const struct kymo_packets *packets, const Perfetto__TrackEvent *event, struct kymo_packed *packed)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	packet.has_trusted_packet_sequence_id = packet.has_sequence_flags = true;
	packet.trusted_packet_sequence_id = packets->sequence;
	packet.sequence_flags = PERFETTO__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE;
	packet.track_event = (Perfetto__TrackEvent *)(uintptr_t)event;
	assert(perfetto__trace_packet__get_packed_size(&packet) <= KYMO_PACKED_BYTES);
	packed->length = (uint8_t)perfetto__trace_packet__pack(&packet, packed->bytes);
}

int kymo_put_packet(struct kymo_packets *packets, const Perfetto__TracePacket *packet, struct kymo_error *error)
{
	Perfetto__Trace trace = PERFETTO__TRACE__INIT;
	Perfetto__TracePacket *only = (Perfetto__TracePacket *)(uintptr_t)packet;
	uint8_t *bytes;
	size_t length;

	trace.n_packet = 1;
	trace.packet = &only;
	length = perfetto__trace__get_packed_size(&trace);
	bytes = malloc(length);
	if (!bytes)
		return kymo_fail(error, -ENOMEM, "out of memory");
	perfetto__trace__pack(&trace, bytes);
	kymo_packets_flush(packets);
	fwrite_unlocked(bytes, 1, length, packets->out);
	free(bytes);
	return 0;
}

int kymo_put_event(struct kymo_packets *packets, Perfetto__TrackEvent *event, int64_t t_ns, struct kymo_error *error)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	packet.has_timestamp = packet.has_trusted_packet_sequence_id = packet.has_sequence_flags = true;
	packet.timestamp = (uint64_t)(t_ns - packets->last_ns);
	packet.trusted_packet_sequence_id = packets->sequence;
	packet.sequence_flags = PERFETTO__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE;
	packet.track_event = event;
	packets->last_ns = t_ns;
	return kymo_put_packet(packets, &packet, error);
}
