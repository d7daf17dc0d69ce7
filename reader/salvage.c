// SPDX-License-Identifier: Apache-2.0
/*
 * Make a trace from what is left after the reader was killed.
 *
 * Nothing is changed before the new trace is complete: it is written under a name of
 * its own, and the session is only read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/counter.h"
#include "reader/image.h"
#include "reader/liveness.h"
#include "reader/output_name.h"

/* A file system that is gone may make us wait for each source. */
#define SOURCES_PATIENCE_NS 60000000000U

/* The salvaged trace while it is written: NAME.incomplete may be what it is made of. */
static int begin(struct kymo_trace_writer *writer, const char *output, int past_fd,
		 struct kymo_trace_options *options, struct kymo_error *error)
{
	struct kymo_trace_header header;
	char temporary[PATH_MAX];

	int err = kymo_output_check(output, false, error);

	if (err)
		return err;
	if (past_fd >= 0) {
		if (pread(past_fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
			return kymo_fail(error, -EBADMSG, "not a trace: the header is cut off");
		options->created_unix_ns = header.created_unix_ns;
		options->required_features |= header.required_features;
		memcpy(options->session_id, header.session_id, sizeof options->session_id);
	}
	if (snprintf(temporary, sizeof temporary, "%s.salvaged", output) >= (int)sizeof temporary)
		return kymo_fail(error, -ENAMETOOLONG, "file name too long: %s", output);
	options->may_replace = true;
	return kymo_trace_writer_create(writer, temporary, options, error);
}

static int finish(struct kymo_trace_writer *writer, const char *output, const char *ending, struct kymo_error *error)
{
	char temporary[PATH_MAX];
	int err;

	if (writer->is_full) {
		err = kymo_fail(error, -ENOSPC, "cannot write %s: %s", writer->incomplete,
				writer->full_reason);
		kymo_trace_writer_abandon(writer, true);
		return err;
	}
	kymo_run_define_ending(writer, ending, 0);
	memcpy(temporary, writer->output, sizeof temporary);
	err = kymo_trace_writer_close(writer, error);
	return err ? err : kymo_output_rename(-1, temporary, output, false, error);
}

int kymo_salvage_trace(const char *trace, const char *output, bool *has_end,
		       struct kymo_watch *watch, struct kymo_error *error)
{
	struct kymo_trace_writer *writer = malloc(sizeof *writer);
	struct kymo_trace_options options = {0};
	struct kymo_past past = {0};
	int fd = open(trace, O_RDONLY | O_CLOEXEC);
	int err;

	if (!writer)
		err = kymo_fail(error, -ENOMEM, "out of memory");
	else if (fd < 0)
		err = kymo_fail(error, -errno, "%s: %s", trace, strerror(errno));
	else
		err = kymo_output_lock(fd, trace, error);
	if (!err)
		err = begin(writer, output, fd, &options, error);
	if (err)
		goto out;
	err = kymo_past_copy(&past, fd, writer, NULL, watch, error);
	if (err) {
		kymo_trace_writer_abandon(writer, true);
		goto out;
	}
	writer->run_position = past.run_position;
	*has_end = past.has_ending;
	err = finish(writer, output,
		     *has_end ? "salvaged" :
				"salvaged without its session: events that were not written yet are missing",
		     error);
out:
	if (fd >= 0)
		close(fd);
	kymo_past_free(&past);
	free(writer);
	return err;
}

/* Everything that the session still holds.  True if none of its processes can add to it. */
static bool take_session(struct kymo_reader *reader)
{
	bool is_over = true;

	kymo_images_discover(reader);
	kymo_images_end_execed(reader);
	for (struct kymo_image *image = reader->images, *next; image; image = next) {
		Kymo__ProcessEnd__How how = KYMO__PROCESS_END__HOW__ENDED;

		next = image->next;
		if (!image->is_ready)
			continue;
		if (kymo_load_acquire_u32(&image->meta.page->state) == KYMO_PROCESS_STOPPED)
			how = KYMO__PROCESS_END__HOW__STOPPED;
		else if (image->is_foreign)
			how = KYMO__PROCESS_END__HOW__UNKNOWN;
		else if (!kymo_life_is_over(&image->life))
			how = KYMO__PROCESS_END__HOW__ALIVE;
		if (how == KYMO__PROCESS_END__HOW__ALIVE || how == KYMO__PROCESS_END__HOW__UNKNOWN)
			is_over = false;
		kymo_image_end(reader, image, how, 0);
	}
	return is_over;
}

static int salvage(struct kymo_reader *reader, const char *session_dir, const char *named, const char *output,
		   const Kymo__Config *config, struct kymo_watch *watch, struct kymo_error *error)
{
	struct kymo_trace_options options = {.required_features = kymo_run_features(config)};
	char incomplete[PATH_MAX];
	uint32_t run_bytes = 0;
	uint8_t *run = NULL;
	bool is_over;
	int fd, err;

	if (!config->no_sources)
		reader->sources = kymo_sources_make(&reader->writer, reader->pid_namespace);
	if (named)
		snprintf(incomplete, sizeof incomplete, "%s", named);
	else
		snprintf(incomplete, sizeof incomplete, "%s.incomplete", config->output);
	fd = open(incomplete, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno != ENOENT)
		err = kymo_fail(error, -errno, "%s: %s", incomplete, strerror(errno));
	else
		err = fd < 0 ? 0 : kymo_output_lock(fd, incomplete, error);
	if (!err)
		err = begin(&reader->writer, output, fd, &options, error);
	if (err)
		goto out;
	if (fd >= 0) {
		err = kymo_past_copy(&reader->past, fd, &reader->writer, reader->sources, watch, error);
		if (err) {
			kymo_trace_writer_abandon(&reader->writer, true);
			goto out;
		}
		reader->writer.run_position = reader->past.run_position;
		reader->images_seen = reader->past.process_count;
	} else {
		run = kymo_reader_read_run(reader, &run_bytes);
		if (run)
			kymo_run_define_session(&reader->writer, run, run_bytes);
	}
	/* Nobody has advanced the tick since the reader was killed, at some time after this. */
	kymo_run_define_stall(&reader->writer, reader->past.last_counter,
			      kymo_counter_read(reader->session.counter));
	kymo_run_define_clock(&reader->writer, reader->session.counter);
	is_over = take_session(reader);
	kymo_unjoined_finish(reader, session_dir);
	kymo_sources_finish(reader->sources, SOURCES_PATIENCE_NS);
	err = finish(&reader->writer, output,
		     fd >= 0 ? "salvaged" : "salvaged without NAME.incomplete: events that were written to it are missing",
		     error);
	if (!err && is_over) {
		if (fd >= 0)
			unlink(incomplete);
		kymo_reader_remove_session(reader, session_dir);
	}
out:
	if (fd >= 0)
		close(fd);
	free(run);
	return err;
}

int kymo_salvage(const char *session_dir, const char *incomplete, const char *output,
		 struct kymo_watch *watch, struct kymo_error *error)
{
	struct kymo_reader *reader = malloc(sizeof *reader);
	Kymo__Config *config = NULL;
	uint32_t pid;
	int err;

	if (!reader)
		return kymo_fail(error, -ENOMEM, "out of memory");
	err = kymo_reader_open(reader, session_dir, KYMO_ACCESS_READ, error);
	if (err)
		goto out;
	pid = kymo_load_relaxed_u32(&reader->session.page->reader_pid);
	config = kymo__config__unpack(NULL, reader->session.config_bytes, reader->session.config);
	if (kymo_load_acquire_u32(&reader->session.page->reader_state) == KYMO_READER_LIVE &&
	    pid && kymo_life_runs((pid_t)pid))
		err = kymo_fail(error, -EBUSY, "this session still has a reader: process %u", pid);
	else if (!config)
		err = kymo_fail(error, -EBADMSG, "session is damaged: invalid configuration");
	else
		err = salvage(reader, session_dir, incomplete, output ? output : config->output, config,
			      watch, error);
	if (config)
		kymo__config__free_unpacked(config, NULL);
	kymo_reader_close(reader);
out:
	free(reader);
	return err;
}
