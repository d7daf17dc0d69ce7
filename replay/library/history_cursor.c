// SPDX-License-Identifier: Apache-2.0
#define KYMO_HISTORY_API __attribute__((visibility("default")))
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/condition.h"
#include "replay/library/history_private.h"
#include "replay/library/sized.h"
#include "replay/moves/named_places.h"
#include "replay/moves/replay.h"
#include "replay/trace/sources.h"

struct kymo_history_cursor {
	struct kymo_history *history;
	struct kymo_replay replay;
	uint32_t hit; /* number of the break at which the last move ended; 0: none */
	char *values;
};

static_assert((int)KYMO_HISTORY_SWITCH == (int)KYMO_GO_SWITCH && (int)KYMO_HISTORY_END == (int)KYMO_STOP_END &&
		      (int)KYMO_HISTORY_BREAK_EXCEPTION == (int)KYMO_BREAK_EXCEPTION,
	      "the library's numbers are these");

int kymo_history_cursor_open(struct kymo_history *history, struct kymo_history_cursor **out)
{
	struct kymo_history_cursor *cursor = calloc(1, sizeof *cursor);
	int result;

	if (!cursor)
		return kymo_fail(&history->error, -ENOMEM, "out of memory");
	cursor->history = history;
	result = kymo_replay_open(&cursor->replay, &history->trace.index, &history->error);
	if (!result) {
		result = kymo_replay_goto_end(&cursor->replay, &history->error);
		if (result)
			kymo_replay_close(&cursor->replay);
	}
	if (result)
		free(cursor);
	else
		*out = cursor;
	return result;
}

void kymo_history_cursor_close(struct kymo_history_cursor *cursor)
{
	if (!cursor)
		return;
	for (uint32_t i = 0; i < cursor->replay.breaks.count; i++)
		kymo_condition_free(cursor->replay.breaks.items[i].context);
	kymo_replay_close(&cursor->replay);
	free(cursor->values);
	free(cursor);
}

int kymo_history_cursor_move(struct kymo_history_cursor *cursor, int is_forward, enum kymo_history_move move)
{
	struct kymo_error *error = &cursor->history->error;
	int result;

	if ((unsigned)move > KYMO_HISTORY_SWITCH)
		return kymo_fail(error, -EINVAL, "unknown move %d", (int)move);
	result = is_forward ? kymo_replay_forward(&cursor->replay, (enum kymo_go)move, error)
			    : kymo_replay_backward(&cursor->replay, (enum kymo_go)move, error);
	cursor->hit = result == KYMO_STOP_BREAK && cursor->replay.hit ? cursor->replay.hit->id : 0;
	return result;
}

struct kymo_history *kymo_history_of_cursor(struct kymo_history_cursor *cursor)
{
	return cursor->history;
}

struct kymo_replay *kymo_history_replay(struct kymo_history_cursor *cursor)
{
	return &cursor->replay;
}

static bool has_thread(struct kymo_history_cursor *cursor, uint32_t thread)
{
	if (thread < cursor->history->trace.timeline.stream_count)
		return true;
	kymo_fail(&cursor->history->error, -EINVAL, "no thread %u", (unsigned)thread);
	return false;
}

int kymo_history_cursor_seek(struct kymo_history_cursor *cursor, uint32_t thread, uint64_t n, uint32_t k)
{
	if (!has_thread(cursor, thread))
		return -EINVAL;
	cursor->hit = 0;
	return kymo_replay_seek(&cursor->replay, thread, (struct kymo_position){n, k}, &cursor->history->error);
}

int kymo_history_cursor_goto(struct kymo_history_cursor *cursor, const char *place)
{
	cursor->hit = 0;
	return kymo_replay_goto(&cursor->replay, place, &cursor->history->error);
}

int kymo_history_cursor_switch(struct kymo_history_cursor *cursor, uint32_t thread)
{
	if (!has_thread(cursor, thread))
		return -EINVAL;
	cursor->hit = 0;
	return kymo_replay_switch(&cursor->replay, thread, &cursor->history->error);
}

int kymo_history_cursor_event(struct kymo_history_cursor *cursor, struct kymo_history_event *out)
{
	const struct kymo_event *at = kymo_replay_event(&cursor->replay);
	struct kymo_history_event event;

	if (!kymo_sized_bytes(out, sizeof event))
		return kymo_fail(&cursor->history->error, -EINVAL, "kymo_history_event.size is not set");
	kymo_history_put_event(&cursor->history->trace.timeline, at, &event);
	free(cursor->values);
	if (kymo_history_values(at, KYMO_HISTORY_VALUES_ALL, &cursor->values))
		cursor->values = NULL;
	event.values = cursor->values;
	kymo_sized_put(out, 0, &event, sizeof event, out->size);
	return 0;
}

