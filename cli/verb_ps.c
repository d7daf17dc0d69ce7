// SPDX-License-Identifier: Apache-2.0
/* `kymo ps`: the processes of a trace, or the recordings that run now. */
#include <dirent.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/option_table.h"
#include "cli/sessions.h"
#include "cli/unrecorded_processes.h"
#include "recorder/recorder.h"
#include "replay/trace/describe.h"
#include "replay/trace/text.h"

/* The processes as a tree: indices of definitions->processes, SIZE_MAX for none. */
struct tree {
	const struct kymo_definitions *definitions;
	size_t *first; /* first child; that of the run itself is behind the last process */
	size_t *next;  /* next child of the same parent */
};

static size_t parent_of(const struct tree *tree, size_t process)
{
	const struct kymo_definitions *definitions = tree->definitions;
	const struct kymo_traced_process *parent = definitions->processes[process].parent;

	return parent ? (size_t)(parent - definitions->processes) : definitions->process_count;
}

static bool make_tree(struct tree *tree, const struct kymo_definitions *definitions)
{
	size_t count = definitions->process_count;

	tree->definitions = definitions;
	tree->first = malloc((count + 1) * sizeof *tree->first);
	tree->next = malloc((count + 1) * sizeof *tree->next);
	if (!tree->first || !tree->next)
		return false;
	memset(tree->first, 0xff, (count + 1) * sizeof *tree->first);
	for (size_t i = count; i-- > 0;) {
		size_t parent = parent_of(tree, i);

		tree->next[i] = tree->first[parent];
		tree->first[parent] = i;
	}
	return true;
}

static void print_process(const struct kymo_timeline *timeline,
			  const struct kymo_traced_process *process, unsigned depth)
{
	static const char *const origins[] = {"", "fork of it: ", "exec in it: ", ""};
	char text[KYMO_DESCRIBE_BYTES];

	/* Below 40 levels the tree is no longer indented further. */
	printf("%*s%-7" PRIu32 " %s", 2 * (depth < 40 ? (int)depth : 40), "", process->pid,
	       origins[process->origin]);
	kymo_process_put_command(stdout, process);
	printf("  [%s]\n", kymo_describe_end(timeline, process, text));
}

/* Not by recursion: a program that calls exec in a loop makes a deep tree. */
static void print_tree(const struct kymo_timeline *timeline, const struct tree *tree)
{
	const struct kymo_definitions *definitions = tree->definitions;
	size_t at = tree->first[definitions->process_count];
	unsigned depth = 0;

	while (at != SIZE_MAX) {
		print_process(timeline, &definitions->processes[at], depth);
		if (tree->first[at] != SIZE_MAX) {
			at = tree->first[at];
			depth++;
			continue;
		}
		for (; depth && tree->next[at] == SIZE_MAX; depth--)
			at = parent_of(tree, at);
		at = tree->next[at];
	}
}

static void print_unrecorded(const struct kymo_definitions *definitions)
{
	const Kymo__Unrecorded *unrecorded;

	for (size_t at = 0; (unrecorded = kymo_unrecorded_next(definitions, &at));) {
		if (unrecorded->pid)
			printf("%-7" PRIu32 " ", unrecorded->pid);
		kymo_unrecorded_put_command(definitions, unrecorded);
		printf("  [not recorded: ");
		kymo_text_put(stdout, unrecorded->reason);
		printf("]\n");
	}
}

static int print_trace(const char *path)
{
	struct kymo_error error = {"out of memory"};
	struct kymo_timeline timeline;
	struct tree tree = {0};
	int status = KYMO_EXIT_OK;

	if (kymo_timeline_open(&timeline, path, 0, &error))
		return kymo_report(&error);
	kymo_report_damage(&timeline.trace);
	if (make_tree(&tree, &timeline.definitions)) {
		print_tree(&timeline, &tree);
		print_unrecorded(&timeline.definitions);
	} else {
		status = kymo_report(&error);
	}
	free(tree.first);
	free(tree.next);
	kymo_timeline_close(&timeline);
	return status;
}

static const char *reader_name(const struct kymo_session_page *page)
{
	if (page->reader_state == KYMO_READER_CLOSED)
		return "sealed";
	if (page->reader_state == KYMO_READER_NONE)
		return "reader not started";
	return kill((pid_t)page->reader_pid, 0) ? "reader killed: kymo salvage reads what is left"
						: "recording";
}

static void print_session(const char *dir, void *context)
{
	unsigned *sessions = context;
	struct kymo_session_page page;
	struct kymo_error error;
	Kymo__Config *config;
	struct dirent *entry;
	DIR *folder;

	if (kymo_session_read(dir, &page, &config))
		return;
	++*sessions;
	kymo_text_put(stdout, dir);
	printf("  [%s]\n  to ", reader_name(&page));
	kymo_text_put(stdout, config->output);
	putchar('\n');
	kymo__config__free_unpacked(config, NULL);
	if (page.reader_state == KYMO_READER_CLOSED && kymo_session_failure(dir, &error)) {
		printf("  not completed: ");
		kymo_text_put(stdout, error.message);
		putchar('\n');
	}
	folder = opendir(dir);
	while (folder && (entry = readdir(folder))) {
		unsigned long pid = strtoul(entry->d_name, NULL, 10);

		if (entry->d_type == DT_DIR && pid)
			printf("  %-7lu%s\n", pid,
			       pid <= INT32_MAX && !kill((pid_t)pid, 0) ? "" : " [ended]");
	}
	if (folder)
		closedir(folder);
}

static int run_ps(int argc, char **argv)
{
	int status = kymo_options_parse(&kymo_verb_ps, argc, argv, NULL, NULL);
	unsigned sessions = 0;

	if (status >= 0)
		return status;
	if (optind < argc)
		return print_trace(argv[optind]);
	kymo_sessions_visit(print_session, &sessions);
	if (!sessions)
		printf("no recording is running\n");
	return KYMO_EXIT_OK;
}

const struct kymo_verb kymo_verb_ps = {
	.name = "ps",
	.summary = "list the processes of a trace, or the recordings that are running",
	.operands = "[TRACE]",
	.text = "Print the processes of a trace as a tree: how each was started and how it ended; then the Pythons that were seen but "
		"not recorded, and why. Without a trace: the recordings of this user that are running, or that a killed reader left.",
	.run = run_ps,
};
