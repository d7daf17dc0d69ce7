// SPDX-License-Identifier: Apache-2.0
#define KYMO_COVERAGE_API __attribute__((visibility("default")))
#include "replay/library/coverage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/coverage/branch_trail.h"
#include "replay/coverage/covered_files.h"

/* What ran of a content in a context; the content's branches begin with @first_branch among the file's. */
struct context_part {
	uint32_t context;
	const struct kymo_content_counts *of; /* with all hits */
	const struct kymo_context_set *set;
	uint64_t first_branch;
};

/* What is handed out, and what holds it. */
struct tables {
	struct kymo_coverage coverage; /* the first: it stands for all */
	struct kymo_timeline timeline;
	struct kymo_counts counts;
	struct kymo_covered_files covered;
	struct kymo_trails trails;
	struct kymo_coverage_file *files;
	struct kymo_coverage_line *lines;
	struct kymo_coverage_branch *branches;
	struct kymo_coverage_function *functions;
	struct kymo_coverage_set *sets;
	uint32_t *set_lines, *set_branches;
	/* of the file at hand */
	uint64_t first_line, first_branch;
	struct context_part *parts;
	size_t part_count, part_capacity;
	/* of the arrays above */
	size_t file_capacity, line_capacity, branch_capacity, function_capacity, set_capacity, set_line_capacity,
		set_branch_capacity;
};

#define ADD(tables, items, capacity, count, ...)                                                                            \
	(kymo_grow(&(tables)->items, &(tables)->capacity, (tables)->coverage.count + 1, sizeof(*(tables)->items))           \
		 ? -ENOMEM                                                                                                  \
		 : ((tables)->items[(tables)->coverage.count++] = __VA_ARGS__, 0))

static uint64_t hits_of(const struct tables *tables, uint64_t hits)
{
	return tables->counts.are_hits_counted ? hits : !!hits;
}

static int add_line(struct tables *tables, int64_t line, uint64_t hits)
{
	return ADD(tables, lines, line_capacity, line_count, (struct kymo_coverage_line){.hits = hits, .line = (uint32_t)line});
}

/* Lines that ran, and those at which the interpreter would have had a LINE event. */
static int add_lines(struct tables *tables, const struct kymo_content_counts *of)
{
	int result = 0;

	for (uint32_t i = 0; i < of->line_count && !result; i++)
		if (of->lines[i].hits)
			result = add_line(tables, of->lines[i].line, of->lines[i].hits);
	if (of->code) {
		const struct kymo_flow *flow = kymo_flow_of(of->code);

		for (uint32_t unit = flow->entry; unit < flow->units && !result; unit = flow->at[unit].next)
			if (kymo_flow_line(of->code, unit) >= 0)
				result = add_line(tables, kymo_flow_line(of->code, unit), 0);
		return result;
	}
	for (uint32_t i = 0; i < of->line_count && !result; i++)
		result = add_line(tables, of->lines[i].line, 0);
	return result;
}

static int compare_lines(const void *left, const void *right)
{
	uint32_t a = ((const struct kymo_coverage_line *)left)->line, b = ((const struct kymo_coverage_line *)right)->line;

	return a < b ? -1 : a > b;
}

/* The lines of the file at hand were added as they came. */
static void merge_lines(struct tables *tables)
{
	struct kymo_coverage_line *lines = tables->lines + tables->first_line;
	uint64_t count = tables->coverage.line_count - tables->first_line, kept = 0;

	if (!count)
		return;
	qsort(lines, count, sizeof(*lines), compare_lines);
	for (uint64_t i = 1; i < count; i++) {
		if (lines[i].line == lines[kept].line)
			lines[kept].hits += lines[i].hits;
		else
			lines[++kept] = lines[i];
	}
	for (uint64_t i = 0; i <= kept; i++)
		lines[i].hits = hits_of(tables, lines[i].hits);
	tables->coverage.line_count = tables->first_line + kept + 1;
}

static int32_t line_of(const struct kymo_content_counts *of, const struct kymo_counted_branch *branch)
{
	const struct kymo_code code = {.content = of->content};

	return kymo_code_line(&code, branch->unit);
}

/* Way @way of the branches of @of; branches without a line are the compiler's own. */
static bool is_told(const struct kymo_content_counts *of, uint32_t way)
{
	return of->branches[way / 2].hits[way % 2] && line_of(of, &of->branches[way / 2]) >= 0;
}

