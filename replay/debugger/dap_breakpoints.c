// SPDX-License-Identifier: Apache-2.0
/* Breakpoints, as clients set them: all of a kind at once. */
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/dap_files.h"
#include "replay/debugger/dap_points.h"
#include "replay/trace/line_table.h"
#include "replay/moves/replay_uncaught.h"

static void remove_last(struct kymo_breaks *breaks)
{
	kymo_dap_point_free(breaks->items[breaks->count - 1].context);
	kymo_break_remove(breaks, breaks->items[breaks->count - 1].id);
}

static void remove_from(struct kymo_breaks *breaks, enum kymo_break_kind kind, const char *file)
{
	for (uint32_t i = breaks->count; i-- > 0;) {
		struct kymo_dap_point *point = breaks->items[i].context;

		if (breaks->items[i].kind != kind || (file && strcmp(point->file, file) != 0))
			continue;
		kymo_dap_point_free(point);
		kymo_break_remove(breaks, breaks->items[i].id);
	}
}

/* Those of @kind; of lines, only those of @file. */
static void remove_kind(struct kymo_dap *dap, enum kymo_break_kind kind, const char *file)
{
	remove_from(&dap->replay.breaks, kind, file);
	remove_from(&dap->logs.breaks, kind, file);
}

void kymo_dap_remove_breakpoints(struct kymo_dap *dap)
{
	while (dap->replay.breaks.count)
		remove_last(&dap->replay.breaks);
	while (dap->logs.breaks.count)
		remove_last(&dap->logs.breaks);
}

/* Where @point belongs: log points do not stop. */
static struct kymo_breaks *breaks_of(struct kymo_dap *dap, const struct kymo_dap_point *point)
{
	return point->log ? &dap->logs.breaks : &dap->replay.breaks;
}

static json_t *unverified(const char *message)
{
	return json_pack("{s:b, s:o}", "verified", 0, "message", kymo_dap_text(message));
}

static json_t *verified(uint32_t id)
{
	return json_pack("{s:b, s:I}", "verified", 1, "id", (json_int_t)id);
}

/* Have @at, which was just set, mean what @point says.  Returns the id that clients know; 0: it could not be set. */
static uint32_t finish(struct kymo_dap *dap, struct kymo_dap_point *point, struct kymo_break *at, uint32_t shown_id)
{
	if (!at) {
		kymo_dap_point_free(point);
		return 0;
	}
	point->shown_id = shown_id ? shown_id : ++dap->last_point_id;
	kymo_dap_point_apply(point, at);
	return point->shown_id;
}

/* How often @line of @file ran; -1: there is no code on it. */
static int64_t times_run(const struct kymo_dap *dap, const struct kymo_dap_file *file, int64_t line)
{
	const struct kymo_hits *hits = &dap->trace.index.hits;
	int64_t times = -1;

	for (uint32_t i = 1; i < hits->content_count; i++) {
		const struct kymo_content_hits *of = &hits->contents[i];

		if (line < of->first_line || line - of->first_line >= of->line_count ||
		    strcmp(of->content->file, file->recorded) != 0)
			continue;
		for (size_t unit = 0; times < 0 && unit < of->content->units; unit++)
			if (of->content->lines[unit] == line)
				times = 0;
		if (of->all_lines[line - of->first_line])
			times = (times < 0 ? 0 : times) + (int64_t)of->all_lines[line - of->first_line];
	}
	return times;
}

static json_t *never_ran(const struct kymo_dap *dap, const struct kymo_dap_file *file, int64_t line, int64_t times)
{
	int64_t nearest = kymo_nearest_line(&dap->trace.index, file->recorded, line);
	const char *why = times < 0 ? "has no code that ran" : "never ran";
	char message[160];

	if (nearest == KYMO_LINE_NONE)
		snprintf(message, sizeof(message), "no line of this file ran");
	else
		snprintf(message, sizeof(message), "line %lld %s; the nearest one that did is %lld",
			 (long long)(line - 1 + dap->lines_from), why, (long long)(nearest - 1 + dap->lines_from));
	return unverified(message);
}

