// SPDX-License-Identifier: Apache-2.0
/*
 * Perfetto's TrackEvents.  Each thread is a sequence with names of its own, and a clock that counts from one packet to the next.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/profile/export/intern.h"
#include "replay/profile/export/packets.h"
#include "replay/profile/export/threads.h"
#include "replay/trace/text.h"

#define SEQUENCE_CLOCK 64 /* the first of those that a sequence may define */

/* Tracks. */
#define PROCESS_UUID (UINT64_C(1) << 40)
#define THREAD_UUID (UINT64_C(2) << 40)
#define TASK_UUID (UINT64_C(3) << 40)

/* Interned at the start of each sequence, with these iids. */
enum category {
	CATEGORY_CALL = 1,
	CATEGORY_C_CALL,
	CATEGORY_EXCEPTION,
	CATEGORY_MARK,
	CATEGORY_GAP,
	CATEGORY_TASK,
};
static const char *const categories[] = {"call", "C call", "exception", "mark", "gap", "task"};
enum annotation {
	ANNOTATION_BEGAN = 1,
	ANNOTATION_ENDED,
	ANNOTATION_ERROR,
};
static const char *const annotations[] = {"began", "ended", "duration_error_ns"};

/* Roles of interned entries, in addition to enum kymo_call_how, which is for functions that begin in that way. */
#define ROLE_EXCEPTION 0

struct name {
	struct kymo_interned interned;
	uint32_t iid; /* of the function: the number of its entry of KYMO_CALL_CALLED */
	struct kymo_packed packed;
};

struct packed_end {
	struct kymo_packed packed;
	uint8_t error_at; /* place of the duration's error in it */
};

#define VARINT_BYTES 5
#define ERROR_MAX ((UINT64_C(1) << 7 * VARINT_BYTES) - 1)

struct perfetto {
	struct kymo_packets packets;
	const struct kymo_export *export;
	struct kymo_error *error;
	struct kymo_exported_thread thread;
	struct kymo_intern names, tasks;
	uint64_t task_tracks;
	struct kymo_first_digit error_digit;
	/* ends, by how, and by the bytes that the duration's error takes; 0: it is less than the duration */
	struct packed_end ends[KYMO_CALL_OPEN + 1][VARINT_BYTES + 1];
};

static int put(struct perfetto *perfetto, Perfetto__TracePacket *packet)
{
	packet->has_trusted_packet_sequence_id = true;
	packet->trusted_packet_sequence_id = perfetto->packets.sequence;
	return kymo_put_packet(&perfetto->packets, packet, perfetto->error);
}

static int put_interned(struct perfetto *perfetto, Perfetto__InternedData *data)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	packet.has_sequence_flags = true;
	packet.sequence_flags = PERFETTO__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE;
	packet.interned_data = data;
	return put(perfetto, &packet);
}

#define STRING(text) ((char *)(uintptr_t)(text))
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* @texts with iids from 1 on. */
static size_t name_all(const char *const *texts, size_t count, Perfetto__InternedName *names, Perfetto__InternedName **list)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (!texts[i])
			continue;
		names[used] = (Perfetto__InternedName)PERFETTO__INTERNED_NAME__INIT;
		names[used].has_iid = true;
		names[used].iid = i + 1;
		names[used].name = STRING(texts[i]);
		list[used] = &names[used];
		used++;
	}
	return used;
}

/* The texts that all sequences share. */
static int put_words(struct perfetto *perfetto)
{
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__InternedName names[COUNT(categories) + COUNT(annotations) + KYMO_CALL_OPEN], *list[COUNT(names)];
	const char *hows[KYMO_CALL_OPEN];
	size_t used;

	for (size_t how = 1; how <= KYMO_CALL_OPEN; how++)
		hows[how - 1] = kymo_call_how_text(how);
	data.event_categories = list;
	data.n_event_categories = used = name_all(categories, COUNT(categories), names, list);
	data.debug_annotation_names = list + used;
	data.n_debug_annotation_names = name_all(annotations, COUNT(annotations), names + used, list + used);
	used += data.n_debug_annotation_names;
	data.debug_annotation_string_values = list + used;
	data.n_debug_annotation_string_values = name_all(hows, COUNT(hows), names + used, list + used);
	return put_interned(perfetto, &data);
}

