// SPDX-License-Identifier: Apache-2.0
#include "replay/debugger/dap_points.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/trace/trace.h"

#define VALUE_BYTES 1024U

/* "5", "==5", ">5", ">=5", "<5", "<=5", "%5". */
static int parse_hits(struct kymo_dap_point *point, const char *text, struct kymo_error *error)
{
	static const struct {
		const char *sign;
		char compare;
	} signs[] = {{"==", '='}, {">=", 'G'}, {"<=", 'L'}, {"=", '='}, {">", '>'}, {"<", '<'}, {"%", '%'}, {"", '='}};
	const char *number = text + strspn(text, " ");
	char *end;
	size_t i = 0;

	while (strncmp(number, signs[i].sign, strlen(signs[i].sign)) != 0)
		i++;
	number += strlen(signs[i].sign);
	number += strspn(number, " ");
	errno = 0;
	point->hits_number = strtoull(number, &end, 10);
	point->hits_compare = signs[i].compare;
	if (*number < '0' || *number > '9' || errno || end[strspn(end, " ")])
		return kymo_fail(error, -EINVAL, "hit count '%s': write 5, >5, >=5, <5, <=5 or %%5", text);
	if (point->hits_compare == '%' && !point->hits_number)
		return kymo_fail(error, -EINVAL, "hit count '%s' never matches", text);
	return 0;
}

static bool holds_hits(const struct kymo_dap_point *point, uint64_t hits)
{
	switch (point->hits_compare) {
	case '=':
		return hits == point->hits_number;
	case '>':
		return hits > point->hits_number;
	case 'G':
		return hits >= point->hits_number;
	case '<':
		return hits < point->hits_number;
	case 'L':
		return hits <= point->hits_number;
	case '%':
		return hits % point->hits_number == 0;
	default:
		return true;
	}
}

static int add_part(struct kymo_dap_point *point, const char *text, size_t length, bool is_value,
		    struct kymo_index *index, struct kymo_error *error)
{
	struct kymo_dap_log_part part = {.text = strndup(text, length)};
	struct kymo_error why;

	if (!part.text || kymo_grow(&point->log, &point->log_capacity, point->log_count + 1, sizeof(part))) {
		free(part.text);
		return kymo_fail(error, -ENOMEM, "out of memory");
	}
	point->log[point->log_count++] = part;
	if (!is_value)
		return 0;
	point->log[point->log_count - 1].value = kymo_condition_new(part.text, index, &why);
	return point->log[point->log_count - 1].value ? 0 : kymo_fail(error, -EINVAL, "%s", why.message);
}

/* Text, and expressions in braces. */
static int parse_log(struct kymo_dap_point *point, const char *text, struct kymo_index *index, struct kymo_error *error)
{
	int result = 0;

	while (*text && !result) {
		size_t length = strcspn(text, "{");
		const char *end = strchr(text + length, '}');

		if (!end)
			return add_part(point, text, strlen(text), false, index, error);
		result = add_part(point, text, length, false, index, error);
		result = result ? result
				: add_part(point, text + length + 1, (size_t)(end - text) - length - 1, true, index, error);
		text = end + 1;
	}
	return result;
}

struct kymo_dap_point *kymo_dap_point_new(const json_t *breakpoint, struct kymo_index *index, struct kymo_error *error)
{
	struct kymo_dap_point *point = calloc(1, sizeof(*point));
	const char *condition = kymo_dap_string(breakpoint, "condition");
	const char *hits = kymo_dap_string(breakpoint, "hitCondition");
	const char *log = kymo_dap_string(breakpoint, "logMessage");
	struct kymo_error why;
	int result = 0;

	if (!point) {
		kymo_fail(error, -ENOMEM, "out of memory");
		return NULL;
	}
	if (condition && *condition) {
		point->condition = kymo_condition_new(condition, index, &why);
		result = point->condition ? 0 : kymo_fail(error, -EINVAL, "condition %s", why.message);
	}
	if (!result && hits && *hits)
		result = parse_hits(point, hits, error);
	if (!result && log && *log)
		result = parse_log(point, log, index, error);
	if (!result)
		return point;
	kymo_dap_point_free(point);
	return NULL;
}

void kymo_dap_point_free(struct kymo_dap_point *point)
{
	if (!point)
		return;
	for (size_t i = 0; i < point->log_count; i++) {
		free(point->log[i].text);
		kymo_condition_free(point->log[i].value);
	}
	free(point->log);
	kymo_condition_free(point->condition);
	free(point);
}

/* Files are found by what their names end with; the client means one of them. */
static bool wants(const struct kymo_break *at, const struct kymo_walker *walker, uint64_t hits)
{
	const struct kymo_dap_point *point = at->context;

	if (point->file && strcmp(point->file, walker->event.code->content->file) != 0)
		return false;
	return holds_hits(point, hits) && (!point->condition || kymo_condition_holds(point->condition, walker, hits));
}

void kymo_dap_point_apply(struct kymo_dap_point *point, struct kymo_break *at)
{
	at->context = point;
	at->wants = wants;
	at->needs_hits = point->hits_compare || (point->condition && kymo_condition_needs_hits(point->condition));
	for (size_t i = 0; i < point->log_count; i++)
		at->needs_hits |= point->log[i].value && kymo_condition_needs_hits(point->log[i].value);
}

char *kymo_dap_point_log(const struct kymo_dap_point *point, const struct kymo_walker *walker, uint64_t hits)
{
	char *line = NULL, value[VALUE_BYTES];
	size_t bytes;
	FILE *out = open_memstream(&line, &bytes);

	if (!out)
		return NULL;
	for (size_t i = 0; i < point->log_count; i++) {
		const struct kymo_dap_log_part *part = &point->log[i];

		if (part->value)
			kymo_condition_value(part->value, walker, hits, NULL, value, sizeof(value));
		fputs(part->value ? value : part->text, out);
	}
	putc('\n', out);
	fclose(out);
	return line;
}
