/* SPDX-License-Identifier: MIT */
/* Statements that SQL's PREPARE makes from a user variable, and whose parameters EXECUTE takes from
 * user variables. The values get into these variables as bound parameters, never as text. Two kinds
 * of statements need that: long ones, since the client library can't wait in slices for what it has
 * prepared itself, and those on views, for which see run_view(). */
#include "db/db_private.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db_text.h"

static const struct {
	const char *prepare, *execute;
} texts[SQL_PREPARED] = {
	[LOCKQ_STARTED] = { "PREPARE lockq_started FROM @statement", "EXECUTE lockq_started" },
	[LOCKQ_VIEW] = { "PREPARE lockq_view FROM @statement", "EXECUTE lockq_view" }
};

const char *
db_prepare_text(enum sql_prepared which)
{
	return texts[which].prepare;
}

void
db_forget_prepared(struct db *db, enum sql_prepared which)
{
	free(db->prepared[which]);
	db->prepared[which] = NULL;
}

void
db_forget_all_prepared(struct db *db)
{
	for (unsigned int i = 0; i < SQL_PREPARED; i++)
		db_forget_prepared(db, i);
	free(db->execute);
	db->execute = NULL;
}

/* A manager tests a view in a session with the server's own settings, and compares the bank's
 * columns with CURDATE(). So a view sees those, by hints, which hold for one statement. */
char *
db_statement(const struct db *db, const struct db_query *query)
{
	static const char select[] = "SELECT ", hints[] = "/*+ ";
	struct text sql = { NULL, 0, 0, false };
	const char *rest = query->sql;

	if (query->expect == DB_VIEW && strncmp(rest, select, strlen(select)) == 0) {
		rest += strlen(select);
		text_add(&sql, "%s%s%s ", select, hints, db->as_clients);
		if (strncmp(rest, hints, strlen(hints)) == 0)
			rest += strlen(hints);
		else
			text_add(&sql, "*/ ");
	}
	text_add(&sql, "%s", rest);
	if (sql.failed)
		text_clear(&sql);
	return sql.data;
}

/* Sets the user variables: the parameters, and the statement if it must be prepared. */
static enum db_rc
send_variables(struct db *db, const struct db_query *query, const struct db_arg *args,
    size_t n_args)
{
	struct text set = { NULL, 0, 0, false };
	struct db_query assign = { query->name, NULL, DB_NO_ROWS };
	struct db_arg *all = calloc(n_args + 1, sizeof(*all));
	char *statement = db->preparing ? db_statement(db, query) : NULL;
	enum db_rc rc;
	size_t n = 0;

	if (all == NULL || (db->preparing && statement == NULL)) {
		free(all);
		free(statement);
		return db_fail_memory(db);
	}
	if (db->preparing)
		all[n++] = db_text(statement);
	text_add(&set, "SET %s", n > 0 ? "@statement = ?" : "");
	for (size_t i = 0; i < n_args; i++) {
		text_add(&set, "%s@lockq_p%zu = ?", n > 0 ? ", " : "", i);
		all[n++] = args[i];
	}
	assign.sql = set.data;
	rc = set.failed ? db_fail_memory(db) : db_run(db, &assign, all, n, NULL);
	text_clear(&set);
	free(statement);
	free(all);
	return rc;
}

/* Writes the EXECUTE that uses these variables. */
static enum db_rc
write_execute(struct db *db, enum sql_prepared which, size_t n_args)
{
	struct text execute = { NULL, 0, 0, false };

	text_add(&execute, "%s", texts[which].execute);
	for (size_t i = 0; i < n_args; i++)
		text_add(&execute, "%s @lockq_p%zu", i == 0 ? " USING" : ",", i);
	if (execute.failed) {
		text_clear(&execute);
		return db_fail_memory(db);
	}
	free(db->execute);
	db->execute = execute.data;
	return DB_OK;
}

