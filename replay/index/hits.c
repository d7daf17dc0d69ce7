// SPDX-License-Identifier: Apache-2.0
#include "replay/index/hits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/varint.h"
#include "replay/trace/line_table.h"

void kymo_hits_release(struct kymo_hits *hits)
{
	for (uint32_t i = 1; i < hits->content_count; i++) {
		hits->contents[i].content->number = 0;
		free(hits->contents[i].lines);
		free(hits->contents[i].all_lines);
	}
	free(hits->contents);
	free(hits->touched);
	free(hits->raised);
	free(hits->bytes);
	*hits = (struct kymo_hits){0};
}

/* A distance between lines larger than in any real code. */
#define MAX_LINES (1U << 22)

static void find_lines(struct kymo_content_hits *of)
{
	const struct kymo_content *content = of->content;
	const struct kymo_code code = {.content = of->content};
	int64_t low = INT64_MAX, high = -1;

	kymo_code_line(&code, 0); /* decodes them */
	for (size_t i = 0; i < content->units; i++) {
		int64_t line = content->lines[i];

		if (line < 0)
			continue;
		low = line < low ? line : low;
		high = line > high ? line : high;
	}
	of->first_line = content->first_line;
	if (high >= low && high - low < MAX_LINES) {
		of->first_line = low;
		of->line_count = (uint32_t)(high - low + 1);
	}
}

static struct kymo_content_hits *add_content(struct kymo_hits *hits, struct kymo_content *content)
{
	uint32_t number = hits->content_count ? hits->content_count : 1;
	struct kymo_content_hits added = {.content = content};

	find_lines(&added);
	added.lines = calloc(added.line_count + 1, sizeof *added.lines);
	added.all_lines = calloc(added.line_count + 1, sizeof *added.all_lines);
	if (!added.lines || !added.all_lines ||
	    kymo_grow(&hits->contents, &hits->content_capacity, number + 1, sizeof added)) {
		free(added.lines);
		free(added.all_lines);
		hits->is_short = true;
		return NULL;
	}
	hits->contents[number] = added;
	hits->content_count = number + 1;
	content->number = number;
	return &hits->contents[number];
}

int kymo_hits_add(struct kymo_hits *hits, struct kymo_content *content)
{
	return add_content(hits, content) ? 0 : -ENOMEM;
}

static struct kymo_content_hits *touch(struct kymo_hits *hits, struct kymo_content *content)
{
	struct kymo_content_hits *of = content->number ? &hits->contents[content->number]
							: add_content(hits, content);

	if (!of || of->is_touched)
		return of;
	if (kymo_grow(&hits->touched, &hits->touched_capacity, hits->touched_count + 1, sizeof *hits->touched)) {
		hits->is_short = true;
		return NULL;
	}
	hits->touched[hits->touched_count++] = content->number;
	of->is_touched = true;
	return of;
}

void kymo_hits_line(struct kymo_hits *hits, struct kymo_content *content, int64_t line, uint64_t times)
{
	struct kymo_content_hits *of = touch(hits, content);

	hits->line_events += times;
	if (of && line >= of->first_line && line - of->first_line < of->line_count)
		of->lines[line - of->first_line] += times;
}

void kymo_hits_call(struct kymo_hits *hits, struct kymo_content *content, uint64_t times)
{
	struct kymo_content_hits *of = touch(hits, content);

	if (of)
		of->calls += times;
}

void kymo_hits_raise(struct kymo_hits *hits, uint64_t name)
{
	for (uint32_t i = 0; i < hits->raised_count; i++)
		if (hits->raised[i].name == name) {
			hits->raised[i].times++;
			return;
		}
	if (kymo_grow(&hits->raised, &hits->raised_capacity, hits->raised_count + 1, sizeof *hits->raised)) {
		hits->is_short = true;
		return;
	}
	hits->raised[hits->raised_count++] = (struct kymo_raised){name, 1};
}

