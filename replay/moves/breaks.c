// SPDX-License-Identifier: Apache-2.0
#include "replay/moves/breaks.h"

#include <stdlib.h>
#include <string.h>

#include "replay/trace/line_table.h"

void kymo_breaks_init(struct kymo_breaks *breaks, struct kymo_index *index)
{
	*breaks = (struct kymo_breaks){.index = index};
}

static void release(const struct kymo_breaks *breaks, struct kymo_break *at)
{
	for (size_t i = 0; at->hits_before && i < breaks->index->timeline->stream_count; i++)
		free(at->hits_before[i]);
	free(at->hits_before);
	free(at->places);
	free(at->contents);
	free(at->name);
}

void kymo_breaks_release(struct kymo_breaks *breaks)
{
	for (uint32_t i = 0; i < breaks->count; i++)
		release(breaks, &breaks->items[i]);
	free(breaks->items);
	free(breaks->is_watched);
	*breaks = (struct kymo_breaks){0};
}

/* True if @whole is @part, or ends with it behind a @separator. */
static bool ends_with(const char *whole, const char *part, char separator)
{
	size_t length = strlen(whole), wanted = strlen(part);

	return wanted && length >= wanted && !strcmp(whole + length - wanted, part) &&
	       (length == wanted || whole[length - wanted - 1] == separator || *part == separator);
}

bool kymo_names_file(const char *name, const char *file)
{
	return ends_with(file, name[0] == '.' && name[1] == '/' ? name + 2 : name, '/');
}

static bool has_line(const struct kymo_content_hits *of, int64_t line)
{
	for (size_t i = 0; i < of->content->units; i++)
		if (of->content->lines[i] == line)
			return true;
	return false;
}

static uint64_t line_hits(const struct kymo_content_hits *of, int64_t line)
{
	return line >= of->first_line && line - of->first_line < of->line_count ? of->all_lines[line - of->first_line] : 0;
}

static bool is_in(const struct kymo_break *at, const struct kymo_content_hits *of)
{
	if (at->kind == KYMO_BREAK_LINE)
		return kymo_names_file(at->name, of->content->file) && has_line(of, at->line);
	return at->kind == KYMO_BREAK_FUNCTION && ends_with(of->content->function, at->name, '.');
}

static bool find_contents(struct kymo_breaks *breaks, struct kymo_break *at)
{
	const struct kymo_hits *hits = &breaks->index->hits;

	for (uint32_t i = 1; i < hits->content_count; i++) {
		if (!is_in(at, &hits->contents[i]))
			continue;
		if (kymo_grow(&at->contents, &at->content_capacity, at->content_count + 1, sizeof(*at->contents)))
			return false;
		at->contents[at->content_count++] = i;
		at->all_hits += at->kind == KYMO_BREAK_LINE ? line_hits(&hits->contents[i], at->line)
							     : hits->contents[i].all_calls;
	}
	return true;
}

void kymo_breaks_update(struct kymo_breaks *breaks)
{
	if (!breaks->is_watched)
		return;
	memset(breaks->is_watched, 0, breaks->index->hits.content_count);
	breaks->watches_raises = breaks->watches_places = false;
	for (uint32_t i = 0; i < breaks->count; i++) {
		const struct kymo_break *at = &breaks->items[i];

		if (at->is_off)
			continue;
		breaks->watches_raises |= at->kind == KYMO_BREAK_EXCEPTION;
		breaks->watches_places |= at->place_count != 0;
		for (uint32_t k = 0; k < at->content_count; k++)
			breaks->is_watched[at->contents[k]] = true;
	}
}

static struct kymo_break *add(struct kymo_breaks *breaks, enum kymo_break_kind kind, const char *name, int64_t line)
{
	struct kymo_break added = {.kind = kind, .name = strdup(name), .line = line};

	if (!breaks->is_watched)
		breaks->is_watched = calloc(breaks->index->hits.content_count + 1, 1);
	if (!added.name || !breaks->is_watched || !find_contents(breaks, &added) ||
	    kymo_grow(&breaks->items, &breaks->capacity, breaks->count + 1, sizeof(added))) {
		release(breaks, &added);
		return NULL;
	}
	added.id = ++breaks->last_id;
	breaks->items[breaks->count++] = added;
	kymo_breaks_update(breaks);
	return &breaks->items[breaks->count - 1];
}

struct kymo_break *kymo_break_at_line(struct kymo_breaks *breaks, const char *file, int64_t line)
{
	return add(breaks, KYMO_BREAK_LINE, file, line);
}

