// SPDX-License-Identifier: Apache-2.0
#include "replay/library/arrow_records.h"

#include <errno.h>
#include <string.h>

#include "replay/trace/line_table.h"
#include "replay/decode/thread_cursor_registers.h"

/* Longer records are rare, and so is the end of a chunk. */
#define FEW_BYTES 17

void kymo_arrow_reader_open(struct kymo_arrow_reader *reader, const struct kymo_stream *stream)
{
	kymo_cursor_init(&reader->cursor, reader->timeline, stream);
	/* In which test a thread is depends on what it did before. */
	kymo_cursor_seek_time(&reader->cursor, reader->contexts ? INT64_MIN : reader->from_ns);
	reader->walk = (struct kymo_context_walk){0};
	memset(reader->recent_codes, 0, sizeof reader->recent_codes);
	memset(reader->recent_names, 0, sizeof reader->recent_names);
	memset(reader->recent_tasks, 0, sizeof reader->recent_tasks);
	reader->has_rest = false;
	reader->is_open = true;
}

void kymo_arrow_reader_close(struct kymo_arrow_reader *reader)
{
	if (reader->is_open)
		kymo_cursor_release(&reader->cursor);
	reader->is_open = false;
}

static const struct kymo_code *find_code(struct kymo_arrow_reader *reader, uint64_t id)
{
	struct kymo_arrow_recent_code *recent = &reader->recent_codes[id % KYMO_ARROW_LATELY];

	if (recent->id != id || !id)
		*recent = (struct kymo_arrow_recent_code){id, kymo_traced_code(reader->cursor.stream->process, id)};
	return recent->code;
}

static int32_t find_name(struct kymo_arrow_reader *reader, uint64_t id)
{
	struct kymo_arrow_recent_name *recent = &reader->recent_names[id % KYMO_ARROW_LATELY];

	if (recent->id != id || !id)
		*recent = (struct kymo_arrow_recent_name){
			id, kymo_arrow_text_find(reader->texts, KYMO_TEXTS_NAMES, kymo_traced_name(reader->cursor.stream->process, id))};
	return recent->number;
}

/* @row enters a coroutine in a task; it is the last. */
static void put_task(struct kymo_arrow_reader *reader, struct kymo_arrow_rows *rows, uint32_t row, uint64_t id,
		     const struct kymo_traced_task *task)
{
	struct kymo_arrow_recent_name *recent = &reader->recent_tasks[id % KYMO_ARROW_LATELY];

	if (id > UINT32_MAX)
		return;
	if (recent->id != id)
		*recent = (struct kymo_arrow_recent_name){
			id, kymo_arrow_text_find(reader->texts, KYMO_TEXTS_TASKS, task ? task->name : NULL)};
	rows->tasks[rows->task_count++] = (struct kymo_arrow_task){row, (uint32_t)id, recent->number};
}

/* If the running task is known, and this row enters a coroutine. */
static void find_task(struct kymo_arrow_reader *reader, struct kymo_arrow_rows *rows, uint32_t row, unsigned kind,
		      const struct kymo_code *code)
{
	const struct kymo_event event = {.kind = kind, .code = code};

	if (kymo_event_enters_coroutine(&event))
		put_task(reader, rows, row, reader->cursor.task_id, reader->cursor.task);
}

static inline const struct kymo_arrow_code *common_of(const struct kymo_arrow_reader *reader, const struct kymo_code *code)
{
	return &reader->codes[code ? code->content->number : 0];
}

/* Lines of the units of a code object. */
struct lines {
	const int32_t *of;
	uint64_t units;
};

static inline struct lines lines_of(const struct kymo_code *code)
{
	if (!code)
		return (struct lines){0};
	if (!code->content->lines)
		(void)kymo_code_line(code, 0); /* decodes them */
	return (struct lines){code->content->lines, code->content->units};
}

static inline int32_t line_at(struct lines lines, uint64_t unit)
{
	return unit < lines.units ? lines.of[unit] : KYMO_LINE_NONE;
}

/* What does not fit is null. */
static inline int32_t bytes_of(uint64_t units)
{
	return units <= INT32_MAX / KYMO_CODE_UNIT ? (int32_t)units * KYMO_CODE_UNIT : -1;
}

static inline int32_t line_of(uint64_t line)
{
	return line <= INT32_MAX ? (int32_t)line : -1;
}

