// SPDX-License-Identifier: Apache-2.0
/*
 * The reader: a process of its own that takes what recorded processes commit to the
 * shared memory of a session, and writes the trace file.
 */
#ifndef KYMO_READER_READER_H
#define KYMO_READER_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "format/error.h"
#include "format/frame_scan.h"

struct kymo_reader_options {
	/* The process that started the recording: if it dies without ending it, nothing more will come. */
	uint32_t owner_pid;
	/* No command was started: the run ends when every process that was seen has ended
	 * or has stopped recording. */
	bool has_no_root;
	/* A line about the start is written here: empty if the trace file was opened; -1: not written. */
	int status_fd;
};

/*
 * Read the session until it ends, then seal the trace and remove the session.
 *
 * It ends when the session's command has ended and no producer lives, when stop_wanted
 * is set, or at SIGTERM if no producer lives.  The caller has set up the signals.
 */
KYMO_MUST_CHECK int kymo_reader_run(const char *session_dir,
				    const struct kymo_reader_options *options,
				    struct kymo_error *error);

/*
 * Start kymo_reader_run() in a process that nobody can wait for, and return when the
 * trace file was opened, or could not be.  @options->status_fd and, if zero, owner_pid
 * are set here.  Errors at the end are written to reader.log in the session, which is
 * then not removed.
 */
KYMO_MUST_CHECK int kymo_reader_spawn(const char *session_dir,
				      const struct kymo_reader_options *options,
				      struct kymo_error *error);

/*
 * For when the reader was killed: write a trace to @output (NULL: NAME) of what @incomplete
 * (NULL: the session's NAME.incomplete) and the session's rings hold.  If no recorded process
 * lives any more, the session and @incomplete are removed at the end; else nothing is changed.
 * @watch shows the progress.
 */
KYMO_MUST_CHECK int kymo_salvage(const char *session_dir, const char *incomplete, const char *output,
				 struct kymo_watch *watch, struct kymo_error *error);

/*
 * For when the session is gone, too: write a complete trace @output from a cut or damaged one.  @has_end
 * is set to whether its reader had closed it; if not, the new trace says that what had not been written
 * yet is missing.
 */
KYMO_MUST_CHECK int kymo_salvage_trace(const char *trace, const char *output, bool *has_end,
				       struct kymo_watch *watch, struct kymo_error *error);

#endif