struct kymo_break *kymo_break_at_function(struct kymo_breaks *breaks, const char *function)
{
	return add(breaks, KYMO_BREAK_FUNCTION, function, KYMO_LINE_NONE);
}

struct kymo_break *kymo_break_at_exception(struct kymo_breaks *breaks, const char *type)
{
	return add(breaks, KYMO_BREAK_EXCEPTION, type, KYMO_LINE_NONE);
}

struct kymo_break *kymo_break_at_places(struct kymo_breaks *breaks, const char *type)
{
	return add(breaks, KYMO_BREAK_UNCAUGHT, type, KYMO_LINE_NONE);
}

struct kymo_break *kymo_break_find(const struct kymo_breaks *breaks, uint32_t id)
{
	for (uint32_t i = 0; i < breaks->count; i++)
		if (breaks->items[i].id == id)
			return &breaks->items[i];
	return NULL;
}

bool kymo_break_remove(struct kymo_breaks *breaks, uint32_t id)
{
	struct kymo_break *at = kymo_break_find(breaks, id);

	if (!at)
		return false;
	release(breaks, at);
	memmove(at, at + 1, (size_t)(breaks->items + --breaks->count - at) * sizeof(*at));
	kymo_breaks_update(breaks);
	return true;
}

int64_t kymo_nearest_line(const struct kymo_index *index, const char *file, int64_t line)
{
	int64_t nearest = KYMO_LINE_NONE;

	for (uint32_t i = 1; i < index->hits.content_count; i++) {
		const struct kymo_content_hits *of = &index->hits.contents[i];

		if (!kymo_names_file(file, of->content->file))
			continue;
		for (uint32_t k = 0; k < of->line_count; k++) {
			int64_t other = of->first_line + k;

			if (of->all_lines[k] &&
			    (nearest == KYMO_LINE_NONE || llabs(other - line) < llabs(nearest - line)))
				nearest = other;
		}
	}
	return nearest;
}

