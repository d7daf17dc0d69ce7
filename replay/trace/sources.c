// SPDX-License-Identifier: Apache-2.0
#include "replay/trace/sources.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/unpack.h"
#include "format/varint.h"

/* The index of the first place not before that of @file, @process and @id. */
static size_t place_index(const struct kymo_definitions *definitions, const char *file, uint32_t process, uint64_t id)
{
	size_t low = 0, high = definitions->source_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct kymo_source_place *place = &definitions->sources[middle];
		int order = strcmp(place->file, file);

		if (order < 0 || (!order && (place->process < process || (place->process == process && place->id < id))))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct kymo_source_place *find(const struct kymo_definitions *definitions, const char *file,
					    uint32_t process, uint64_t id)
{
	size_t index = place_index(definitions, file, process, id);
	const struct kymo_source_place *place;

	if (index == definitions->source_count)
		return NULL;
	place = &definitions->sources[index];
	return !strcmp(place->file, file) && place->process == process && place->id == id ? place : NULL;
}

const struct kymo_source_place *kymo_traced_source_place(const struct kymo_definitions *definitions,
							 const struct kymo_traced_process *process, const char *file)
{
	const struct kymo_source_place *place = NULL;

	for (; process && !place; process = process->forked_from)
		place = find(definitions, file, process->number, 0);
	return place ? place : find(definitions, file, 0, 0);
}

/* A forked child has what its parent had kept up to the fork. */
static const struct kymo_source_place *find_kept(const struct kymo_definitions *definitions, const struct kymo_content *content)
{
	const struct kymo_traced_process *process = kymo_traced_find(definitions, content->process);
	uint64_t limit = UINT64_MAX;

	for (; process; process = process->forked_from) {
		const struct kymo_source_place *place = find(definitions, content->file, process->number, content->source);

		if (place && place->frame->seq + place->offset < limit)
			return place;
		limit = process->definition ? process->definition->forked_at : limit;
	}
	return NULL;
}

/* How many texts named @file were kept by @process and those from which it was forked; the last of them goes to *@kept. */
static size_t count_kept(const struct kymo_definitions *definitions, const struct kymo_traced_process *process, const char *file,
			 const struct kymo_source_place **kept)
{
	uint64_t limit = UINT64_MAX;
	size_t count = 0;

	for (; process; process = process->forked_from) {
		for (size_t i = place_index(definitions, file, process->number, 1); i < definitions->source_count; i++) {
			const struct kymo_source_place *place = &definitions->sources[i];

			if (strcmp(place->file, file) != 0 || place->process != process->number)
				break;
			if (place->frame->seq + place->offset >= limit)
				continue;
			*kept = place;
			count++;
		}
		limit = process->definition ? process->definition->forked_at : limit;
	}
	return count;
}

const struct kymo_source_place *kymo_content_source_place(const struct kymo_definitions *definitions,
							  const struct kymo_traced_process *process, const struct kymo_content *content)
{
	return content->source ? find_kept(definitions, content) : kymo_traced_source_place(definitions, process, content->file);
}

static int load(struct kymo_timeline *timeline, const struct kymo_source_place *place, const char *file, struct kymo_source *out,
		struct kymo_error *error)
{
	return place ? kymo_source_load(timeline, place, out, error)
		     : kymo_fail(error, -ENOENT, "the trace has no source of %s", file);
}

int kymo_content_source(struct kymo_timeline *timeline, const struct kymo_traced_process *process, const struct kymo_content *content,
			struct kymo_source *out, struct kymo_error *error)
{
	return load(timeline, kymo_content_source_place(&timeline->definitions, process, content), content->file, out, error);
}

int kymo_traced_source(struct kymo_timeline *timeline, const struct kymo_traced_process *process, const char *file,
		       struct kymo_source *out, struct kymo_error *error)
{
	const struct kymo_source_place *place = kymo_traced_source_place(&timeline->definitions, process, file), *kept = NULL;
	size_t count = place && !place->missing ? 0 : count_kept(&timeline->definitions, process, file, &kept);

	if (count > 1)
		return kymo_fail(error, -ENOTUNIQ, "%s: the trace has %zu texts of code that is called so", file, count);
	return load(timeline, count ? kept : place, file, out, error);
}

/* Write where each line begins, from line 1 on, and the end. Returns the number of lines; @lines may be NULL. */
static size_t split(const struct kymo_source *source, size_t *lines)
{
	size_t count = 0, at = 0;

	while (at < source->bytes) {
		if (lines)
			lines[count] = at;
		count++;
		while (at < source->bytes && source->text[at] != '\n' && source->text[at] != '\r')
			at++;
		if (at < source->bytes)
			at += source->text[at] == '\r' && source->text[at + 1] == '\n' ? 2 : 1;
	}
	if (lines)
		lines[count] = source->bytes;
	return count;
}

static int copy_text(const Kymo__Source *message, struct kymo_source *out)
{
	out->bytes = message->text.len;
	out->text = malloc(out->bytes + 1);
	if (!out->text)
		return -ENOMEM;
	if (out->bytes)
		memcpy(out->text, message->text.data, out->bytes);
	out->text[out->bytes] = '\0';
	out->line_count = split(out, NULL);
	out->lines = calloc(out->line_count + 1, sizeof *out->lines);
	if (!out->lines)
		return -ENOMEM;
	split(out, out->lines);
	return 0;
}

/* The file may have changed since the trace was opened. */
static int unpack(const struct kymo_frame *frame, const struct kymo_source_place *place, Kymo__Definition **message)
{
	uint64_t left = frame->header.raw_bytes, length;
	size_t head;
	int result = -EBADMSG;

	*message = NULL;
	if (place->offset >= left)
		return result;
	left -= place->offset;
	head = kymo_varint_get(frame->payload + place->offset, left, &length);
	if (head && length <= left - head)
		result = kymo_unpack(frame->payload + place->offset + head, length, message, NULL);
	if (result || ((*message)->kind_case == KYMO__DEFINITION__KIND_SOURCE && !strcmp((*message)->source->file, place->file)))
		return result;
	kymo__definition__free_unpacked(*message, NULL);
	*message = NULL;
	return -EBADMSG;
}

int kymo_source_load(struct kymo_timeline *timeline, const struct kymo_source_place *place, struct kymo_source *out,
		     struct kymo_error *error)
{
	struct kymo_frame frame = {0};
	Kymo__Definition *message;
	int result;

	*out = (struct kymo_source){.is_verified = place->is_verified, .is_kept = place->id, .missing = place->missing};
	if (out->missing)
		return 0;
	result = kymo_trace_read(&timeline->trace, place->frame, &frame, error);
	if (result)
		goto out;
	result = unpack(&frame, place, &message);
	if (!result)
		result = copy_text(message->source, out);
	kymo__definition__free_unpacked(message, NULL);
	if (result)
		kymo_source_release(out);
	if (result == -ENOMEM)
		kymo_fail(error, result, "out of memory");
	else if (result)
		result = kymo_fail(error, -EBADMSG, "damaged frame at offset %" PRIu64 ": its source is gone",
				   place->frame->file_offset);
out:
	kymo_frame_release(&frame);
	return result;
}

void kymo_source_release(struct kymo_source *source)
{
	free(source->text);
	free(source->lines);
	*source = (struct kymo_source){0};
}

const char *kymo_source_line(const struct kymo_source *source, uint64_t number, size_t *bytes)
{
	const char *line, *end;

	if (!number || number > source->line_count)
		return NULL;
	line = source->text + source->lines[number - 1];
	end = source->text + source->lines[number];
	while (end > line && (end[-1] == '\n' || end[-1] == '\r'))
		end--;
	*bytes = (size_t)(end - line);
	return line;
}