enum db_rc
db_set_variables(struct db *db, enum sql_prepared which, const struct db_query *query,
    const struct db_arg *args, size_t n_args)
{
	enum db_rc rc = DB_OK;

	db->preparing = db->prepared[which] == NULL ||
	    strcmp(db->prepared[which], query->sql) != 0;
	if (db->preparing)
		db_forget_prepared(db, which);
	if (n_args > 0 || db->preparing)
		rc = send_variables(db, query, args, n_args);
	if (rc == DB_OK)
		rc = write_execute(db, which, n_args);
	/* If there is no memory for the copy, the statement is prepared again next time. */
	if (rc == DB_OK && db->preparing)
		db->prepared[which] = strdup(query->sql);
	return rc;
}

static enum db_rc
send_text(struct db *db, const char *text)
{
	return mysql_send_query(db->mysql, text, (unsigned long)strlen(text)) == 0 ? DB_OK :
	    db_fail_sent(db, db->started);
}

enum db_rc
db_start(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args)
{
	enum db_rc rc = db_ready(db, query->name);

	if (rc == DB_OK)
		rc = db_set_variables(db, LOCKQ_STARTED, query, args, n_args);
	if (rc != DB_OK)
		return rc;
	db->started = query->name;
	return send_text(db, db->preparing ? db_prepare_text(LOCKQ_STARTED) : db->execute);
}

bool
db_has_answer(const struct db *db, int wait_ms)
{
	struct pollfd pfd = { .fd = db_socket(db), .events = POLLIN };

	return poll(&pfd, 1, wait_ms) > 0;
}

enum db_rc
db_wait_answer(struct db *db, const char *what, uint64_t deadline, db_tick_fn *tick, void *data)
{
	while (!db_has_answer(db, TICK_SLICE_MS)) {
		if (tick != NULL && tick(data) != 0) {
			/* Its answer is outstanding, so no other statement can be sent. */
			db->lost = true;
			return db_fail_at(db, DB_ECANCELLED, what, "a statement was given up");
		}
		if (db_clock_ms() > deadline)
			return db_set_error(db, what, CR_SERVER_LOST, "HY000",
			    "the server does not answer");
	}
	db->pinged = 0;
	return mysql_read_query_result(db->mysql) == 0 ? DB_OK : db_fail_sent(db, what);
}

enum db_rc
db_wait(struct db *db, unsigned int limit_s, db_tick_fn *tick, void *data)
{
	uint64_t deadline = db_clock_ms() + ((uint64_t)limit_s + DB_GRACE_S) * 1000;
	enum db_rc rc;

	/* PREPARE may wait, too, for the metadata lock of a table that is being altered. */
	if (db->preparing) {
		rc = db_wait_answer(db, db->started, deadline, tick, data);
		if (rc != DB_OK) {
			db_forget_prepared(db, LOCKQ_STARTED);
			return rc;
		}
		rc = send_text(db, db->execute);
		if (rc != DB_OK)
			return rc;
	}
	return db_wait_answer(db, db->started, deadline, tick, data);
}

static bool
is_integer(enum enum_field_types type)
{
	return type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT || type == MYSQL_TYPE_INT24 ||
	    type == MYSQL_TYPE_LONG || type == MYSQL_TYPE_LONGLONG;
}

enum db_rc
db_fetch(struct db *db, unsigned int integer_columns, db_row_fn *row, void *data)
{
	MYSQL_RES *result = mysql_use_result(db->mysql);
	const MYSQL_FIELD *fields;
	MYSQL_ROW cells;
	enum db_rc rc = DB_OK;

	if (result == NULL)
		return mysql_errno(db->mysql) != 0 ? db_fail(db, db->started) :
		    db_fail_with(db, DB_ESHAPE, "statement %s gave no result", db->started);
	fields = mysql_fetch_fields(result);
	for (unsigned int i = 0; i < mysql_num_fields(result); i++) {
		if ((integer_columns & 1u << i) != 0 && !is_integer(fields[i].type))
			rc = db_fail_with(db, DB_ESHAPE, "column \"%s\" is not an integer",
			    fields[i].name);
	}
	while (rc == DB_OK) {
		cells = mysql_fetch_row(result);
		if (cells == NULL)
			break;
		if (row(cells, mysql_fetch_lengths(result), data) != 0)
			rc = DB_ECANCELLED;
	}
	if (rc == DB_OK && mysql_errno(db->mysql) != 0)
		rc = db_fail(db, db->started);
	mysql_free_result(result);
	return rc;
}