/* The rows without a time yet, and what is known of it. */
struct run {
	uint32_t from;
	uint32_t recorded_from; /* rows before are rebuilt, and may have come right after the last recorded event */
	bool has_recorded;
	int64_t recorded_low_ns, low_ns, high_ns;
	uint64_t clock;
	bool is_high_known;
	uint32_t turn_from;
};

static struct run begin_run(const struct kymo_cursor *cursor, const struct kymo_arrow_rows *rows)
{
	return (struct run){
		.from = rows->count,
		.recorded_from = UINT32_MAX,
		.recorded_low_ns = cursor->recorded_low_ns,
		.low_ns = cursor->low_ns,
		.high_ns = cursor->high_ns,
		.clock = cursor->clock,
		.is_high_known = true,
		.turn_from = rows->count,
	};
}

static inline void end_turn(const struct kymo_cursor *cursor, struct kymo_arrow_rows *rows, struct run *run)
{
	kymo_arrow_rows_set_turn(rows, run->turn_from, rows->count, cursor->interpreter, cursor->slice);
	run->turn_from = rows->count;
}

static bool is_wanted_time(const struct kymo_arrow_reader *reader, int64_t low_ns, int64_t high_ns)
{
	int64_t t_ns = low_ns + (high_ns - low_ns) / 2;

	return t_ns >= reader->from_ns && t_ns <= reader->to_ns;
}

/* All rows of the run happened before @run->high_ns. */
static void end_run(const struct kymo_arrow_reader *reader, struct kymo_arrow_rows *rows, struct run *run)
{
	uint32_t middle = run->recorded_from < rows->count ? run->recorded_from : rows->count;

	end_turn(&reader->cursor, rows, run);
	kymo_arrow_rows_set_time(rows, run->from, middle, run->recorded_low_ns, run->high_ns);
	kymo_arrow_rows_set_time(rows, middle, rows->count, run->low_ns, run->high_ns);
	if (!is_wanted_time(reader, run->low_ns, run->high_ns))
		kymo_arrow_rows_drop(rows, middle, rows->count);
	if (!is_wanted_time(reader, run->recorded_low_ns, run->high_ns))
		kymo_arrow_rows_drop(rows, run->from, middle);
	if (run->has_recorded)
		run->recorded_low_ns = run->low_ns;
	run->has_recorded = false;
	run->recorded_from = UINT32_MAX;
	run->from = run->turn_from = rows->count;
}

/* The clock was read again, @ticks after the last time. */
static void next_run(struct kymo_arrow_reader *reader, struct kymo_arrow_rows *rows, struct run *run, uint64_t ticks)
{
	struct kymo_clock_line *clock = &reader->timeline->clock;
	int64_t now_ns = kymo_clock_ns(clock, run->clock + ticks);

	if (!run->is_high_known) {
		run->high_ns = now_ns;
		/* So soon that the session's tick gives no better bound. */
		if (now_ns - run->low_ns > (int64_t)KYMO_TICK_STALL_NS) {
			int64_t latest_ns = kymo_clock_latest_ns(clock, run->clock);

			run->high_ns = now_ns < latest_ns ? now_ns : latest_ns;
		}
		if (run->high_ns < run->low_ns)
			run->high_ns = run->low_ns;
	}
	end_run(reader, rows, run);
	run->clock += ticks;
	if (now_ns > run->low_ns)
		run->low_ns = now_ns;
	run->is_high_known = false;
}

/* Leave @cursor as if it had returned all events that became rows. */
static void leave(struct kymo_arrow_reader *reader, struct kymo_arrow_rows *rows, struct run *run)
{
	struct kymo_cursor *cursor = &reader->cursor;

	if (!run->is_high_known) {
		cursor->low_ns = run->low_ns;
		kymo_cursor_set_time(cursor, run->clock);
		run->high_ns = cursor->high_ns;
	}
	end_run(reader, rows, run);
	cursor->recorded_low_ns = run->recorded_low_ns;
}

