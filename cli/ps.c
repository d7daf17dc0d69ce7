// SPDX-License-Identifier: Apache-2.0
/* `kymo ps`: the processes of a trace, or the recordings that run now. */
#include <dirent.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/describe.h"
#include "cli/sessions.h"
#include "cli/text.h"

static const char help[] =
	"usage: kymo ps [TRACE]\n"
	"\n"
	"Print the processes of a trace as a tree: how each came to be and how it ended; then the\n"
	"Pythons that were seen but not recorded, and why. Without a trace: the recordings of this\n"
	"user that run now, or that a killed reader left.\n"
	"\n"
	"  --help   this text\n";

static void print_tree(const struct kymo_timeline *timeline,
		       const struct kymo_traced_process *parent, unsigned depth)
{
	static const char *const origins[] = {"", "fork of it: ", "exec in it: ", ""};
	const struct kymo_definitions *definitions = &timeline->definitions;
	char text[KYMO_DESCRIBE_BYTES];

	for (size_t i = 0; i < definitions->process_count; i++) {
		const struct kymo_traced_process *process = &definitions->processes[i];

		if (process->parent != parent)
			continue;
		/* Deeper than a line is long, the tree goes straight down. */
		printf("%*s%-7" PRIu32 " %s", 2 * (depth < 40 ? (int)depth : 40), "", process->pid,
		       origins[process->origin]);
		kymo_process_put_command(stdout, process);
		printf("  [%s]\n", kymo_describe_end(timeline, process, text));
		print_tree(timeline, process, depth + 1);
	}
}

static void print_unrecorded(const struct kymo_definitions *definitions)
{
	for (size_t i = 0; i < definitions->kept_count; i++) {
		const Kymo__Definition *message = definitions->kept[i];

		if (message->kind_case != KYMO__DEFINITION__KIND_UNRECORDED)
			continue;
		printf("%-7" PRIu32 " ", message->unrecorded->pid);
		kymo_text_put(stdout, message->unrecorded->command);
		printf("  [not recorded: ");
		kymo_text_put(stdout, message->unrecorded->reason);
		printf("]\n");
	}
}

static int print_trace(const char *path)
{
	struct kymo_timeline timeline;
	struct kymo_error error;

	if (kymo_timeline_open(&timeline, path, 0, &error))
		return kymo_report(&error);
	kymo_report_damage(&timeline.trace);
	print_tree(&timeline, NULL, 0);
	print_unrecorded(&timeline.definitions);
	kymo_timeline_close(&timeline);
	return KYMO_EXIT_OK;
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

int kymo_command_ps(int argc, char **argv)
{
	static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
	unsigned sessions = 0;
	const char *path;
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option != 'h')
			return KYMO_EXIT_USAGE;
		fputs(help, stdout);
		return KYMO_EXIT_OK;
	}
	if (optind == argc) {
		kymo_sessions_visit(print_session, &sessions);
		if (!sessions)
			printf("nothing is recorded now\n");
		return KYMO_EXIT_OK;
	}
	path = kymo_single_operand(argc, argv, "trace");
	return path ? print_trace(path) : KYMO_EXIT_USAGE;
}
