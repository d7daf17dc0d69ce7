// SPDX-License-Identifier: Apache-2.0
/* `kymo index`: make the index that replaying a long trace needs. */
#include <getopt.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/open.h"
#include "cli/option_table.h"
#include "replay/trace/text.h"


static void print_index(const struct kymo_index *index, const char *path)
{
	char chunks[KYMO_TEXT_BYTES], lines[KYMO_TEXT_BYTES], size[KYMO_TEXT_BYTES];
	uint64_t line_events = 0;

	for (size_t i = 0; i < index->chunk_count; i++)
		line_events += index->chunks[i].lines;
	printf("%s, %s run: %s of index, %s\n", kymo_text_counted(index->chunk_count, "chunk", chunks),
	       kymo_text_counted(line_events, "line", lines), kymo_text_size(index->file_bytes, size),
	       index->is_kept		   ? index->was_made ? "made" : "already there"
	       : kymo_is_incomplete(path) ? "not kept, because the recording is not over"
					   : "could not be kept");
}

static int run_index(int argc, char **argv)
{
	int status = kymo_options_parse(&kymo_verb_index, argc, argv, NULL, NULL);
	struct kymo_indexed indexed;

	if (status >= 0)
		return status;
	status = kymo_open_trace(&indexed, argv[0], argv[optind], true);
	if (status)
		return status;
	print_index(&indexed.index, argv[optind]);
	kymo_indexed_close(&indexed);
	return KYMO_EXIT_OK;
}

const struct kymo_verb kymo_verb_index = {
	.name = "index",
	.summary = "make the index of a long trace, which replay needs",
	.operands = "TRACE",
	.text = "Make the index of a trace, which says where in it each line ran. It is kept beside the trace, as TRACE-index, "
		"or else in the user's cache. kymo replay and kymo dap make it when they need it; for a long trace, this verb "
		"does it beforehand.",
	.run = run_index,
};