/* Times are nanoseconds since the run began, on the clock that Perfetto takes for the boot clock. */
static int put_clock(struct perfetto *perfetto)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__ClockSnapshot__Clock clocks[3], *list[3];

	for (size_t i = 0; i < COUNT(clocks); i++) {
		clocks[i] = (Perfetto__ClockSnapshot__Clock)PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT;
		clocks[i].has_clock_id = clocks[i].has_timestamp = true;
		list[i] = &clocks[i];
	}
	clocks[0].clock_id = PERFETTO__CLOCK_SNAPSHOT__CLOCK__BUILTIN_CLOCKS__BOOTTIME;
	clocks[1].clock_id = SEQUENCE_CLOCK;
	clocks[1].has_is_incremental = clocks[1].is_incremental = true;
	clocks[2].clock_id = PERFETTO__CLOCK_SNAPSHOT__CLOCK__BUILTIN_CLOCKS__REALTIME;
	clocks[2].timestamp = kymo_start_unix_ns(perfetto->export->timeline);
	snapshot.clocks = list;
	snapshot.n_clocks = COUNT(clocks);
	packet.clock_snapshot = &snapshot;
	return put(perfetto, &packet);
}

static int put_defaults(struct perfetto *perfetto)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__TrackEventDefaults of_events = PERFETTO__TRACK_EVENT_DEFAULTS__INIT;

	of_events.has_track_uuid = true;
	of_events.track_uuid = THREAD_UUID + perfetto->thread.number;
	defaults.has_timestamp_clock_id = true;
	defaults.timestamp_clock_id = SEQUENCE_CLOCK;
	defaults.track_event_defaults = &of_events;
	packet.has_sequence_flags = true;
	packet.sequence_flags = PERFETTO__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED;
	packet.trace_packet_defaults = &defaults;
	return put(perfetto, &packet);
}

static int put_track(struct perfetto *perfetto, uint64_t uuid, Perfetto__TrackDescriptor *track)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	track->has_uuid = true;
	track->uuid = uuid;
	packet.track_descriptor = track;
	return put(perfetto, &packet);
}

static uint64_t process_uuid(const struct perfetto *perfetto)
{
	return PROCESS_UUID + perfetto->thread.stream->process->number;
}

static int put_process(struct perfetto *perfetto)
{
	const struct kymo_traced_process *process = perfetto->thread.stream->process;
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ProcessDescriptor descriptor = PERFETTO__PROCESS_DESCRIPTOR__INIT;

	descriptor.has_pid = true;
	descriptor.pid = (int32_t)process->pid;
	descriptor.process_name = STRING(kymo_process_name(process));
	if (process->definition) {
		descriptor.n_cmdline = process->definition->n_argv;
		descriptor.cmdline = process->definition->argv;
	}
	track.process = &descriptor;
	return put_track(perfetto, process_uuid(perfetto), &track);
}

static int put_thread(struct perfetto *perfetto)
{
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ThreadDescriptor descriptor = PERFETTO__THREAD_DESCRIPTOR__INIT;

	descriptor.has_pid = descriptor.has_tid = true;
	descriptor.pid = (int32_t)perfetto->thread.pid;
	descriptor.tid = (int64_t)perfetto->thread.tid;
	descriptor.thread_name = STRING(perfetto->thread.name);
	track.thread = &descriptor;
	track.has_parent_uuid = true;
	track.parent_uuid = process_uuid(perfetto);
	return put_track(perfetto, THREAD_UUID + perfetto->thread.number, &track);
}

static Perfetto__DebugAnnotation how_annotation(enum kymo_call_how how)
{
	Perfetto__DebugAnnotation annotation = PERFETTO__DEBUG_ANNOTATION__INIT;

	annotation.has_name_iid = annotation.has_string_value_iid = true;
	annotation.name_iid = how <= KYMO_CALL_FOUND ? ANNOTATION_BEGAN : ANNOTATION_ENDED;
	annotation.string_value_iid = how;
	return annotation;
}

