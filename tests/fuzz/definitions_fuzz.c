// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile definitions: the input is cut in three, the streams of the run, of a process, and of
 * another one, each in a sound frame of a sound trace; then everything is looked up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay/trace/line_table.h"
#include "replay/trace/sources.h"
#include "replay/decode/thread_cursor.h"

#define INPUT_BYTES 65536

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

static const uint64_t ids[] = {0, 1, 2, 3, 4, 5, 100, UINT32_MAX, UINT64_MAX};

struct file {
	uint8_t bytes[INPUT_BYTES + 4096];
	size_t size;
};

static void put_frame(struct file *out, struct kymo_frame_header *frame, const uint8_t *payload,
		      size_t bytes)
{
	frame->magic = KYMO_FRAME_MAGIC;
	frame->header_bytes = sizeof *frame;
	frame->stored_bytes = frame->raw_bytes = (uint32_t)bytes;
	frame->crc32c = kymo_frame_crc(frame, payload);
	memcpy(out->bytes + out->size, frame, sizeof *frame);
	memcpy(out->bytes + out->size + sizeof *frame, payload, bytes);
	out->size += sizeof *frame + bytes;
}

static void make_trace(struct file *out, const uint8_t *data, size_t size)
{
	static const uint8_t chunk[] = {0, 0, KYMO_TAG(KYMO_PY_START, 0), 1};
	struct kymo_trace_header header = {
		.version = KYMO_TRACE_VERSION,
		.header_bytes = sizeof header,
	};
	size_t cuts[] = {0, 0, 0, size};

	memcpy(header.magic, KYMO_TRACE_MAGIC, sizeof header.magic);
	header.crc32c = kymo_trace_header_crc(&header);
	memcpy(out->bytes, &header, sizeof header);
	out->size = sizeof header;
	if (size >= 4) {
		cuts[0] = 4;
		cuts[1] = 4 + (data[0] | (size_t)data[1] << 8) % (size - 3);
		cuts[2] = cuts[1] + (data[2] | (size_t)data[3] << 8) % (size - cuts[1] + 1);
	}
	for (uint32_t process = 0; process < 3; process++) {
		struct kymo_frame_header meta = {.kind = KYMO_FRAME_META, .process = process};
		struct kymo_frame_header events = {
			.kind = KYMO_FRAME_CHUNK,
			.process = process,
			.ring = 1,
			.thread = 1,
			.seq = 1,
			.first_ordinal = 1,
			.sync_bytes = 2,
			.branches = 1,
		};

		put_frame(out, &meta, data + cuts[process], cuts[process + 1] - cuts[process]);
		if (process)
			put_frame(out, &events, chunk, sizeof chunk);
	}
}

/* The length of an entry of a line table and its step, as CPython's locations.md has it;
 * 0: it is cut. */
static size_t measure_entry(const uint8_t *entry, size_t left, uint32_t *step)
{
	unsigned code = entry[0] >> 3 & 15, numbers = code == 14 ? 4 : code == 13;
	size_t bytes = code < 10 ? 2 : code < 13 ? 3 : 1;

	*step = code >= 10 && code < 13 ? code - 10 : 0;
	for (unsigned i = 0; i < numbers; i++) {
		uint32_t value = 0, shift = 0;

		do {
			if (bytes == left || shift > 30)
				return 0;
			value |= (entry[bytes] & 63U) << shift;
			shift += 6;
		} while (entry[bytes++] & 64);
		if (i == 0)
			*step = value & 1 ? 0U - (value >> 1) : value >> 1;
	}
	return bytes <= left ? bytes : 0;
}

/* Whole entries count, all of them up to the first that is not, and nothing else. */
static void check_table(const uint8_t *table, size_t bytes, uint32_t line)
{
	/* Of its own size, so that AddressSanitizer sees a step too far. */
	uint8_t *copy = malloc(bytes);
	struct kymo_content content = {
		.first_line = line,
		.line_table_bytes = (uint32_t)bytes,
		.line_table = copy,
	};
	struct kymo_code code = {.content = &content};
	size_t units = 0, length;
	uint32_t step;

	CHECK(copy);
	memcpy(copy, table, bytes);
	kymo_code_line(&code, 0); /* decodes it */
	while (bytes && table[0] & 128 && (length = measure_entry(table, bytes, &step))) {
		bool has_line = (table[0] >> 3 & 15) != 15;
		int32_t wanted;

		line += step;
		wanted = has_line && line <= INT32_MAX ? (int32_t)line : KYMO_LINE_NONE;
		CHECK(kymo_code_line(&code, units) == wanted);
		units += (table[0] & 7) + 1U;
		CHECK(kymo_code_line(&code, units - 1) == wanted);
		table += length;
		bytes -= length;
	}
	CHECK(content.units == units);
	free(content.lines);
	free(copy);
}