/* A record of a recording without rebuilt events; rare ones are left out. */
static inline bool decode(const uint8_t *bytes, size_t left, struct kymo_record *record)
{
	static const uint64_t masks[] = {0xff, 0xffff, 0xffffffff, UINT64_MAX};
	unsigned tag, width;

	if (left < FEW_BYTES) {
		struct kymo_record slow;

		if (kymo_record_decode(bytes, left, &slow) != KYMO_DECODE_OK)
			return false;
		*record = slow;
		return record->kind != KYMO_KIND_SPECIAL;
	}
	tag = bytes[0];
	record->is_delta = tag >= KYMO_TAG_INSTRUCTION;
	if (record->is_delta) {
		bool is_line = tag >= KYMO_TAG_LINE;

		record->kind = is_line ? KYMO_LINE : KYMO_INSTRUCTION;
		record->a = is_line ? (uint64_t)(tag & 0x7f) - KYMO_LINE_BIAS : (uint64_t)(tag & 0x1f) - KYMO_INSTRUCTION_BIAS;
		record->bytes = 1;
		return true;
	}
	record->kind = tag >> 2;
	width = tag & 3;
	memcpy(&record->a, bytes + 1, 8);
	memcpy(&record->b, bytes + 1 + (1U << width), 8);
	record->a &= masks[width];
	record->b &= masks[width];
	record->bytes = 1 + (1U << (width + kymo_kind_has_two_fields(record->kind)));
	return record->kind != KYMO_KIND_SPECIAL;
}

/* Rows of a recording without rebuilt events: those of the open chunk, as long as that is simple. */
static void take_recorded(struct kymo_arrow_reader *reader, struct kymo_arrow_rows *rows)
{
	struct kymo_cursor *cursor = &reader->cursor;
	const uint8_t *payload = cursor->frame.payload;
	size_t at = cursor->at, end = cursor->frame.header.raw_bytes;
	const struct kymo_code *code = cursor->code;
	struct kymo_arrow_code common = *common_of(reader, code);
	struct lines lines = lines_of(code);
	uint64_t n = cursor->expected, line = cursor->line, unit = cursor->offset;
	struct run run = begin_run(cursor, rows);
	uint32_t row = rows->count;
	struct kymo_record record = {0};

	run.recorded_from = run.from;
	while (row < KYMO_ARROW_ROWS && decode(payload + at, end - at, &record)) {
		struct kymo_arrow_kind kind = reader->kinds[record.kind];
		uint64_t offset = record.a;

		at += record.bytes;
		switch (record.kind) {
		case KYMO_LINE:
			line = record.is_delta ? line + (line == LINE_UNKNOWN ? 0 : record.a) : record.a;
			break;
		case KYMO_INSTRUCTION:
			offset = unit = record.is_delta ? unit + record.a : record.a;
			break;
		case KYMO_CODE:
		case KYMO_PY_START:
			code = find_code(reader, record.a);
			cursor->code_id = record.a;
			common = *common_of(reader, code);
			lines = lines_of(code);
			line = code ? code->content->first_line : LINE_UNKNOWN;
			unit = 0;
			if (record.kind == KYMO_CODE)
				continue;
			offset = code ? code->entry_offset : 0;
			break;
		case KYMO_TIME:
			rows->count = row;
			next_run(reader, rows, &run, record.a);
			run.recorded_from = run.from;
			row = rows->count;
			continue;
		case KYMO_SWITCH:
			rows->count = row;
			end_turn(cursor, rows, &run);
			cursor->slice = cursor->switches += record.a;
			continue;
		case KYMO_LASTI:
			continue;
		default:
			break;
		}
		rows->n[row] = n++;
		rows->k[row] = 0;
		rows->file[row] = common.file;
		rows->function[row] = common.function;
		rows->line[row] = kind.is_line ? line_of(line) : line_at(lines, offset);
		rows->offset[row] = bytes_of(offset) | kind.is_line;
		rows->dest[row] = bytes_of(record.b) | kind.has_no_dest;
		rows->name[row] = kind.has_name ? find_name(reader, record.b) : -1;
		rows->event[row] = kind.event;
		if (cursor->task_id && kind.is_wanted & common.is_wanted)
			find_task(reader, rows, row, record.kind, code);
		row += kind.is_wanted & common.is_wanted;
	}
	rows->count = row;
	cursor->at = at;
	cursor->expected = n;
	cursor->code = code;
	cursor->line = line;
	cursor->offset = unit;
	leave(reader, rows, &run);
}

