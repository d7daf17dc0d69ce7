// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format/varint.h"
#include "replay/values/value_numbers.h"
#include "replay/values/value_ticks.h"
#include "replay/values/values.h"

struct writer {
	const struct kymo_value_tree *tree;
	const struct kymo_traced_process *process;
	char *text;
	size_t bytes;
	size_t length; /* of the whole */
	size_t left;   /* of the cost limit */
	bool is_full;  /* the limit is reached: nothing more is written */
};

/* Costs, in bytes of text. Floats are printed until they read back the same, and ints are divided by ten once per digit. */
#define COST_OF_VALUE 32U
#define COST_OF_FLOAT 256U
#define COST_OF_BYTE 32U

static void put_value(struct writer *writer, const struct kymo_value *value);

static bool spend(struct writer *writer, size_t cost)
{
	writer->is_full |= cost > writer->left;
	writer->left = writer->is_full ? 0 : writer->left - cost;
	return !writer->is_full;
}

static void put_bytes(struct writer *writer, const char *bytes, size_t count)
{
	if (!spend(writer, count))
		return;
	if (writer->length < writer->bytes)
		memcpy(writer->text + writer->length, bytes,
		       count < writer->bytes - writer->length ? count : writer->bytes - writer->length);
	writer->length += count;
}

static void put(struct writer *writer, const char *text)
{
	put_bytes(writer, text, strlen(text));
}

__attribute__((format(printf, 2, 3))) static void put_format(struct writer *writer, const char *format, ...)
{
	char text[64];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	put(writer, text);
}

static const struct kymo_value *at(const struct writer *writer, uint32_t number)
{
	return kymo_value_at(writer->tree, number);
}

/* Decode the character at @text, which may be a surrogate; returns its length, 0 if it is not valid. */
static uint32_t decode(const uint8_t *text, uint32_t bytes, uint32_t *character)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t length = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : text[0] < 0xf5 ? 4 : 0;

	if (length > bytes)
		return 0;
	*character = length > 1 ? text[0] & (0x7fU >> length) : text[0];
	for (uint32_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*character = *character << 6 | (text[i] & 0x3f);
	}
	return length && *character >= smallest[length] && *character <= 0x10ffff ? length : 0;
}

/*
 * Characters for which str.isprintable() is false: separators, controls, formats, surrogates and private ones. Unassigned characters
 * differ between versions, and are written unchanged.
 */
static bool is_printable(uint32_t character)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0x00, 0x1f},	    {0x7f, 0xa0},	{0xad, 0xad},	    {0x600, 0x605},	{0x61c, 0x61c},	    {0x6dd, 0x6dd},
		{0x70f, 0x70f},	    {0x890, 0x891},	{0x8e2, 0x8e2},	    {0x1680, 0x1680},	{0x180e, 0x180e},   {0x2000, 0x200f},
		{0x2028, 0x202f},   {0x205f, 0x206f},	{0x3000, 0x3000},   {0xd800, 0xf8ff},	{0xfeff, 0xfeff},   {0xfff0, 0xfffb},
		{0xfffe, 0xffff},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
		{0xe0000, 0xe00ff}, {0xf0000, 0x10ffff},
	};

	for (size_t i = 0; i < sizeof hidden / sizeof *hidden && character >= hidden[i].first; i++)
		if (character <= hidden[i].last)
			return false;
	return true;
}

static void put_escape(struct writer *writer, uint32_t character)
{
	if (character == '\t' || character == '\n' || character == '\r')
		put(writer, character == '\t' ? "\\t" : character == '\n' ? "\\n" : "\\r");
	else if (character < 0x100)
		put_bytes(writer, (char[]){'\\', 'x', "0123456789abcdef"[character >> 4], "0123456789abcdef"[character & 15]}, 4);
	else
		put_format(writer, character < 0x10000 ? "\\u%04" PRIx32 : "\\U%08" PRIx32, character);
}

static void put_cut(struct writer *writer, const struct kymo_value *value)
{
	put(writer, "…");
	if (value->count > value->kept)
		put_format(writer, "+%" PRIu64, value->count - value->kept);
}

/* One character of @bytes, its special ones escaped; returns its length. */
static uint32_t put_character(struct writer *writer, const uint8_t *text, uint32_t bytes)
{
	uint32_t character, length = decode(text, bytes, &character);

	if (!length)
		put(writer, "\xef\xbf\xbd"); /* damaged: no str has that */
	else if (is_printable(character))
		put_bytes(writer, (const char *)text, length);
	else
		put_escape(writer, character);
	return length ? length : 1;
}

