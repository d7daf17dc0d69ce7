// SPDX-License-Identifier: Apache-2.0
/*
 * Writing texts of a trace: a program can choose any names, so bytes that could control a terminal, or are not UTF-8, are escaped.
 */
#ifndef KYMO_REPLAY_TRACE_TEXT_H
#define KYMO_REPLAY_TRACE_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* For people: control characters and bytes that are not UTF-8 as \xNN or \uNNNN. */
void kymo_text_put(FILE *out, const char *text);

/* The same for @bytes followed by a NUL, in lines: line feeds and tabs stay. */
void kymo_text_put_lines(FILE *out, const char *text, size_t bytes);

/* For other programs: unchanged, except bytes that are not UTF-8 as \xNN. */
void kymo_text_put_utf8(FILE *out, const char *text);

/* A JSON string in its quotes; terminal controls as \uNNNN, bytes that are not UTF-8 as U+FFFD. */
void kymo_json_put(FILE *out, const char *text);

/* A JSON document made by a library, with its strings escaped in the same way. */
void kymo_json_put_document(FILE *out, const char *json);

/* Two numbers that are often the same: without printf's cost. */
void kymo_text_put_u64(FILE *out, uint64_t value);
void kymo_text_put_i64(FILE *out, int64_t value);

#define KYMO_TEXT_BYTES 40
/* "1,234,567" */
const char *kymo_text_count(uint64_t count, char text[KYMO_TEXT_BYTES]);
/* "1 chunk", "1,234 chunks"; @noun has less than a dozen letters. */
const char *kymo_text_counted(uint64_t count, const char *noun, char text[KYMO_TEXT_BYTES]);
/* "2.1 MB" */
const char *kymo_text_size(uint64_t bytes, char text[KYMO_TEXT_BYTES]);
/* "12.3 ms" */
const char *kymo_text_duration(double ns, char text[KYMO_TEXT_BYTES]);

#endif
