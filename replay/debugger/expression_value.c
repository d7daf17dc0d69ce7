// SPDX-License-Identifier: Apache-2.0
/* Evaluating an expression. Three-valued: what was not recorded is neither true nor false. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/expression_nodes.h"
#include "replay/values/value_path.h"

enum truth { UNSURE = -1, NO, YES };

/* Containers in containers. */
#define MAX_DEPTH 32U

struct asking {
	const struct kymo_expression *expression;
	const struct kymo_expression_scope *scope;
	const struct kymo_variables *variables; /* NULL: not asked for yet, or they cannot be read */
	struct kymo_error *why;
	bool has_why; /* the first reason is the one to report */
};

static struct kymo_operand compute(struct asking *asking, uint32_t number);

static struct kymo_operand boolean(enum truth truth)
{
	return (struct kymo_operand){.kind = truth == UNSURE ? KYMO_OPERAND_UNKNOWN : KYMO_OPERAND_BOOL, .number = truth == YES};
}

static void explain(struct asking *asking, const char *why)
{
	if (!asking->has_why)
		kymo_fail(asking->why, -ENODATA, "%s", why);
	asking->has_why = true;
}

static struct kymo_operand unknown(struct asking *asking, const char *why)
{
	explain(asking, why);
	return (struct kymo_operand){0};
}

static enum truth unsure(struct asking *asking, const char *why)
{
	explain(asking, why);
	return UNSURE;
}

static const struct kymo_value *value_of(const struct asking *asking, const struct kymo_operand *operand)
{
	return operand->kind == KYMO_OPERAND_VALUE ? kymo_value_at(&asking->variables->tree, operand->node) : NULL;
}

/* What is recorded at @node of the variables. */
static struct kymo_operand take_value(struct asking *asking, uint32_t node)
{
	const struct kymo_value *value = kymo_value_at(&asking->variables->tree, node);
	struct kymo_operand operand = {.kind = KYMO_OPERAND_VALUE, .node = node};

	switch (value ? value->kind : KYMO_VALUE_UNBOUND) {
	case KYMO_VALUE_UNBOUND:
		return unknown(asking, "it has no value here");
	case KYMO_VALUE_REDACTED:
		return unknown(asking, "it was redacted");
	case KYMO_VALUE_CUT:
		return unknown(asking, "it was not recorded: a limit of --values-limits left it out");
	case KYMO_VALUE_NONE:
		operand.kind = KYMO_OPERAND_NONE;
		break;
	case KYMO_VALUE_FALSE:
	case KYMO_VALUE_TRUE:
		operand.kind = KYMO_OPERAND_BOOL;
		operand.number = value->kind == KYMO_VALUE_TRUE;
		break;
	case KYMO_VALUE_INT:
		operand.kind = KYMO_OPERAND_INT;
		operand.number = value->number;
		break;
	case KYMO_VALUE_FLOAT:
		operand.kind = KYMO_OPERAND_REAL;
		operand.real = value->real;
		break;
	case KYMO_VALUE_STR:
		if (value->is_cut)
			break;
		operand.kind = KYMO_OPERAND_TEXT;
		operand.text = value->text_bytes ? (const char *)value->text : "";
		operand.bytes = value->text_bytes;
		break;
	default:
		break;
	}
	return operand;
}

static bool is_number(const struct kymo_operand *operand)
{
	return operand->kind == KYMO_OPERAND_BOOL || operand->kind == KYMO_OPERAND_INT || operand->kind == KYMO_OPERAND_REAL;
}

static bool is_whole(const struct kymo_operand *operand)
{
	return operand->kind == KYMO_OPERAND_BOOL || operand->kind == KYMO_OPERAND_INT;
}

static double real_of(const struct kymo_operand *operand)
{
	return operand->kind == KYMO_OPERAND_REAL ? operand->real : (double)operand->number;
}

/* < 0, 0, > 0; a NaN is none of these: 2. */
static int compare_numbers(const struct kymo_operand *a, const struct kymo_operand *b)
{
	long double left, right;

	if (is_whole(a) && is_whole(b))
		return a->number < b->number ? -1 : a->number > b->number;
	/* Of 64 bits, which hold any int as well. */
	left = a->kind == KYMO_OPERAND_REAL ? (long double)a->real : (long double)a->number;
	right = b->kind == KYMO_OPERAND_REAL ? (long double)b->real : (long double)b->number;
	return isnan(left) || isnan(right) ? 2 : left < right ? -1 : left > right;
}

