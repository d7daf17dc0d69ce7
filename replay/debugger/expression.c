// SPDX-License-Identifier: Apache-2.0
/* Parsing, by Python's precedence: each level is a function that reads what binds more tightly by the next one. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/expression_nodes.h"
#include "replay/values/value_path.h"

/* Parentheses in parentheses. */
#define MAX_DEPTH 64

struct parser {
	struct kymo_expression *expression;
	const char *whole, *at;
	const char *const *names;
	unsigned depth;
	struct kymo_error *error;
};

static uint32_t read_or(struct parser *parser);

static uint32_t fail(struct parser *parser, const char *what)
{
	if (*parser->at)
		kymo_fail(parser->error, -EINVAL, "'%s': %s at '%s'", parser->whole, what, parser->at);
	else
		kymo_fail(parser->error, -EINVAL, "'%s': %s at the end", parser->whole, what);
	return 0;
}

static struct term *term_of(const struct parser *parser, uint32_t number)
{
	return &parser->expression->terms[number];
}

static uint32_t add(struct parser *parser, enum term_kind kind)
{
	struct kymo_expression *expression = parser->expression;

	if (!expression->count)
		expression->count = 1;
	if (kymo_grow(&expression->terms, &expression->capacity, expression->count + 1U, sizeof *expression->terms)) {
		kymo_fail(parser->error, -ENOMEM, "out of memory");
		return 0;
	}
	expression->terms[expression->count] = (struct term){.kind = kind};
	return expression->count++;
}

static void skip_blanks(struct parser *parser)
{
	parser->at += strspn(parser->at, " \t");
}

/* Go past @word, if it comes next: whole, where it is a name. */
static bool take(struct parser *parser, const char *word)
{
	size_t bytes = strlen(word);

	skip_blanks(parser);
	if (strncmp(parser->at, word, bytes) || (kymo_name_bytes(word) && kymo_name_bytes(parser->at) != bytes))
		return false;
	parser->at += bytes;
	return true;
}

/* The list of what @read reads, with signs before each but the first that @sign knows; a term of @kind, unless it is one alone. */
static uint32_t read_list(struct parser *parser, enum term_kind kind, uint32_t (*read)(struct parser *), char (*sign)(struct parser *))
{
	uint32_t first = read(parser), last = first, list = 0;
	char found;

	while (last && (found = sign(parser))) {
		uint32_t next = read(parser);

		if (!list) {
			list = next ? add(parser, kind) : 0;
			if (!list)
				return 0;
			term_of(parser, list)->first = first;
		}
		if (next) {
			term_of(parser, next)->sign = found;
			term_of(parser, last)->next = next;
		}
		last = next;
	}
	return !last ? 0 : list ? list : first;
}

static uint32_t read_number(struct parser *parser)
{
	uint32_t number = add(parser, TERM_LITERAL);
	struct kymo_operand *literal;
	char *end, *real_end;
	bool is_decimal = *parser->at != '0' || (parser->at[1] != 'x' && parser->at[1] != 'X');

	if (!number)
		return 0;
	literal = &term_of(parser, number)->literal;
	errno = 0;
	literal->kind = KYMO_OPERAND_INT;
	literal->number = strtoll(parser->at, &end, is_decimal ? 10 : 16);
	if (is_decimal) {
		literal->real = strtod(parser->at, &real_end);
		if (real_end > end || errno)
			literal->kind = KYMO_OPERAND_REAL;
		end = real_end;
	}
	if (end == parser->at || kymo_name_bytes(end))
		return fail(parser, "not a number");
	parser->at = end;
	return number;
}

/* Text in quotes; escapes as far as texts in conditions need them. */
static uint32_t read_text(struct parser *parser)
{
	static const char escapes[] = "nrt\\'\"", meant[] = "\n\r\t\\'\"";
	uint32_t number = add(parser, TERM_LITERAL);
	char quote = *parser->at, *text = number ? malloc(strlen(parser->at)) : NULL;
	const char *at = parser->at + 1, *escape;
	size_t bytes = 0;

	if (!text) {
		kymo_fail(parser->error, -ENOMEM, "out of memory");
		return 0;
	}
	while (*at && *at != quote) {
		escape = *at == '\\' && at[1] ? strchr(escapes, at[1]) : NULL;
		text[bytes++] = escape ? meant[escape - escapes] : *at;
		at += escape ? 2 : 1;
	}
	term_of(parser, number)->text = text;
	term_of(parser, number)->literal = (struct kymo_operand){.kind = KYMO_OPERAND_TEXT, .text = text, .bytes = bytes};
	/* In SQL, a quote in a text is written twice. */
	if (*at != quote || at[1] == quote)
		return fail(parser, "a text that does not end");
	parser->at = at + 1;
	return number;
}