static int compare_numbers(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

static void put(struct kymo_hits *hits, uint64_t value)
{
	hits->byte_count += kymo_varint_put(hits->bytes + hits->byte_count, value);
}

static uint64_t fold(int64_t value)
{
	return value < 0 ? ~((uint64_t)value << 1) : (uint64_t)value << 1;
}

static int64_t unfold(uint64_t value)
{
	return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

static void put_content(struct kymo_hits *hits, const struct kymo_content_hits *of, uint64_t step, uint64_t calls,
			const uint64_t *lines)
{
	int64_t line = of->content->first_line;
	uint8_t length[KYMO_VARINT_MAX_BYTES];
	size_t start, width;

	put(hits, step);
	put(hits, calls);
	start = hits->byte_count;
	for (uint32_t i = 0; i < of->line_count; i++) {
		if (!lines[i])
			continue;
		put(hits, fold(of->first_line + i - line));
		put(hits, lines[i]);
		line = of->first_line + i;
	}
	/* Its length is written before it. */
	width = kymo_varint_put(length, hits->byte_count - start);
	memmove(hits->bytes + start + width, hits->bytes + start, hits->byte_count - start);
	memcpy(hits->bytes + start, length, width);
	hits->byte_count += width;
}

static int make_room(struct kymo_hits *hits, size_t numbers)
{
	hits->byte_count = 0;
	return hits->is_short ? -ENOMEM
			      : kymo_grow(&hits->bytes, &hits->byte_capacity, numbers * KYMO_VARINT_MAX_BYTES, 1);
}

/* Add to the totals, and clear. */
static void end_content(struct kymo_content_hits *of)
{
	for (uint32_t i = 0; i < of->line_count; i++)
		of->all_lines[i] += of->lines[i];
	memset(of->lines, 0, of->line_count * sizeof *of->lines);
	of->all_calls += of->calls;
	of->calls = 0;
	of->is_touched = false;
}

int kymo_hits_end_chunk(struct kymo_hits *hits)
{
	size_t numbers = 2 + 2 * (size_t)hits->raised_count;
	uint32_t last = 0;

	for (uint32_t i = 0; i < hits->touched_count; i++)
		numbers += 3 + 2 * (size_t)hits->contents[hits->touched[i]].line_count;
	if (make_room(hits, numbers))
		return -ENOMEM;
	if (hits->touched_count)
		qsort(hits->touched, hits->touched_count, sizeof *hits->touched, compare_numbers);
	put(hits, hits->touched_count);
	for (uint32_t i = 0; i < hits->touched_count; i++) {
		struct kymo_content_hits *of = &hits->contents[hits->touched[i]];

		put_content(hits, of, hits->touched[i] - last, of->calls, of->lines);
		end_content(of);
		last = hits->touched[i];
	}
	put(hits, hits->raised_count);
	for (uint32_t i = 0; i < hits->raised_count; i++) {
		put(hits, hits->raised[i].name);
		put(hits, hits->raised[i].times);
	}
	hits->touched_count = hits->raised_count = 0;
	hits->line_events = 0;
	return 0;
}

int kymo_hits_encode_all(struct kymo_hits *hits)
{
	size_t numbers = 2;

	for (uint32_t i = 1; i < hits->content_count; i++)
		numbers += 3 + 2 * (size_t)hits->contents[i].line_count;
	if (make_room(hits, numbers))
		return -ENOMEM;
	put(hits, hits->content_count ? hits->content_count - 1 : 0);
	for (uint32_t i = 1; i < hits->content_count; i++)
		put_content(hits, &hits->contents[i], 1, hits->contents[i].all_calls, hits->contents[i].all_lines);
	put(hits, 0);
	return 0;
}

int kymo_hits_decode_all(struct kymo_hits *hits, const uint8_t *bytes, size_t count)
{
	struct kymo_hits_reader reader;

	kymo_hits_read(&reader, bytes, count);
	while (kymo_hits_next_content(&reader)) {
		struct kymo_content_hits *of;
		int64_t line;
		uint64_t times;

		if (!reader.number || reader.number >= hits->content_count)
			return -EBADMSG;
		of = &hits->contents[reader.number];
		of->all_calls = reader.calls;
		for (line = of->content->first_line; kymo_hits_next_line(&reader, &line, &times);)
			if (line >= of->first_line && line - of->first_line < of->line_count)
				of->all_lines[line - of->first_line] = times;
	}
	return reader.is_bad ? -EBADMSG : 0;
}

/* The next number, or 0 and the end. */
static uint64_t get(struct kymo_hits_reader *reader)
{
	uint64_t value = 0;
	size_t bytes = kymo_varint_get(reader->at, (size_t)(reader->end - reader->at), &value);

	reader->at += bytes;
	if (!bytes) {
		reader->is_bad = true;
		reader->at = reader->lines_end = reader->end;
	}
	return bytes ? value : 0;
}

void kymo_hits_read(struct kymo_hits_reader *reader, const uint8_t *bytes, size_t count)
{
	*reader = (struct kymo_hits_reader){.at = bytes, .end = bytes + count, .lines_end = bytes};
	reader->contents_left = get(reader);
	reader->lines_end = reader->at;
}

bool kymo_hits_next_content(struct kymo_hits_reader *reader)
{
	uint64_t bytes;

	reader->at = reader->lines_end;
	if (!reader->contents_left || reader->is_bad)
		return false;
	reader->contents_left--;
	reader->number += get(reader);
	reader->calls = get(reader);
	bytes = get(reader);
	if (reader->is_bad || bytes > (uint64_t)(reader->end - reader->at)) {
		reader->is_bad = true;
		return false;
	}
	reader->lines_end = reader->at + bytes;
	return true;
}

bool kymo_hits_next_line(struct kymo_hits_reader *reader, int64_t *line, uint64_t *times)
{
	if (reader->at >= reader->lines_end || reader->is_bad)
		return false;
	*line = (int64_t)((uint64_t)*line + (uint64_t)unfold(get(reader)));
	*times = get(reader);
	return !reader->is_bad;
}

bool kymo_hits_next_raised(struct kymo_hits_reader *reader, uint64_t *name, uint64_t *times)
{
	if (reader->is_bad)
		return false;
	if (reader->at <= reader->lines_end && reader->lines_end) {
		reader->at = reader->lines_end;
		reader->lines_end = NULL;
		reader->raised_left = get(reader);
	}
	if (!reader->raised_left || reader->is_bad)
		return false;
	reader->raised_left--;
	*name = get(reader);
	*times = get(reader);
	return !reader->is_bad;
}
