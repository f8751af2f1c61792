/* SPDX-License-Identifier: MIT */
/* Long statements. The client library can't wait in slices for a statement that it prepared. So
 * SQL's PREPARE makes the statement from a user variable, and EXECUTE takes its parameters from
 * user variables. The values get into these variables as bound parameters, never as text. */
#include "bounds.h"
#include "db_private.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STARTED_ARGS_MAX = 8 };

void
db_forget_started(struct db *db)
{
	free(db->prepared);
	db->prepared = NULL;
}

/* Sets the user variables: the parameters, and the statement if it must be prepared. Writes the
 * EXECUTE that uses them to @db->execute. */
static enum db_rc
set_variables(struct db *db, const struct db_query *query, const struct db_arg *args,
    size_t n_args)
{
	char set[STARTED_ARGS_MAX * 24 + 32];
	struct db_arg all[STARTED_ARGS_MAX + 1];
	struct db_query assign = { query->name, set, DB_NO_ROWS };
	size_t set_length, use_length, n = 0;

	if (db->preparing)
		all[n++] = db_text(query->sql);
	set_length = (size_t)snprintf(set, sizeof(set), "SET %s", n > 0 ? "@statement = ?" : "");
	use_length = (size_t)snprintf(db->execute, sizeof(db->execute), "EXECUTE lockq_started");
	for (size_t i = 0; i < n_args; i++) {
		set_length += (size_t)snprintf(set + set_length, sizeof(set) - set_length,
		    "%s@lockq_p%zu = ?", n > 0 ? ", " : "", i);
		all[n++] = args[i];
		use_length += (size_t)snprintf(db->execute + use_length,
		    sizeof(db->execute) - use_length, "%s @lockq_p%zu", i == 0 ? " USING" : ",", i);
	}
	return db_run(db, &assign, all, n, NULL);
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
	enum db_rc rc;

	if (n_args > STARTED_ARGS_MAX)
		return db_fail_at(db, DB_ESHAPE, query->name, "a statement has too many "
		    "parameters");
	rc = db_ready(db, query->name);
	if (rc != DB_OK)
		return rc;
	db->preparing = db->prepared == NULL || strcmp(db->prepared, query->sql) != 0;
	if (db->preparing)
		db_forget_started(db);
	if (n_args > 0 || db->preparing)
		rc = set_variables(db, query, args, n_args);
	if (rc != DB_OK)
		return rc;
	/* If there is no memory for the copy, the next db_start() prepares the statement again. */
	if (db->preparing)
		db->prepared = strdup(query->sql);
	db->started = query->name;
	return send_text(db, db->preparing ? "PREPARE lockq_started FROM @statement" : db->execute);
}

bool
db_has_answer(const struct db *db, int wait_ms)
{
#if LOCKQ_MARIADB_CLIENT
	struct pollfd pfd = { .fd = (int)mysql_get_socket(db->mysql), .events = POLLIN };
#else
	struct pollfd pfd = { .fd = (int)db->mysql->net.fd, .events = POLLIN };
#endif

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
			db_forget_started(db);
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
