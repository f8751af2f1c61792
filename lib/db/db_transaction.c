/* SPDX-License-Identifier: MIT */
/* Begins and ends transactions, and calls a procedure, which may have ended one. */
#include "db/db_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum db_rc
db_begin(struct db *db)
{
	return db_command(db, "START TRANSACTION");
}

enum db_rc
db_begin_set(struct db *db, const char *set, const struct db_arg *args, size_t n_args)
{
	char sql[1024];
	struct db_query query = { "begin", sql, DB_NO_ROWS };

	snprintf(sql, sizeof(sql), "SET autocommit = 0, innodb_lock_wait_timeout = 1,"
	    " lock_wait_timeout = 1, %s", set);
	db->begun_set = true;
	db->lock_wait_s = 1;
	return db_run(db, &query, args, n_args, NULL);
}

enum db_rc
db_call(struct db *db, const char *name, const char *sql, db_tick_fn *tick, void *data)
{
	MYSQL_RES *result;
	enum db_rc rc = db_ready(db, name);
	int more;

	if (rc != DB_OK)
		return rc;
	db->called = true;
	if (mysql_send_query(db->mysql, sql, (unsigned long)strlen(sql)) != 0)
		return db_fail_sent(db, name);
	rc = db_wait_answer(db, name, db_clock_ms() + (uint64_t)DB_READ_TIMEOUT_S * 1000, tick,
	    data);
	if (rc != DB_OK)
		return rc;
	do {
		result = mysql_store_result(db->mysql);
		/* The procedure may fail after it has sent rows. */
		if (result == NULL && mysql_errno(db->mysql) != 0)
			return db_fail(db, name);
		mysql_free_result(result);
		more = mysql_next_result(db->mysql);
	} while (more == 0);
	return more < 0 ? DB_OK : db_fail(db, name);
}

/* A procedure may have changed any setting, so the session is made as new without connecting
 * again. */
static enum db_rc
reset(struct db *db)
{
	enum db_rc rc = db_ready(db, "reset");

	if (rc != DB_OK)
		return rc;
	if (mysql_reset_connection(db->mysql) != 0 ||
	    mysql_set_character_set(db->mysql, "utf8mb4") != 0)
		return db_fail(db, "reset");
	for (size_t i = 0; i < KEPT_STATEMENTS; i++)
		db_forget(&db->kept[i]);
	db_forget_all_prepared(db);
	db->time_limit_ms = 0;
	return db_pin(db);
}

enum db_rc
db_restore(struct db *db)
{
	char sql[128];
	enum db_rc rc = DB_OK;

	snprintf(sql, sizeof(sql), "SET autocommit = 1, innodb_lock_wait_timeout = %u,"
	    " lock_wait_timeout = %u", db->pinned_wait_s, db->pinned_wait_s);
	if (db->called)
		rc = reset(db);
	else if (db->begun_set)
		rc = db_command(db, sql);
	if (rc == DB_OK && db->begun_set)
		db->lock_wait_s = db->pinned_wait_s;
	if (rc == DB_OK)
		db->begun_set = db->called = false;
	return rc;
}

enum db_rc
db_commit(struct db *db)
{
	enum db_rc rc;

	if (db->lost)
		return DB_ELOST;
	rc = db_command(db, "COMMIT");
	/* Where the client library had no memory, that may have been for the answer. */
	return rc == DB_ELOST || rc == DB_EINTERRUPTED || rc == DB_ENOMEM ? DB_EINDOUBT : rc;
}

void
db_rollback(struct db *db)
{
	db_command_aside(db, "ROLLBACK");
}

enum db_rc
db_after_call(struct db *db, enum db_rc rc)
{
	if (rc != DB_OK && !db_lost(db))
		db_rollback(db);
	return rc;
}
