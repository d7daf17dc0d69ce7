// SPDX-License-Identifier: Apache-2.0
/*
 * JSON that is written while it is made, without a tree: the writer keeps the commas.  Begin with {.out = …}.
 *
 * @key names the value in an object, and is escaped like any text; in a list, and for the whole document, it is NULL.
 */
#ifndef KYMO_REPLAY_TRACE_JSON_WRITER_H
#define KYMO_REPLAY_TRACE_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct kymo_json {
	FILE *out;
	bool needs_comma; /* a value came before, in what is open */
};

/* What comes before a value; the caller then writes one value, as JSON, to what is returned. */
FILE *kymo_json_next(struct kymo_json *json, const char *key);

/* @bracket is '{' or '['. */
void kymo_json_begin(struct kymo_json *json, const char *key, char bracket);
/* As many as there are @brackets, such as "]}". */
void kymo_json_end(struct kymo_json *json, const char *brackets);

/* The text that was written last is the key of the value that comes next, which is written with none. */
void kymo_json_is_key(struct kymo_json *json);

/* What comes next stands on a line of its own. */
void kymo_json_line(struct kymo_json *json);

/* NULL: null */
void kymo_json_string(struct kymo_json *json, const char *key, const char *text);
void kymo_json_u64(struct kymo_json *json, const char *key, uint64_t value);
void kymo_json_i64(struct kymo_json *json, const char *key, int64_t value);
void kymo_json_bool(struct kymo_json *json, const char *key, bool value);
void kymo_json_null(struct kymo_json *json, const char *key);

#endif
