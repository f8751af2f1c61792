/* SPDX-License-Identifier: MIT */
/* Long statements. The client library has no prepared execution that can be waited for in slices,
 * so the server prepares it from a user variable and its parameters are user variables too: still
 * bound, never text. */
#include "db_private.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_MS = 250 };

enum { STARTED_ARGS_MAX = 8 };

void
db_forget_started(struct db *db)
{
	free(db->prepared);
	db->prepared = NULL;
}

/* Statement, where it is new, and parameters into user variables, and what executes them into
 * @db->execute. */
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

enum db_rc
db_start(struct db *db, const struct db_query *query, const struct db_arg *args, size_t n_args)
{
	static const char prepare_it[] = "PREPARE lockq_started FROM @statement";
	enum db_rc rc;

	if (n_args > STARTED_ARGS_MAX)
		return db_fail_with(db, DB_ESHAPE, "%s: too many parameters", query->name);
	rc = db_ready(db, query->name);
	if (rc != DB_OK)
		return rc;
	db->preparing = db->prepared == NULL || strcmp(db->prepared, query->sql) != 0;
	if (db->preparing)
		db_forget_started(db);
	if (n_args > 0 || db->preparing)
		rc = set_variables(db, query, args, n_args);
	if (rc == DB_OK && db->preparing)
		db->prepared = strdup(query->sql);
	if (rc != DB_OK) {
		db_forget_started(db);
		return rc;
	}
	db->started = query->name;
	if (mysql_send_query(db->mysql, db->preparing ? prepare_it : db->execute,
	    db->preparing ? sizeof(prepare_it) - 1 : (unsigned long)strlen(db->execute)) != 0)
		return db_fail(db, query->name);
	return DB_OK;
}

/* For the answer to what was sent last. */
static enum db_rc
wait_answer(struct db *db, uint64_t deadline, db_tick_fn *tick, void *data)
{
	struct pollfd pfd = { .fd = db_socket(db), .events = POLLIN };

	for (;;) {
		int n = poll(&pfd, 1, TICK_MS);

		if (n > 0)
			break;
		if (n < 0 && errno != EINTR)
			return db_fail_with(db, DB_ESHAPE, "%s: poll failed", db->started);
		if (tick != NULL && tick(data) != 0) {
			/* The connection has an answer outstanding, so it is of no more use. */
			db->lost = true;
			return db_fail_with(db, DB_ECANCELLED, "%s: given up", db->started);
		}
		if (db_clock_ms() > deadline)
			return db_set_error(db, db->started, CR_SERVER_LOST,
			    "the server does not answer");
	}
	return mysql_read_query_result(db->mysql) == 0 ? DB_OK : db_fail(db, db->started);
}

enum db_rc
db_wait(struct db *db, unsigned int limit_s, db_tick_fn *tick, void *data)
{
	uint64_t deadline = db_clock_ms() + ((uint64_t)limit_s + DB_GRACE_S) * 1000;
	enum db_rc rc = DB_OK;

	/* PREPARE may wait too: for the metadata lock of a table that is being altered. */
	if (db->preparing)
		rc = wait_answer(db, deadline, tick, data);
	if (rc != DB_OK) {
		db_forget_started(db);
		return rc;
	}
	if (db->preparing &&
	    mysql_send_query(db->mysql, db->execute, (unsigned long)strlen(db->execute)) != 0)
		return db_fail(db, db->started);
	return wait_answer(db, deadline, tick, data);
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
	MYSQL_ROW cells;
	enum db_rc rc = DB_OK;

	if (result == NULL)
		return mysql_errno(db->mysql) != 0 ? db_fail(db, db->started) :
		    db_fail_with(db, DB_ESHAPE, "%s: no result", db->started);
	for (unsigned int i = 0; i < mysql_num_fields(result); i++) {
		const MYSQL_FIELD *field = mysql_fetch_field_direct(result, i);

		if ((integer_columns & 1u << i) != 0 && !is_integer(field->type))
			rc = db_fail_with(db, DB_ESHAPE, "%s is not an integer", field->name);
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
