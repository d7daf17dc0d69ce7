// SPDX-License-Identifier: Apache-2.0
/* The reader's loop: from the opened session to the sealed trace. */
#include "reader/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/counter.h"
#include "reader/image.h"
#include "reader/terminate.h"

#define MAX_RUN_BYTES (16U << 20)
/* How long after a process's end its status may become known: through the pidfd when its
 * parent waits for it; of the command, from `kymo record`. */
#define STATUS_NS 3000000U
#define ROOT_STATUS_NS 100000000U
/* How long sources are still read at the end. */
#define PATIENCE_NS 1000000000U
#define PATIENCE_ALIVE_NS 100000000U
/* A process that cannot be watched counts as ended when it has been quiet for this long. */
#define QUIET_NS 10000000000U
/* Frames of segments that have not ended, in memory; the rest is in files. */
#define HELD_BYTES (64U << 20)

int kymo_reader_open(struct kymo_reader *reader, const char *session_dir, enum kymo_access access,
		     struct kymo_error *error)
{
	struct stat status;
	int err;

	memset(reader, 0, sizeof *reader);
	reader->access = access;
	reader->held_room.limit = HELD_BYTES;
	reader->writer.fd = -1;
	err = kymo_view_guard(error);
	if (err)
		return err;
	err = kymo_session_view_open(&reader->session, session_dir, access, error);
	if (err)
		return err;
	if (!stat("/proc/self/ns/pid", &status))
		reader->pid_namespace = status.st_ino;
	reader->payload = malloc(KYMO_MAX_SLOT_BYTES);
	reader->seqs = malloc(KYMO_MAX_SLOTS * sizeof *reader->seqs);
	reader->meta_buffer = malloc(KYMO_META_FRAME_BYTES);
	reader->meta_capacity = KYMO_META_FRAME_BYTES;
	if (!reader->payload || !reader->seqs || !reader->meta_buffer) {
		kymo_reader_close(reader);
		return kymo_fail(error, -ENOMEM, "out of memory");
	}
	return 0;
}

void kymo_reader_close(struct kymo_reader *reader)
{
	while (reader->images) {
		struct kymo_image *image = reader->images;

		kymo_image_close(reader, image, false);
	}
	kymo_session_view_close(&reader->session);
	kymo_sources_free(reader->sources);
	kymo_past_free(&reader->past);
	free(reader->payload);
	free(reader->seqs);
	free(reader->meta_buffer);
}

uint8_t *kymo_reader_read_run(const struct kymo_reader *reader, uint32_t *bytes)
{
	int fd = openat(reader->session.dir_fd, "run", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	uint8_t *run = NULL;
	struct stat status;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size <= MAX_RUN_BYTES)
		run = malloc((size_t)status.st_size + 1);
	if (run && read(fd, run, (size_t)status.st_size) != status.st_size) {
		free(run);
		run = NULL;
	}
	*bytes = run ? (uint32_t)status.st_size : 0;
	close(fd);
	return run;
}

/* Find out how the process of a dead image ended.  False: ask again later. */
static bool find_status(struct kymo_reader *reader, struct kymo_image *image, uint64_t now,
			Kymo__ProcessEnd__How *how, int *status)
{
	const struct kymo_session_page *page = reader->session.page;
	bool is_root = kymo_load_relaxed_u32(&page->root_pid) == (uint32_t)image->life.pid;
	int wait_status;

	/* Acquire: the status comes with it.  Pairs with the release store of `kymo record`. */
	if (is_root && kymo_load_acquire_u32(&page->root_ended)) {
		wait_status = (int)kymo_load_relaxed_u32(&page->root_status);
	} else if (!kymo_life_status(&image->life, &wait_status)) {
		*how = KYMO__PROCESS_END__HOW__ENDED;
		*status = 0;
		return now - image->over_since_ns > (is_root ? ROOT_STATUS_NS : STATUS_NS);
	}
	if (WIFSIGNALED(wait_status)) {
		*how = KYMO__PROCESS_END__HOW__SIGNALED;
		*status = WTERMSIG(wait_status);
	} else {
		*how = KYMO__PROCESS_END__HOW__EXITED;
		*status = WEXITSTATUS(wait_status);
	}
	return true;
}

/* Something that changes while the image records. */
static uint64_t fingerprint(const struct kymo_image *image)
{
	/* Relaxed: any change at all is enough. */
	uint64_t sum = kymo_load_relaxed_u64(&image->meta.page->committed);

	for (uint32_t i = 0; i < image->ring_count; i++) {
		const struct kymo_ring_view *view = &image->rings[i]->view;

		if (!image->rings[i]->is_open)
			continue;
		sum = sum * 31 + kymo_load_relaxed_u64(&view->page->opened_seq);
		for (uint32_t slot = 0; slot < view->max_slots; slot++)
			sum = sum * 31 + kymo_load_relaxed_u64(&view->headers[slot].commit);
	}
	return sum;
}

