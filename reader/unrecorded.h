// SPDX-License-Identifier: Apache-2.0
/* Find Pythons of the session that run but are not recorded, and say why. */
#ifndef KYMO_READER_UNRECORDED_H
#define KYMO_READER_UNRECORDED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/metadata.pb-c.h"

#define KYMO_MAX_SUSPECTS 256U

struct kymo_reader;

struct kymo_suspect {
	pid_t pid;
	uint64_t start_ticks;
	uint64_t seen_ns;
	bool is_settled; /* reported, or recorded after all */
	bool is_present;
	bool is_awaited; /* all others had ended at seen_ns */
};

struct kymo_unrecorded_scan {
	bool has_no_children; /* --no-subprocesses: only the command is recorded */
	uint64_t last_ns;
	bool is_pending; /* at the last look */
	uint32_t count;
	struct kymo_suspect suspects[KYMO_MAX_SUSPECTS];
};

/* Look now and then; cheap if it is not time yet. */
void kymo_unrecorded_look(struct kymo_reader *reader, const char *session_dir, uint64_t now_ns);

/*
 * Everything that is recorded has ended.  True if there is a Python that may still join: one that is just
 * starting, or a fork of a recorded one that has done nothing yet.  For each one, at most for a second; then
 * it is reported.
 */
bool kymo_unrecorded_await(struct kymo_reader *reader, const char *session_dir, uint64_t now_ns);

/* Define what is known of a process that is not recorded; it is not looked at again. */
void kymo_unrecorded_tell(struct kymo_reader *reader, Kymo__Unrecorded *unrecorded);

/* Process @pid lives on; do not report it, though it has stopped recording. */
void kymo_unrecorded_pass_over(struct kymo_reader *reader, pid_t pid);

#endif