/* A breakpoint in one file that the source of a client may be; those that have the same one share @id. */
static json_t *set_in_file(struct kymo_dap *dap, const struct kymo_dap_file *file, const json_t *wanted, uint32_t *id)
{
	int64_t line = kymo_dap_integer(wanted, "line", 0) - dap->lines_from + 1;
	int64_t times = times_run(dap, file, line);
	struct kymo_error error;
	struct kymo_dap_point *point;
	uint32_t set;

	if (times <= 0)
		return never_ran(dap, file, line, times);
	point = kymo_dap_point_new(wanted, dap->replay.index, &error);
	if (!point)
		return unverified(error.message);
	point->file = file->recorded;
	set = finish(dap, point, kymo_break_at_line(breaks_of(dap, point), file->recorded, line), *id);
	if (!set)
		return unverified("out of memory");
	*id = set;
	return verified(set);
}

static json_t *set_line(struct kymo_dap *dap, const json_t *source, const json_t *wanted)
{
	json_t *answer = NULL;
	uint32_t id = 0;

	for (size_t i = 0; i < dap->file_count; i++) {
		json_t *here;

		/* Texts of one name lie one behind the other, and what is set in one is set in all. */
		if (!kymo_dap_names_file(dap, source, &dap->files[i]) || (answer && !strcmp(dap->files[i - 1].recorded, dap->files[i].recorded)))
			continue;
		here = set_in_file(dap, &dap->files[i], wanted, &id);
		if (answer && json_is_false(json_object_get(here, "verified"))) {
			json_decref(here);
		} else {
			json_decref(answer);
			answer = here;
		}
	}
	if (!answer)
		answer = unverified(dap->source_root
					    ? "no code of this file was recorded"
					    : "no code of this file was recorded; if it was elsewhere then, set "
					      "\"sourceRoot\" to the folder that it is in now");
	json_object_set(answer, "line", json_object_get(wanted, "line"));
	return answer;
}

int kymo_dap_set_breakpoints(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	const json_t *source = json_object_get(arguments, "source"), *wanted;
	json_t *set = json_array();
	size_t i;

	if (!json_is_object(source)) {
		json_decref(set);
		return kymo_fail(error, -EINVAL, "setBreakpoints: source is missing");
	}
	for (i = 0; i < dap->file_count; i++)
		if (kymo_dap_names_file(dap, source, &dap->files[i])) {
			remove_kind(dap, KYMO_BREAK_LINE, dap->files[i].recorded);
			if (!kymo_dap_integer(source, "sourceReference", 0))
				kymo_dap_name_file(&dap->files[i]);
		}
	json_array_foreach (json_object_get(arguments, "breakpoints"), i, wanted)
		json_array_append_new(set, set_line(dap, source, wanted));
	return kymo_dap_answer(body, json_pack("{s:o}", "breakpoints", set), error);
}

static json_t *set_function(struct kymo_dap *dap, const json_t *wanted)
{
	const char *name = kymo_dap_string(wanted, "name");
	struct kymo_error error;
	struct kymo_dap_point *point = kymo_dap_point_new(wanted, dap->replay.index, &error);
	struct kymo_breaks *breaks;
	struct kymo_break *at;
	const struct kymo_content *content;
	json_t *answer;
	uint32_t id;

	if (!point)
		return unverified(error.message);
	breaks = breaks_of(dap, point);
	at = kymo_break_at_function(breaks, name ? name : "");
	id = finish(dap, point, at, 0);
	if (!id)
		return unverified("out of memory");
	if (!at->content_count) {
		remove_last(breaks);
		return unverified("no function of this name was called");
	}
	content = dap->trace.index.hits.contents[at->contents[0]].content;
	answer = verified(id);
	json_object_set_new(answer, "source", kymo_dap_source_of(dap, kymo_dap_file(dap, content)));
	json_object_set_new(answer, "line", json_integer(content->first_line - 1 + dap->lines_from));
	return answer;
}

int kymo_dap_set_function_breakpoints(struct kymo_dap *dap, const json_t *arguments, json_t **body,
				      struct kymo_error *error)
{
	json_t *set = json_array();
	const json_t *wanted;
	size_t i;