/* With the quotes that repr() chooses. */
static void put_quoted(struct writer *writer, const struct kymo_value *value, bool is_bytes)
{
	const uint8_t *text = value->text;
	uint32_t bytes = value->text_bytes, length;
	const char *quote = bytes && memchr(text, '\'', bytes) && !memchr(text, '"', bytes) ? "\"" : "'";

	put(writer, quote);
	for (uint32_t i = 0; i < bytes && !writer->is_full; i += length) {
		length = 1;
		if (text[i] == (uint8_t)*quote || text[i] == '\\') {
			put(writer, "\\");
			put_bytes(writer, (const char *)text + i, 1);
		} else if (is_bytes && text[i] >= 0x7f) {
			put_escape(writer, text[i]);
		} else {
			length = put_character(writer, text + i, bytes - i);
		}
	}
	put(writer, quote);
	if (value->is_cut)
		put_cut(writer, value);
}

static void put_name(struct writer *writer, const char *name, size_t bytes)
{
	for (size_t i = 0; i < bytes && !writer->is_full;)
		i += put_character(writer, (const uint8_t *)name + i, (uint32_t)(bytes - i));
}

static void put_label(struct writer *writer, const struct kymo_value *value)
{
	put_name(writer, (const char *)value->text, value->text_bytes);
	if (value->is_cut && value->kind != KYMO_VALUE_ARRAY)
		put(writer, "…");
}

static void put_type(struct writer *writer, const struct kymo_value *value)
{
	const char *name = kymo_value_type(value, writer->process);

	put_name(writer, name ? name : "?", name ? strlen(name) : 1);
}

static void put_address(struct writer *writer, const struct kymo_value *value)
{
	if (value->id)
		put_format(writer, " at 0x%" PRIx64, value->id);
}

static void put_long(struct writer *writer, const struct kymo_value *value)
{
	char text[KYMO_LONG_TEXT_BYTES];
	uint32_t bytes = value->text_bytes, top;

	for (; bytes && !value->text[bytes - 1];)
		bytes--;
	top = bytes ? value->text[bytes - 1] : 0;
	if (value->is_cut && !top) {
		put(writer, "<not recorded>");
	} else if (value->is_cut) {
		put_format(writer, "%s≈2**%" PRIu64, value->is_negative ? "-" : "",
			   8 * (value->count - (value->text_bytes - bytes) - 1) + (31 - (unsigned)__builtin_clz(top)));
	} else if (bytes <= KYMO_LONG_MAX_BYTES) {
		if (!spend(writer, COST_OF_BYTE * bytes))
			return;
		kymo_long_text(value->text, bytes, value->is_negative, text);
		put(writer, text);
	} else {
		put_format(writer, "%s0x%" PRIx32, value->is_negative ? "-" : "", top);
		for (bytes--; bytes-- && !writer->is_full;)
			put_format(writer, "%02x", value->text[bytes]);
	}
}

static void put_complex(struct writer *writer, const struct kymo_value *value)
{
	char real[KYMO_FLOAT_TEXT_BYTES], imaginary[KYMO_FLOAT_TEXT_BYTES];
	bool is_imaginary = value->real == 0 && !signbit(value->real);

	kymo_float_text(value->real, true, real);
	kymo_float_text(value->imaginary, true, imaginary);
	if (is_imaginary)
		put_format(writer, "%sj", imaginary);
	else
		put_format(writer, "(%s%s%sj)", real, *imaginary == '-' ? "" : "+", imaginary);
}

/* The list from @item on: values, pairs "key: value" or attributes "name=value"; and how many more there were. */
static void put_items(struct writer *writer, const struct kymo_value *value, const struct kymo_value *item, const char *pair)
{
	const char *separator = "";

	for (; item && !writer->is_full; item = at(writer, item->next)) {
		put(writer, separator);
		separator = ", ";
		if (pair && *pair == '=' && item->kind == KYMO_VALUE_STR)
			put_name(writer, (const char *)item->text, item->text_bytes);
		else
			put_value(writer, item);
		if (!pair)
			continue;
		put(writer, pair);
		item = at(writer, item->next);
		if (!item)
			break;
		put_value(writer, item);
	}
	if (value->count > value->kept) {
		put(writer, separator);
		put_cut(writer, value);
	}
}

