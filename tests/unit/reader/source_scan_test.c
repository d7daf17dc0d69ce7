// SPDX-License-Identifier: Apache-2.0
/* What is found in definitions without unpacking them, against what protobuf-c makes of them. */
#include "reader/source_scan.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "format/metadata.pb-c.h"
#include "format/varint.h"

struct stream {
	uint8_t bytes[4096];
	size_t length;
};

static void add(struct stream *stream, const Kymo__Definition *definition)
{
	stream->length += kymo_varint_put(stream->bytes + stream->length,
					  kymo__definition__get_packed_size(definition));
	stream->length += kymo__definition__pack(definition, stream->bytes + stream->length);
}

static void add_content(struct stream *stream, const char *file, const char *bytecode, const char *line_table)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__Content content = KYMO__CONTENT__INIT;

	content.id = 7;
	content.file = (char *)(uintptr_t)file;
	content.name = (char *)(uintptr_t)"f";
	content.first_line = 1000;
	content.bytecode = (ProtobufCBinaryData){strlen(bytecode), (uint8_t *)(uintptr_t)bytecode};
	content.line_table = (ProtobufCBinaryData){strlen(line_table), (uint8_t *)(uintptr_t)line_table};
	definition.kind_case = KYMO__DEFINITION__KIND_CONTENT;
	definition.content = &content;
	add(stream, &definition);
}

static void add_others(struct stream *stream)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__Process process = KYMO__PROCESS__INIT;
	Kymo__Code code = KYMO__CODE__INIT;

	definition.kind_case = KYMO__DEFINITION__KIND_PROCESS;
	process.pid = 4711;
	definition.process = &process;
	add(stream, &definition);
	definition.kind_case = KYMO__DEFINITION__KIND_CODE;
	code.id = 300;
	definition.code = &code;
	add(stream, &definition);
}

static bool is(struct kymo_bytes bytes, const char *text)
{
	return bytes.bytes == strlen(text) && !memcmp(bytes.at, text, bytes.bytes);
}

Test(source_scan, finds_contents_and_the_process)
{
	struct stream stream = {0};
	struct kymo_scan scan = {.stream = {stream.bytes, 0}};
	Kymo__Process *process;

	add_others(&stream);
	add_content(&stream, "a.py", "code", "table");
	add_content(&stream, "b.py", "", "");
	scan.stream.bytes = stream.length;
	cr_assert(kymo_scan_next(&scan));
	process = kymo__process__unpack(NULL, scan.process.bytes, scan.process.at);
	cr_assert_eq(process->pid, 4711);
	kymo__process__free_unpacked(process, NULL);
	cr_assert(kymo_scan_next(&scan));
	cr_assert_eq(scan.process.bytes + scan.file.bytes, 0);
	cr_assert(kymo_scan_next(&scan));
	cr_assert(is(scan.file, "a.py") && is(scan.bytecode, "code") && is(scan.line_table, "table"));
	cr_assert(kymo_scan_next(&scan));
	cr_assert(is(scan.file, "b.py") && !scan.bytecode.bytes && !scan.line_table.bytes);
	cr_assert_not(kymo_scan_next(&scan));
}

Test(source_scan, stays_within_what_it_is_given)
{
	struct stream stream = {0};

	add_others(&stream);
	add_content(&stream, "a.py", "code", "table");
	for (size_t length = 0; length <= stream.length; length++) {
		for (unsigned change = 0; change < 256; change += 15) {
			/* Of its own size, so that AddressSanitizer sees a step too far. */
			uint8_t *copy = malloc(length);
			struct kymo_scan scan = {.stream = {copy, length}};

			memcpy(copy, stream.bytes, length);
			if (length)
				copy[length / 2] ^= (uint8_t)change;
			while (kymo_scan_next(&scan))
				cr_assert_leq(scan.file.bytes + scan.bytecode.bytes, length);
			free(copy);
		}
	}
}

Test(source_scan, of_code_whose_text_the_process_kept_no_file_is_named)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__Content content = KYMO__CONTENT__INIT;
	struct stream stream = {0};
	struct kymo_scan scan = {.stream = {stream.bytes, 0}};

	content.file = (char *)(uintptr_t)"a.py";
	content.bytecode = (ProtobufCBinaryData){1, (uint8_t *)(uintptr_t)"x"};
	content.source = 300;
	definition.kind_case = KYMO__DEFINITION__KIND_CONTENT;
	definition.content = &content;
	add(&stream, &definition);
	add_content(&stream, "b.py", "code", "table");
	scan.stream.bytes = stream.length;
	cr_assert(kymo_scan_next(&scan));
	cr_assert(!scan.file.bytes && !scan.bytecode.bytes && !scan.line_table.bytes);
	cr_assert(kymo_scan_next(&scan));
	cr_assert(is(scan.file, "b.py"));
}