/* What @closing ends, separated by commas; @is_one: a single item without a comma, in parentheses. */
static uint32_t read_display(struct parser *parser, char closing, bool *is_one)
{
	char opening = *parser->at++;
	uint32_t display = add(parser, TERM_DISPLAY), last = 0, count = 0;
	const char end[] = {closing, '\0'};
	bool has_comma = false;

	if (!display)
		return 0;
	if (++parser->depth > MAX_DEPTH)
		return fail(parser, "too many parentheses");
	while (!take(parser, end)) {
		uint32_t item;

		if (count && !has_comma)
			return fail(parser, "a comma or a parenthesis is missing");
		item = read_or(parser);
		if (!item)
			return 0;
		if (last)
			term_of(parser, last)->next = item;
		else
			term_of(parser, display)->first = item;
		last = item;
		count++;
		has_comma = take(parser, ",");
	}
	parser->depth--;
	*is_one = count == 1 && !has_comma;
	term_of(parser, display)->literal =
		(struct kymo_operand){.kind = KYMO_OPERAND_ITEMS, .opening = opening, .number = count, .item = term_of(parser, display)->first};
	return display;
}

/* Where the path ends that @at, which is behind its name, goes on with. */
static const char *path_end(const char *at)
{
	const char *end = at;
	char quote = 0;

	for (;;) {
		at = end + strspn(end, " \t");
		if (*at == '.') {
			at += 1 + strspn(at + 1, " \t");
			end = at + kymo_name_bytes(at);
			if (end == at)
				return end;
		} else if (*at == '[') {
			for (at++; *at && (quote || *at != ']'); at++) {
				if (quote && *at == '\\' && at[1])
					at++;
				else if (*at == quote)
					quote = 0;
				else if (!quote && (*at == '\'' || *at == '"'))
					quote = *at;
			}
			end = at + (*at == ']');
			if (!*end)
				return end;
		} else {
			return end;
		}
	}
}

static uint32_t read_variable(struct parser *parser, size_t name_bytes)
{
	const char *end = path_end(parser->at + name_bytes);
	uint32_t number = add(parser, TERM_VARIABLE);
	struct term *term;

	if (!number)
		return 0;
	term = term_of(parser, number);
	term->text = strndup(parser->at, (size_t)(end - parser->at));
	if (!term->text) {
		kymo_fail(parser->error, -ENOMEM, "out of memory");
		return 0;
	}
	if (kymo_value_path_check(term->text, term->text + name_bytes, parser->error))
		return 0;
	parser->at = end;
	skip_blanks(parser);
	return *parser->at == '(' ? fail(parser, "nothing can be called but len()") : number;
}

static uint32_t read_word(struct parser *parser, size_t bytes)
{
	static const struct {
		const char *word;
		struct kymo_operand means;
	} words[] = {{"None", {.kind = KYMO_OPERAND_NONE}},
		     {"False", {.kind = KYMO_OPERAND_BOOL}},
		     {"True", {.kind = KYMO_OPERAND_BOOL, .number = 1}}};
	static const char *const reserved[] = {"and", "or", "not", "in", "is", "if", "else", "lambda", "for"};
	const char *behind = parser->at + bytes + strspn(parser->at + bytes, " \t");
	uint32_t number, item;
	bool is_one;

	for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
		if (strlen(reserved[i]) == bytes && !strncmp(parser->at, reserved[i], bytes))
			return fail(parser, "a value is missing");
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (take(parser, words[i].word)) {
			number = add(parser, TERM_LITERAL);
			if (number)
				term_of(parser, number)->literal = words[i].means;
			return number;
		}
	for (uint32_t i = 0; parser->names[i] && *behind != '.' && *behind != '['; i++)
		if (*behind != '(' && take(parser, parser->names[i])) {
			number = add(parser, TERM_NAME);
			if (number)
				term_of(parser, number)->number = i;
			return number;
		}
	if (*behind != '(' || !take(parser, "len"))
		return read_variable(parser, bytes);
	parser->at = behind;
	item = read_display(parser, ')', &is_one);
	if (!item)
		return 0;
	term_of(parser, item)->kind = TERM_LENGTH;
	return is_one ? item : fail(parser, "len() has one argument");
}

static uint32_t read_primary(struct parser *parser)
{
	bool is_one = false;
	uint32_t found;
	size_t bytes;
	char first;

	skip_blanks(parser);
	first = *parser->at;
	bytes = kymo_name_bytes(parser->at);
	if (isdigit((unsigned char)first) || (first == '.' && isdigit((unsigned char)parser->at[1])))
		return read_number(parser);
	if (first == '\'' || first == '"')
		return read_text(parser);
	if (bytes)
		return parser->at[bytes] == '\'' || parser->at[bytes] == '"' ? fail(parser, "a text with a prefix") : read_word(parser, bytes);
	if (first != '(' && first != '[' && first != '{')
		return fail(parser, "a value is missing");
	found = read_display(parser, first == '(' ? ')' : first == '[' ? ']' : '}', &is_one);
	return found && first == '(' && is_one ? term_of(parser, found)->first : found;
}