static void put_container(struct writer *writer, const struct kymo_value *value)
{
	static const char *const brackets[][2] = {
		[KYMO_VALUE_TUPLE] = {"(", ")"},
		[KYMO_VALUE_LIST] = {"[", "]"},
		[KYMO_VALUE_SET] = {"{", "}"},
		[KYMO_VALUE_FROZENSET] = {"frozenset({", "})"},
		[KYMO_VALUE_DICT] = {"{", "}"},
	};

	if (!value->count && value->kind == KYMO_VALUE_SET) {
		put(writer, "set()");
	} else if (!value->count && value->kind == KYMO_VALUE_FROZENSET) {
		put(writer, "frozenset()");
	} else {
		put(writer, brackets[value->kind][0]);
		put_items(writer, value, at(writer, value->first), value->kind == KYMO_VALUE_DICT ? ": " : NULL);
		if (value->kind == KYMO_VALUE_TUPLE && value->count == 1)
			put(writer, ",");
		put(writer, brackets[value->kind][1]);
	}
}

/* range(0, 3), slice(None, 3, None) */
static void put_range(struct writer *writer, const struct kymo_value *value)
{
	const struct kymo_value *item = at(writer, value->first);

	put(writer, value->kind == KYMO_VALUE_RANGE ? "range(" : "slice(");
	for (int i = 0; item && i < 3; i++, item = at(writer, item->next)) {
		if (i == 2 && value->kind == KYMO_VALUE_RANGE && item->kind == KYMO_VALUE_INT && item->number == 1)
			break;
		put(writer, i ? ", " : "");
		put_value(writer, item);
	}
	put(writer, ")");
}

bool kymo_value_is_time(const struct kymo_value *value, char *text)
{
	return value->kind == KYMO_VALUE_INT && value->dtype && kymo_ticks_text((const char *)value->dtype, value->dtype_bytes, value->number, text);
}

static void put_builtin(struct writer *writer, const struct kymo_value *value)
{
	char text[KYMO_FLOAT_TEXT_BYTES], time[KYMO_TICKS_TEXT_BYTES];

	switch (value->kind) {
	case KYMO_VALUE_INT:
		if (kymo_value_is_time(value, time))
			put(writer, time);
		else
			put_format(writer, "%" PRId64, value->number);
		break;
	case KYMO_VALUE_LONG:
		put_long(writer, value);
		break;
	case KYMO_VALUE_FLOAT:
		kymo_float_text(value->real, false, text);
		put(writer, text);
		break;
	case KYMO_VALUE_COMPLEX:
		put_complex(writer, value);
		break;
	case KYMO_VALUE_STR:
		put_quoted(writer, value, false);
		break;
	case KYMO_VALUE_BYTEARRAY:
	case KYMO_VALUE_BYTES:
		put(writer, value->kind == KYMO_VALUE_BYTES ? "b" : "bytearray(b");
		put_quoted(writer, value, true);
		put(writer, value->kind == KYMO_VALUE_BYTES ? "" : ")");
		break;
	case KYMO_VALUE_RANGE:
	case KYMO_VALUE_SLICE:
		put_range(writer, value);
		break;
	default:
		put_container(writer, value);
	}
}

static void put_attributes(struct writer *writer, const struct kymo_value *value, const struct kymo_value *first)
{
	if (!value->count)
		return;
	put(writer, ": ");
	put_items(writer, value, first, "=");
}

/* By its type and qualified name. */
static void put_named(struct writer *writer, const struct kymo_value *value)
{
	const char *type = kymo_value_type(value, writer->process);
	bool is_class = type && !strcmp(type, "type"), is_module = type && !strcmp(type, "module");

	put(writer, "<");
	if (is_class)
		put(writer, "class");
	else
		put_type(writer, value);
	put(writer, is_class || is_module ? " '" : " ");
	put_label(writer, value);
	if (is_class || is_module)
		put(writer, "'");
	else
		put_address(writer, value);
	put(writer, ">");
}

static void put_array(struct writer *writer, const struct kymo_value *value)
{
	uint64_t size = 0;
	size_t used = 0;

	if (!value->dimensions && value->kept == 1) { /* a scalar */
		put_type(writer, value);
		put(writer, "('");
		put_items(writer, value, at(writer, value->first), NULL);
		put(writer, "')");
		return;
	}
	put(writer, "<");
	put_type(writer, value);
	put(writer, " ");
	put_label(writer, value);
	put(writer, " (");
	for (uint32_t i = 0; i < value->dimensions && !writer->is_full; i++) {
		used += kymo_varint_get(value->shape + used, value->shape_bytes - used, &size);
		put_format(writer, "%s%" PRIu64, i ? ", " : "", size);
	}
	put(writer, value->dimensions == 1 ? ",): [" : "): [");
	put_items(writer, value, at(writer, value->first), NULL);
	put(writer, "]>");
}