static void pack_end(const struct perfetto *perfetto, enum kymo_call_how how, uint64_t error_ns, struct kymo_packed *packed)
{
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
	Perfetto__DebugAnnotation how_ended = how_annotation(how), error = PERFETTO__DEBUG_ANNOTATION__INIT, *list[2];

	event.has_type = true;
	event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END;
	event.debug_annotations = list;
	if (kymo_call_how_text(how))
		list[event.n_debug_annotations++] = &how_ended;
	if (error_ns) {
		error.has_name_iid = error.has_uint_value = true;
		error.name_iid = ANNOTATION_ERROR;
		error.uint_value = error_ns;
		list[event.n_debug_annotations++] = &error;
	}
	kymo_pack_event(&perfetto->packets, &event, packed);
}

static void pack_ends(struct perfetto *perfetto)
{
	for (enum kymo_call_how how = KYMO_CALL_RETURNED; how <= KYMO_CALL_OPEN; how++) {
		pack_end(perfetto, how, 0, &perfetto->ends[how][0].packed);
		for (unsigned bytes = 1; bytes <= VARINT_BYTES; bytes++) {
			struct packed_end *end = &perfetto->ends[how][bytes];
			uint64_t most = (UINT64_C(1) << 7 * bytes) - 1;
			struct kymo_packed other;

			pack_end(perfetto, how, most, &end->packed);
			pack_end(perfetto, how, most - 1, &other);
			while (end->packed.bytes[end->error_at] == other.bytes[end->error_at])
				end->error_at++;
		}
	}
}

static int begin_thread(void *context, const struct kymo_exported_thread *thread)
{
	struct perfetto *perfetto = context;
	int result;

	perfetto->thread = *thread;
	perfetto->packets.sequence = thread->number;
	perfetto->packets.last_ns = 0;
	kymo_intern_clear(&perfetto->names);
	kymo_intern_clear(&perfetto->tasks);
	memset(perfetto->ends, 0, sizeof perfetto->ends);
	pack_ends(perfetto);
	result = put_clock(perfetto);
	if (!result)
		result = put_defaults(perfetto);
	if (!result && thread->is_first_of_process)
		result = put_process(perfetto);
	if (!result)
		result = put_thread(perfetto);
	return result ? result : put_words(perfetto);
}

static const char *shown_name(const struct kymo_call *call)
{
	const char *name = call->c_name ? call->c_name : call->content ? call->content->function : NULL;

	return name ? name : "?";
}

/* Write the name of the event of @iid, and where it is defined. */
static int put_name(struct perfetto *perfetto, uint32_t iid, const char *name, const struct kymo_content *content)
{
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__InternedName event_name = PERFETTO__INTERNED_NAME__INIT, *names = &event_name;
	Perfetto__SourceLocation location = PERFETTO__SOURCE_LOCATION__INIT, *locations = &location;

	event_name.has_iid = location.has_iid = location.has_line_number = true;
	event_name.iid = location.iid = iid;
	event_name.name = STRING(name);
	data.n_event_names = 1;
	data.event_names = &names;
	if (content) {
		location.file_name = STRING(content->file);
		location.line_number = content->first_line;
		data.n_source_locations = 1;
		data.source_locations = &locations;
	}
	return put_interned(perfetto, &data);
}

/* The entry of @key in @role, written to the sequence if new. NULL: reported. */
static struct name *find_name(struct perfetto *perfetto, const void *key, uint32_t role, const char *text,
			      const struct kymo_content *content)
{
	struct name *name = kymo_intern_find(&perfetto->names, key, role);
	bool is_new;

	if (name)
		return name;
	name = kymo_intern_add(&perfetto->names, key, role, &is_new);
	if (!name) {
		kymo_fail(perfetto->error, -ENOMEM, "out of memory");
		return NULL;
	}
	name->iid = name->interned.number;
	return put_name(perfetto, name->iid, text, content) ? NULL : name;
}