	remove_kind(dap, KYMO_BREAK_FUNCTION, NULL);
	json_array_foreach (json_object_get(arguments, "breakpoints"), i, wanted)
		json_array_append_new(set, set_function(dap, wanted));
	return kymo_dap_answer(body, json_pack("{s:o}", "breakpoints", set), error);
}

/* The types that @names lists; "": all. */
static json_t *set_exceptions(struct kymo_dap *dap, const char *filter, const char *names)
{
	bool is_uncaught = filter && !strcmp(filter, "uncaught");
	struct kymo_error error;
	uint32_t id = 0;

	if (!is_uncaught && (!filter || strcmp(filter, "raised") != 0))
		return unverified("unknown filter");
	do {
		size_t length = strcspn(names += strspn(names, " ,"), " ,");
		char *name = strndup(names, length);
		struct kymo_dap_point *point = calloc(1, sizeof(*point));

		if (point && name && (length || !id))
			id = finish(dap, point,
				    is_uncaught ? kymo_replay_break_at_uncaught(&dap->replay, name, &error)
						: kymo_break_at_exception(&dap->replay.breaks, name),
				    id);
		else
			free(point);
		free(name);
		names += length;
	} while (*names);
	return id ? verified(id) : unverified("out of memory");
}

int kymo_dap_set_exception_breakpoints(struct kymo_dap *dap, const json_t *arguments, json_t **body,
				       struct kymo_error *error)
{
	json_t *set = json_array();
	const json_t *wanted;
	size_t i;

	remove_kind(dap, KYMO_BREAK_EXCEPTION, NULL);
	remove_kind(dap, KYMO_BREAK_UNCAUGHT, NULL);
	json_array_foreach (json_object_get(arguments, "filters"), i, wanted)
		json_array_append_new(set, set_exceptions(dap, json_string_value(wanted), ""));
	json_array_foreach (json_object_get(arguments, "filterOptions"), i, wanted) {
		const char *names = kymo_dap_string(wanted, "condition");

		json_array_append_new(set,
				      set_exceptions(dap, kymo_dap_string(wanted, "filterId"), names ? names : ""));
	}
	return kymo_dap_answer(body, json_pack("{s:o}", "breakpoints", set), error);
}

static int compare_lines(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

/* Lines from @first to @last that ran in files that @source may be; some more than once. */
static size_t find_lines(const struct kymo_dap *dap, const json_t *source, int64_t first, int64_t last, int64_t **lines,
			 size_t *capacity)
{
	const struct kymo_hits *hits = &dap->trace.index.hits;
	size_t count = 0;

	for (uint32_t i = 1; i < hits->content_count; i++) {
		const struct kymo_content_hits *of = &hits->contents[i];

		if (!kymo_dap_names_file(dap, source, kymo_dap_file(dap, of->content)))
			continue;
		for (uint32_t k = 0; k < of->line_count; k++) {
			int64_t line = of->first_line + k;

			if (of->all_lines[k] && line >= first && line <= last &&
			    !kymo_grow(lines, capacity, count + 1, sizeof(**lines)))
				(*lines)[count++] = line;
		}
	}
	if (count)
		qsort(*lines, count, sizeof(**lines), compare_lines);
	return count;
}

int kymo_dap_breakpoint_locations(struct kymo_dap *dap, const json_t *arguments, json_t **body,
				  struct kymo_error *error)
{
	const json_t *source = json_object_get(arguments, "source");
	int64_t first = kymo_dap_integer(arguments, "line", 0);
	int64_t last = kymo_dap_integer(arguments, "endLine", first), *lines = NULL;
	int64_t base = 1 - dap->lines_from;
	json_t *found = json_array();
	size_t capacity = 0, count = find_lines(dap, source, first + base, last + base, &lines, &capacity);

	for (size_t i = 0; i < count; i++)
		if (!i || lines[i] != lines[i - 1])
			json_array_append_new(found, json_pack("{s:I}", "line", (json_int_t)(lines[i] - base)));
	free(lines);
	return kymo_dap_answer(body, json_pack("{s:o}", "breakpoints", found), error);
}
