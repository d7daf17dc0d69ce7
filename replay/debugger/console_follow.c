// SPDX-License-Identifier: Apache-2.0
/* A trace that is still written: it is opened again when it has grown, and the console continues at the same event. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "replay/debugger/console_state.h"
#include "replay/index/indexed.h"
#include "replay/moves/replay_uncaught.h"
#include "replay/moves/variable_watch.h"

struct kymo_console_opened {
	struct kymo_indexed trace;
	struct kymo_replay replay;
};

static void close_opened(struct kymo_console_opened *opened)
{
	if (!opened)
		return;
	kymo_replay_close(&opened->replay);
	kymo_indexed_close(&opened->trace);
	free(opened);
}

/* NULL: @error says why. */
static struct kymo_console_opened *open_again(const struct kymo_console *console, const char *path,
					      struct kymo_error *error)
{
	struct kymo_console_opened *opened = calloc(1, sizeof *opened);

	if (!opened) {
		kymo_fail(error, -ENOMEM, "out of memory");
	} else if (!kymo_indexed_open(&opened->trace, path, false, console->replay->interrupted, error)) {
		if (!kymo_replay_open(&opened->replay, &opened->trace.index, error))
			return opened;
		kymo_indexed_close(&opened->trace);
	}
	free(opened);
	return NULL;
}

/* The number that the thread of @stream has in @timeline; there may be more before it than there were. */
static size_t find_stream(const struct kymo_timeline *timeline, const struct kymo_stream *stream)
{
	size_t i = 0;

	while (i < timeline->stream_count && (timeline->streams[i].number != stream->number ||
					       timeline->streams[i].process->number != stream->process->number))
		i++;
	return i;
}

/* Set the breaks of @from in @to, under their numbers; who wants them goes with them. */
static int take_breaks(struct kymo_replay *replay, const struct kymo_breaks *from, struct kymo_error *error)
{
	struct kymo_breaks *to = &replay->breaks;

	for (uint32_t i = 0; i < from->count; i++) {
		const struct kymo_break *old = &from->items[i];
		struct kymo_break *at = old->kind == KYMO_BREAK_LINE	   ? kymo_break_at_line(to, old->name, old->line)
					: old->kind == KYMO_BREAK_FUNCTION ? kymo_break_at_function(to, old->name)
					: old->kind == KYMO_BREAK_UNCAUGHT
						? kymo_replay_break_at_uncaught(replay, old->name, error)
						: kymo_break_at_exception(to, old->name);

		if (!at)
			return old->kind == KYMO_BREAK_UNCAUGHT ? -EIO : kymo_fail(error, -ENOMEM, "out of memory");
		at->id = old->id;
		at->is_off = old->is_off;
		at->wants = old->wants;
		at->needs_hits = old->needs_hits;
		at->context = old->context;
	}
	to->last_id = from->last_id;
	kymo_breaks_update(to);
	return 0;
}

/* What is watched goes on being watched; its frame may have been left meanwhile. */
static int take_watches(struct kymo_replay *replay, struct kymo_replay *from, struct kymo_error *error)
{
	struct kymo_activation *activations = calloc(from->watch_count + 1U, sizeof(*activations));
	int result = activations ? 0 : kymo_fail(error, -ENOMEM, "out of memory");

	for (uint32_t i = 0; i < from->watch_count && !result; i++) {
		const struct kymo_activation *old = &from->watches[i].activation;
		size_t stream = find_stream(replay->timeline, &from->timeline->streams[old->stream]);
		uint64_t depth;

		if (stream == replay->timeline->stream_count)
			result = kymo_fail(error, -ENOENT, "this thread is not in it any more");
		else
			result = kymo_replay_seek(replay, stream, old->first.at, error);
		depth = kymo_stack_depth(&replay->walker.stack);
		if (!result)
			result = kymo_activation_find(replay, depth > old->level ? (size_t)(depth - old->level) : 0, &activations[i], error);
	}
	for (uint32_t i = 0; i < from->watch_count && !result; i++)
		from->watches[i].activation = activations[i];
	free(activations);
	if (result)
		return result;
	replay->watches = from->watches;
	replay->watch_count = from->watch_count;
	from->watches = NULL;
	from->watch_count = 0;
	return 0;
}

/* Stand in @opened where the console stands. */
static int take_over(struct kymo_console *console, struct kymo_console_opened *opened, struct kymo_error *error)
{
	const struct kymo_event *event = kymo_replay_event(console->replay);
	size_t stream = find_stream(&opened->trace.timeline, event->stream);
	int result = stream < opened->trace.timeline.stream_count
			     ? take_breaks(&opened->replay, &console->replay->breaks, error)
			     : kymo_fail(error, -ENOENT, "this thread is not in it any more");

	if (!result)
		result = take_watches(&opened->replay, console->replay, error);
	return result ? result : kymo_replay_seek(&opened->replay, stream, kymo_position_of(event), error);
}

/* The size of the trace, and its name: that without ".incomplete" once the recording is over.  0: there is none. */
static uint64_t look(struct kymo_console *console, char **name)
{
	struct stat status;

	*name = strdup(console->path);
	if (!*name)
		return 0;
	if (!stat(*name, &status))
		return (uint64_t)status.st_size;
	if (!kymo_is_incomplete(*name))
		return 0;
	*strrchr(*name, '.') = '\0';
	return stat(*name, &status) ? 0 : (uint64_t)status.st_size;
}

void kymo_console_follow(struct kymo_console *console)
{
	struct kymo_console_opened *opened;
	struct kymo_error error;
	char *name;
	uint64_t bytes = look(console, &name);

	if (!bytes || bytes == console->replay->timeline->trace.size) {
		free(name);
		return;
	}
	opened = open_again(console, name, &error);
	free(name);
	if (!opened || take_over(console, opened, &error)) {
		kymo_console_fail(console, "the trace has changed: %s", error.message);
		close_opened(opened);
		return;
	}
	for (uint32_t i = 0; i < console->replay->breaks.count; i++)
		console->replay->breaks.items[i].context = NULL;
	console->shown_stream = kymo_replay_stream(&opened->replay);
	opened->replay.interrupted = console->replay->interrupted;
	console->replay = &opened->replay;
	kymo_console_move_breaks(console);
	kymo_console_forget_source(console);
	close_opened(console->opened);
	console->opened = opened;
}

void kymo_console_end_follow(struct kymo_console *console)
{
	close_opened(console->opened);
}
