// SPDX-License-Identifier: Apache-2.0
#include "replay/trace/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Decode the character at @text, which ends in a NUL; returns its length, or 0 if it is not UTF-8. */
static size_t decode(const unsigned char *text, uint32_t *character)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2
		      : text[0] < 0xf0 ? 3 : text[0] < 0xf5 ? 4 : 0;

	*character = length > 1 ? text[0] & (0x7fU >> length) : text[0];
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*character = *character << 6 | (text[i] & 0x3f);
	}
	if (length > 1 && (*character < smallest[length] || *character > 0x10ffff ||
			   (*character >= 0xd800 && *character < 0xe000)))
		return 0;
	return length;
}

/* Controls, C1 among them, and the marks that reorder or hide text. */
static bool is_unsafe(uint32_t character)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0, 0x1f}, {0x7f, 0x9f}, {0xad, 0xad}, {0x61c, 0x61c}, {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},
		{0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
	};

	for (size_t i = 0; i < sizeof ranges / sizeof *ranges && character >= ranges[i].first; i++)
		if (character <= ranges[i].last)
			return true;
	return false;
}

/* Escape the character at @at; returns its length. */
static size_t put_escaped(FILE *out, const unsigned char *at)
{
	uint32_t character;
	size_t length = decode(at, &character);

	if (length && !is_unsafe(character))
		fwrite_unlocked(at, 1, length, out);
	else if (!length || character < 0x100)
		fprintf(out, "\\x%02x", length ? (unsigned)character : *at);
	else
		fprintf(out, character < 0x10000 ? "\\u%04" PRIx32 : "\\U%08" PRIx32, character);
	return length ? length : 1;
}

void kymo_text_put(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at)
		at += put_escaped(out, at);
}

void kymo_text_put_lines(FILE *out, const char *text, size_t bytes)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + bytes;

	while (at < end) {
		if (*at == '\n' || *at == '\t')
			putc_unlocked(*at++, out);
		else
			at += put_escaped(out, at);
	}
}

void kymo_text_put_utf8(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		uint32_t character;
		size_t length = decode(at, &character);

		if (length)
			fwrite_unlocked(at, 1, length, out);
		else
			fprintf(out, "\\x%02x", *at);
		at += length ? length : 1;
	}
}

static void put_json_special(FILE *out, uint32_t character)
{
	if (character == '"' || character == '\\') {
		putc_unlocked('\\', out);
		putc_unlocked((int)character, out);
	} else if (character == '\n') {
		fputs_unlocked("\\n", out);
	} else if (character < 0x10000) {
		fprintf(out, "\\u%04" PRIx32, character);
	} else { /* a surrogate pair */
		fprintf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd7c0 + (character >> 10), 0xdc00 | (character & 0x3ff));
	}
}

/* How many characters stand as they are, of those that most texts have alone. */
static size_t plain_length(const unsigned char *text)
{
	static const bool is_other[256] = {[0 ... 0x1f] = true, ['"'] = true, ['\\'] = true, [0x7f ... 0xff] = true};
	const unsigned char *at = text;

	while (!is_other[*at])
		at++;
	return (size_t)(at - text);
}

void kymo_json_put(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	putc_unlocked('"', out);
	for (;;) {
		uint32_t character;
		size_t length = plain_length(at);

		fwrite_unlocked(at, 1, length, out);
		at += length;
		if (!*at)
			break;
		length = decode(at, &character);
		if (!length)
			fputs_unlocked("\xef\xbf\xbd", out);
		else if (is_unsafe(character) || *at == '"' || *at == '\\')
			put_json_special(out, character);
		else
			fwrite_unlocked(at, 1, length, out);
		at += length ? length : 1;
	}
	putc_unlocked('"', out);
}

void kymo_json_put_document(FILE *out, const char *json)
{
	const unsigned char *at = (const unsigned char *)json;

	while (*at) {
		uint32_t character;
		size_t length = decode(at, &character);

		if (length && is_unsafe(character) && *at != '\n') /* which can only be in strings */
			put_json_special(out, character);
		else
			fwrite_unlocked(at, 1, length ? length : 1, out);
		at += length ? length : 1;
	}
}

void kymo_text_put_u64(FILE *out, uint64_t value)
{
	char digits[20];
	size_t at = sizeof digits;

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	fwrite_unlocked(digits + at, 1, sizeof digits - at, out);
}

void kymo_text_put_i64(FILE *out, int64_t value)
{
	if (value < 0)
		putc_unlocked('-', out);
	kymo_text_put_u64(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

const char *kymo_text_count(uint64_t count, char text[KYMO_TEXT_BYTES])
{
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, count), used = 0;

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = '\0';
	return text;
}

const char *kymo_text_counted(uint64_t count, const char *noun, char text[KYMO_TEXT_BYTES])
{
	size_t used = strlen(kymo_text_count(count, text));

	snprintf(text + used, KYMO_TEXT_BYTES - used, " %s%s", noun, count == 1 ? "" : "s");
	return text;
}

const char *kymo_text_size(uint64_t bytes, char text[KYMO_TEXT_BYTES])
{
	static const char *const units[] = {"kB", "MB", "GB", "TB"};
	double size = (double)bytes / 1000;
	size_t unit = 0;

	if (bytes < 1000) {
		snprintf(text, KYMO_TEXT_BYTES, "%" PRIu64 " bytes", bytes);
		return text;
	}
	for (; size >= 999.95 && unit < 3; unit++)
		size /= 1000;
	snprintf(text, KYMO_TEXT_BYTES, "%.1f %s", size, units[unit]);
	return text;
}

const char *kymo_text_duration(double ns, char text[KYMO_TEXT_BYTES])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	size_t unit = 0;

	for (; ns >= 999.5 && unit < 3; unit++)
		ns /= 1000;
	snprintf(text, KYMO_TEXT_BYTES, unit && ns < 99.95 ? "%.1f %s" : "%.0f %s", ns, units[unit]);
	return text;
}
