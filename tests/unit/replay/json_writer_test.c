// SPDX-License-Identifier: Apache-2.0
/* What is written is compared with the text it has to be, and read back by a JSON library. */
#include "replay/trace/json_writer.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t bytes;
static struct kymo_json json;

static void begin(void)
{
	json = (struct kymo_json){.out = open_memstream(&text, &bytes)};
	cr_assert(json.out);
}

static void end(void)
{
	free(text);
}

static const char *written(void)
{
	cr_assert_eq(fclose(json.out), 0);
	return text;
}

TestSuite(json_writer, .init = begin, .fini = end);

Test(json_writer, keeps_commas_at_every_depth)
{
	kymo_json_begin(&json, NULL, '{');
	kymo_json_begin(&json, "none", '{');
	kymo_json_end(&json, "}");
	kymo_json_begin(&json, "lists", '[');
	for (int i = 0; i < 3; i++) {
		kymo_json_begin(&json, NULL, '[');
		for (int j = 0; j < i; j++)
			kymo_json_i64(&json, NULL, j);
		kymo_json_end(&json, "]");
	}
	kymo_json_end(&json, "]");
	kymo_json_begin(&json, "deep", '{');
	kymo_json_begin(&json, "list", '[');
	kymo_json_end(&json, "]}");
	kymo_json_bool(&json, "last", true);
	kymo_json_end(&json, "}");
	cr_assert_str_eq(written(), "{\"none\":{},\"lists\":[[],[0],[0,1]],\"deep\":{\"list\":[]},\"last\":true}");
}

Test(json_writer, values_of_each_kind)
{
	kymo_json_begin(&json, NULL, '[');
	kymo_json_u64(&json, NULL, UINT64_MAX);
	kymo_json_i64(&json, NULL, INT64_MIN);
	kymo_json_bool(&json, NULL, false);
	kymo_json_null(&json, NULL);
	kymo_json_string(&json, NULL, NULL);
	kymo_json_string(&json, NULL, "");
	fputs("1.5", kymo_json_next(&json, NULL));
	kymo_json_end(&json, "]");
	cr_assert_str_eq(written(), "[18446744073709551615,-9223372036854775808,false,null,null,\"\",1.5]");
}

Test(json_writer, a_text_can_become_a_key)
{
	kymo_json_begin(&json, NULL, '{');
	for (int i = 0; i < 2; i++) {
		fprintf(kymo_json_next(&json, NULL), "\"name %d\"", i);
		kymo_json_is_key(&json);
		kymo_json_i64(&json, NULL, i);
	}
	kymo_json_end(&json, "}");
	cr_assert_str_eq(written(), "{\"name 0\":0,\"name 1\":1}");
}

Test(json_writer, a_line_of_its_own_has_the_comma_before_it)
{
	kymo_json_begin(&json, NULL, '[');
	for (int i = 0; i < 2; i++) {
		kymo_json_line(&json);
		kymo_json_begin(&json, NULL, '{');
		kymo_json_u64(&json, "i", (uint64_t)i);
		kymo_json_end(&json, "}");
	}
	kymo_json_end(&json, "]");
	cr_assert_str_eq(written(), "[\n{\"i\":0},\n{\"i\":1}]");
}

Test(json_writer, keys_and_texts_are_escaped_alike)
{
	// NOLINTNEXTLINE(misc-misleading-bidirectional): such characters are what is escaped
	static const char odd[] = "a\"b\\c\n\t\x1b\xc3\xa9\xe2\x80\xae\xf3\xa0\x80\x81\x7f'/ é";
	json_error_t error;
	json_t *read;

	kymo_json_begin(&json, NULL, '{');
	kymo_json_string(&json, odd, odd);
	kymo_json_string(&json, "no UTF-8", "<\xff\xc3>");
	kymo_json_end(&json, "}");
	read = json_loads(written(), 0, &error);
	cr_assert(read, "%s: %s", error.text, text);
	cr_assert_str_eq(json_string_value(json_object_get(read, odd)), odd);
	cr_assert_str_eq(json_string_value(json_object_get(read, "no UTF-8")), "<\xef\xbf\xbd\xef\xbf\xbd>");
	for (const char *at = text; *at; at++)
		cr_assert((unsigned char)*at >= 0x20 && *at != 0x7f, "%s", text);
	cr_assert(strstr(text, "\\u202e"));
	json_decref(read);
}

/* Strings of each length, with what is escaped at each place of them. */
Test(json_writer, plain_text_around_what_is_escaped_stays)
{
	for (size_t length = 1; length < 12; length++) {
		for (size_t place = 0; place < length; place++) {
			char plain[16] = "abcdefghijkl", expected[24];

			plain[length] = '\0';
			plain[place] = '\n';
			cr_assert_eq(fseek(json.out, 0, SEEK_SET), 0);
			json.needs_comma = false;
			kymo_json_string(&json, NULL, plain);
			cr_assert_eq(fflush(json.out), 0);
			snprintf(expected, sizeof expected, "\"%.*s\\n%s\"", (int)place, plain, plain + place + 1);
			cr_assert_str_eq(text, expected);
		}
	}
	fclose(json.out);
}
