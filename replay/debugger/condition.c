// SPDX-License-Identifier: Apache-2.0
/*
 * A condition is an expression in Python's syntax or, for `like`, `between` and functions, one in SQL, which has no variables.
 */
#include "replay/debugger/condition.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/expression.h"

/* In the order of the statement's parameters, and of the expression's names. */
enum name { HITS = 1, DEPTH, LINE, FILE_NAME, FUNCTION, CALLER, EXCEPTION, THREAD, THREAD_NAME, PID, TIME };

static const char *const names[] = {"hits", "depth", "line", "file", "function", "caller", "exception", "thread", "thread_name", "pid", "time", NULL};

#define BEFORE                                                                                                     \
	"WITH hit(hits, depth, line, file, function, caller, exception, thread, thread_name, pid, time) AS "       \
	"(VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)) SELECT "

struct kymo_condition {
	struct kymo_index *index;
	struct kymo_expression *expression; /* NULL: it is one of SQL */
	uint64_t unknown; /* times that it could not be computed */
	struct kymo_error why; /* the last time */
	sqlite3 *database;
	sqlite3_stmt *statement;
	bool needs_hits;
	unsigned slices; /* of work at this hit */
};

/* Instructions of the database's machine: a useful condition takes some dozen. */
#define SLICE_INSTRUCTIONS 10000
#define MAX_SLICES 100

/* Joins of joins would never end: evaluation stops after this long. */
static int count_slice(void *context)
{
	struct kymo_condition *condition = context;

	return ++condition->slices > MAX_SLICES;
}

/* An expression computes: it reads no table but its own, and changes nothing. */
static int authorize(void *context, int action, const char *first, const char *second, const char *database,
		     const char *trigger)
{
	(void)context, (void)database, (void)trigger;
	if (action == SQLITE_FUNCTION)
		return second && !strcmp(second, "load_extension") ? SQLITE_DENY : SQLITE_OK;
	if (action == SQLITE_READ)
		return first && strcmp(first, "hit") && *first ? SQLITE_DENY : SQLITE_OK;
	return action == SQLITE_SELECT ? SQLITE_OK : SQLITE_DENY;
}

/* SQLite quotes the rest of the query, which has lines that the user did not write. */
static void refuse(struct kymo_error *error, const char *text, const char *why)
{
	kymo_fail(error, -EINVAL, "'%s': %.*s", text, (int)strcspn(why, "\n"), why);
}

/* The query between @open and @close parentheses; NULL: not a valid one. */
static sqlite3_stmt *prepare(sqlite3 *database, const char *open, const char *text, const char *close,
			     struct kymo_error *error)
{
	char *query = sqlite3_mprintf(BEFORE "%s%s\n%s FROM hit", open, text, close);
	sqlite3_stmt *statement = NULL;
	const char *rest = NULL;

	if (!query)
		kymo_fail(error, -ENOMEM, "out of memory");
	else if (sqlite3_prepare_v3(database, query, -1, SQLITE_PREPARE_PERSISTENT, &statement, &rest))
		refuse(error, text, sqlite3_errmsg(database));
	else if (*rest || sqlite3_column_count(statement) != 1)
		refuse(error, text, "not one expression");
	else
		goto out;
	sqlite3_finalize(statement);
	statement = NULL;
out:
	sqlite3_free(query);
	return statement;
}

/* 0, or a negative errno. */
static int prepare_sql(struct kymo_condition *condition, const char *text, struct kymo_error *error)
{
	sqlite3_stmt *other;

	if (sqlite3_open(":memory:", &condition->database))
		return kymo_fail(error, -ENOMEM, "out of memory");
	sqlite3_db_config(condition->database, SQLITE_DBCONFIG_DQS_DML, 1, NULL); /* "main" is a string */
	sqlite3_limit(condition->database, SQLITE_LIMIT_LENGTH, 1000000);
	sqlite3_limit(condition->database, SQLITE_LIMIT_VARIABLE_NUMBER, TIME); /* no parameters but ours */
	sqlite3_set_authorizer(condition->database, authorize, NULL);
	sqlite3_progress_handler(condition->database, SLICE_INSTRUCTIONS, count_slice, condition);
	condition->needs_hits = strcasestr(text, "hits");
	condition->statement = prepare(condition->database, "(", text, ")", error);
	if (!condition->statement)
		return -EINVAL;
	/* What closes a parenthesis that it has not opened fits one of the two at most. */
	other = prepare(condition->database, "((", text, "))", error);
	sqlite3_finalize(other);
	return other ? 0 : -EINVAL;
}

static bool has_word(const char *words, uint32_t count, const char *name, size_t bytes)
{
	for (; count && words; count--, words += strlen(words) + 1)
		if (strlen(words) == bytes && !memcmp(words, name, bytes))
			return true;
	return false;
}

static bool is_variable(const struct kymo_index *index, const char *name, size_t bytes)
{
	for (uint32_t i = 1; i < index->hits.content_count; i++) {
		const struct kymo_content *content = index->hits.contents[i].content;

		if (has_word(content->locals, content->local_count, name, bytes) || has_word(content->names, content->name_count, name, bytes))
			return true;
	}
	return false;
}