static const void *key_of(const struct kymo_call *call)
{
	static const char unknown;

	return call->c_name ? (const void *)call->c_name : call->content ? (const void *)call->content : &unknown;
}

static struct name *find_function(struct perfetto *perfetto, const struct kymo_call *call)
{
	return find_name(perfetto, key_of(call), KYMO_CALL_CALLED, shown_name(call), call->content);
}

/* The packet for a function's first call, or its first in this way. */
static struct name *add_begin(struct perfetto *perfetto, const struct kymo_call *call)
{
	struct name *name = find_function(perfetto, call);
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
	Perfetto__DebugAnnotation how = how_annotation(call->how), *annotation = &how;
	uint64_t category = call->c_name ? CATEGORY_C_CALL : CATEGORY_CALL;
	uint32_t iid;
	bool is_new;

	if (!name)
		return NULL;
	iid = name->iid;
	if (call->how != KYMO_CALL_CALLED) {
		name = kymo_intern_add(&perfetto->names, key_of(call), call->how, &is_new);
		if (!name) {
			kymo_fail(perfetto->error, -ENOMEM, "out of memory");
			return NULL;
		}
		event.n_debug_annotations = 1;
		event.debug_annotations = &annotation;
	}
	event.has_type = event.has_name_iid = true;
	event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
	event.n_category_iids = 1;
	event.category_iids = &category;
	event.name_iid = iid;
	event.has_source_location_iid = call->content != NULL;
	event.source_location_iid = iid;
	kymo_pack_event(&perfetto->packets, &event, &name->packed);
	return name;
}

static int put_begin(struct perfetto *perfetto, const struct kymo_call *call, int64_t t_ns)
{
	struct name *name = kymo_intern_find(&perfetto->names, key_of(call), call->how);

	if (!name || !name->packed.length)
		name = add_begin(perfetto, call);
	if (!name)
		return -ENOMEM;
	kymo_put_packed(&perfetto->packets, &name->packed, t_ns);
	return 0;
}

static void put_end(struct perfetto *perfetto, const struct kymo_call *call, int64_t t_ns)
{
	struct packed_end *end;
	unsigned bytes = 1;
	uint64_t error;

	if (!kymo_is_uncertain(call)) {
		kymo_put_packed(&perfetto->packets, &perfetto->ends[call->how][0].packed, t_ns);
		return;
	}
	error = kymo_shown_err_ns(&perfetto->error_digit, kymo_duration_err_ns(call));
	error = error < ERROR_MAX ? error : ERROR_MAX;
	while (error >> 7 * bytes)
		bytes++;
	end = &perfetto->ends[call->how][bytes];
	for (unsigned i = 0; i < bytes; i++, error >>= 7)
		end->packed.bytes[end->error_at + i] = (uint8_t)(error & 0x7f) | (i + 1 < bytes ? 0x80 : 0);
	kymo_put_packed(&perfetto->packets, &end->packed, t_ns);
}

static int put_instant(struct perfetto *perfetto, enum category category, const char *text, int64_t t_ns)
{
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
	uint64_t iid = category;

	event.has_type = true;
	event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT;
	event.n_category_iids = 1;
	event.category_iids = &iid;
	event.name = STRING(text);
	return kymo_put_event(&perfetto->packets, &event, t_ns, perfetto->error);
}

static int put_raise(struct perfetto *perfetto, const struct kymo_call *call, int64_t t_ns)
{
	const char *text = call->text ? call->text : "?";
	struct name *name = find_name(perfetto, text, ROLE_EXCEPTION, text, NULL);
	uint64_t category = CATEGORY_EXCEPTION;

	if (!name)
		return -ENOMEM;
	if (!name->packed.length) {
		Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;

		event.has_type = event.has_name_iid = true;
		event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT;
		event.n_category_iids = 1;
		event.category_iids = &category;
		event.name_iid = name->iid;
		kymo_pack_event(&perfetto->packets, &event, &name->packed);
	}
	kymo_put_packed(&perfetto->packets, &name->packed, t_ns);
	return 0;
}

