// SPDX-License-Identifier: Apache-2.0
#define KYMO_PROFILE_API __attribute__((visibility("default")))
#include "replay/library/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/library/profile_slice.h"
#include "replay/library/sized.h"
#include "replay/profile/call_tree.h"

/* What is handed out, and what holds it. */
struct tables {
	struct kymo_profile profile; /* the first: it stands for all */
	struct kymo_timeline timeline;
	struct kymo_call_tree tree;
	struct kymo_profile_function *functions;
	struct kymo_profile_thread *threads;
	struct kymo_profile_node *nodes;
	struct kymo_profile_line *lines;
};

static void fill_functions(struct tables *tables)
{
	for (size_t i = 0; i < tables->tree.function_count; i++) {
		const struct kymo_called_function *function = &tables->tree.functions[i];
		const struct kymo_share *share = &tables->tree.function_shares.items[i + 1];

		tables->functions[i] = (struct kymo_profile_function){
			.file = function->file,
			.name = function->name,
			.first_line = function->first_line,
			.is_c = function->is_c,
			.calls = function->calls,
			.resumes = function->resumes,
			.outermost = function->outermost,
			.self_ns = share->self_ns,
			.self_err_ns = share->self_err_ns,
			.total_ns = share->total_ns,
			.total_err_ns = share->total_err_ns,
		};
	}
}

static void fill_threads(struct tables *tables)
{
	struct kymo_profile *profile = &tables->profile;

	for (size_t i = 0; i < tables->tree.thread_count; i++) {
		const struct kymo_called_thread *read = &tables->tree.threads[i];
		const struct kymo_traced_thread *thread = read->stream->thread;
		bool has_name = thread && thread->name && *thread->name;

		tables->threads[i] = (struct kymo_profile_thread){
			.pid = read->stream->process->pid,
			.native_id = thread ? thread->native_id : 0,
			.name = has_name ? thread->name : NULL,
			.process = read->stream->process->number,
			.number = read->stream->number,
			.begin_ns = read->begin_ns,
			.end_ns = read->end_ns,
			.lost = read->lost,
			.outside_ns = read->outside_ns,
		};
		if (read->begin_ns == read->end_ns) /* nothing was read */
			continue;
		if (profile->begin_ns == profile->end_ns || read->begin_ns < profile->begin_ns)
			profile->begin_ns = read->begin_ns;
		if (profile->end_ns < read->end_ns)
			profile->end_ns = read->end_ns;
	}
}

static void fill_nodes(struct tables *tables)
{
	const struct kymo_call_tree *tree = &tables->tree;

	for (size_t i = 0; i < tree->node_count; i++) {
		const struct kymo_call_node *node = &tree->nodes[i];
		const struct kymo_share *share = &tree->node_shares.items[i + 1];

		tables->nodes[i] = (struct kymo_profile_node){
			.parent = node->parent,
			.function = node->function,
			.thread = node->thread,
			.call_line = node->line,
			.calls = node->calls,
			.resumes = node->resumes,
			.self_ns = share->self_ns,
			.self_err_ns = share->self_err_ns,
			.total_ns = share->total_ns,
			.total_err_ns = share->total_err_ns,
			.flags = (node->is_cut ? KYMO_PROFILE_CUT : 0) | (node->is_more ? KYMO_PROFILE_MORE : 0),
		};
	}
}

static int compare_lines(const void *left, const void *right)
{
	const struct kymo_profile_line *a = left, *b = right;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

static void fill_lines(struct tables *tables)
{
	const struct kymo_call_tree *tree = &tables->tree;

	for (size_t i = 0; i < tree->line_count; i++) {
		const struct kymo_share *share = &tree->line_shares.items[i + 1];

		tables->lines[i] = (struct kymo_profile_line){
			.function = tree->lines[i].function,
			.line = tree->lines[i].line,
			.hits = tree->lines[i].hits,
			.self_ns = share->self_ns,
			.self_err_ns = share->self_err_ns,
		};
	}
	if (tree->line_count)
		qsort(tables->lines, tree->line_count, sizeof(*tables->lines), compare_lines);
}

static int fill(struct tables *tables)
{
	const struct kymo_call_tree *tree = &tables->tree;
	const Kymo__Session *session = tables->timeline.definitions.session;

	tables->functions = calloc(tree->function_count + 1, sizeof(*tables->functions));
	tables->threads = calloc(tree->thread_count + 1, sizeof(*tables->threads));
	tables->nodes = calloc(tree->node_count + 1, sizeof(*tables->nodes));
	tables->lines = calloc(tree->line_count + 1, sizeof(*tables->lines));
	if (!tables->functions || !tables->threads || !tables->nodes || !tables->lines)
		return -ENOMEM;
	tables->profile = (struct kymo_profile){
		.function_count = tree->function_count,
		.thread_count = tree->thread_count,
		.node_count = tree->node_count,
		.line_count = tree->line_count,
		.functions = tables->functions,
		.threads = tables->threads,
		.nodes = tables->nodes,
		.lines = tables->lines,
		.events = tree->events,
		.lost = tree->lost,
		.started_unix_ns = session ? (int64_t)session->started_unix_ns : 0,
	};
	fill_functions(tables);
	fill_threads(tables);
	fill_nodes(tables);
	fill_lines(tables);
	return 0;
}

int kymo_profile_read(const char *path, const struct kymo_profile_slice *given, const struct kymo_profile **out,
		      char *message, size_t message_bytes)
{
	struct kymo_profile_slice wanted = {0};
	struct tables *tables = calloc(1, sizeof(*tables));
	struct kymo_error error = {"out of memory"};
	int result = tables ? kymo_sized_take(&wanted, given, sizeof wanted, &error) : -ENOMEM;

	if (!result)
		result = kymo_timeline_open(&tables->timeline, path, 0, &error);

	if (result) {
		free(tables);
		tables = NULL;
	} else {
		struct kymo_slice slice = kymo_profile_slice_of(&wanted);

		result = kymo_call_tree_read(&tables->tree, &tables->timeline, &slice, wanted.flags & KYMO_PROFILE_LINES,
					     KYMO_CALL_TREE_NODES, &error);
	}
	if (!result) {
		result = fill(tables);
		if (result)
			kymo_fail(&error, result, "out of memory");
	}
	if (result) {
		kymo_error_copy(&error, message, message_bytes);
		kymo_profile_free(tables ? &tables->profile : NULL);
		return result;
	}
	tables->profile.size = sizeof tables->profile;
	*out = &tables->profile;
	return 0;
}

void kymo_profile_free(const struct kymo_profile *profile)
{
	struct tables *tables = (struct tables *)profile;

	if (!tables)
		return;
	kymo_call_tree_release(&tables->tree);
	kymo_timeline_close(&tables->timeline);
	free(tables->functions);
	free(tables->threads);
	free(tables->nodes);
	free(tables->lines);
	free(tables);
}