static void put_exception(struct writer *writer, const struct kymo_value *value)
{
	const struct kymo_value *args = at(writer, value->first), *cause = args ? at(writer, args->next) : NULL;
	const struct kymo_value *context = cause ? at(writer, cause->next) : NULL;

	put(writer, value->count ? "<" : "");
	put_type(writer, value);
	put(writer, "(");
	if (args && args->kind == KYMO_VALUE_TUPLE && !args->type)
		put_items(writer, args, at(writer, args->first), NULL);
	else
		put(writer, "…");
	put(writer, ")");
	if (value->count) {
		put_address(writer, value);
		put_attributes(writer, value, context ? at(writer, context->next) : NULL);
		put(writer, ">");
	}
	if (cause && cause->kind != KYMO_VALUE_NONE) {
		put(writer, " from ");
		put_value(writer, cause);
	} else if (context && context->kind != KYMO_VALUE_NONE) {
		put(writer, " while handling ");
		put_value(writer, context);
	}
}

static bool is_special(const struct kymo_value *name)
{
	return name->text_bytes > 4 && !memcmp(name->text, "__", 2) && !memcmp(name->text + name->text_bytes - 2, "__", 2);
}

/* TYPE(name=value, …), without a library's private attributes; with what pydantic keeps in addition to the fields. */
static void put_record(struct writer *writer, const struct kymo_value *value)
{
	static const char beside[] = "__pydantic_extra__";
	const struct kymo_value *name = at(writer, value->first), *item = NULL, *extra = NULL;
	const char *separator = "";

	put_type(writer, value);
	put(writer, "(");
	for (; name && !writer->is_full; name = item ? at(writer, item->next) : NULL) {
		item = at(writer, name->next);
		if (item && item->kind == KYMO_VALUE_DICT && name->text_bytes == strlen(beside) && !memcmp(name->text, beside, strlen(beside)))
			extra = item;
		if (name->kind == KYMO_VALUE_STR && is_special(name))
			continue;
		put(writer, separator);
		separator = ", ";
		if (name->kind == KYMO_VALUE_STR)
			put_name(writer, (const char *)name->text, name->text_bytes);
		put(writer, "=");
		put_value(writer, item);
	}
	if (extra && extra->count) {
		put(writer, separator);
		separator = ", ";
		put_items(writer, extra, at(writer, extra->first), "=");
	}
	if (value->count > value->kept) {
		put(writer, separator);
		put_cut(writer, value);
	}
	put(writer, ")");
}

/* <TYPE …> */
static void put_object(struct writer *writer, const struct kymo_value *value)
{
	put(writer, "<");
	put_type(writer, value);
	put_address(writer, value);
	if (value->kind == KYMO_VALUE_SEEN) {
		put(writer, ", shown before");
	} else if (value->kind == KYMO_VALUE_NOT_READ) {
		put(writer, ", ");
		put_label(writer, value);
	} else {
		put_attributes(writer, value, at(writer, value->first));
	}
	put(writer, ">");
}

static bool is_of(const struct writer *writer, const struct kymo_value *value, const char *const types[])
{
	const char *type = kymo_value_type(value, writer->process);

	while (type && *types && strcmp(type, *types) != 0)
		types++;
	return type && *types;
}

/*
 * From what str() returned: a time unchanged, like those in arrays; a Fraction as its two numbers; else TYPE('text'), as its repr().
 */
static void put_library(struct writer *writer, const struct kymo_value *value)
{
	static const char *const times[] = {"datetime", "date", "time", "timedelta", NULL}, *const fraction[] = {"Fraction", NULL};
	const uint8_t *text = value->text, *slash = value->text_bytes ? memchr(text, '/', value->text_bytes) : NULL;
	uint32_t numerator = slash ? (uint32_t)(slash - text) : value->text_bytes;

	if (is_of(writer, value, times)) {
		put_label(writer, value);
		return;
	}
	put_type(writer, value);
	put(writer, "(");
	if (value->is_cut || !is_of(writer, value, fraction)) {
		put_quoted(writer, value, false);
	} else {
		put_name(writer, (const char *)text, numerator);
		put(writer, ", ");
		put_name(writer, slash ? (const char *)slash + 1 : "1", slash ? value->text_bytes - numerator - 1 : 1);
	}
	put(writer, ")");
}