static bool is_quiet(struct kymo_image *image, uint64_t now)
{
	uint64_t sum = fingerprint(image);

	if (sum != image->fingerprint) {
		image->fingerprint = sum;
		image->changed_ns = now;
	}
	return now - image->changed_ns > QUIET_NS;
}

/* End the image if its process has ended or stopped recording.  True if it lives on. */
static bool check_image(struct kymo_reader *reader, struct kymo_image *image, bool is_root_over)
{
	uint64_t now = kymo_monotonic_ns();
	Kymo__ProcessEnd__How how;
	int status = 0;

	/* Acquire: its last chunks are visible with the word.  Pairs with the release
	 * store in kymo_process_stop(). */
	if (kymo_load_acquire_u32(&image->meta.page->state) == KYMO_PROCESS_STOPPED) {
		kymo_unrecorded_pass_over(reader, image->life.pid);
		kymo_image_end(reader, image, KYMO__PROCESS_END__HOW__STOPPED, 0);
		return false;
	}
	if (image->is_foreign) {
		if (!is_root_over)
			return true;
		if (kymo_life_has_left(image->meta.fd))
			kymo_image_end(reader, image, KYMO__PROCESS_END__HOW__ENDED, 0);
		else if (is_quiet(image, now))
			kymo_image_end(reader, image, KYMO__PROCESS_END__HOW__UNKNOWN, 0);
		else
			return true;
		return false;
	}
	if (!kymo_life_is_over(&image->life))
		return true;
	if (!image->over_since_ns)
		image->over_since_ns = now;
	if (!find_status(reader, image, now, &how, &status))
		return true;
	kymo_image_end(reader, image, how, status);
	return false;
}

/* One look at every image.  Returns how many live; @has_more: some have more to take. */
static uint32_t visit_images(struct kymo_reader *reader, bool is_root_over, bool *has_more)
{
	uint32_t live = 0;

	kymo_images_end_execed(reader);
	for (struct kymo_image *image = reader->images, *next; image; image = next) {
		next = image->next;
		if (image->is_gone)
			continue;
		if (!image->is_ready) {
			live++;
			continue;
		}
		*has_more |= kymo_image_drain(reader, image);
		live += check_image(reader, image, is_root_over);
	}
	return live;
}

static void take_snapshot(struct kymo_reader *reader)
{
	struct kymo_session_page *page = reader->session.page;
	/* Acquire: pairs with the asker's add, so that what it recorded before is taken. */
	uint32_t wanted = kymo_load_acquire_u32(&page->snapshots_wanted);

	if (wanted == kymo_load_relaxed_u32(&page->snapshots_done))
		return;
	kymo_images_discover(reader);
	for (struct kymo_image *image = reader->images; image; image = image->next)
		if (image->is_ready)
			kymo_image_take_all(reader, image, true);
	/* So that times up to here are known. */
	kymo_run_define_clock(&reader->writer, reader->session.counter);
	kymo_run_define_snapshot(&reader->writer, wanted);
	kymo_store_release_u32(&page->snapshots_done, wanted);
}

/* Whether the command, or the process that started the recording, has ended. */
struct root {
	bool has_no_root;
	struct kymo_life owner;
	struct kymo_life life;
	uint32_t pid;
};

static bool root_is_over(struct kymo_reader *reader, struct root *root)
{
	const struct kymo_session_page *page = reader->session.page;
	uint32_t pid = kymo_load_acquire_u32(&page->root_pid);

	if (root->has_no_root)
		return reader->images_seen || kymo_life_is_over(&root->owner);
	if (kymo_load_acquire_u32(&page->root_ended))
		return true;
	if (pid != root->pid) {
		kymo_life_unwatch(&root->life);
		kymo_life_watch(&root->life, (pid_t)pid, kymo_life_start_ticks((pid_t)pid));
		root->pid = pid;
	}
	/* `kymo record` itself was killed: nobody will report the command's end. */
	return kymo_life_is_over(&root->owner) && (!pid || kymo_life_is_over(&root->life));
}

