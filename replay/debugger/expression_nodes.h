// SPDX-License-Identifier: Apache-2.0
/* An expression as it was parsed.  For expression*.c alone. */
#ifndef KYMO_REPLAY_DEBUGGER_EXPRESSION_NODES_H
#define KYMO_REPLAY_DEBUGGER_EXPRESSION_NODES_H

#include "replay/debugger/expression.h"

enum term_kind {
	TERM_LITERAL,  /* operand */
	TERM_NAME,     /* number */
	TERM_VARIABLE, /* text, a path */
	TERM_DISPLAY,  /* items */
	TERM_LENGTH,   /* item */
	TERM_NEGATIVE, /* item */
	TERM_NOT,      /* item */
	TERM_AND,      /* items */
	TERM_OR,       /* items */
	TERM_COMPARE,  /* items; each but the first is compared by its sign with the one before */
	TERM_ARITHMETIC, /* items; each but the first is taken by its sign to what came before */
};

/* The second character of signs that are made of two. */
enum sign { SIGN_LESS = '<', SIGN_MORE = '>', SIGN_AT_MOST = 'l', SIGN_AT_LEAST = 'g', SIGN_EQUAL = '=', SIGN_OTHER = '!', SIGN_IN = 'i',
	    SIGN_NOT_IN = 'o', SIGN_IS = 's', SIGN_IS_NOT = 't', SIGN_FLOOR = 'f' };

struct term {
	enum term_kind kind;
	char sign; /* towards what comes before it in its list */
	uint32_t first, next; /* of its items, and in the list that it is in; 0: none */
	uint32_t number;
	char *text; /* its own: of a literal the text, of a variable the path */
	struct kymo_operand literal; /* text is at @text; of a display: what it comes to */
};

struct kymo_expression {
	struct term *terms; /* from 1 */
	uint32_t count;
	size_t capacity;
	uint32_t root;
};

#endif