static void put_value(struct writer *writer, const struct kymo_value *value)
{
	static const char *const words[] = {
		[KYMO_VALUE_UNBOUND] = "<unbound>",    [KYMO_VALUE_REDACTED] = "<redacted>",
		[KYMO_VALUE_CUT] = "<not recorded>",   [KYMO_VALUE_NONE] = "None",
		[KYMO_VALUE_FALSE] = "False",	       [KYMO_VALUE_TRUE] = "True",
		[KYMO_VALUE_ELLIPSIS] = "Ellipsis",    [KYMO_VALUE_NOT_IMPLEMENTED] = "NotImplemented",
	};
	unsigned kind = value ? value->kind : KYMO_VALUE_CUT;
	bool is_float = kind == KYMO_VALUE_FLOAT || kind == KYMO_VALUE_COMPLEX;

	if (!spend(writer, is_float ? COST_OF_FLOAT : COST_OF_VALUE))
		return;
	if (kind < sizeof words / sizeof *words) {
		put(writer, words[kind]);
	} else if (kind == KYMO_VALUE_NAMED) {
		put_named(writer, value);
	} else if (kind == KYMO_VALUE_ARRAY) {
		put_array(writer, value);
	} else if (kind == KYMO_VALUE_EXCEPTION) {
		put_exception(writer, value);
	} else if (kind == KYMO_VALUE_OBJECT && writer->process && kymo_traced_name_is_record(writer->process, value->type)) {
		put_record(writer, value);
	} else if (kind == KYMO_VALUE_OBJECT || kind == KYMO_VALUE_SEEN || kind == KYMO_VALUE_NOT_READ) {
		put_object(writer, value);
	} else if (kind == KYMO_VALUE_ENUM) {
		put_type(writer, value);
		put(writer, ".");
		put_label(writer, value);
	} else if (kind == KYMO_VALUE_TEXT) {
		put_library(writer, value);
	} else if (value->type) {
		put_type(writer, value);
		put(writer, "(");
		put_builtin(writer, value);
		put(writer, ")");
	} else {
		put_builtin(writer, value);
	}
}

/* The end of the whole characters of @text, which was cut at @length. */
static size_t end_of_text(const char *text, size_t length)
{
	size_t start = length;
	uint32_t character;

	while (start && length - start < 4 && ((uint8_t)text[start - 1] & 0xc0) == 0x80)
		start--;
	if (!start || (uint8_t)text[start - 1] < 0xc0)
		return length;
	start--;
	return decode((const uint8_t *)text + start, (uint32_t)(length - start), &character) ? length : start;
}

static size_t finish(struct writer *writer, size_t *left)
{
	*left = writer->left;
	if (writer->is_full) {
		writer->is_full = false;
		writer->left = strlen("…");
		put(writer, "…");
	}
	if (writer->text)
		writer->text[writer->length <= writer->bytes ? writer->length : end_of_text(writer->text, writer->bytes)] = '\0';
	return writer->length;
}

size_t kymo_value_text_within(const struct kymo_value_tree *tree, const struct kymo_value *value,
			      const struct kymo_traced_process *process, char *text, size_t bytes, size_t *left)
{
	struct writer writer = {tree, process, bytes ? text : NULL, bytes ? bytes - 1 : 0, .left = *left};

	put_value(&writer, value);
	return finish(&writer, left);
}

size_t kymo_value_text(const struct kymo_value_tree *tree, const struct kymo_value *value,
		       const struct kymo_traced_process *process, char *text, size_t bytes)
{
	size_t left = KYMO_VALUE_TEXT_COST;

	return kymo_value_text_within(tree, value, process, text, bytes, &left);
}

size_t kymo_value_label_within(const struct kymo_value_tree *tree, const struct kymo_value *value,
			       const struct kymo_traced_process *process, char *text, size_t bytes, size_t *left)
{
	struct writer writer = {tree, process, bytes ? text : NULL, bytes ? bytes - 1 : 0, .left = *left};

	if (value->text)
		put_label(&writer, value);
	else
		put_value(&writer, value);
	return finish(&writer, left);
}

size_t kymo_value_label(const struct kymo_value_tree *tree, const struct kymo_value *value,
			const struct kymo_traced_process *process, char *text, size_t bytes)
{
	size_t left = KYMO_VALUE_TEXT_COST;

	return kymo_value_label_within(tree, value, process, text, bytes, &left);
}
