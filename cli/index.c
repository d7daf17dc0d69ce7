// SPDX-License-Identifier: Apache-2.0
/* `kymo index`: make what replaying needs to find its way in a long trace. */
#include <getopt.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/open.h"
#include "replay/trace/text.h"

static const char help[] =
	"usage: kymo index TRACE\n"
	"\n"
	"Make the index of a trace, which says where in it each line ran. It is kept beside the trace,\n"
	"as TRACE-index, or else in the user's cache. kymo replay and kymo dap make it when they need\n"
	"it; for a long trace this verb does it beforehand.\n"
	"\n"
	"  --help   this text\n";

static void print(const struct kymo_index *index, const char *path)
{
	char chunks[KYMO_TEXT_BYTES], lines[KYMO_TEXT_BYTES], size[KYMO_TEXT_BYTES];
	uint64_t line_events = 0;

	for (size_t i = 0; i < index->chunk_count; i++)
		line_events += index->chunks[i].lines;
	printf("%s, %s run: %s of index, %s\n", kymo_text_counted(index->chunk_count, "chunk", chunks),
	       kymo_text_counted(line_events, "line", lines), kymo_text_size(index->file_bytes, size),
	       index->is_kept		   ? index->was_made ? "made" : "there already"
	       : kymo_is_incomplete(path) ? "which is not kept before the recording is over"
					   : "which could not be kept");
}

int kymo_command_index(int argc, char **argv)
{
	static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
	struct kymo_indexed indexed;
	const char *path;
	int option, status;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option != 'h')
			return KYMO_EXIT_USAGE;
		fputs(help, stdout);
		return KYMO_EXIT_OK;
	}
	path = kymo_single_operand(argc, argv, "trace");
	if (!path)
		return KYMO_EXIT_USAGE;
	status = kymo_open_trace(&indexed, argv[0], path, true);
	if (status)
		return status;
	print(&indexed.index, path);
	kymo_indexed_close(&indexed);
	return KYMO_EXIT_OK;
}
