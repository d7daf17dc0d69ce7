// SPDX-License-Identifier: Apache-2.0
#include "replay/diff/side.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/*
 * Work that happens when a cache is cold, a timer is up or the collector runs.  docs/diff.md lists it.
 */
const struct kymo_ignored kymo_ignored_by_default[] = {
	{"<frozen importlib.*>", NULL, KYMO_PASSED_THROUGH},
	{"<frozen zipimport>", NULL, KYMO_PASSED_THROUGH},
	{"importlib/__init__.py", NULL, KYMO_PASSED_THROUGH},
	{"*/lib/python3.*/threading.py", NULL, KYMO_PASSED_THROUGH},
	{"*/lib/python3.*/queue.py", NULL, KYMO_PASSED_THROUGH},
	{"*/lib/python3.*/selectors.py", NULL, KYMO_PASSED_THROUGH},
	{"*/lib/python3.*/asyncio/base_events.py", NULL, KYMO_PASSED_THROUGH},
	{"*/lib/python3.*/asyncio/events.py", NULL, KYMO_PASSED_THROUGH},
	{"*/lib/python3.*/asyncio/selector_events.py", NULL, KYMO_PASSED_THROUGH},
	{"*/lib/python3.*/asyncio/unix_events.py", NULL, KYMO_PASSED_THROUGH},
	{"*/lib/python3.*/linecache.py", NULL, KYMO_LEFT_OUT},
	{"*/lib/python3.*/_weakrefset.py", "*._remove", KYMO_LEFT_OUT},
	{"*/lib/python3.*/weakref.py", "*.remove", KYMO_LEFT_OUT},
	{"<frozen abc>", NULL, KYMO_LEFT_OUT},
	{"*/kymo/inject/sitecustomize.py", NULL, KYMO_PASSED_THROUGH},
	{"*", "*.__del__", KYMO_LEFT_OUT},
	{NULL, NULL, KYMO_SHOWN},
};

uint64_t kymo_hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
	return XXH3_64bits_withSeed(bytes, count, hash);
}

bool kymo_path_matches(const char *path, const char *glob)
{
	if (!fnmatch(glob, path, 0))
		return true;
	if (glob[0] == '/' || glob[0] == '*')
		return false;
	for (; (path = strchr(path, '/')); path++)
		if (!fnmatch(glob, path + 1, 0))
			return true;
	return false;
}

static size_t slot_of(const struct kymo_side *side, const struct kymo_content *content)
{
	size_t slot = (size_t)kymo_mix(0, (uintptr_t)content >> 4) & (side->slot_count - 1);

	while (side->slots[slot] && side->codes[side->slots[slot]].content != content)
		slot = (slot + 1) & (side->slot_count - 1);
	return slot;
}

uint32_t kymo_side_code(const struct kymo_side *side, const struct kymo_content *content)
{
	return content ? side->slots[slot_of(side, content)] : 0;
}

void kymo_side_release(struct kymo_side *side)
{
	for (size_t i = 0; i < side->code_count; i++)
		free(side->codes[i].texts);
	free(side->codes);
	free(side->slots);
	free(side->files);
}

/* Files. */

static int compare_paths(const void *left, const void *right)
{
	const struct kymo_side_file *a = left, *b = right;

	return strcmp(a->path, b->path);
}

static int compare_names(const void *left, const void *right)
{
	const struct kymo_side_file *const *a = left, *const *b = right;

	return strcmp((*a)->name, (*b)->name);
}

static const char *behind(const char *path, const char *folder)
{
	const char *found = strstr(path, folder), *last = NULL;

	for (; found; found = strstr(found + 1, folder))
		last = found;
	return last ? last + strlen(folder) : NULL;
}

static bool is_library(const char *path)
{
	return path[0] == '<' || strstr(path, "/site-packages/") || strstr(path, "/dist-packages/") ||
	       strstr(path, "/lib/python3.");
}

/* @path without what differs between machines. */
static const char *name_of(const char *path, const char *directory)
{
	size_t length = strlen(directory);
	const char *rest;

	if ((rest = behind(path, "/site-packages/")) || (rest = behind(path, "/dist-packages/")))
		return rest;
	if ((rest = strstr(path, "/lib/python3.")) && (rest = strchr(rest + strlen("/lib/python3."), '/')))
		return rest;
	if (length && !strncmp(path, directory, length) && path[length] == '/')
		return path + length + 1;
	return path;
}

