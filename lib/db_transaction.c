/* SPDX-License-Identifier: MIT */
/* Transactions: begun, ended, tried again; and who else may have ended one. */
#include "db_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
db_begin(struct db *db)
{
	db->commits++;
	return db_command(db, "START TRANSACTION");
}

int
db_begin_set(struct db *db, const char *set, const struct db_arg *args, size_t n_args)
{
	char sql[1024];
	struct db_query query = { "begin", sql, DB_NO_ROWS };

	snprintf(sql, sizeof(sql), "SET autocommit = 0, %s", set);
	db->begun_set = true;
	return db_run(db, &query, args, n_args, NULL);
}

int
db_call(struct db *db, const char *name, const char *sql)
{
	MYSQL_RES *result;
	int rc = db_ready(db, name), more;

	if (rc != DB_OK)
		return rc;
	db->called = true;
	if (mysql_real_query(db->mysql, sql, (unsigned long)strlen(sql)) != 0)
		return db_fail(db, name);
	do {
		result = mysql_store_result(db->mysql);
		/* It may fail while rows are on their way. */
		if (result == NULL && mysql_errno(db->mysql) != 0)
			return db_fail(db, name);
		if (result != NULL)
			mysql_free_result(result);
		more = mysql_next_result(db->mysql);
	} while (more == 0);
	return more < 0 ? DB_OK : db_fail(db, name);
}

/* Those of the session, procedures included. Whatever commits by the way is no COMMIT. */
static const struct db_query count_ends = {
	"count_ends",
	"SHOW SESSION STATUS"
	" WHERE Variable_name RLIKE '^Com_(begin|commit|rollback|(create|alter|drop|rename)_.*"
	"|truncate|lock_tables|unlock_tables|grant|revoke|flush|set_password|analyze|optimize"
	"|repair|check|reset)$' AND Value > 0",
	DB_MANY
};

/* How often the session has run each kind of statement that ends a transaction. */
struct ends {
	uint64_t commits, rollbacks, others;
};

static int
read_ends(struct db *db, struct ends *ends)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, &count_ends, DB_NO_ARGS, &rows);

	*ends = (struct ends){ 0, 0, 0 };
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++) {
		const char *name = db_cell(&rows, i, 0);
		uint64_t n = db_cell_u64(&rows, i, 1);

		if (strcmp(name, "Com_commit") == 0 || strcmp(name, "Com_begin") == 0)
			ends->commits += n;
		else if (strcmp(name, "Com_rollback") == 0)
			ends->rollbacks = n;
		else
			ends->others += n;
	}
	db_rows_clear(&rows);
	return rc;
}

static const struct db_query is_autocommit = {
	"is_autocommit", "SELECT @@SESSION.autocommit", DB_ONE
};

int
db_who_ended(struct db *db, enum db_end *end)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct ends ends;
	bool autocommit;
	int rc = read_ends(db, &ends);

	/* Who sets it commits. */
	if (rc == DB_OK)
		rc = db_run(db, &is_autocommit, DB_NO_ARGS, &rows);
	autocommit = rc == DB_OK && db_cell_u64(&rows, 0, 0) != 0;
	db_rows_clear(&rows);
	*end = autocommit || ends.commits > db->commits ? DB_ENDED_BY_COMMIT :
	    ends.rollbacks > db->rollbacks ? DB_ENDED_BY_ROLLBACK :
	    ends.others > db->others ? DB_ENDED_BY_DDL : DB_ENDED_BY_ERROR;
	return rc;
}

/* A procedure may have set anything: as a new connection, but for the connecting. */
static int
reset(struct db *db)
{
	struct ends ends;
	int rc = db_ready(db, "reset");

	if (rc != DB_OK)
		return rc;
	if (mysql_reset_connection(db->mysql) != 0 ||
	    mysql_set_character_set(db->mysql, "utf8mb4") != 0)
		return db_fail(db, "reset");
	for (size_t i = 0; i < KEPT_STATEMENTS; i++)
		db_forget(&db->kept[i]);
	db_forget_started(db);
	db->time_limit_ms = 0;
	rc = db_pin(db);
	if (rc == DB_OK)
		rc = read_ends(db, &ends);
	if (rc == DB_OK) {
		db->commits = ends.commits;
		db->rollbacks = ends.rollbacks;
		db->others = ends.others;
	}
	return rc;
}

int
db_restore(struct db *db)
{
	int rc = db->called ? reset(db) : db->begun_set ? db_command(db, "SET autocommit = 1") :
	    DB_OK;

	if (rc == DB_OK)
		db->begun_set = db->called = false;
	return rc;
}

int
db_commit(struct db *db)
{
	int rc;

	if (db->lost)
		return DB_ELOST;
	db->commits++;
	rc = db_command(db, "COMMIT");
	return rc == DB_ELOST || rc == DB_EINTERRUPTED ? DB_EINDOUBT : rc;
}

void
db_rollback(struct db *db)
{
	db->rollbacks++;
	db_command_aside(db, "ROLLBACK");
}

static int
transaction(struct db *db, bool begin, db_body_fn *body, void *data, uint32_t *retries)
{
	int rc = DB_OK;

	for (unsigned int try = 0; try < DB_TRIES; try++) {
		rc = begin ? db_begin(db) : DB_OK;
		if (rc == DB_OK)
			rc = body(db, data);
		if (rc == DB_OK)
			rc = db_commit(db);
		if (rc == DB_OK)
			return DB_OK;
		if (!db->lost)
			db_rollback(db);
		if (rc != DB_ERETRY && rc != DB_ELOCKWAIT)
			return rc;
		if (retries != NULL)
			++*retries;
		db_backoff(try);
	}
	return rc;
}

int
db_transaction(struct db *db, db_body_fn *body, void *data, uint32_t *retries)
{
	return transaction(db, true, body, data, retries);
}

int
db_transaction_begun(struct db *db, db_body_fn *body, void *data, uint32_t *retries)
{
	return transaction(db, false, body, data, retries);
}