/* The steps before a recorded event, from reader->step on. False: not all of them fit. */
static inline bool put_steps(struct kymo_arrow_reader *reader, struct kymo_arrow_rows *rows)
{
	const struct kymo_code *code = reader->rebuilt.steps_code;
	const struct kymo_step *steps = reader->rebuilt.steps;
	const struct kymo_arrow_code common = *common_of(reader, code);
	const struct lines lines = lines_of(code);
	uint64_t *const n = rows->n, expected = reader->cursor.expected;
	int32_t *const line = rows->line, *const offset = rows->offset, *const dest = rows->dest;
	int32_t *const file = rows->file, *const function = rows->function, *const name = rows->name;
	uint32_t row = rows->count, step = reader->step, count = reader->rebuilt.step_count;
	uint32_t *const k = rows->k, last_k = reader->cursor.k - step;
	uint8_t *const event = rows->event;

	while (step < count && row < KYMO_ARROW_ROWS) {
		const struct kymo_step at = steps[step++];
		const struct kymo_arrow_kind kind = reader->kinds[at.kind];

		n[row] = expected;
		k[row] = last_k + step;
		file[row] = common.file;
		function[row] = common.function;
		line[row] = kind.is_line ? (int32_t)at.value : line_at(lines, at.unit);
		offset[row] = (int32_t)(at.unit * KYMO_CODE_UNIT) | kind.is_line;
		dest[row] = (int32_t)(at.value * KYMO_CODE_UNIT) | kind.has_no_dest;
		name[row] = -1;
		event[row] = kind.event;
		row += kind.is_wanted & common.is_wanted;
	}
	rows->count = row;
	reader->step = step;
	reader->cursor.k = last_k + step;
	return step == count;
}

/* The event of a record, or one before it. */
static inline void put_event(struct kymo_arrow_reader *reader, struct kymo_arrow_rows *rows, unsigned number, uint32_t k,
			     int32_t name)
{
	const struct kymo_rebuilt *rebuilt = &reader->rebuilt;
	const struct kymo_arrow_code common = *common_of(reader, rebuilt->code);
	const struct kymo_arrow_kind kind = reader->kinds[number];
	int32_t has_no_place = number < KYMO_KINDS ? 0 : -1;
	uint32_t row = rows->count;

	rows->n[row] = reader->cursor.expected;
	rows->k[row] = k;
	rows->file[row] = common.file;
	rows->function[row] = common.function;
	rows->line[row] = kind.is_line ? line_of(reader->cursor.line)
				       : line_at(lines_of(rebuilt->code), rebuilt->offset) | has_no_place;
	rows->offset[row] = bytes_of(rebuilt->offset) | kind.is_line | has_no_place;
	rows->dest[row] = bytes_of(rebuilt->dest) | kind.has_no_dest;
	rows->name[row] = name;
	rows->event[row] = kind.event;
	if (reader->cursor.task_id && kind.is_wanted & common.is_wanted)
		find_task(reader, rows, row, number, rebuilt->code);
	rows->count = row + (kind.is_wanted & common.is_wanted);
}

/* What the record has led to, as far as it fits. True: all of it. */
static bool put_rebuilt(struct kymo_arrow_reader *reader, struct kymo_arrow_rows *rows, struct run *run)
{
	struct kymo_rebuilt *rebuilt = &reader->rebuilt;
	unsigned kind = reader->record.kind;

	if (rebuilt->is_unknown && rows->count < KYMO_ARROW_ROWS) {
		rebuilt->is_unknown = false;
		put_event(reader, rows, KYMO_EVENT_UNKNOWN, ++reader->cursor.k, -1);
	}
	reader->has_rest = !put_steps(reader, rows) || rows->count == KYMO_ARROW_ROWS;
	if (reader->has_rest)
		return false;
	if (!kymo_kind_is_event(kind))
		return true;
	if (!run->has_recorded)
		run->recorded_from = rows->count;
	run->has_recorded = true;
	put_event(reader, rows, rebuilt->kind, 0, reader->kinds[kind].has_name ? find_name(reader, reader->record.b) : -1);
	reader->cursor.expected++;
	reader->cursor.k = 0;
	return true;
}

/* Rows of a recording from which lines are rebuilt: those of the open chunk, as long as that is simple. */
static void take_rebuilt(struct kymo_arrow_reader *reader, struct kymo_arrow_rows *rows)
{
	struct kymo_cursor *cursor = &reader->cursor;
	const uint8_t *payload = cursor->frame.payload;
	size_t end = cursor->frame.header.raw_bytes;
	struct run run = begin_run(cursor, rows);
	struct kymo_record *record = &reader->record;
	uint64_t code_id = 0;
	bool has_code = false; /* its registers are not set yet: hardly any record needs them */

	if (reader->has_rest)
		put_rebuilt(reader, rows, &run);
	while (!reader->has_rest && kymo_flow_record_decode(payload + cursor->at, end - cursor->at, record) == KYMO_DECODE_OK &&
	       (record->kind != KYMO_KIND_SPECIAL || kymo_is_stack(record))) {
		const uint8_t *bytes = payload + cursor->at;

		cursor->at += record->bytes;
		if (record->kind == KYMO_TIME) {
			next_run(reader, rows, &run, record->a);
			continue;
		}
		if (record->kind == KYMO_SWITCH) {
			end_turn(cursor, rows, &run);
			cursor->slice = cursor->switches += record->a;
			continue;
		}
		if (record->kind == KYMO_CODE || record->kind == KYMO_PY_START) {
			has_code = true;
			code_id = record->a;
		} else if (record->kind == KYMO_LINE) {
			if (has_code)
				kymo_cursor_set_code(cursor, code_id);
			has_code = false;
			kymo_cursor_set_line(cursor, record);
		}
		reader->step = 0;
		if (kymo_rebuild_take(cursor->rebuild, record, bytes, &reader->rebuilt))
			put_rebuilt(reader, rows, &run);
	}
	if (has_code)
		kymo_cursor_set_code(cursor, code_id);
	leave(reader, rows, &run);
}