static int list_files(struct kymo_side *side)
{
	const Kymo__Session *session = side->timeline.definitions.session;
	const char *directory = session ? session->working_directory : "";
	size_t count = 0;

	for (size_t i = 1; i < side->code_count; i++) {
		if (kymo_grow(&side->files, &side->file_capacity, i, sizeof *side->files))
			return -ENOMEM;
		side->files[i - 1] = (struct kymo_side_file){.path = side->codes[i].content->file};
	}
	side->file_count = side->code_count - 1;
	if (side->file_count)
		qsort(side->files, side->file_count, sizeof *side->files, compare_paths);
	for (size_t i = 0; i < side->file_count; i++)
		if (!count || strcmp(side->files[i].path, side->files[count - 1].path) != 0)
			side->files[count++] = side->files[i];
	side->file_count = count;
	for (size_t i = 0; i < count; i++)
		side->files[i].name = name_of(side->files[i].path, directory);
	return 0;
}

static struct kymo_side_file *file_of(const struct kymo_side *side, const char *path)
{
	struct kymo_side_file wanted = {.path = path};

	return bsearch(&wanted, side->files, side->file_count, sizeof wanted, compare_paths);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The one file of @side that the other side does not have, and whose last part is that of @name; NULL: none, or several. */
static struct kymo_side_file *only_one(const struct kymo_side *side, const char *name)
{
	struct kymo_side_file *found = NULL;

	for (size_t i = 0; i < side->file_count; i++) {
		struct kymo_side_file *file = &side->files[i];

		if (file->is_common || strcmp(last_part(file->name), last_part(name)) != 0)
			continue;
		if (found)
			return NULL;
		found = file;
	}
	return found;
}

static int match_files(struct kymo_side *sides[2])
{
	size_t count = sides[1]->file_count;
	struct kymo_side_file **names = calloc(count + 1, sizeof *names);

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		names[i] = &sides[1]->files[i];
	qsort(names, count, sizeof *names, compare_names);
	for (size_t i = 0; i < sides[0]->file_count; i++) {
		struct kymo_side_file *file = &sides[0]->files[i];
		struct kymo_side_file **found = bsearch(&file, names, count, sizeof *names, compare_names);

		if (found)
			file->is_common = (*found)->is_common = true;
	}
	free(names);
	for (size_t i = 0; i < sides[0]->file_count; i++) {
		struct kymo_side_file *file = &sides[0]->files[i], *other;

		if (file->is_common || only_one(sides[0], file->name) != file || !(other = only_one(sides[1], file->name)))
			continue;
		other->name = file->name;
		file->is_common = other->is_common = true;
	}
	return 0;
}

/* Contents. */

struct fingerprint {
	uint64_t exact;	 /* and where it stands in the file */
	uint64_t content; /* of what it consists */
	uint64_t name;
};

static struct fingerprint fingerprint_of(const struct kymo_side_code *code)
{
	const struct kymo_content *content = code->content;
	struct fingerprint print;