static int step(void *context, const struct kymo_call *call, int64_t t_ns)
{
	struct perfetto *perfetto = context;
	char text[KYMO_GAP_TEXT_BYTES];

	switch (call->step) {
	case KYMO_CALL_BEGIN:
		return put_begin(perfetto, call, t_ns);
	case KYMO_CALL_END:
		put_end(perfetto, call, t_ns);
		return 0;
	case KYMO_CALL_RAISE:
		return put_raise(perfetto, call, t_ns);
	case KYMO_CALL_MARK:
		return put_instant(perfetto, CATEGORY_MARK, call->text ? call->text : "?", t_ns);
	case KYMO_CALL_GAP:
		return put_instant(perfetto, CATEGORY_GAP, kymo_gap_text(call, text), t_ns);
	case KYMO_CALL_LINE:
		break;
	}
	return 0;
}

struct task {
	struct kymo_interned interned;
	uint64_t uuid;
};

/* 0: reported. */
static uint64_t find_task(struct perfetto *perfetto, const struct kymo_traced_task *traced)
{
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	char text[KYMO_TASK_TEXT_BYTES];
	struct task *task;
	bool is_new;

	task = kymo_intern_add(&perfetto->tasks, traced, 0, &is_new);
	if (!task) {
		kymo_fail(perfetto->error, -ENOMEM, "out of memory");
		return 0;
	}
	if (!is_new)
		return task->uuid;
	task->uuid = TASK_UUID + perfetto->task_tracks++;
	track.name = STRING(kymo_task_name(traced, text));
	track.has_parent_uuid = true;
	track.parent_uuid = THREAD_UUID + perfetto->thread.number;
	return put_track(perfetto, task->uuid, &track) ? 0 : task->uuid;
}

static int put_task(struct perfetto *perfetto, const struct kymo_traced_task *task, const struct kymo_call *begin, int64_t t_ns)
{
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
	uint64_t category = CATEGORY_TASK, uuid = find_task(perfetto, task);

	if (!uuid)
		return -ENOMEM;
	event.has_type = event.has_track_uuid = true;
	event.track_uuid = uuid;
	event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END;
	if (begin) {
		const struct name *name = find_function(perfetto, begin);

		if (!name)
			return -ENOMEM;
		event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
		event.n_category_iids = 1;
		event.category_iids = &category;
		event.has_name_iid = true;
		event.name_iid = name->iid;
		event.has_source_location_iid = begin->content != NULL;
		event.source_location_iid = name->iid;
	}
	return kymo_put_event(&perfetto->packets, &event, t_ns, perfetto->error);
}

static int begin_task(void *context, const struct kymo_call *call, int64_t t_ns)
{
	return put_task(context, call->task, call, t_ns);
}

static int end_task(void *context, const struct kymo_traced_task *task, int64_t t_ns)
{
	return put_task(context, task, NULL, t_ns);
}

static int end_thread(void *context, int64_t t_ns)
{
	struct perfetto *perfetto = context;

	(void)t_ns;
	kymo_packets_flush(&perfetto->packets);
	return 0;
}

int kymo_export_perfetto(const struct kymo_export *export, struct kymo_error *error)
{
	static const struct kymo_thread_writer writer = {begin_thread, step, begin_task, end_task, end_thread};
	struct perfetto *perfetto = calloc(1, sizeof *perfetto);
	int result;

	if (!perfetto)
		return kymo_fail(error, -ENOMEM, "out of memory");
	perfetto->packets.out = export->out;
	perfetto->export = export;
	perfetto->error = error;
	perfetto->names.entry_bytes = sizeof(struct name);
	perfetto->tasks.entry_bytes = sizeof(struct task);
	result = kymo_export_threads(export, &writer, perfetto, error);
	kymo_intern_free(&perfetto->names);
	kymo_intern_free(&perfetto->tasks);
	free(perfetto);
	return result;
}
