// SPDX-License-Identifier: Apache-2.0
#include "replay/coverage/covered_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(const struct kymo_content_counts *of)
{
	const struct kymo_content *content = of->content;
	uint32_t hash = kymo_crc32c(of->version, content->file, strlen(content->file));

	hash = kymo_crc32c(hash, content->function, strlen(content->function));
	hash = kymo_crc32c(hash, &content->first_line, sizeof(content->first_line));
	hash = kymo_crc32c(hash, content->bytecode, content->bytecode_bytes);
	return kymo_crc32c(hash, content->line_table, content->line_table_bytes);
}

static bool is_equal(const void *a, uint32_t a_bytes, const void *b, uint32_t b_bytes)
{
	return a_bytes == b_bytes && (!a_bytes || !memcmp(a, b, a_bytes));
}

static bool is_same_content(const struct kymo_covered_content *left, const struct kymo_covered_content *right)
{
	const struct kymo_content *a = left->of->content, *b = right->of->content;

	return left->hash == right->hash && left->source == right->source && left->of->version == right->of->version &&
	       !left->of->code == !right->of->code && a->first_line == b->first_line && !strcmp(a->file, b->file) &&
	       !strcmp(a->function, b->function) && is_equal(a->bytecode, a->bytecode_bytes, b->bytecode, b->bytecode_bytes) &&
	       is_equal(a->line_table, a->line_table_bytes, b->line_table, b->line_table_bytes) &&
	       is_equal(a->exception_table, a->exception_table_bytes, b->exception_table, b->exception_table_bytes);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_hashes(const void *left, const void *right)
{
	const struct kymo_covered_content *a = left, *b = right;
	int order = compare_numbers(a->hash, b->hash);

	return order ? order : compare_numbers(a->of->content->number, b->of->content->number);
}

static int compare_files(const struct kymo_covered_content *a, const struct kymo_covered_content *b)
{
	int order = strcmp(a->of->content->file, b->of->content->file);

	order = order ? order : compare_numbers((uintptr_t)a->source, (uintptr_t)b->source);
	return order ? order : compare_numbers(a->of->version, b->of->version);
}

static int compare_places(const void *left, const void *right)
{
	const struct kymo_covered_content *a = left, *b = right;
	int order = compare_files(a, b);

	order = order ? order : compare_numbers(a->of->content->first_line, b->of->content->first_line);
	return order ? order : compare_numbers(a->of->content->number, b->of->content->number);
}

bool kymo_is_same_file(const struct kymo_covered_content *a, const struct kymo_covered_content *b)
{
	return !compare_files(a, b);
}

static void add(struct kymo_content_counts *to, const struct kymo_content_counts *from)
{
	to->has_run |= from->has_run;
	to->is_incomplete |= from->is_incomplete;
	to->calls += from->calls;
	for (uint32_t i = 0; i < to->line_count; i++)
		to->lines[i].hits += from->lines[i].hits;
	for (uint32_t i = 0; i < to->branch_count; i++) {
		struct kymo_counted_branch *branch = &to->branches[i];

		for (unsigned side = 0; side < 2; side++) {
			branch->hits[side] += from->branches[i].hits[side];
			if (branch->dests[side] == KYMO_NO_UNIT)
				branch->dests[side] = from->branches[i].dests[side];
		}
	}
}

/* Equal contents follow each other. */
static void merge(struct kymo_covered_files *files)
{
	size_t kept = 0;

	for (size_t i = 0; i < files->count; i++) {
		struct kymo_covered_content *at = &files->contents[i];

		files->equals[i] = at->of;
		if (kept && is_same_content(&files->contents[kept - 1], at)) {
			add(files->contents[kept - 1].of, at->of);
			files->contents[kept - 1].equal_count++;
		} else {
			at->first_equal = i;
			at->equal_count = 1;
			files->contents[kept++] = *at;
		}
	}
	files->count = kept;
}

int kymo_covered_files_make(struct kymo_covered_files *files, struct kymo_counts *counts)
{
	const struct kymo_definitions *definitions = &counts->timeline->definitions;

	*files = (struct kymo_covered_files){
		.contents = calloc(counts->count + 1, sizeof(*files->contents)),
		.equals = calloc(counts->count + 1, sizeof(struct kymo_content_counts *)),
	};
	if (!files->contents || !files->equals)
		return -ENOMEM;
	for (size_t i = 1; i < counts->count; i++) {
		struct kymo_content_counts *of = &counts->contents[i];

		if (of->has_run || of->is_incomplete)
			files->contents[files->count++] = (struct kymo_covered_content){
				.of = of,
				.source = kymo_traced_source_place(definitions,
								   kymo_traced_find(definitions, of->content->process),
								   of->content->file),
				.hash = hash_of(of),
			};
	}
	qsort(files->contents, files->count, sizeof(*files->contents), compare_hashes);
	merge(files);
	qsort(files->contents, files->count, sizeof(*files->contents), compare_places);
	return 0;
}

void kymo_covered_files_release(struct kymo_covered_files *files)
{
	free(files->contents);
	free(files->equals);
	*files = (struct kymo_covered_files){0};
}
