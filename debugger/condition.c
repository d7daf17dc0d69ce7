// SPDX-License-Identifier: Apache-2.0
#include "debugger/condition.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the statement's parameters. */
enum name { HITS = 1, DEPTH, LINE, FILE_NAME, FUNCTION, CALLER, EXCEPTION, THREAD, THREAD_NAME, PID, TIME };

#define BEFORE                                                                                                     \
	"WITH hit(hits, depth, line, file, function, caller, exception, thread, thread_name, pid, time) AS "       \
	"(VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)) SELECT "

struct kymo_condition {
	sqlite3 *database;
	sqlite3_stmt *statement;
	bool needs_hits;
	unsigned slices; /* of work at this hit */
};

/* Of the database's machine: a condition that somebody has a use for takes some dozen instructions. */
#define SLICE_INSTRUCTIONS 10000
#define MAX_SLICES 100

/* Joins of joins would never end: what takes that long is given up. */
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

/* SQLite quotes what is left of the query, and that has lines which nobody wrote. */
static void refuse(struct kymo_error *error, const char *text, const char *why)
{
	kymo_fail(error, -EINVAL, "'%s': %.*s", text, (int)strcspn(why, "\n"), why);
}

/* The query between @open and @close parentheses; NULL: it is none. */
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

struct kymo_condition *kymo_condition_new(const char *text, struct kymo_error *error)
{
	struct kymo_condition *condition = calloc(1, sizeof *condition);
	sqlite3_stmt *other;

	if (!condition || sqlite3_open(":memory:", &condition->database)) {
		kymo_fail(error, -ENOMEM, "out of memory");
		goto fail;
	}
	sqlite3_db_config(condition->database, SQLITE_DBCONFIG_DQS_DML, 1, NULL); /* "main" is a string */
	sqlite3_limit(condition->database, SQLITE_LIMIT_LENGTH, 1000000);
	sqlite3_limit(condition->database, SQLITE_LIMIT_VARIABLE_NUMBER, TIME); /* no parameters but ours */
	sqlite3_set_authorizer(condition->database, authorize, NULL);
	sqlite3_progress_handler(condition->database, SLICE_INSTRUCTIONS, count_slice, condition);
	condition->needs_hits = strcasestr(text, "hits");
	condition->statement = prepare(condition->database, "(", text, ")", error);
	if (!condition->statement)
		goto fail;
	/* What closes a parenthesis that it has not opened fits one of the two at most. */
	other = prepare(condition->database, "((", text, "))", error);
	sqlite3_finalize(other);
	if (other)
		return condition;
fail:
	kymo_condition_free(condition);
	return NULL;
}

void kymo_condition_free(struct kymo_condition *condition)
{
	if (!condition)
		return;
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

bool kymo_condition_holds(struct kymo_condition *condition, const struct kymo_walker *walker, uint64_t hits)
{
	bool holds = compute(condition, walker, hits) && sqlite3_column_int(condition->statement, 0);

	sqlite3_reset(condition->statement);
	return holds;
}

void kymo_condition_value(struct kymo_condition *condition, const struct kymo_walker *walker, uint64_t hits,
			  char *text, size_t bytes)
{
	const char *value = NULL;

	if (compute(condition, walker, hits))
		value = (const char *)sqlite3_column_text(condition->statement, 0);
	snprintf(text, bytes, "%s", value ? value : "null");
	sqlite3_reset(condition->statement);
}
