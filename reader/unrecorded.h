// SPDX-License-Identifier: Apache-2.0
/* Find Pythons of the session that run but are not recorded, and say why. */
#ifndef KYMO_READER_UNRECORDED_H
#define KYMO_READER_UNRECORDED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define KYMO_MAX_SUSPECTS 256U

struct kymo_reader;

struct kymo_suspect {
	pid_t pid;
	uint64_t start_ticks;
	uint64_t seen_ns;
	bool is_settled; /* reported, or recorded after all */
	bool is_present;
};

struct kymo_unrecorded_scan {
	bool has_no_children; /* --no-subprocesses: of the command alone */
	uint64_t last_ns;
	uint32_t count;
	struct kymo_suspect suspects[KYMO_MAX_SUSPECTS];
};

/* Look now and then; cheap if it is not time yet. */
void kymo_unrecorded_look(struct kymo_reader *reader, const char *session_dir, uint64_t now_ns);

#endif