static int add_way(struct tables *tables, const struct kymo_content_counts *of, const struct kymo_counted_branch *branch,
		   unsigned side)
{
	uint64_t first = tables->trails.count;
	bool is_exit;

	if (kymo_trail_follow(&tables->trails, of, branch->dests[side], &is_exit))
		return -ENOMEM;
	return ADD(tables, branches, branch_capacity, branch_count, (struct kymo_coverage_branch){
		.hits = hits_of(tables, branch->hits[side]),
		.first_trail = first,
		.trail_count = tables->trails.count - first,
		.line = (uint32_t)line_of(of, branch),
		.first_line = of->content->first_line,
		.is_exit = is_exit,
	});
}

static int add_branches(struct tables *tables, const struct kymo_content_counts *of)
{
	int result = 0;

	for (uint32_t i = 0; i < 2 * of->branch_count && !result; i++)
		if (is_told(of, i))
			result = add_way(tables, of, &of->branches[i / 2], i % 2);
	return result;
}

/* Add to the set that was added last. */
static int add_part(struct tables *tables, const struct context_part *part)
{
	struct kymo_coverage_set *set = &tables->sets[tables->coverage.set_count - 1];
	const struct kymo_content_counts *of = part->of;
	uint32_t branch = (uint32_t)part->first_branch;
	int result = 0;

	for (uint32_t i = 0; i < of->line_count && !result; i++)
		if (kymo_context_set_has(part->set, i)) {
			result = ADD(tables, set_lines, set_line_capacity, set_line_count, (uint32_t)of->lines[i].line);
			set->line_count++;
		}
	for (uint32_t i = 0; i < 2 * of->branch_count && !result; i++) {
		if (!is_told(of, i))
			continue;
		if (kymo_context_set_has(part->set, of->line_count + i)) {
			result = ADD(tables, set_branches, set_branch_capacity, set_branch_count, branch);
			set->branch_count++;
		}
		branch++;
	}
	return result;
}

static int compare_parts(const void *left, const void *right)
{
	const struct context_part *a = left, *b = right;

	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	return a->first_branch < b->first_branch ? -1 : a->first_branch > b->first_branch;
}

/* One set of each context that something of the file ran in. */
static int add_sets(struct tables *tables)
{
	int result = 0;

	if (tables->part_count)
		qsort(tables->parts, tables->part_count, sizeof(*tables->parts), compare_parts);
	for (size_t i = 0; i < tables->part_count && !result; i++) {
		const struct context_part *part = &tables->parts[i];

		if (!i || part->context != part[-1].context)
			result = ADD(tables, sets, set_capacity, set_count, (struct kymo_coverage_set){.context = part->context});
		if (!result)
			result = add_part(tables, part);
	}
	tables->part_count = 0;
	return result;
}

static int note_contexts(struct tables *tables, const struct kymo_covered_content *covered, uint64_t first_branch)
{
	for (size_t i = 0; i < covered->equal_count; i++) {
		const struct kymo_content_counts *own = tables->covered.equals[covered->first_equal + i];

		if (kymo_grow(&tables->parts, &tables->part_capacity, tables->part_count + own->set_count, sizeof(*tables->parts)))
			return -ENOMEM;
		for (uint32_t k = 0; k < own->set_count; k++)
			tables->parts[tables->part_count++] =
				(struct context_part){own->sets[k].context, covered->of, &own->sets[k], first_branch};
	}
	return 0;
}

static int add_content(struct tables *tables, const struct kymo_covered_content *covered)
{
	const struct kymo_content_counts *of = covered->of;
	uint64_t first_branch = tables->coverage.branch_count - tables->first_branch;
	bool has_calls = tables->counts.has_calls || !tables->counts.are_hits_counted;
	int result;

	if (!of->has_run)
		return 0;
	result = add_lines(tables, of);
	if (!result)
		result = add_branches(tables, of);
	if (!result && has_calls)
		result = ADD(tables, functions, function_capacity, function_count, (struct kymo_coverage_function){
			.name = of->content->function,
			.calls = tables->counts.are_hits_counted ? of->calls : 1,
			.first_line = of->content->first_line,
		});
	return result ? result : note_contexts(tables, covered, first_branch);
}

/* A source that cannot be read counts as missing. */
static int add_source(struct tables *tables, const struct kymo_source_place *place, struct kymo_coverage_file *file)
{
	struct kymo_source source;
	int result = place ? kymo_source_load(&tables->timeline, place, &source, NULL) : -ENOENT;

	if (result)
		return result == -ENOMEM ? result : 0;
	if (source.text) {
		file->source = source.text;
		file->source_bytes = source.bytes;
		file->flags |= KYMO_COVERAGE_SOURCE | (source.is_verified ? KYMO_COVERAGE_VERIFIED : 0);
		source.text = NULL;
	}
	kymo_source_release(&source);
	return 0;
}

