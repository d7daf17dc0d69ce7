// SPDX-License-Identifier: Apache-2.0
/* `kymo verify`: check every frame, message and record of a trace. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/option_table.h"
#include "cli/progress.h"
#include "replay/decode/summary.h"
#include "replay/trace/describe.h"
#include "replay/trace/text.h"

/* Decode everything.  What is damaged is in timeline->trace.damage afterwards. */
static int decode_trace(struct kymo_timeline *timeline, const char *path, struct kymo_summary *summary,
		  struct kymo_error *error)
{
	int result = kymo_timeline_open(timeline, path, KYMO_TRACE_SCAN, error);

	if (result)
		return result;
	for (size_t i = 0; i < timeline->stream_count && !result; i++)
		result = kymo_summary_add(summary, timeline, &timeline->streams[i], error);
	if (result)
		kymo_timeline_close(timeline);
	return result;
}

static bool index_is_good(const struct kymo_trace *scanned, const char *path)
{
	struct kymo_trace indexed;
	bool is_good;

	if (kymo_trace_open(&indexed, path, 0, NULL))
		return false;
	is_good = indexed.frame_count == scanned->frame_count;
	for (size_t i = 0; is_good && i < indexed.frame_count; i++)
		is_good = indexed.frames[i].file_offset == scanned->frames[i].file_offset;
	kymo_trace_close(&indexed);
	return is_good;
}

static int verify_trace(const char *verb, const char *path)
{
	struct kymo_summary summary = {0};
	struct kymo_timeline timeline = {0};
	struct kymo_error error;
	char text[KYMO_TEXT_BYTES], text2[KYMO_TEXT_BYTES];
	struct kymo_progress progress;
	const char *why_cut;
	bool is_good;
	int result;

	kymo_progress_begin(&progress, verb, &timeline.trace.watch);
	result = decode_trace(&timeline, path, &summary, &error);
	kymo_progress_end(&progress);
	if (result)
		return kymo_report(&error);
	is_good = !timeline.trace.damage_count && !timeline.definitions.damaged;
	kymo_report_damage(&timeline.trace);
	if (timeline.definitions.damaged)
		fprintf(stderr, "kymo: %s missing or malformed\n", kymo_text_counted(timeline.definitions.damaged, "definition", text));
	if (timeline.definitions.left_out)
		fprintf(stderr, "kymo: %s left out: they would take too much memory\n",
			kymo_text_counted(timeline.definitions.left_out, "definition", text));
	if (summary.values_damaged) {
		fprintf(stderr, "kymo: the values of %s are damaged\n", kymo_text_counted(summary.values_damaged, "event", text));
		is_good = false;
	}
	if (!timeline.trace.is_complete) {
		fprintf(stderr, "kymo: the trace has no end: its writer was killed, or it was cut; "
				"kymo salvage completes it\n");
		is_good = false;
	} else if (!index_is_good(&timeline.trace, path)) {
		fprintf(stderr, "kymo: the index does not list the frames of the file\n");
		is_good = false;
	}
	printf("%s, ", kymo_text_counted(timeline.trace.frame_count, "frame", text));
	why_cut = kymo_summary_add_unstored(&summary, &timeline.definitions);
	printf("%s, %s%s lost, %" PRIu64 " with something undefined: %s",
	       kymo_text_counted(summary.events, "event", text), summary.lost_is_least ? "at least " : "", kymo_text_count(summary.lost, text2),
	       summary.undefined, is_good ? "good" : "damaged");
	if (why_cut) {
		fputs(", but cut short: ", stdout);
		kymo_text_put(stdout, why_cut);
	}
	putchar('\n');
	kymo_timeline_close(&timeline);
	return is_good ? KYMO_EXIT_OK : KYMO_EXIT_FAILURE;
}

static int run_verify(int argc, char **argv)
{
	int status = kymo_options_parse(&kymo_verb_verify, argc, argv, NULL, NULL);

	return status < 0 ? verify_trace(argv[0], argv[optind]) : status;
}

const struct kymo_verb kymo_verb_verify = {
	.name = "verify",
	.summary = "check every byte of a trace",
	.operands = "TRACE",
	.text = "Check every frame, definition and record of a trace, and that its index lists them. Print what is damaged, with the "
		"offset in the file; the exit status is 1 then. Events that were lost while recording, and are counted, are not damage; "
		"if a full disk or --max-size cut the trace short, that is printed.",
	.run = run_verify,
};
