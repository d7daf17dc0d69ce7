// SPDX-License-Identifier: Apache-2.0
/*
 * One file that a code object names as its source: its bytes, and whether they are what ran.
 *
 * The name comes from the recorded program and may be that of anything, so only regular
 * files are opened, and no more is read than the file's size.
 */
#ifndef KYMO_READER_SOURCE_FILE_H
#define KYMO_READER_SOURCE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KYMO_MAX_SOURCE_BYTES (4U << 20)

/* What distinguishes one file, in one state, from another. */
struct kymo_source_state {
	const char *missing; /* a literal: why there is no file; NULL: there is one */
	uint64_t device, inode, bytes;
	uint64_t modified_ns; /* unix time */
	uint64_t changed_ns;  /* the same of the inode, which no program can set */
};

/* What the recorded process had compiled from the file when its first code object was seen. */
struct kymo_source_code {
	const char *cache_tag;
	uint64_t image_ns; /* unix time before which the interpreter did not run; 0: not known */
	const uint8_t *bytecode, *line_table;
	size_t bytecode_bytes, line_table_bytes;
};

void kymo_source_look(const char *path, struct kymo_source_state *state);
bool kymo_source_is_same(const struct kymo_source_state *a, const struct kymo_source_state *b);

/*
 * The bytes of file @path, from malloc, or NULL: @state says why.  @is_steady: it was not
 * changed while it was read.
 */
uint8_t *kymo_source_read(const char *path, struct kymo_source_state *state, bool *is_steady);

/*
 * True if the text that was read at @state is what @code was compiled from: by the bytecode that
 * Python cached beside it or, if none is cached for this state, because the file is older than
 * the process.
 */
bool kymo_source_verify(const char *path, const struct kymo_source_state *state, const struct kymo_source_code *code);

/* Unix time of a process's start by its @start_ticks, or a little earlier; 0: not known. */
uint64_t kymo_source_start_ns(uint64_t start_ticks, uint64_t boot_ns);

/* Unix time of the machine's start, by the present state of the clocks. */
uint64_t kymo_source_boot_ns(void);

#endif