static void sleep_until(uint64_t ns)
{
	struct timespec at = {
		.tv_sec = (time_t)(ns / 1000000000U),
		.tv_nsec = (long)(ns % 1000000000U),
	};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Runs until the run ends.  Returns why it ended. */
static const char *loop(struct kymo_reader *reader, const char *session_dir, struct root *root)
{
	unsigned idle_turns = 0;
	bool has_looked = false;

	for (;;) {
		bool has_more = false, is_over = root_is_over(reader, root);
		uint32_t live;

		kymo_reader_tick(reader);
		kymo_images_discover(reader);
		live = visit_images(reader, is_over, &has_more);
		take_snapshot(reader);
		if (kymo_load_acquire_u32(&reader->session.page->stop_wanted))
			return "stopped";
		if (!live && kymo_terminate_wanted())
			return "stopped";
		/* Look twice: the last process that ended may have started another. */
		idle_turns = live ? 0 : idle_turns + 1;
		kymo_unjoined_take(reader, session_dir);
		if (is_over && idle_turns > 1) {
			/* Look once more: it may have joined, and ended, meanwhile. */
			if (has_looked)
				return "complete";
			has_looked = !kymo_unrecorded_await(reader, session_dir, kymo_monotonic_ns());
		} else {
			has_looked = false;
		}
		kymo_unrecorded_look(reader, session_dir, kymo_monotonic_ns());
		if (!has_more && !kymo_sources_work(reader->sources, reader->tick_ns + KYMO_TICK_NS))
			sleep_until(reader->tick_ns + KYMO_TICK_NS);
	}
}

/* True if some of their processes go on. */
static bool end_images(struct kymo_reader *reader)
{
	bool is_alive = false;

	kymo_images_end_execed(reader);
	for (struct kymo_image *image = reader->images, *next; image; image = next) {
		next = image->next;
		is_alive |= image->is_ready;
		if (image->is_ready)
			kymo_image_end(reader, image,
				       image->is_foreign ? KYMO__PROCESS_END__HOW__UNKNOWN :
							   KYMO__PROCESS_END__HOW__ALIVE,
				       0);
		else if (!image->is_gone)
			kymo_image_close(reader, image, true);
	}
	return is_alive;
}

static int seal(struct kymo_reader *reader, const char *session_dir, const char *reason, struct kymo_error *error)
{
	char text[256];

	kymo_images_discover(reader);
	kymo_unjoined_finish(reader, session_dir);
	/* Processes that go on may wait for the reader until reader_state says that it is closed. */
	kymo_sources_finish(reader->sources, end_images(reader) ? PATIENCE_ALIVE_NS : PATIENCE_NS);
	kymo_run_define_clock(&reader->writer, reader->session.counter);
	snprintf(text, sizeof text, "%s", reason);
	if (reader->writer.is_full)
		snprintf(text, sizeof text, "%s; %llu chunks are not in the trace",
			 reader->writer.full_reason, (unsigned long long)reader->unstored);
	kymo_run_define_ending(&reader->writer, text, reader->unstored_events);
	return kymo_trace_writer_close(&reader->writer, error);
}

/* Begin the trace file, or continue that of a reader that was killed. */
static int begin_trace(struct kymo_reader *reader, const Kymo__Config *config,
		       struct kymo_error *error)
{
	struct kymo_trace_options options = {
		.may_replace = config->force,
		.max_bytes = config->max_bytes,
		.required_features = kymo_run_features(config),
	};
	bool has_past = kymo_load_relaxed_u32(&reader->session.page->reader_pid);
	uint32_t run_bytes;
	uint8_t *run = kymo_reader_read_run(reader, &run_bytes);
	Kymo__Session *session = run ? kymo__session__unpack(NULL, run_bytes, run) : NULL;
	char incomplete[PATH_MAX];
	int fd = -1, err;

	if (!session) {
		err = kymo_fail(error, -EBADMSG, "session is damaged: its file run is missing or invalid");
		goto out;
	}
	options.created_unix_ns = session->started_unix_ns;
	if (session->id.len == sizeof options.session_id)
		memcpy(options.session_id, session->id.data, sizeof options.session_id);
	snprintf(incomplete, sizeof incomplete, "%s.incomplete", config->output);
	if (has_past)
		fd = open(incomplete, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		err = kymo_past_read(&reader->past, fd, true, reader->sources, error);
		close(fd);
		if (!err)
			err = kymo_trace_writer_resume(&reader->writer, config->output, &options,
						       reader->past.end, reader->past.frames,
						       error);
		reader->writer.run_position = reader->past.run_position;
		reader->images_seen = reader->past.process_count;
	} else {
		err = kymo_trace_writer_create(&reader->writer, config->output, &options, error);
		if (!err)
			kymo_run_define_session(&reader->writer, run, run_bytes);
	}
	/* Nobody has advanced the tick since the earlier reader was killed, at some time after this. */
	if (!err && has_past)
		kymo_run_define_stall(&reader->writer, reader->past.last_counter,
				      kymo_counter_read(reader->session.counter));
out:
	if (session)
		kymo__session__free_unpacked(session, NULL);
	free(run);
	return err;
}

static int start(struct kymo_reader *reader, const char *session_dir, struct kymo_error *error)
{
	struct kymo_session_page *page;
	Kymo__Config *config;
	uint32_t before;
	int err = kymo_reader_open(reader, session_dir, KYMO_ACCESS_DRAIN, error);

	if (err)
		return err;
	page = reader->session.page;
	before = kymo_load_relaxed_u32(&page->reader_pid);
	config = kymo__config__unpack(NULL, reader->session.config_bytes, reader->session.config);
	if (kymo_load_acquire_u32(&page->reader_state) == KYMO_READER_CLOSED)
		err = kymo_fail(error, -ESHUTDOWN, "the trace of this session is already complete");
	else if (before && before != (uint32_t)getpid() && kymo_life_runs((pid_t)before))
		err = kymo_fail(error, -EBUSY, "this session already has a reader: process %u", before);
	else if (!config || config->output[0] != '/')
		err = kymo_fail(error, -EBADMSG, "session is damaged: the path of the trace is not absolute");
	if (!err && !config->no_sources)
		reader->sources = kymo_sources_make(&reader->writer, reader->pid_namespace);
	if (!err)
		err = begin_trace(reader, config, error);
	if (config && config->segment_memory)
		reader->held_room.limit = config->segment_memory;
	reader->unrecorded.has_no_children = config && config->no_subprocesses;
	if (config)
		kymo__config__free_unpacked(config, NULL);
	if (err) {
		kymo_reader_close(reader);
		return err;
	}
	reader->clock_ns = kymo_monotonic_ns();
	kymo_run_define_clock(&reader->writer, reader->session.counter);
	kymo_run_definitions_flush(&reader->writer);
	kymo_reader_tick(reader);
	kymo_store_relaxed_u32(&page->reader_pid, (uint32_t)getpid());
	/* Release: from here on producers may wait for this reader. */
	kymo_store_release_u32(&page->reader_state, KYMO_READER_LIVE);
	return 0;
}

static void report_start(int fd, int err, const struct kymo_error *error)
{
	int32_t code = err;
	char text[sizeof code + sizeof error->message] = {0};

	if (fd < 0)
		return;
	memcpy(text, &code, sizeof code);
	if (err)
		snprintf(text + sizeof code, sizeof error->message, "%s", error->message);
	/* If the process that asked is gone, that will be seen as the owner's end. */
	if (write(fd, text, sizeof text) < 0)
		errno = 0;
	close(fd);
}

/* kymo_session_failure() looks for it there after the reader has closed. */
static void write_log(const struct kymo_reader *reader, const char *message)
{
	int fd = openat(reader->session.dir_fd, KYMO_READER_LOG,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	dprintf(fd, "%s\n", message);
	close(fd);
}

/* Nothing that could be recorded ran: there is no trace. */
static void discard(struct kymo_reader *reader)
{
	end_images(reader);
	kymo_trace_writer_abandon(&reader->writer, true);
}

static int finish(struct kymo_reader *reader, const char *session_dir, const char *reason,
		  struct kymo_error *error)
{
	int err = 0;

	if (kymo_load_relaxed_u32(&reader->session.page->stop_wanted) == KYMO_STOP_DISCARD)
		discard(reader);
	else
		err = seal(reader, session_dir, reason, error);
	if (err)
		write_log(reader, error->message);
	/* Release: whoever sees it finds the trace under its name, or the log. */
	kymo_store_release_u32(&reader->session.page->reader_state, KYMO_READER_CLOSED);
	if (!err)
		kymo_reader_remove_session(reader, session_dir);
	return err;
}

int kymo_reader_run(const char *session_dir, const struct kymo_reader_options *options,
		    struct kymo_error *error)
{
	struct kymo_reader *reader = malloc(sizeof *reader);
	struct kymo_error own_error = {0};
	pid_t owner = options->owner_pid ? (pid_t)options->owner_pid : getppid();
	struct root root = {.has_no_root = options->has_no_root, .life.pid_fd = -1};
	int err;

	if (!error)
		error = &own_error;
	if (!reader)
		return kymo_fail(error, -ENOMEM, "out of memory");
	kymo_life_watch(&root.owner, owner, kymo_life_start_ticks(owner));
	err = start(reader, session_dir, error);
	report_start(options->status_fd, err, error);
	if (!err) {
		err = finish(reader, session_dir, loop(reader, session_dir, &root), error);
		kymo_reader_close(reader);
	}
	kymo_life_unwatch(&root.owner);
	kymo_life_unwatch(&root.life);
	free(reader);
	return err;
}