static int compare_texts(const struct kymo_operand *a, const struct kymo_operand *b)
{
	size_t bytes = a->bytes < b->bytes ? a->bytes : b->bytes;
	int order = bytes ? memcmp(a->text, b->text, bytes) : 0;

	return order ? order : a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* How a display of that kind opens; 0: of any other. */
static char opening_of(const struct asking *asking, const struct kymo_operand *operand)
{
	const struct kymo_value *value = value_of(asking, operand);

	if (operand->kind == KYMO_OPERAND_ITEMS)
		return operand->opening;
	switch (value ? value->kind : KYMO_VALUE_INVALID) {
	case KYMO_VALUE_LIST:
		return '[';
	case KYMO_VALUE_TUPLE:
		return '(';
	case KYMO_VALUE_SET:
	case KYMO_VALUE_FROZENSET:
		return '{';
	case KYMO_VALUE_DICT:
		return ':';
	default:
		return 0;
	}
}

static bool is_container(const struct asking *asking, const struct kymo_operand *operand)
{
	return opening_of(asking, operand) != 0;
}

static uint64_t length_of(const struct asking *asking, const struct kymo_operand *operand)
{
	return operand->kind == KYMO_OPERAND_ITEMS ? (uint64_t)operand->number : value_of(asking, operand)->count;
}

/* Items of a container, one after the other; of a dict the keys. */
struct items {
	uint32_t at;
	bool is_display, is_dict;
};

static struct items items_of(const struct asking *asking, const struct kymo_operand *operand)
{
	const struct kymo_value *value = value_of(asking, operand);

	return (struct items){.at = value ? value->first : operand->item, .is_display = !value, .is_dict = value && value->kind == KYMO_VALUE_DICT};
}

static bool next_item(struct asking *asking, struct items *items, struct kymo_operand *out)
{
	const struct kymo_value_tree *tree = items->is_display ? NULL : &asking->variables->tree;

	if (!items->at)
		return false;
	if (!tree) {
		*out = compute(asking, items->at);
		items->at = asking->expression->terms[items->at].next;
		return true;
	}
	*out = take_value(asking, items->at);
	items->at = kymo_value_at(tree, items->at)->next;
	if (items->is_dict && items->at)
		items->at = kymo_value_at(tree, items->at)->next;
	return true;
}

static enum truth are_equal(struct asking *asking, const struct kymo_operand *a, const struct kymo_operand *b, unsigned depth);

/* Item by item, in order. */
static enum truth are_lists_equal(struct asking *asking, const struct kymo_operand *a, const struct kymo_operand *b, unsigned depth)
{
	struct items left = items_of(asking, a), right = items_of(asking, b);
	struct kymo_operand one, other;
	enum truth all = YES;
	uint64_t compared = 0;

	for (; next_item(asking, &left, &one) && next_item(asking, &right, &other); compared++) {
		enum truth truth = are_equal(asking, &one, &other, depth + 1);

		if (truth == NO)
			return NO;
		if (truth == UNSURE)
			all = UNSURE;
	}
	return compared == length_of(asking, a) ? all : unsure(asking, "not all of its items were recorded");
}

/* A text of which the end was not recorded. */
static enum truth is_cut_text_equal(struct asking *asking, const struct kymo_value *value, const struct kymo_operand *text)
{
	if (text->kind == KYMO_OPERAND_TEXT && (text->bytes <= value->text_bytes || memcmp(text->text, value->text, value->text_bytes) != 0))
		return NO;
	return unsure(asking, "not all of the text was recorded");
}

/* Two values of which one at least is none of the simple ones. */
static enum truth are_values_equal(struct asking *asking, const struct kymo_operand *a, const struct kymo_operand *b)
{
	const struct kymo_value *left = value_of(asking, a), *right = value_of(asking, b);

	if (left && right && left->id && left->id == right->id)
		return YES;
	if (left && right && left->kind == KYMO_VALUE_LONG && right->kind == KYMO_VALUE_LONG && !left->is_cut && !right->is_cut)
		return left->is_negative == right->is_negative && left->text_bytes == right->text_bytes &&
		       !memcmp(left->text, right->text, left->text_bytes);
	if (!right) {
		const struct kymo_value *value = left;

		left = right;
		right = value;
		a = b;
	}
	/* @right is a value now, and @a may be none. */
	if (right->kind == KYMO_VALUE_STR)
		return left ? unsure(asking, "not all of the text was recorded") : is_cut_text_equal(asking, right, a);
	if (a->kind == KYMO_OPERAND_NONE || (right->kind == KYMO_VALUE_LONG && a->kind != KYMO_OPERAND_REAL && !left))
		return NO;
	return unsure(asking, "how such objects compare was not recorded");
}

static enum truth are_equal(struct asking *asking, const struct kymo_operand *a, const struct kymo_operand *b, unsigned depth)
{
	char left = opening_of(asking, a), right = opening_of(asking, b);

	if (a->kind == KYMO_OPERAND_UNKNOWN || b->kind == KYMO_OPERAND_UNKNOWN)
		return UNSURE;
	if (is_number(a) && is_number(b))
		return compare_numbers(a, b) == 0;
	if (a->kind == KYMO_OPERAND_TEXT && b->kind == KYMO_OPERAND_TEXT)
		return compare_texts(a, b) == 0;
	if (left && right) {
		if (left != right || length_of(asking, a) != length_of(asking, b))
			return NO;
		if (!length_of(asking, a))
			return YES;
		return left == '[' || left == '(' ? depth < MAX_DEPTH ? are_lists_equal(asking, a, b, depth)
								       : unsure(asking, "too many lists in lists")
						  : unsure(asking, "how sets and dicts compare is not known here");
	}
	if ((a->kind != KYMO_OPERAND_VALUE || left) && (b->kind != KYMO_OPERAND_VALUE || right))
		return a->kind == KYMO_OPERAND_NONE && b->kind == KYMO_OPERAND_NONE;
	return are_values_equal(asking, a, b);
}

static enum truth is_same(struct asking *asking, const struct kymo_operand *a, const struct kymo_operand *b)
{
	const struct kymo_value *left = value_of(asking, a), *right = value_of(asking, b);
	bool is_simple = a->kind == KYMO_OPERAND_NONE || a->kind == KYMO_OPERAND_BOOL || b->kind == KYMO_OPERAND_NONE || b->kind == KYMO_OPERAND_BOOL;

	if (a->kind == KYMO_OPERAND_UNKNOWN || b->kind == KYMO_OPERAND_UNKNOWN)
		return UNSURE;
	if (is_simple)
		return a->kind == b->kind && a->number == b->number;
	if (left && right && left->id && right->id)
		return left->id == right->id;
	return unsure(asking, "whether this is the same object was not recorded; write ==");
}

static enum truth is_in_text(struct asking *asking, const struct kymo_operand *part, const char *text, size_t bytes, bool is_cut)
{
	if (part->kind != KYMO_OPERAND_TEXT)
		return unsure(asking, "in a text there are texts alone");
	if (memmem(text, bytes, part->text, part->bytes))
		return YES;
	return is_cut ? unsure(asking, "not all of the text was recorded") : NO;
}

static enum truth is_in(struct asking *asking, const struct kymo_operand *item, const struct kymo_operand *whole)
{
	const struct kymo_value *value = value_of(asking, whole);
	enum truth found = NO;
	struct items items;
	struct kymo_operand each;

	if (item->kind == KYMO_OPERAND_UNKNOWN || whole->kind == KYMO_OPERAND_UNKNOWN)
		return UNSURE;
	if (whole->kind == KYMO_OPERAND_TEXT)
		return is_in_text(asking, item, whole->text, whole->bytes, false);
	if (value && value->kind == KYMO_VALUE_STR)
		return is_in_text(asking, item, (const char *)value->text, value->text_bytes, true);
	if (!is_container(asking, whole))
		return unsure(asking, "what is in such an object was not recorded");
	items = items_of(asking, whole);
	while (next_item(asking, &items, &each)) {
		enum truth truth = are_equal(asking, item, &each, 0);

		if (truth == YES)
			return YES;
		found = truth == UNSURE ? UNSURE : found;
	}
	return value && value->kept < value->count ? unsure(asking, "not all of its items were recorded") : found;
}

static enum truth is_ordered(struct asking *asking, char sign, const struct kymo_operand *a, const struct kymo_operand *b)
{
	int order;

	if (a->kind == KYMO_OPERAND_UNKNOWN || b->kind == KYMO_OPERAND_UNKNOWN)
		return UNSURE;
	if (is_number(a) && is_number(b))
		order = compare_numbers(a, b);
	else if (a->kind == KYMO_OPERAND_TEXT && b->kind == KYMO_OPERAND_TEXT)
		order = compare_texts(a, b);
	else
		return unsure(asking, "only numbers and texts have an order here");
	if (order == 2)
		return NO;
	return sign == SIGN_LESS ? order < 0 : sign == SIGN_MORE ? order > 0 : sign == SIGN_AT_MOST ? order <= 0 : order >= 0;
}

static enum truth negate(enum truth truth)
{
	return truth == UNSURE ? UNSURE : truth == YES ? NO : YES;
}

static enum truth compare(struct asking *asking, char sign, const struct kymo_operand *a, const struct kymo_operand *b)
{
	switch (sign) {
	case SIGN_EQUAL:
		return are_equal(asking, a, b, 0);
	case SIGN_OTHER:
		return negate(are_equal(asking, a, b, 0));
	case SIGN_IN:
		return is_in(asking, a, b);
	case SIGN_NOT_IN:
		return negate(is_in(asking, a, b));
	case SIGN_IS:
		return is_same(asking, a, b);
	case SIGN_IS_NOT:
		return negate(is_same(asking, a, b));
	default:
		return is_ordered(asking, sign, a, b);
	}
}

/* Chained, as in 0 < n < 5: all of them. */
static struct kymo_operand compute_comparison(struct asking *asking, uint32_t number)
{
	struct kymo_operand before = compute(asking, number);
	const struct term *terms = asking->expression->terms;
	enum truth all = YES;

	while ((number = terms[number].next)) {
		struct kymo_operand here = compute(asking, number);
		enum truth truth = compare(asking, terms[number].sign, &before, &here);

		if (truth == NO)
			return boolean(NO);
		all = truth == UNSURE ? UNSURE : all;
		before = here;
	}
	return boolean(all);
}

/* As Python does it: the quotient is rounded down, and the rest has the sign of the divisor. */
static bool divide(int64_t a, int64_t b, char sign, int64_t *out)
{
	int64_t rest;

	if (!b || (a == INT64_MIN && b == -1))
		return false;
	rest = a % b;
	*out = sign == '%' ? rest + (rest && (rest < 0) != (b < 0) ? b : 0) : a / b - (rest && (rest < 0) != (b < 0));
	return true;
}

static struct kymo_operand calculate(struct asking *asking, char sign, const struct kymo_operand *a, const struct kymo_operand *b)
{
	struct kymo_operand whole = {.kind = KYMO_OPERAND_INT}, real = {.kind = KYMO_OPERAND_REAL};
	double left = real_of(a), right = real_of(b);
	bool is_good = false;

	if (a->kind == KYMO_OPERAND_UNKNOWN || b->kind == KYMO_OPERAND_UNKNOWN)
		return (struct kymo_operand){0};
	if (!is_number(a) || !is_number(b))
		return unknown(asking, "one can calculate with numbers alone here");
	if (is_whole(a) && is_whole(b) && sign != '/') {
		is_good = sign == '+'   ? !__builtin_add_overflow(a->number, b->number, &whole.number)
			  : sign == '-' ? !__builtin_sub_overflow(a->number, b->number, &whole.number)
			  : sign == '*' ? !__builtin_mul_overflow(a->number, b->number, &whole.number)
					: divide(a->number, b->number, sign, &whole.number);
		return is_good ? whole : unknown(asking, "the number is too large, or it is divided by 0");
	}
	if ((sign == '/' || sign == '%' || sign == SIGN_FLOOR) && right == 0)
		return unknown(asking, "it is divided by 0");
	real.real = sign == '+'		  ? left + right
		    : sign == '-'	  ? left - right
		    : sign == '*'	  ? left * right
		    : sign == '/'	  ? left / right
		    : sign == SIGN_FLOOR ? floor(left / right)
					  : left - right * floor(left / right);
	return real;
}

static struct kymo_operand compute_arithmetic(struct asking *asking, uint32_t number)
{
	struct kymo_operand result = compute(asking, number);
	const struct term *terms = asking->expression->terms;

	while ((number = terms[number].next)) {
		struct kymo_operand here = compute(asking, number);

		result = calculate(asking, terms[number].sign, &result, &here);
	}
	return result;
}

/* What decides it, or the last one. */
static struct kymo_operand compute_logic(struct asking *asking, uint32_t number, enum truth decisive)
{
	const struct term *terms = asking->expression->terms;
	struct kymo_operand here = {0};
	bool is_unsure = false;

	for (; number; number = terms[number].next) {
		struct kymo_error why;
		enum truth truth;

		here = compute(asking, number);
		truth = (enum truth)kymo_operand_truth(&here, asking->variables, &why);
		if (truth == decisive)
			return here;
		if (truth == UNSURE && here.kind != KYMO_OPERAND_UNKNOWN)
			explain(asking, why.message);
		is_unsure |= truth == UNSURE;
	}
	return is_unsure ? (struct kymo_operand){0} : here;
}

static struct kymo_operand compute_length(struct asking *asking, uint32_t number)
{
	struct kymo_operand of = compute(asking, number), length = {.kind = KYMO_OPERAND_INT};
	const struct kymo_value *value = value_of(asking, &of);

	if (of.kind == KYMO_OPERAND_UNKNOWN)
		return of;
	if (of.kind == KYMO_OPERAND_TEXT) {
		for (size_t i = 0; i < of.bytes; i++)
			length.number += ((unsigned char)of.text[i] & 0xc0) != 0x80;
		return length;
	}
	if (is_container(asking, &of) ||
	    (value && (value->kind == KYMO_VALUE_STR || value->kind == KYMO_VALUE_BYTES || value->kind == KYMO_VALUE_BYTEARRAY))) {
		length.number = (int64_t)length_of(asking, &of);
		return length;
	}
	return unknown(asking, "its length was not recorded");
}

static struct kymo_operand compute_variable(struct asking *asking, const char *path)
{
	struct kymo_error why;
	uint32_t node;

	if (!asking->variables)
		asking->variables = asking->scope->variables(asking->scope->context, &why);
	if (!asking->variables || kymo_variables_path(asking->variables, path, &node, &why))
		return unknown(asking, why.message);
	return take_value(asking, node);
}

static struct kymo_operand compute_negative(struct asking *asking, uint32_t number)
{
	struct kymo_operand zero = {.kind = KYMO_OPERAND_INT}, of = compute(asking, number);

	if (of.kind == KYMO_OPERAND_REAL) {
		of.real = -of.real;
		return of;
	}
	return calculate(asking, '-', &zero, &of);
}

static struct kymo_operand compute(struct asking *asking, uint32_t number)
{
	const struct term *term = &asking->expression->terms[number];
	struct kymo_operand of;
	struct kymo_error why;
	enum truth truth;

	switch (term->kind) {
	case TERM_NAME:
		of = asking->scope->name(asking->scope->context, term->number);
		return of.kind ? of : unknown(asking, "it is not known here");
	case TERM_VARIABLE:
		return compute_variable(asking, term->text);
	case TERM_LENGTH:
		return compute_length(asking, term->first);
	case TERM_NEGATIVE:
		return compute_negative(asking, term->first);
	case TERM_NOT:
		of = compute(asking, term->first);
		truth = (enum truth)kymo_operand_truth(&of, asking->variables, &why);
		if (truth == UNSURE && of.kind != KYMO_OPERAND_UNKNOWN)
			explain(asking, why.message);
		return boolean(negate(truth));
	case TERM_AND:
		return compute_logic(asking, term->first, NO);
	case TERM_OR:
		return compute_logic(asking, term->first, YES);
	case TERM_COMPARE:
		return compute_comparison(asking, term->first);
	case TERM_ARITHMETIC:
		return compute_arithmetic(asking, term->first);
	default: /* LITERAL, DISPLAY */
		return term->literal;
	}
}

struct kymo_operand kymo_expression_value(const struct kymo_expression *expression, const struct kymo_expression_scope *scope,
					  struct kymo_error *why)
{
	struct asking asking = {.expression = expression, .scope = scope, .why = why};

	return compute(&asking, expression->root);
}

int kymo_operand_truth(const struct kymo_operand *operand, const struct kymo_variables *variables, struct kymo_error *why)
{
	const struct kymo_value *value = operand->kind == KYMO_OPERAND_VALUE ? kymo_value_at(&variables->tree, operand->node) : NULL;

	switch (operand->kind) {
	case KYMO_OPERAND_NONE:
		return NO;
	case KYMO_OPERAND_BOOL:
	case KYMO_OPERAND_INT:
	case KYMO_OPERAND_ITEMS:
		return operand->number != 0;
	case KYMO_OPERAND_REAL:
		return operand->real != 0;
	case KYMO_OPERAND_TEXT:
		return operand->bytes != 0;
	case KYMO_OPERAND_VALUE:
		break;
	default:
		return UNSURE; /* the reason is already set */
	}
	switch (value ? value->kind : KYMO_VALUE_INVALID) {
	case KYMO_VALUE_LONG:
		return YES;
	case KYMO_VALUE_STR:
	case KYMO_VALUE_BYTES:
	case KYMO_VALUE_BYTEARRAY:
	case KYMO_VALUE_TUPLE:
	case KYMO_VALUE_LIST:
	case KYMO_VALUE_SET:
	case KYMO_VALUE_FROZENSET:
	case KYMO_VALUE_DICT:
		return value->count != 0;
	default:
		kymo_fail(why, -ENODATA, "whether an object counts as true was not recorded; compare it with None");
		return UNSURE;
	}
}