int kymo_history_cursor_stack(struct kymo_history_cursor *cursor, struct kymo_history_frame *out, int count)
{
	size_t stride = count > 0 ? out->size : 0;
	struct kymo_stack stack;
	int result;

	if (count > 0 && !kymo_sized_bytes(out, sizeof *out))
		return kymo_fail(&cursor->history->error, -EINVAL, "kymo_history_frame.size of the first frame is not set");
	result = kymo_replay_stack(&cursor->replay, &stack, &cursor->history->error);
	if (result)
		return result;
	for (int i = 0; i < count && (uint32_t)i < stack.count; i++) {
		const struct kymo_stack_frame *frame = &stack.frames[stack.count - 1 - (uint32_t)i];

		struct kymo_history_frame told = {
			.file = frame->code ? frame->code->content->file : NULL,
			.function = frame->code ? frame->code->content->function : NULL,
			.line = frame->line,
		};

		kymo_sized_put(out, (size_t)i, &told, sizeof told, stride);
	}
	result = (int)stack.count;
	kymo_stack_release(&stack);
	return result;
}

static bool holds(const struct kymo_break *at, const struct kymo_walker *walker, uint64_t hits)
{
	return kymo_condition_holds(at->context, walker, hits);
}

/* True if @content's file has line @line, as far as is known. */
static bool may_have_line(struct kymo_timeline *timeline, const struct kymo_content *content, int64_t line, size_t *line_count)
{
	struct kymo_source source;
	bool may = true;

	if (kymo_content_source(timeline, kymo_traced_find(&timeline->definitions, content->process), content, &source, NULL))
		return true;
	if (source.text) {
		*line_count = source.line_count;
		may = (uint64_t)line <= source.line_count;
	}
	kymo_source_release(&source);
	return may;
}

/* The line exists, but may never have run. */
static int check_line(struct kymo_history_cursor *cursor, const char *file, int64_t line)
{
	struct kymo_timeline *timeline = cursor->replay.timeline;
	const struct kymo_hits *hits = &cursor->replay.index->hits;
	struct kymo_error *error = &cursor->history->error;
	const char *checked = NULL;
	size_t line_count = 0;

	if (line < 1)
		return kymo_fail(error, -EINVAL, "lines count from 1");
	for (uint32_t i = 1; i < hits->content_count; i++) {
		const struct kymo_content *content = hits->contents[i].content;

		if (!kymo_names_file(file, content->file) || (checked && !strcmp(checked, content->file)))
			continue;
		checked = content->file;
		if (may_have_line(timeline, content, line, &line_count))
			return 0;
	}
	if (!checked)
		return kymo_fail(error, -ENOENT, "no file '%s' ran while this was recorded", file);
	return kymo_fail(error, -EINVAL, "no line %" PRId64 " in %s: it has %zu lines", line, checked, line_count);
}

int kymo_history_cursor_break(struct kymo_history_cursor *cursor, enum kymo_history_break_kind kind, const char *name,
			      int64_t line, const char *condition, uint64_t *hits)
{
	struct kymo_breaks *breaks = &cursor->replay.breaks;
	struct kymo_error *error = &cursor->history->error;
	struct kymo_condition *compiled = NULL;
	struct kymo_break *at;

	if (kind == KYMO_HISTORY_BREAK_LINE && check_line(cursor, name, line))
		return -EINVAL;
	if (condition && !(compiled = kymo_condition_new(condition, cursor->replay.index, error)))
		return -EINVAL;
	at = kind == KYMO_HISTORY_BREAK_LINE	   ? kymo_break_at_line(breaks, name, line)
	     : kind == KYMO_HISTORY_BREAK_FUNCTION ? kymo_break_at_function(breaks, name)
						   : kymo_break_at_exception(breaks, name);
	if (!at) {
		kymo_condition_free(compiled);
		return kymo_fail(error, -ENOMEM, "out of memory");
	}
	at->context = compiled;
	at->wants = compiled ? holds : NULL;
	at->needs_hits = compiled && kymo_condition_needs_hits(compiled);
	if (hits)
		*hits = at->all_hits;
	return (int)at->id;
}

int kymo_history_cursor_remove_break(struct kymo_history_cursor *cursor, int number)
{
	struct kymo_break *at = number > 0 ? kymo_break_find(&cursor->replay.breaks, (uint32_t)number) : NULL;

	if (!at)
		return kymo_fail(&cursor->history->error, -EINVAL, "no break %d", number);
	if (cursor->hit == at->id)
		cursor->hit = 0;
	kymo_condition_free(at->context);
	kymo_break_remove(&cursor->replay.breaks, at->id);
	return 0;
}

int kymo_history_cursor_hit(const struct kymo_history_cursor *cursor)
{
	return (int)cursor->hit;
}
