// SPDX-License-Identifier: Apache-2.0
/*
 * Expressions in Python's syntax, over names and over what variables held.
 *
 * There are literals, names, variables with attributes and items, `len(…)`, + - * / // %, comparisons, also chained, `in`, `is`,
 * `not`, `and`, `or`, and displays of lists, tuples and sets. The result is unknown if it depends on something that was not
 * recorded, or if Python would raise an exception.
 */
#ifndef KYMO_REPLAY_DEBUGGER_EXPRESSION_H
#define KYMO_REPLAY_DEBUGGER_EXPRESSION_H

#include "replay/moves/variables.h"

enum kymo_operand_kind {
	KYMO_OPERAND_UNKNOWN,
	KYMO_OPERAND_NONE,
	KYMO_OPERAND_BOOL,  /* number */
	KYMO_OPERAND_INT,   /* number */
	KYMO_OPERAND_REAL,  /* real */
	KYMO_OPERAND_TEXT,  /* UTF-8, surrogates too */
	KYMO_OPERAND_VALUE, /* node, that is none of these */
	KYMO_OPERAND_ITEMS, /* of a display, in the expression: item, how many are in number */
};

struct kymo_operand {
	enum kymo_operand_kind kind;
	char opening; /* of a display: ( [ { */
	int64_t number;
	double real;
	const char *text; /* not terminated */
	size_t bytes;
	uint32_t node; /* in the tree of the variables */
	uint32_t item;
};

/* What an expression asks at a place.  @name: names[number]; @variables: NULL, and @why says why, where they cannot be read. */
struct kymo_expression_scope {
	struct kymo_operand (*name)(void *context, unsigned number);
	const struct kymo_variables *(*variables)(void *context, struct kymo_error *why);
	void *context;
};

struct kymo_expression;

/* @names, up to a NULL, are no variables; they outlive the expression.  NULL: @error says why @text is no expression. */
struct kymo_expression *kymo_expression_new(const char *text, const char *const *names, struct kymo_error *error);
void kymo_expression_free(struct kymo_expression *expression);

/* It asks for names[number]. */
bool kymo_expression_asks(const struct kymo_expression *expression, unsigned number);
/* The first bytes of variable number @number of those that it asks for, and how many: its name.  NULL: there are no more. */
const char *kymo_expression_variable(const struct kymo_expression *expression, uint32_t number, size_t *bytes);

/* What it comes to, good as long as what @scope hands out; UNKNOWN: @why says why. */
struct kymo_operand kymo_expression_value(const struct kymo_expression *expression, const struct kymo_expression_scope *scope,
					  struct kymo_error *why);
/* What bool() of it is; -1: not known, and @why says why. */
int kymo_operand_truth(const struct kymo_operand *operand, const struct kymo_variables *variables, struct kymo_error *why);

#endif
