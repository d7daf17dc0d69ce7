// SPDX-License-Identifier: Apache-2.0
/*
 * One of the two compared runs, and names of its code objects that both sides share.
 *
 * Nothing that differs from run to run names a code object: it is known by its file, its qualified name and its content.
 * A file is known by its path below the folder that the recording began in, or below site-packages, or below the standard
 * library's folder; a file that only one side has, by its last part, if that is enough to find one on the other side.
 */
#ifndef KYMO_REPLAY_DIFF_SIDE_H
#define KYMO_REPLAY_DIFF_SIDE_H

#include "replay/index/index.h"
#include "replay/trace/sources.h"

/* How the events of a code object are treated. */
enum kymo_treatment {
	KYMO_SHOWN,
	KYMO_PASSED_THROUGH, /* left out; its calls count as calls of its caller */
	KYMO_LEFT_OUT,	     /* left out, with everything that it calls */
};

struct kymo_side_code {
	struct kymo_content *content;
	uint64_t identity;
	const char *file; /* as both sides call it */
	uint64_t *texts;  /* lines are compared by their text: its hash, by line - content->first_line; NULL: by number */
	uint32_t text_count;
	int32_t base_line; /* lines are counted from here */
	uint8_t treatment; /* enum kymo_treatment */
	bool is_library;   /* of site-packages or the standard library, or not in a file */
	bool has_changed;  /* the other side has another version of it, or none */
	bool has_no_branches; /* one side recorded its lines instead */
};

struct kymo_side_file {
	const char *path;
	const char *name; /* as both sides call it */
	bool is_common;
	bool was_read, was_compared;
	bool is_other; /* the other side has another version of it */
	uint64_t text; /* its hash; 0: there is none */
	bool has_changed; /* a function of it has, which the other side has in another version */
};

struct kymo_side {
	struct kymo_timeline timeline;
	struct kymo_index index;
	uint32_t number; /* 0 or 1 */
	struct kymo_side_code *codes; /* [0] stands for what is not known */
	size_t code_count, code_capacity;
	uint32_t *slots; /* of @codes, by the address of the content */
	size_t slot_count;
	struct kymo_side_file *files; /* by path */
	size_t file_count, file_capacity;
};

struct kymo_ignored {
	const char *file;     /* a glob, of a path or its end */
	const char *function; /* a glob of the qualified name; NULL: any */
	enum kymo_treatment treatment;
};

/* What is left out unless it is asked for; ends with a NULL file. */
extern const struct kymo_ignored kymo_ignored_by_default[];

/*
 * Name the code objects of both; @ignored ends with a NULL file, @sources with NULL: packages, modules and folders that are no
 * libraries wherever they lie.  0 or a negative errno.
 */
KYMO_MUST_CHECK
int kymo_sides_identify(struct kymo_side *sides[2], const struct kymo_ignored *ignored, const char *const *sources,
			struct kymo_error *error);
/* Free what kymo_sides_identify() made of @side. */
void kymo_side_release(struct kymo_side *side);

/* The number of @content's code in side->codes; 0: it is not known. */
uint32_t kymo_side_code(const struct kymo_side *side, const struct kymo_content *content);

/* The end of a path as people write it: a glob that begins neither at the root nor with * may begin at any folder. */
bool kymo_path_matches(const char *path, const char *glob);

static inline uint64_t kymo_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

uint64_t kymo_hash_bytes(uint64_t hash, const void *bytes, size_t count);

#endif