static uint32_t read_under(struct parser *parser, enum term_kind kind, uint32_t (*read)(struct parser *))
{
	uint32_t number, item;

	if (++parser->depth > MAX_DEPTH)
		return fail(parser, "too many signs");
	item = read(parser);
	parser->depth--;
	number = item ? add(parser, kind) : 0;
	if (number)
		term_of(parser, number)->first = item;
	return number;
}

static uint32_t read_factor(struct parser *parser)
{
	if (take(parser, "-"))
		return read_under(parser, TERM_NEGATIVE, read_factor);
	return read_primary(parser);
}

static char product_sign(struct parser *parser)
{
	if (take(parser, "//"))
		return SIGN_FLOOR;
	return take(parser, "*") ? '*' : take(parser, "/") ? '/' : take(parser, "%") ? '%' : 0;
}

static uint32_t read_product(struct parser *parser)
{
	return read_list(parser, TERM_ARITHMETIC, read_factor, product_sign);
}

static char sum_sign(struct parser *parser)
{
	return take(parser, "+") ? '+' : take(parser, "-") ? '-' : 0;
}

static uint32_t read_sum(struct parser *parser)
{
	return read_list(parser, TERM_ARITHMETIC, read_product, sum_sign);
}

static char comparison_sign(struct parser *parser)
{
	const char *before = parser->at;

	if (take(parser, "not")) {
		if (take(parser, "in"))
			return SIGN_NOT_IN;
		parser->at = before;
		return 0;
	}
	if (take(parser, "is"))
		return take(parser, "not") ? SIGN_IS_NOT : SIGN_IS;
	return take(parser, "in")   ? SIGN_IN
	       : take(parser, "==") ? SIGN_EQUAL
	       : take(parser, "!=") ? SIGN_OTHER
	       : take(parser, "<=") ? SIGN_AT_MOST
	       : take(parser, ">=") ? SIGN_AT_LEAST
	       : take(parser, "<")  ? SIGN_LESS
	       : take(parser, ">")  ? SIGN_MORE
				    : 0;
}

static uint32_t read_comparison(struct parser *parser)
{
	return read_list(parser, TERM_COMPARE, read_sum, comparison_sign);
}

static uint32_t read_not(struct parser *parser)
{
	return take(parser, "not") ? read_under(parser, TERM_NOT, read_not) : read_comparison(parser);
}

static char and_sign(struct parser *parser)
{
	return take(parser, "and") ? '&' : 0;
}

static uint32_t read_and(struct parser *parser)
{
	return read_list(parser, TERM_AND, read_not, and_sign);
}

static char or_sign(struct parser *parser)
{
	return take(parser, "or") ? '|' : 0;
}

static uint32_t read_or(struct parser *parser)
{
	return read_list(parser, TERM_OR, read_and, or_sign);
}

struct kymo_expression *kymo_expression_new(const char *text, const char *const *names, struct kymo_error *error)
{
	struct kymo_expression *expression = calloc(1, sizeof *expression);
	struct parser parser = {.expression = expression, .whole = text, .at = text, .names = names, .error = error};

	if (!expression) {
		kymo_fail(error, -ENOMEM, "out of memory");
		return NULL;
	}
	expression->root = read_or(&parser);
	skip_blanks(&parser);
	if (expression->root && *parser.at)
		expression->root = fail(&parser, *parser.at == '=' ? "write == to compare" : "not understood");
	if (expression->root)
		return expression;
	kymo_expression_free(expression);
	return NULL;
}

void kymo_expression_free(struct kymo_expression *expression)
{
	if (!expression)
		return;
	for (uint32_t i = 1; i < expression->count; i++)
		free(expression->terms[i].text);
	free(expression->terms);
	free(expression);
}

bool kymo_expression_asks(const struct kymo_expression *expression, unsigned number)
{
	for (uint32_t i = 1; i < expression->count; i++)
		if (expression->terms[i].kind == TERM_NAME && expression->terms[i].number == number)
			return true;
	return false;
}

const char *kymo_expression_variable(const struct kymo_expression *expression, uint32_t number, size_t *bytes)
{
	for (uint32_t i = 1; i < expression->count; i++) {
		const struct term *term = &expression->terms[i];

		if (term->kind != TERM_VARIABLE || number--)
			continue;
		*bytes = kymo_name_bytes(term->text);
		return term->text;
	}
	return NULL;
}