/* The file of the contents from @first on; the next one begins at *@end. */
static int add_file(struct tables *tables, size_t first, size_t *end)
{
	const struct kymo_covered_content *contents = tables->covered.contents;
	const struct kymo_content_counts *of = contents[first].of;
	uint64_t first_function = tables->coverage.function_count, first_set = tables->coverage.set_count;
	struct kymo_coverage_file added = {
		.file = of->content->file,
		.version = of->version,
	};
	int result = 0;

	tables->first_line = tables->coverage.line_count;
	tables->first_branch = tables->coverage.branch_count;
	for (*end = first; *end < tables->covered.count && kymo_is_same_file(&contents[first], &contents[*end]) && !result;
	     ++*end) {
		result = add_content(tables, &contents[*end]);
		if (contents[*end].of->is_incomplete)
			added.flags |= KYMO_COVERAGE_INCOMPLETE;
	}
	if (result)
		return result;
	merge_lines(tables);
	result = add_sets(tables);
	if (!result)
		result = add_source(tables, contents[first].source, &added);
	if (result)
		return result;
	added.line_count = tables->coverage.line_count - tables->first_line;
	added.branch_count = tables->coverage.branch_count - tables->first_branch;
	added.function_count = tables->coverage.function_count - first_function;
	added.set_count = tables->coverage.set_count - first_set;
	result = ADD(tables, files, file_capacity, file_count, added);
	if (result)
		free((char *)added.source);
	return result;
}

static int fill(struct tables *tables)
{
	struct kymo_coverage *coverage = &tables->coverage;
	static const char *const no_contexts[] = {""};
	const struct kymo_counts *counts = &tables->counts;
	int result = kymo_covered_files_make(&tables->covered, &tables->counts);

	for (size_t at = 0; at < tables->covered.count && !result;)
		result = add_file(tables, at, &at);
	coverage->flags = (counts->are_hits_counted ? KYMO_COVERAGE_HITS : 0) |
			  (counts->has_branches ? KYMO_COVERAGE_BRANCHES : 0);
	coverage->undefined = counts->undefined;
	coverage->trail_count = tables->trails.count;
	coverage->files = tables->files;
	coverage->lines = tables->lines;
	coverage->branches = tables->branches;
	coverage->trails = tables->trails.lines;
	coverage->functions = tables->functions;
	coverage->sets = tables->sets;
	coverage->set_lines = tables->set_lines;
	coverage->set_branches = tables->set_branches;
	coverage->context_count = counts->wants_contexts ? counts->contexts.count : 1;
	coverage->contexts = counts->wants_contexts ? counts->contexts.names : no_contexts;
	return result;
}

int kymo_coverage_read(const char *path, uint32_t flags, const struct kymo_coverage **out, char *message,
		       size_t message_bytes)
{
	struct tables *tables = calloc(1, sizeof(*tables));
	struct kymo_error error = {"out of memory"};
	int result = tables ? 0 : -ENOMEM;

	if (!result) {
		result = kymo_timeline_open(&tables->timeline, path, 0, &error);
		if (result) {
			free(tables);
			tables = NULL;
		}
	}
	if (!result)
		result = kymo_counts_read(&tables->counts, &tables->timeline, flags & KYMO_COVERAGE_CONTEXTS, &error);
	if (!result) {
		result = fill(tables);
		if (result)
			kymo_fail(&error, result, "out of memory");
	}
	if (result) {
		kymo_error_copy(&error, message, message_bytes);
		kymo_coverage_free(tables ? &tables->coverage : NULL);
		return result;
	}
	tables->coverage.size = sizeof tables->coverage;
	*out = &tables->coverage;
	return 0;
}

void kymo_coverage_free(const struct kymo_coverage *coverage)
{
	struct tables *tables = (struct tables *)coverage;

	if (!tables)
		return;
	for (uint64_t i = 0; i < tables->coverage.file_count; i++)
		free((char *)tables->files[i].source);
	kymo_trails_release(&tables->trails);
	kymo_covered_files_release(&tables->covered);
	if (tables->counts.timeline)
		kymo_counts_release(&tables->counts);
	kymo_timeline_close(&tables->timeline);
	free(tables->files);
	free(tables->lines);
	free(tables->branches);
	free(tables->functions);
	free(tables->sets);
	free(tables->set_lines);
	free(tables->set_branches);
	free(tables->parts);
	free(tables);
}
