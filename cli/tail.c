// SPDX-License-Identifier: Apache-2.0
/* `kymo tail`: what every thread did last, and how the process ended. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "replay/describe.h"
#include "replay/text.h"
#include "replay/thread_cursor.h"

static const char help[] =
	"usage: kymo tail [-n N] TRACE\n"
	"\n"
	"Print the last events of every thread, the newest last, and how each process ended.\n"
	"\n"
	"  -n N     so many events of each thread (default: 10)\n"
	"  --help   this text\n";

#define DEFAULT_EVENTS 10
#define MAX_EVENTS 1000000

/* The newest events of a thread. */
struct newest {
	struct kymo_event *events;
	uint64_t room;
	uint64_t seen; /* events; the last @room of them are kept */
};

/* Go to the last chunk that has @events events behind its start. */
static void go_near_end(struct kymo_cursor *cursor, uint64_t events)
{
	const struct kymo_stream *stream = cursor->stream;
	const struct kymo_index_entry **chunks = cursor->timeline->chunks + stream->first_chunk;
	size_t chunk = stream->chunk_count;

	if (!chunk)
		return;
	/* How many the last one has is not known while it is open. */
	for (chunk--; chunk; chunk--)
		if (chunks[stream->chunk_count - 1]->first_ordinal - chunks[chunk]->first_ordinal >=
		    events)
			break;
	if (chunk)
		kymo_cursor_seek_chunk(cursor, chunk);
}

static int collect(struct kymo_timeline *timeline, const struct kymo_stream *stream,
		   struct newest *newest, struct kymo_error *error)
{
	struct kymo_cursor cursor;
	struct kymo_event event;
	int result;

	newest->seen = 0;
	kymo_cursor_init(&cursor, timeline, stream);
	go_near_end(&cursor, newest->room);
	while ((result = kymo_cursor_next(&cursor, &event, error)) > 0)
		newest->events[newest->seen++ % newest->room] = event;
	kymo_cursor_release(&cursor);
	return result;
}

static void print_stream(const struct kymo_stream *stream, const struct newest *newest)
{
	uint64_t first = newest->seen > newest->room ? newest->seen - newest->room : 0;

	fputs("  ", stdout);
	kymo_stream_put_name(stdout, stream);
	if (stream->thread && stream->thread->native_id)
		printf(", id %" PRIu64, stream->thread->native_id);
	putchar('\n');
	for (uint64_t i = first; i < newest->seen; i++) {
		const struct kymo_event *event = &newest->events[i % newest->room];

		printf("    %14.6f  %-17s ", (double)event->t_ns / 1e9,
		       kymo_event_kind_name(event->kind));
		kymo_event_put_place(stdout, event);
		putchar('\n');
	}
}

static int print(struct kymo_timeline *timeline, struct newest *newest, struct kymo_error *error)
{
	const struct kymo_traced_process *process = NULL;
	char text[KYMO_DESCRIBE_BYTES];

	for (size_t i = 0; i < timeline->stream_count && !ferror(stdout); i++) {
		const struct kymo_stream *stream = &timeline->streams[i];
		int result;

		if (stream->process != process) {
			process = stream->process;
			printf("process %" PRIu32 "  ", process->pid);
			kymo_process_put_command(stdout, process);
			printf("\n  %s\n", kymo_describe_end(timeline, process, text));
		}
		result = collect(timeline, stream, newest, error);
		if (result)
			return result;
		print_stream(stream, newest);
	}
	return 0;
}

int kymo_command_tail(int argc, char **argv)
{
	static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
	struct newest newest = {.room = DEFAULT_EVENTS};
	struct kymo_timeline timeline;
	struct kymo_error error;
	const char *path;
	int option, status;

	while ((option = getopt_long(argc, argv, "n:h", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return KYMO_EXIT_OK;
		}
		if (option != 'n' || !kymo_parse_number(argv, "-n", optarg, &newest.room))
			return KYMO_EXIT_USAGE;
		if (!newest.room || newest.room > MAX_EVENTS)
			return kymo_usage_error(argv, "-n: from 1 to %d", MAX_EVENTS);
	}
	path = kymo_single_operand(argc, argv, "trace");
	if (!path)
		return KYMO_EXIT_USAGE;
	if (kymo_timeline_open(&timeline, path, 0, &error))
		return kymo_report(&error);
	newest.events = calloc(newest.room, sizeof *newest.events);
	if (!newest.events)
		kymo_fail(&error, -ENOMEM, "out of memory");
	status = !newest.events || print(&timeline, &newest, &error) ? kymo_report(&error)
								      : KYMO_EXIT_OK;
	kymo_report_damage(&timeline.trace);
	free(newest.events);
	kymo_timeline_close(&timeline);
	return status;
}