/* True if what comes next can be taken by records. */
static bool is_simple(const struct kymo_arrow_reader *reader)
{
	const struct kymo_cursor *cursor = &reader->cursor;

	return !reader->contexts && cursor->in_chunk && !cursor->has_pending && !cursor->skip && cursor->branches == KYMO_BRANCHES_NONE &&
	       !cursor->has_taken_open_branches && (cursor->rebuild || cursor->decode == kymo_record_decode);
}

static int put_gap(struct kymo_arrow_rows *rows, const struct kymo_event *event)
{
	if (kymo_grow(&rows->gaps, &rows->gap_capacity, rows->gap_count + 1, sizeof *rows->gaps))
		return -ENOMEM;
	rows->gaps[rows->gap_count++] = (struct kymo_arrow_gap){rows->count, event->lost_reasons, event->lost};
	return 0;
}

/* An event returned by the cursor. */
static int put_told(struct kymo_arrow_reader *reader, struct kymo_arrow_rows *rows, const struct kymo_event *event)
{
	const struct kymo_arrow_code *common = common_of(reader, event->code);
	const char *name = event->kind == KYMO_EVENT_MARK ? event->text : kymo_event_name_role(event) ? event->name : NULL;
	int64_t line = event->kind < KYMO_KINDS ? kymo_event_line(event) : -1;
	uint32_t row = rows->count;

	if (reader->contexts && !kymo_context_walk_to(&reader->walk, reader->contexts, event, reader->test))
		return 0;
	if (!reader->kinds[event->kind].is_wanted || !common->is_wanted || event->t_ns < reader->from_ns ||
	    event->t_ns > reader->to_ns)
		return 0;
	if (event->kind == KYMO_EVENT_GAP && put_gap(rows, event))
		return -ENOMEM;
	rows->n[row] = event->n;
	rows->k[row] = event->k;
	rows->t_ns[row] = event->t_ns;
	rows->t_err_ns[row] = event->t_err_ns;
	rows->file[row] = common->file;
	rows->function[row] = common->function;
	rows->line[row] = line < 0 ? -1 : line_of((uint64_t)line);
	rows->offset[row] = kymo_event_has_offset(event) ? bytes_of(event->offset) : -1;
	rows->dest[row] = kymo_event_has_dest(event) ? bytes_of(event->dest) : -1;
	rows->name[row] = kymo_arrow_text_find(reader->texts, KYMO_TEXTS_NAMES, name);
	rows->event[row] = reader->kinds[event->kind].event;
	if (event->task_id)
		put_task(reader, rows, row, event->task_id, event->task);
	rows->count++;
	kymo_arrow_rows_set_turn(rows, row, rows->count, event->interpreter, event->slice);
	return 0;
}

int kymo_arrow_reader_fill(struct kymo_arrow_reader *reader, struct kymo_arrow_rows *rows, struct kymo_error *error)
{
	struct kymo_event event;
	int result;

	while (rows->count < KYMO_ARROW_ROWS) {
		if (reader->has_rest || is_simple(reader)) {
			if (reader->cursor.rebuild)
				take_rebuilt(reader, rows);
			else
				take_recorded(reader, rows);
			if (reader->has_rest || rows->count == KYMO_ARROW_ROWS)
				continue;
		}
		result = kymo_cursor_next(&reader->cursor, &event, error);
		if (result <= 0)
			return result;
		/* What comes after this one happened after its lower bound. */
		if (event.t_ns - (int64_t)event.t_err_ns > reader->to_ns)
			return 0;
		result = put_told(reader, rows, &event);
		if (result)
			return kymo_fail(error, result, "out of memory");
	}
	return 1;
}
