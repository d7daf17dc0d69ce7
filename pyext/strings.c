// SPDX-License-Identifier: Apache-2.0
#include "pyext/strings.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kymo_arena_block {
	struct kymo_arena_block *next;
	max_align_t data[];
};

/* The most bytes that a character may take: a four-byte sequence, or \udcff. */
#define MAX_BYTES_PER_CHARACTER 6

void *kymo_arena_take(struct kymo_arena *arena, size_t bytes)
{
	struct kymo_arena_block *block = malloc(sizeof(*block) + bytes);

	if (!block)
		return NULL;
	block->next = arena->blocks;
	arena->blocks = block;
	return block->data;
}

void kymo_arena_free(struct kymo_arena *arena)
{
	while (arena->blocks) {
		struct kymo_arena_block *block = arena->blocks;

		arena->blocks = block->next;
		free(block);
	}
}

static char *encode(char *to, Py_UCS4 c)
{
	if (c == 0 || (c >= 0xd800 && c < 0xe000)) {
		to += sprintf(to, c ? "\\u%04x" : "\\x%02x", (unsigned)c);
	} else if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

/* True if the bytes of @string are its UTF-8. */
static bool is_plain(PyObject *string)
{
	return PyUnicode_IS_COMPACT_ASCII(string) && !memchr(PyUnicode_DATA(string), 0, (size_t)PyUnicode_GET_LENGTH(string));
}

size_t kymo_text_room(PyObject *string)
{
	return (size_t)PyUnicode_GET_LENGTH(string) * (is_plain(string) ? 1 : MAX_BYTES_PER_CHARACTER);
}

char *kymo_text_put(char *to, PyObject *string)
{
	Py_ssize_t length = PyUnicode_GET_LENGTH(string);

	if (is_plain(string))
		return (char *)memcpy(to, PyUnicode_DATA(string), (size_t)length) + length;
	for (Py_ssize_t i = 0; i < length; i++)
		to = encode(to, PyUnicode_READ_CHAR(string, i));
	return to;
}

char *kymo_text(struct kymo_arena *arena, PyObject *string)
{
	static char unknown[] = "?";
	char *text;

	if (!string || !PyUnicode_Check(string))
		return unknown;
	if (is_plain(string))
		return PyUnicode_DATA(string);
	text = kymo_arena_take(arena, kymo_text_room(string) + 1);
	if (!text)
		return unknown;
	*kymo_text_put(text, string) = 0;
	return text;
}

char **kymo_texts(struct kymo_arena *arena, PyObject *tuple, size_t *count)
{
	size_t size = (size_t)PyTuple_GET_SIZE(tuple);
	char **texts = kymo_arena_take(arena, size * sizeof(*texts) + 1);

	*count = texts ? size : 0;
	for (size_t i = 0; i < *count; i++)
		texts[i] = kymo_text(arena, PyTuple_GET_ITEM(tuple, (Py_ssize_t)i));
	return texts;
}