	print.name = kymo_hash_bytes(kymo_hash_bytes(1, code->file, strlen(code->file)), content->function,
				     strlen(content->function));
	print.content = kymo_hash_bytes(print.name, content->line_table, content->line_table_bytes);
	print.content = kymo_hash_bytes(print.content, content->bytecode, content->bytecode_bytes);
	print.content = kymo_hash_bytes(print.content, content->exception_table, content->exception_table_bytes);
	print.exact = kymo_mix(print.content, content->first_line);
	return print;
}

static int compare_u64(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* What @side has, sorted: three hashes of each. */
static uint64_t *list_prints(const struct kymo_side *side)
{
	uint64_t *prints = calloc(3 * side->code_count, sizeof *prints);

	if (!prints)
		return NULL;
	for (size_t i = 1; i < side->code_count; i++) {
		struct fingerprint print = fingerprint_of(&side->codes[i]);

		prints[3 * i - 3] = print.exact;
		prints[3 * i - 2] = print.content;
		prints[3 * i - 1] = print.name;
	}
	qsort(prints, 3 * (side->code_count - 1), sizeof *prints, compare_u64);
	return prints;
}

static bool has(const struct kymo_side *side, const uint64_t *prints, uint64_t print)
{
	return bsearch(&print, prints, 3 * (side->code_count - 1), sizeof *prints, compare_u64);
}

static uint64_t text_hash(const struct kymo_source *source, int64_t line)
{
	size_t bytes = 0;
	const char *text = line > 0 ? kymo_source_line(source, (uint64_t)line, &bytes) : NULL;

	while (bytes && (*text == ' ' || *text == '\t')) {
		text++;
		bytes--;
	}
	while (bytes && (text[bytes - 1] == ' ' || text[bytes - 1] == '\t'))
		bytes--;
	return text ? kymo_hash_bytes(2, text, bytes) : kymo_mix(3, (uint64_t)line);
}

#define MAX_TEXT_LINES 100000

/* Lines of @code by their text, as far as its source is there; else they are counted from its first. */
static int read_texts(struct kymo_side *side, struct kymo_side_code *code, struct kymo_error *error)
{
	struct kymo_content *content = code->content;
	int64_t last = content->first_line;
	struct kymo_code instruction = {.content = content};
	struct kymo_source source;
	int result;

	result = kymo_content_source(&side->timeline, kymo_traced_find(&side->timeline.definitions, content->process), content, &source,
				     error);
	code->base_line = (int32_t)content->first_line;
	if (result == -ENOENT || result == -EBADMSG)
		return 0;
	if (result)
		return result;
	(void)kymo_code_line(&instruction, 0);
	for (size_t i = 0; i < content->units; i++)
		if (content->lines[i] > last)
			last = content->lines[i];
	if (source.text && last - content->first_line < MAX_TEXT_LINES) {
		code->text_count = (uint32_t)(last - content->first_line + 1);
		code->texts = calloc(code->text_count, sizeof *code->texts);
	}
	for (uint32_t i = 0; code->texts && i < code->text_count; i++)
		code->texts[i] = text_hash(&source, (int64_t)content->first_line + i);
	kymo_source_release(&source);
	return 0;
}

/* The hash of the source of @file; 0: there is none. */
static uint64_t text_of(struct kymo_side *side, struct kymo_side_file *file, const struct kymo_content *content,
			struct kymo_error *error)
{
	struct kymo_source source;

	if (file->was_read)
		return file->text;
	file->was_read = true;
	if (kymo_content_source(&side->timeline, kymo_traced_find(&side->timeline.definitions, content->process), content, &source,
				error))
		return 0;
	if (source.text)
		file->text = kymo_hash_bytes(14, source.text, source.bytes) | 1;
	kymo_source_release(&source);
	return file->text;
}

/* True: the other side has another version of the file, as far as that is known. */
static bool has_other_version(struct kymo_side *side, struct kymo_side *other, const struct kymo_side_code *code,
			      struct kymo_error *error)
{
	struct kymo_side_file *file = file_of(side, code->content->file);
	uint64_t own = text_of(side, file, code->content, error);

	if (code->content->file[0] == '<' || !own)
		return code->content->file[0] != '<';
	for (size_t i = 1; i < other->code_count && !file->was_compared; i++) {
		const struct kymo_content *content = other->codes[i].content;

		if (strcmp(other->codes[i].file, code->file) != 0)
			continue;
		file->was_compared = true;
		file->is_other = text_of(other, file_of(other, content->file), content, error) != own;
	}
	return file->is_other;
}

static uint32_t version_of(const struct kymo_side *side)
{
	const struct kymo_definitions *definitions = &side->timeline.definitions;
	const Kymo__Process *process = definitions->process_count ? definitions->processes[0].definition : NULL;

	return process ? process->python_hex >> 16 : 0;
}

/* The same code has the same identity on both sides; so does one that has changed, and its lines are compared by text. */
static int identify(struct kymo_side *side, struct kymo_side *other, const uint64_t *prints, struct kymo_error *error)
{
	for (size_t i = 1; i < side->code_count; i++) {
		struct kymo_side_code *code = &side->codes[i];
		struct fingerprint print = fingerprint_of(code);
		int result;

		code->identity = print.exact;
		if (has(other, prints, print.exact))
			continue;
		code->identity = print.content;
		code->base_line = (int32_t)code->content->first_line;
		if (has(other, prints, print.content))
			continue;
		code->identity = print.exact;
		code->base_line = 0;
		/* Several functions of one name that did not all run on both sides have not changed. */
		if (!has(other, prints, print.name) ||
		    (version_of(side) == version_of(other) && !has_other_version(side, other, code, error)))
			continue;
		code->identity = print.name;
		code->has_changed = true;
		file_of(side, code->content->file)->has_changed = true;
		result = read_texts(side, code, error);
		if (result)
			return result;
	}
	return 0;
}

static int list_codes(struct kymo_side *side)
{
	const struct kymo_definitions *definitions = &side->timeline.definitions;

	if (kymo_grow(&side->codes, &side->code_capacity, 1, sizeof *side->codes))
		return -ENOMEM;
	side->codes[0] = (struct kymo_side_code){.file = "?"};
	side->code_count = 1;
	for (size_t p = 0; p < definitions->process_count; p++) {
		const struct kymo_table *contents = &definitions->processes[p].contents;

		for (size_t i = 0; i < contents->count; i++) {
			if (kymo_grow(&side->codes, &side->code_capacity, side->code_count + 1, sizeof *side->codes))
				return -ENOMEM;
			side->codes[side->code_count++] = (struct kymo_side_code){.content = contents->items[i].value};
		}
	}
	side->slot_count = 16;
	while (side->slot_count < 2 * side->code_count)
		side->slot_count *= 2;
	side->slots = calloc(side->slot_count, sizeof *side->slots);
	if (!side->slots)
		return -ENOMEM;
	for (uint32_t i = 1; i < side->code_count; i++)
		side->slots[slot_of(side, side->codes[i].content)] = i;
	return 0;
}

static enum kymo_treatment treatment_of(const struct kymo_content *content, const struct kymo_ignored *ignored)
{
	for (; ignored->file; ignored++)
		if (kymo_path_matches(content->file, ignored->file) &&
		    (!ignored->function || !fnmatch(ignored->function, content->function, 0)))
			return ignored->treatment;
	return KYMO_SHOWN;
}

/* @path is below the folder @source, or is of the module or package of that name, with dots. */
static bool is_below(const char *path, const char *source)
{
	for (; *source; path++, source++)
		if (*path != *source && !(*path == '/' && *source == '.'))
			return false;
	return path[-1] == '/' || *path == '/' || !*path || !strcmp(path, ".py");
}

static bool is_source(const struct kymo_side_code *code, const char *const *sources)
{
	const char *name = code->file[0] == '/' ? code->file + 1 : code->file;

	for (; *sources; sources++)
		if (**sources && (is_below(code->content->file, *sources) || is_below(name, *sources)))
			return true;
	return false;
}

/* The identities of code of which @side has recorded lines instead of branches, to @identities; how many. */
static size_t list_lined(const struct kymo_side *side, uint64_t *identities)
{
	const struct kymo_definitions *definitions = &side->timeline.definitions;
	size_t count = 0;

	for (size_t p = 0; p < definitions->process_count; p++) {
		const struct kymo_table *codes = &definitions->processes[p].codes;

		for (size_t i = 0; i < codes->count; i++) {
			const struct kymo_code *code = codes->items[i].value;
			uint32_t known = 0;

			if (code->has_lines)
				known = kymo_side_code(side, kymo_traced_content(&definitions->processes[p], code->content_id));
			if (known && !side->codes[known].has_no_branches) {
				side->codes[known].has_no_branches = true;
				identities[count++] = side->codes[known].identity;
			}
		}
	}
	return count;
}

/* In `flow`, branches of code whose variables are told are not recorded: those of the other side do not count either. */
static int leave_out_branches(struct kymo_side *sides[2])
{
	uint64_t *identities = calloc(sides[0]->code_count + sides[1]->code_count, sizeof *identities);
	size_t count;

	if (!identities)
		return -ENOMEM;
	count = list_lined(sides[0], identities);
	count += list_lined(sides[1], identities + count);
	if (count)
		qsort(identities, count, sizeof *identities, compare_u64);
	for (size_t s = 0; s < 2 && count; s++)
		for (size_t i = 1; i < sides[s]->code_count; i++)
			sides[s]->codes[i].has_no_branches =
				bsearch(&sides[s]->codes[i].identity, identities, count, sizeof *identities, compare_u64);
	free(identities);
	return 0;
}

int kymo_sides_identify(struct kymo_side *sides[2], const struct kymo_ignored *ignored, const char *const *sources,
			struct kymo_error *error)
{
	uint64_t *prints[2] = {NULL, NULL};
	int result = 0;

	for (size_t s = 0; s < 2 && !result; s++) {
		result = list_codes(sides[s]);
		if (!result)
			result = list_files(sides[s]);
	}
	if (!result)
		result = match_files(sides);
	for (size_t s = 0; s < 2 && !result; s++) {
		for (size_t i = 1; i < sides[s]->code_count; i++) {
			struct kymo_side_code *code = &sides[s]->codes[i];

			code->file = file_of(sides[s], code->content->file)->name;
			code->treatment = (uint8_t)treatment_of(code->content, ignored);
			code->is_library = is_library(code->content->file) && !is_source(code, sources);
		}
		prints[s] = list_prints(sides[s]);
		result = prints[s] ? 0 : -ENOMEM;
	}
	if (result)
		kymo_fail(error, result, "out of memory");
	for (size_t s = 0; s < 2 && !result; s++)
		result = identify(sides[s], sides[1 - s], prints[1 - s], error);
	if (!result && leave_out_branches(sides))
		result = kymo_fail(error, -ENOMEM, "out of memory");
	free(prints[0]);
	free(prints[1]);
	return result;
}