static bool is_of(const struct kymo_break *at, uint32_t number)
{
	uint32_t low = 0, high = at->content_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (at->contents[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < at->content_count && at->contents[low] == number;
}

static bool names_type(const struct kymo_break *at, const struct kymo_traced_process *process, uint64_t name)
{
	return !*at->name || kymo_traced_is_type(process, name, at->name);
}

static int compare_places(const struct kymo_break_place *a, const struct kymo_break_place *b)
{
	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	return kymo_position_compare(a->at, b->at);
}

/* The number of places that lie before @place. */
static size_t places_before(const struct kymo_break *at, size_t stream, struct kymo_position position)
{
	const struct kymo_break_place place = {stream, position};
	size_t low = 0, high = at->place_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_places(&at->places[middle], &place) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool has_place(const struct kymo_breaks *breaks, const struct kymo_break *at, const struct kymo_event *event)
{
	size_t stream = (size_t)(event->stream - breaks->index->timeline->streams);
	size_t number = places_before(at, stream, kymo_position_of(event));

	return number < at->place_count && at->places[number].stream == stream &&
	       !kymo_position_compare(at->places[number].at, kymo_position_of(event));
}

/* Places in @chunk; a rebuilt event comes before the recorded event of its number. */
static uint64_t places_in(const struct kymo_break *at, const struct kymo_chunk_summary *chunk)
{
	return places_before(at, chunk->stream, (struct kymo_position){chunk->last_n + 1, 1}) -
	       places_before(at, chunk->stream, (struct kymo_position){chunk->first_n, 1});
}

static bool is_at(const struct kymo_breaks *breaks, const struct kymo_break *at, const struct kymo_walker *walker)
{
	const struct kymo_event *event = &walker->event;

	if (at->is_off)
		return false;
	switch (at->kind) {
	case KYMO_BREAK_LINE:
		return event->kind == KYMO_LINE && (int64_t)event->line == at->line &&
		       is_of(at, event->code->content->number);
	case KYMO_BREAK_FUNCTION:
		return (event->kind == KYMO_PY_START || event->kind == KYMO_PY_START_AT) &&
		       is_of(at, event->code->content->number);
	case KYMO_BREAK_UNCAUGHT:
		return has_place(breaks, at, event);
	default:
		return event->kind == KYMO_RAISE && !walker->is_passed_on && names_type(at, event->stream->process, event->name_id);
	}
}

struct kymo_break *kymo_breaks_at(const struct kymo_breaks *breaks, const struct kymo_walker *walker, uint32_t from)
{
	const struct kymo_event *event = &walker->event;
	bool is_raise = event->kind == KYMO_RAISE && (breaks->watches_raises || breaks->watches_places);
	bool may_be_place = breaks->watches_places && event->kind == KYMO_PY_UNWIND;

	if (!breaks->count || (!is_raise && !may_be_place && (!event->code || !breaks->is_watched[event->code->content->number])))
		return NULL;
	for (uint32_t i = from; i < breaks->count; i++)
		if (is_at(breaks, &breaks->items[i], walker))
			return &breaks->items[i];
	return NULL;
}

/* How often @at is hit in the content that @reader is at; other entries are read and skipped. */
static uint64_t content_hits(const struct kymo_breaks *breaks, const struct kymo_break *at,
			     struct kymo_hits_reader *reader)
{
	const struct kymo_content_hits *of = &breaks->index->hits.contents[reader->number];
	int64_t line = of->content->first_line;
	uint64_t times;

	if (at->kind == KYMO_BREAK_FUNCTION)
		return reader->calls;
	while (kymo_hits_next_line(reader, &line, &times))
		if (line == at->line)
			return times;
	return 0;
}

uint64_t kymo_break_hits_in(struct kymo_breaks *breaks, const struct kymo_break *at,
			    const struct kymo_chunk_summary *chunk)
{
	const struct kymo_traced_process *process = breaks->index->timeline->streams[chunk->stream].process;
	struct kymo_hits_reader reader;
	uint64_t found = 0, name, times;

	if (at->kind == KYMO_BREAK_UNCAUGHT)
		return places_in(at, chunk);
	if (!kymo_index_read_hits(breaks->index, chunk, &reader))
		return 0;
	while (kymo_hits_next_content(&reader))
		if (reader.number < breaks->index->hits.content_count && is_of(at, (uint32_t)reader.number))
			found += content_hits(breaks, at, &reader);
	while (at->kind == KYMO_BREAK_EXCEPTION && kymo_hits_next_raised(&reader, &name, &times))
		if (names_type(at, process, name))
			found += times;
	return found;
}

/* True if some break is hit in the content that @reader is at. */
static bool may_hit_content(const struct kymo_breaks *breaks, struct kymo_hits_reader *reader)
{
	const struct kymo_hits_reader start = *reader;

	for (uint32_t i = 0; i < breaks->count; i++) {
		const struct kymo_break *at = &breaks->items[i];

		*reader = start;
		if (!at->is_off && is_of(at, (uint32_t)reader->number) && content_hits(breaks, at, reader))
			return true;
	}
	return false;
}

bool kymo_breaks_may_hit(struct kymo_breaks *breaks, const struct kymo_chunk_summary *chunk)
{
	const struct kymo_traced_process *process = breaks->index->timeline->streams[chunk->stream].process;
	struct kymo_hits_reader reader;
	uint64_t name, times;

	if (!breaks->count)
		return false;
	for (uint32_t i = 0; i < breaks->count; i++)
		if (!breaks->items[i].is_off && breaks->items[i].place_count && places_in(&breaks->items[i], chunk))
			return true;
	if (!kymo_index_read_hits(breaks->index, chunk, &reader))
		return true;
	while (kymo_hits_next_content(&reader))
		if (reader.number < breaks->index->hits.content_count && breaks->is_watched[reader.number] &&
		    may_hit_content(breaks, &reader))
			return true;
	while (breaks->watches_raises && kymo_hits_next_raised(&reader, &name, &times))
		for (uint32_t i = 0; i < breaks->count; i++)
			if (breaks->items[i].kind == KYMO_BREAK_EXCEPTION && !breaks->items[i].is_off &&
			    names_type(&breaks->items[i], process, name))
				return true;
	return reader.is_bad;
}

uint64_t kymo_break_hits_before(struct kymo_breaks *breaks, struct kymo_break *at,
				const struct kymo_chunk_summary *chunk)
{
	const struct kymo_index *index = breaks->index;
	size_t first = index->first_chunks[chunk->stream], end = index->first_chunks[chunk->stream + 1];
	uint64_t sum = 0;

	if (!at->hits_before)
		at->hits_before = calloc(index->timeline->stream_count, sizeof(uint64_t *));
	if (!at->hits_before)
		return 0;
	if (!at->hits_before[chunk->stream]) {
		uint64_t *before = calloc(end - first, sizeof(uint64_t));

		for (size_t i = first; before && i < end; i++) {
			before[i - first] = sum;
			sum += kymo_break_hits_in(breaks, at, &index->chunks[i]);
		}
		at->hits_before[chunk->stream] = before;
	}
	return at->hits_before[chunk->stream] ? at->hits_before[chunk->stream][chunk - index->chunks - first] : 0;
}