/* A condition on a variable that no code has would never hold. */
static int check_variables(const struct kymo_condition *condition, const char *text, struct kymo_error *error)
{
	const struct kymo_index *index = condition->index;
	const Kymo__Session *session = index ? index->timeline->definitions.session : NULL;
	bool has_values = session && session->config && session->config->values;
	const char *name;
	size_t bytes;

	for (uint32_t i = 0; (name = kymo_expression_variable(condition->expression, i, &bytes)); i++) {
		if (!index || !is_variable(index, name, bytes))
			return kymo_fail(error, -EINVAL, "'%s': no variable %.*s in what was recorded; " KYMO_CONDITION_NAMES, text, (int)bytes, name);
		if (!has_values)
			return kymo_fail(error, -EINVAL, "'%s': %.*s was not recorded: %s", text, (int)bytes, name,
					 kymo_untold_text(KYMO_UNTOLD_NO_VALUES));
	}
	return 0;
}

struct kymo_condition *kymo_condition_new(const char *text, struct kymo_index *index, struct kymo_error *error)
{
	struct kymo_condition *condition = calloc(1, sizeof *condition);
	struct kymo_error other;

	if (!condition) {
		kymo_fail(error, -ENOMEM, "out of memory");
		return NULL;
	}
	condition->index = index;
	condition->expression = kymo_expression_new(text, names, error);
	if (condition->expression && !check_variables(condition, text, error)) {
		condition->needs_hits = kymo_expression_asks(condition->expression, HITS - 1);
		return condition;
	}
	kymo_expression_free(condition->expression);
	condition->expression = NULL;
	if (!prepare_sql(condition, text, &other))
		return condition;
	kymo_condition_free(condition);
	return NULL;
}

void kymo_condition_move(struct kymo_condition *condition, struct kymo_index *index)
{
	condition->index = index;
}

void kymo_condition_free(struct kymo_condition *condition)
{
	if (!condition)
		return;
	kymo_expression_free(condition->expression);
	sqlite3_finalize(condition->statement);
	sqlite3_close(condition->database);
	free(condition);
}

bool kymo_condition_needs_hits(const struct kymo_condition *condition)
{
	return condition->needs_hits;
}

