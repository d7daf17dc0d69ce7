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
	"(VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)) SELECT ("
#define BEHIND "\n) FROM hit"

struct kymo_condition {
	sqlite3 *database;
	sqlite3_stmt *statement;
	bool needs_hits;
};

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

struct kymo_condition *kymo_condition_new(const char *text, struct kymo_error *error)
{
	struct kymo_condition *condition = calloc(1, sizeof *condition);
	char *query = sqlite3_mprintf("%s%s%s", BEFORE, text, BEHIND);
	const char *rest = NULL;

	if (!condition || !query || sqlite3_open(":memory:", &condition->database)) {
		kymo_fail(error, -ENOMEM, "out of memory");
	} else {
		sqlite3_db_config(condition->database, SQLITE_DBCONFIG_DQS_DML, 1, NULL); /* "main" is a string */
		sqlite3_limit(condition->database, SQLITE_LIMIT_LENGTH, 1000000);
		sqlite3_set_authorizer(condition->database, authorize, NULL);
		condition->needs_hits = strcasestr(text, "hits");
		if (sqlite3_prepare_v3(condition->database, query, -1, SQLITE_PREPARE_PERSISTENT, &condition->statement,
				       &rest))
			kymo_fail(error, -EINVAL, "'%s': %s", text, sqlite3_errmsg(condition->database));
		else if (*rest || sqlite3_column_count(condition->statement) != 1)
			kymo_fail(error, -EINVAL, "'%s': not one expression", text);
		else
			goto out;
	}
	kymo_condition_free(condition);
	condition = NULL;
out:
	sqlite3_free(query);
	return condition;
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
static bool compute(sqlite3_stmt *statement, const struct kymo_walker *walker, uint64_t hits)
{
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
	return sqlite3_step(statement) == SQLITE_ROW;
}

bool kymo_condition_holds(struct kymo_condition *condition, const struct kymo_walker *walker, uint64_t hits)
{
	bool holds = compute(condition->statement, walker, hits) && sqlite3_column_int(condition->statement, 0);

	sqlite3_reset(condition->statement);
	return holds;
}

void kymo_condition_value(struct kymo_condition *condition, const struct kymo_walker *walker, uint64_t hits,
			  char *text, size_t bytes)
{
	const char *value = NULL;

	if (compute(condition->statement, walker, hits))
		value = (const char *)sqlite3_column_text(condition->statement, 0);
	snprintf(text, bytes, "%s", value ? value : "null");
	sqlite3_reset(condition->statement);
}
