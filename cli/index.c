// SPDX-License-Identifier: Apache-2.0
/* `kymo index`: make what replaying needs to find its way in a long trace. */
#include <getopt.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/progress.h"
#include "replay/describe.h"
#include "replay/index.h"
#include "replay/text.h"

static const char help[] =
	"usage: kymo index TRACE\n"
	"\n"
	"Make the index of a trace, which says where in it each line ran. It is kept beside the trace,\n"
	"as TRACE-index, or else in the user's cache. kymo replay and kymo dap make it when they need\n"
	"it; for a long trace this verb does it beforehand.\n"
	"\n"
	"  --help   this text\n";

static void print(const struct kymo_index *index)
{
	char chunks[KYMO_TEXT_BYTES], lines[KYMO_TEXT_BYTES], size[KYMO_TEXT_BYTES];
	uint64_t line_events = 0;

	for (size_t i = 0; i < index->chunk_count; i++)
		line_events += index->chunks[i].lines;
	printf("%s chunks, %s lines run: %s of index, %s\n", kymo_text_count(index->chunk_count, chunks),
	       kymo_text_count(line_events, lines), kymo_text_size(index->file_bytes, size),
	       !index->is_kept ? "which could not be kept" : index->was_made ? "made" : "there already");
}

int kymo_command_index(int argc, char **argv)
{
	static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
	struct kymo_timeline timeline;
	struct kymo_progress progress;
	struct kymo_index index;
	struct kymo_error error;
	const char *path;
	int option, result;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option != 'h')
			return KYMO_EXIT_USAGE;
		fputs(help, stdout);
		return KYMO_EXIT_OK;
	}
	path = kymo_single_operand(argc, argv, "trace");
	if (!path)
		return KYMO_EXIT_USAGE;
	if (kymo_timeline_open(&timeline, path, 0, &error))
		return kymo_report(&error);
	kymo_progress_begin(&progress, argv[0], &timeline.trace.watch);
	result = kymo_index_open(&index, &timeline, path, &error);
	kymo_progress_end(&progress);
	kymo_report_damage(&timeline.trace);
	if (!result) {
		print(&index);
		kymo_index_close(&index);
	}
	kymo_timeline_close(&timeline);
	return result ? kymo_report(&error) : KYMO_EXIT_OK;
}