static void bind_text(sqlite3_stmt *statement, enum name name, const char *text)
{
	if (text)
		sqlite3_bind_text(statement, name, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(statement, name);
}

/* True: it was computed, and is column 0 until the statement is reset. */
static bool compute(struct kymo_condition *condition, const struct kymo_walker *walker, uint64_t hits)
{
	sqlite3_stmt *statement = condition->statement;
	const struct kymo_stack *stack = &walker->stack;
	const struct kymo_event *event = &walker->event;
	const struct kymo_content *content = event->code ? event->code->content : NULL;
	const struct kymo_code *caller = stack->count > 1 ? stack->frames[stack->count - 2].code : NULL;
	const struct kymo_traced_thread *thread = event->stream->thread;

	sqlite3_reset(statement);
	sqlite3_bind_int64(statement, HITS, (sqlite3_int64)hits);
	sqlite3_bind_int64(statement, DEPTH, (sqlite3_int64)kymo_stack_depth(stack));
	sqlite3_bind_int64(statement, LINE, kymo_event_line(event));
	bind_text(statement, FILE_NAME, content ? content->file : NULL);
	bind_text(statement, FUNCTION, content ? content->function : NULL);
	bind_text(statement, CALLER, caller ? caller->content->function : NULL);
	bind_text(statement, EXCEPTION, kymo_event_name_role(event) ? event->name : NULL);
	sqlite3_bind_int64(statement, THREAD, event->stream->number);
	bind_text(statement, THREAD_NAME, thread ? thread->name : NULL);
	sqlite3_bind_int64(statement, PID, event->stream->process->pid);
	sqlite3_bind_double(statement, TIME, (double)event->t_ns / 1e9);
	condition->slices = 0;
	return sqlite3_step(statement) == SQLITE_ROW;
}

/* A place at which an expression is computed. */
struct place {
	const struct kymo_condition *condition;
	const struct kymo_walker *walker;
	uint64_t hits;
	const struct kymo_variables *variables; /* of whoever asks, or @own; NULL: not read yet */
	struct kymo_variables own;
};

static struct kymo_operand whole(int64_t number)
{
	return (struct kymo_operand){.kind = KYMO_OPERAND_INT, .number = number};
}

static struct kymo_operand text_or_none(const char *text)
{
	return (struct kymo_operand){.kind = text ? KYMO_OPERAND_TEXT : KYMO_OPERAND_NONE, .text = text, .bytes = text ? strlen(text) : 0};
}

static struct kymo_operand find_name(void *context, unsigned number)
{
	const struct place *place = context;
	const struct kymo_stack *stack = &place->walker->stack;
	const struct kymo_event *event = &place->walker->event;
	const struct kymo_content *content = event->code ? event->code->content : NULL;
	const struct kymo_code *caller = stack->count > 1 ? stack->frames[stack->count - 2].code : NULL;

	switch ((enum name)(number + 1)) {
	case HITS:
		return whole((int64_t)place->hits);
	case DEPTH:
		return whole((int64_t)kymo_stack_depth(stack));
	case LINE:
		return whole(kymo_event_line(event));
	case FILE_NAME:
		return text_or_none(content ? content->file : NULL);
	case FUNCTION:
		return text_or_none(content ? content->function : NULL);
	case CALLER:
		if (!caller && kymo_stack_depth(stack) > 1)
			return (struct kymo_operand){0};
		return text_or_none(caller ? caller->content->function : NULL);
	case EXCEPTION:
		return text_or_none(kymo_event_name_role(event) ? event->name : NULL);
	case THREAD:
		return whole(event->stream->number);
	case THREAD_NAME:
		return text_or_none(event->stream->thread ? event->stream->thread->name : NULL);
	case PID:
		return whole(event->stream->process->pid);
	case TIME:
		return (struct kymo_operand){.kind = KYMO_OPERAND_REAL, .real = (double)event->t_ns / 1e9};
	}
	return (struct kymo_operand){0};
}

static const struct kymo_variables *find_variables(void *context, struct kymo_error *why)
{
	struct place *place = context;

	if (!place->variables && !kymo_variables_at(place->condition->index, place->walker, &place->own, why))
		place->variables = &place->own;
	return place->variables;
}

static struct kymo_operand compute_at(struct kymo_condition *condition, struct place *place)
{
	const struct kymo_expression_scope scope = {find_name, find_variables, place};
	struct kymo_operand result = kymo_expression_value(condition->expression, &scope, &condition->why);

	condition->unknown += result.kind == KYMO_OPERAND_UNKNOWN;
	return result;
}

bool kymo_condition_holds(struct kymo_condition *condition, const struct kymo_walker *walker, uint64_t hits)
{
	struct place place = {.condition = condition, .walker = walker, .hits = hits};
	struct kymo_operand result;
	int truth;

	if (!condition->expression) {
		bool holds = compute(condition, walker, hits) && sqlite3_column_int(condition->statement, 0);

		sqlite3_reset(condition->statement);
		return holds;
	}
	result = compute_at(condition, &place);
	truth = kymo_operand_truth(&result, place.variables, &condition->why);
	condition->unknown += truth < 0 && result.kind != KYMO_OPERAND_UNKNOWN;
	kymo_variables_release(&place.own);
	return truth > 0;
}

uint64_t kymo_condition_unknown(struct kymo_condition *condition, const char **why)
{
	uint64_t times = condition->unknown;

	*why = condition->why.message;
	condition->unknown = 0;
	return times;
}

/* As print() would have it, but that a float without a fraction is a float. */
static void put_operand(const struct kymo_condition *condition, const struct place *place, const struct kymo_operand *operand, char *text,
			size_t bytes)
{
	const struct kymo_value real = {.kind = KYMO_VALUE_FLOAT, .real = operand->real};
	struct kymo_value_tree none = {0};

	switch (operand->kind) {
	case KYMO_OPERAND_UNKNOWN:
		snprintf(text, bytes, "<%s>", condition->why.message);
		break;
	case KYMO_OPERAND_NONE:
		snprintf(text, bytes, "None");
		break;
	case KYMO_OPERAND_BOOL:
		snprintf(text, bytes, operand->number ? "True" : "False");
		break;
	case KYMO_OPERAND_INT:
		snprintf(text, bytes, "%" PRId64, operand->number);
		break;
	case KYMO_OPERAND_REAL:
		kymo_value_text(&none, &real, NULL, text, bytes);
		break;
	case KYMO_OPERAND_TEXT:
		snprintf(text, bytes, "%.*s", operand->bytes < bytes ? (int)operand->bytes : (int)bytes, operand->text);
		break;
	case KYMO_OPERAND_VALUE:
		kymo_value_text(&place->variables->tree, kymo_value_at(&place->variables->tree, operand->node), place->variables->process, text, bytes);
		break;
	case KYMO_OPERAND_ITEMS:
		snprintf(text, bytes, "%c…", operand->opening);
		break;
	}
}

void kymo_condition_value(struct kymo_condition *condition, const struct kymo_walker *walker, uint64_t hits,
			  const struct kymo_variables *variables, char *text, size_t bytes)
{
	struct place place = {.condition = condition, .walker = walker, .hits = hits, .variables = variables};
	const char *value = NULL;

	if (condition->expression) {
		struct kymo_operand result = compute_at(condition, &place);

		put_operand(condition, &place, &result, text, bytes);
		kymo_variables_release(&place.own);
		return;
	}
	if (compute(condition, walker, hits))
		value = (const char *)sqlite3_column_text(condition->statement, 0);
	snprintf(text, bytes, "%s", value ? value : "null");
	sqlite3_reset(condition->statement);
}
