// SPDX-License-Identifier: Apache-2.0
#include "reader/source_scan.h"

#include "format/metadata.pb-c.h"
#include "format/varint.h"

/* Numbers of fields in Content, as in metadata.proto; those of Definition are its kinds. */
enum { CONTENT_FILE = 2, CONTENT_BYTECODE = 7, CONTENT_LINE_TABLE = 8, CONTENT_SOURCE = 15 };

/* Protocol Buffers: how a field is encoded. */
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* Cut the next @bytes off @message. */
static bool cut(struct kymo_bytes *message, uint64_t bytes, struct kymo_bytes *part)
{
	if (bytes > message->bytes)
		return false;
	*part = (struct kymo_bytes){message->at, (size_t)bytes};
	message->at += bytes;
	message->bytes -= (size_t)bytes;
	return true;
}

static bool cut_number(struct kymo_bytes *message, uint64_t *number)
{
	size_t n = kymo_varint_get(message->at, message->bytes, number);
	struct kymo_bytes part;

	return n && cut(message, n, &part);
}

/* Cut off the next field; @value is empty if the field holds a number.  False: none is left, or it is malformed. */
static bool next_field(struct kymo_bytes *message, uint64_t *field, struct kymo_bytes *value)
{
	uint64_t key, number;

	*value = (struct kymo_bytes){0};
	if (!message->bytes || !cut_number(message, &key))
		return false;
	*field = key >> 3;
	switch (key & 7) {
	case WIRE_VARINT:
		return cut_number(message, &number);
	case WIRE_BYTES:
		return cut_number(message, &number) && cut(message, number, value);
	case WIRE_FIXED64:
	case WIRE_FIXED32:
		if (!cut(message, (key & 7) == WIRE_FIXED64 ? 8 : 4, value))
			return false;
		*value = (struct kymo_bytes){0};
		return true;
	default:
		return false;
	}
}

static void scan_content(struct kymo_scan *scan, struct kymo_bytes content)
{
	struct kymo_bytes value;
	uint64_t field;

	/* For code whose text the process kept, there is no file to read. */
	while (next_field(&content, &field, &value)) {
		if (field == CONTENT_SOURCE) {
			scan->file = scan->bytecode = scan->line_table = (struct kymo_bytes){0};
			return;
		}
		if (field == CONTENT_FILE)
			scan->file = value;
		else if (field == CONTENT_BYTECODE)
			scan->bytecode = value;
		else if (field == CONTENT_LINE_TABLE)
			scan->line_table = value;
	}
}

bool kymo_scan_next(struct kymo_scan *scan)
{
	struct kymo_bytes rest = {scan->stream.at + scan->at, scan->stream.bytes - scan->at}, message, value;
	uint64_t length, field;

	scan->process = scan->file = scan->bytecode = scan->line_table = (struct kymo_bytes){0};
	if (!cut_number(&rest, &length) || !cut(&rest, length, &message))
		return false;
	scan->at = scan->stream.bytes - rest.bytes;
	while (next_field(&message, &field, &value)) {
		if (field == KYMO__DEFINITION__KIND_PROCESS)
			scan->process = value;
		else if (field == KYMO__DEFINITION__KIND_CONTENT)
			scan_content(scan, value);
	}
	return true;
}