/* The table as it is, and cut a little. */
static void check_lines(const struct kymo_content *content)
{
	size_t bytes = content->line_table_bytes;

	for (size_t cut = 0; cut <= 8 && cut <= bytes; cut++)
		check_table(content->line_table, bytes - cut, content->first_line);
}

static void look_up(struct kymo_timeline *timeline, const struct kymo_traced_process *process)
{
	size_t ancestors = 0;

	/* A process is not its own ancestor: what is inherited is looked for in all of them. */
	for (const struct kymo_traced_process *at = process->parent; at; at = at->parent)
		CHECK(++ancestors < timeline->definitions.process_count);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		const struct kymo_code *code = kymo_traced_code(process, ids[i]);
		const char *name = kymo_traced_name(process, ids[i]);
		const char *text = kymo_traced_text(process, ids[i]);

		kymo_clock_ns(&timeline->clock, ids[i]);
		kymo_traced_thread(process, (uint32_t)ids[i]);
		CHECK(!name || strlen(name) <= INPUT_BYTES);
		CHECK(!text || strlen(text) <= INPUT_BYTES);
		if (code && !code->content->lines)
			check_lines(code->content);
		for (size_t n = 0; code && n < sizeof ids / sizeof *ids; n++)
			kymo_code_line(code, ids[n]);
	}
}

/* Line by line it is the text, but for the ends of the lines. */
static void check_source(const struct kymo_source *source)
{
	size_t at = 0, bytes;
	const char *line;

	CHECK(source->bytes <= INPUT_BYTES && (!source->missing || !source->text));
	for (uint64_t number = 1; (line = kymo_source_line(source, number, &bytes)); number++) {
		CHECK(line == source->text + at && !memchr(line, '\n', bytes) && !memchr(line, '\r', bytes));
		at += bytes;
		if (at < source->bytes)
			at += source->text[at] == '\r' && source->text[at + 1] == '\n' ? 2 : 1;
	}
	CHECK(at == source->bytes);
}

/* The text of @content; of code that is in no file, it is one that a process kept by this name. */
static void read_kept(struct kymo_timeline *timeline, const struct kymo_traced_process *process, const struct kymo_content *content)
{
	const struct kymo_source_place *place = kymo_content_source_place(&timeline->definitions, process, content);
	struct kymo_source source;

	CHECK(!place || (place->id == content->source && !strcmp(place->file, content->file)));
	CHECK(!place || !content->source || place->process);
	if (place && !kymo_content_source(timeline, process, content, &source, NULL)) {
		check_source(&source);
		kymo_source_release(&source);
	}
}

static void read_sources(struct kymo_timeline *timeline)
{
	const struct kymo_definitions *definitions = &timeline->definitions;
	struct kymo_source source;

	for (size_t i = 0; i < definitions->source_count; i++) {
		const struct kymo_source_place *place = &definitions->sources[i];

		CHECK(!kymo_source_load(timeline, place, &source, NULL));
		CHECK(source.bytes == place->bytes);
		check_source(&source);
		kymo_source_release(&source);
		CHECK(place->process || !kymo_traced_source(timeline, NULL, place->file, &source, NULL));
		if (!place->process)
			kymo_source_release(&source);
		for (size_t n = 0; n < definitions->process_count; n++)
			if (!kymo_traced_source(timeline, &definitions->processes[n], place->file, &source, NULL))
				kymo_source_release(&source);
	}
	for (size_t n = 0; n < definitions->process_count; n++)
		for (size_t i = 0; i < definitions->processes[n].contents.count; i++)
			read_kept(timeline, &definitions->processes[n], definitions->processes[n].contents.items[i].value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct file trace;
	static int file = -1;
	struct kymo_timeline timeline;
	struct kymo_error error;
	char path[64];

	if (size > INPUT_BYTES)
		return 0;
	if (file < 0)
		file = memfd_create("trace", MFD_CLOEXEC);
	make_trace(&trace, data, size);
	if (ftruncate(file, 0) ||
	    pwrite(file, trace.bytes, trace.size, 0) != (ssize_t)trace.size)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	if (kymo_timeline_open(&timeline, path, 0, &error))
		abort(); /* the trace itself is sound */
	for (size_t i = 0; i < timeline.definitions.process_count; i++)
		look_up(&timeline, &timeline.definitions.processes[i]);
	read_sources(&timeline);
	for (size_t i = 0; i < timeline.stream_count; i++) {
		struct kymo_cursor cursor;
		struct kymo_event event;

		kymo_cursor_init(&cursor, &timeline, &timeline.streams[i]);
		while (kymo_cursor_next(&cursor, &event, &error) > 0)
			kymo_event_line(&event);
		kymo_cursor_release(&cursor);
	}
	kymo_timeline_close(&timeline);
	return 0;
}
