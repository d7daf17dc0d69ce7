// SPDX-License-Identifier: Apache-2.0
/*
 * Rebuilding lines from hostile bytecode, tables and records.
 *
 * The input: a byte for the version, three lengths of two bytes (bytecode, line table, exception table), these, and then the
 * records of one chunk.  All code ids name that code.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/decode/flow_code.h"
#include "replay/decode/rebuild.h"

#define CHECK(condition) ((condition) ? (void)0 : abort())

struct input {
	const uint8_t *at;
	size_t left;
};

/* A copy of exactly so many bytes, where every one too many is seen; to be freed. */
static uint8_t *take(struct input *input, size_t bytes)
{
	uint8_t *copy;

	if (bytes > input->left)
		bytes = input->left;
	copy = malloc(bytes ? bytes : 1);
	CHECK(copy);
	memcpy(copy, input->at, bytes);
	input->at += bytes;
	input->left -= bytes;
	return copy;
}

static void check_steps(const struct kymo_rebuilt *out)
{
	for (uint32_t i = 0; i < out->step_count; i++) {
		const struct kymo_step *step = &out->steps[i];

		CHECK(out->steps_code);
		CHECK(step->unit < out->steps_code->content->bytecode_bytes / 2);
		CHECK(step->kind == KYMO_LINE || step->kind == KYMO_INSTRUCTION ||
		      (step->kind >= KYMO_JUMP && step->kind <= KYMO_BRANCH_RIGHT));
	}
}

static void replay(struct kymo_rebuild *rebuild, const uint8_t *records, size_t bytes)
{
	struct kymo_sync sync = {.depth = 2, .listed = 2, .frames = {{1, 3}, {1, 1}}};
	struct kymo_record record;
	struct kymo_rebuilt out;
	size_t at = 0;

	kymo_rebuild_open(rebuild, &sync, false, &out);
	while (kymo_flow_record_decode(records + at, bytes - at, &record) == KYMO_DECODE_OK) {
		if (kymo_rebuild_take(rebuild, &record, records + at, &out))
			check_steps(&out);
		at += record.bytes;
	}
	if (kymo_rebuild_open(rebuild, &sync, true, &out))
		check_steps(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static Kymo__Process facts;
	struct input input = {data + 7, size - 7};
	struct kymo_content content = {.file = "f", .function = "f", .first_line = 1};
	struct kymo_code code = {.id = 1, .content_id = 1, .content = &content};
	struct kymo_definition defined = {.id = 1, .value = &code};
	struct kymo_traced_process process = {.definition = &facts, .codes = {&defined, 1, 1}};
	struct kymo_rebuild *rebuild;
	uint8_t *parts[3], *records;
	uint32_t lengths[3];

	if (size < 7)
		return 0;
	for (int i = 0; i < 3; i++) {
		lengths[i] = data[1 + 2 * i] | (uint32_t)data[2 + 2 * i] << 8;
		if (lengths[i] > input.left)
			lengths[i] = (uint32_t)input.left;
		parts[i] = take(&input, lengths[i]);
	}
	content.bytecode = parts[0], content.bytecode_bytes = lengths[0];
	content.line_table = parts[1], content.line_table_bytes = lengths[1];
	content.exception_table = parts[2], content.exception_table_bytes = lengths[2];
	facts.python_hex = 0x030c0000 + ((data[0] & 3U) << 16);
	code.entry_offset = data[0] >> 2;
	rebuild = kymo_rebuild_new(&process, UINT64_MAX);
	CHECK(rebuild);
	lengths[0] = (uint32_t)input.left;
	records = take(&input, input.left);
	replay(rebuild, records, lengths[0]);
	kymo_rebuild_free(rebuild);
	if (content.flow)
		content.release_flow(content.flow);
	free(content.lines);
	free(records);
	for (int i = 0; i < 3; i++)
		free(parts[i]);
	return 0;
}
