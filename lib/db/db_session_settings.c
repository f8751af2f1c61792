/* SPDX-License-Identifier: MIT */
/* The settings of a session: its time zone, isolation level, character set and time limits. A new
 * session gets them all, and they are read back. A view that a manager has written sees the
 * server's own time zone and SQL mode instead: see db_statement(). */
#include "db/db_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db_text.h"

enum { CLIENTS_COLUMN = 10, SCHEMA_COLUMN, FINISHED_COLUMN, UNFIT_COLUMN };

/* READ COMMITTED: a leader must see the requests that came during its query, and must not lock the
 * gaps that new requests go into. UTC: a time must not depend on the session that wrote it.
 * utf8mb4: an init_connect of old has another character set. MySQL's own collation: MariaDB's
 * library sets another, which a view's literals may not mix with. derived_merge: without it no row
 * goes into the views of schema/doors. tmp_table_size: where that is 1,024 bytes, 9.7 loses larger
 * temporary tables. The rest are limits for people at a prompt, and what lets them do as they
 * like. */
static const char pin_session[] =
	"SET SESSION autocommit = 1,"
	" transaction_isolation = 'READ-COMMITTED',"
	" sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"
	"ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',"
	" time_zone = '+00:00',"
	" character_set_client = 'utf8mb4',"
	" character_set_results = 'utf8mb4',"
	" collation_connection = 'utf8mb4_0900_ai_ci',"
	" completion_type = 'NO_CHAIN',"
	" max_execution_time = 0,"
	" sql_select_limit = 18446744073709551615,"
	" sql_big_selects = 1,"
	" cte_max_recursion_depth = 1000,"
	" foreign_key_checks = 1,"
	" optimizer_switch = 'derived_merge=on',"
	" tmp_table_size = CAST(GREATEST(@@tmp_table_size, 1048576) AS UNSIGNED),"
	" transaction_read_only = %d,"
	" innodb_lock_wait_timeout = %u,"
	" lock_wait_timeout = %u,"
	" wait_timeout = %d,"
	" net_write_timeout = %d";

/* The settings are read back: a proxy between lockq and the server may have changed them. */
#define WHO_AM_I \
	"SELECT DATABASE(), CONNECTION_ID(), @@server_uuid, @@transaction_isolation," \
	"       @@autocommit, @@innodb_lock_wait_timeout, @@wait_timeout, @@net_write_timeout," \
	"       @@character_set_client, @@character_set_results," \
	"       CONCAT('SET_VAR(time_zone = ', QUOTE(@@GLOBAL.time_zone), ')'," \
	"              ' SET_VAR(sql_mode = '," \
	"              IF(@@GLOBAL.sql_mode = '', '0', QUOTE(@@GLOBAL.sql_mode)), ')')"

static DB_QUERY(who_am_i, DB_ONE, WHO_AM_I);

/* What no session may change, and what lockq can't work with. A list of 20,000 loans goes to the
 * server in one parameter of up to 860 kB. What stands between the marks of a comment is read from
 * 8.0.28 on, which has those variables; there a check of a task took more than 4 MB. lockq-migrate
 * --check says the same. */
#define UNFIT_SERVER \
	"CASE WHEN @@log_bin AND @@binlog_format = 'STATEMENT'" \
	"     THEN 'binlog_format is STATEMENT, with which lockq can write nothing:" \
	" let an administrator run \"SET PERSIST binlog_format = ''ROW''\"'" \
	"     WHEN @@max_prepared_stmt_count = 0" \
	"     THEN 'max_prepared_stmt_count is 0, so lockq can run no statement:" \
	" let an administrator run \"SET PERSIST max_prepared_stmt_count = 16382\"'" \
	"     WHEN @@max_allowed_packet < 1048576" \
	"     THEN CONCAT('max_allowed_packet is ', @@max_allowed_packet, ', and lockq" \
	" sends lists of up to a megabyte:" \
	" let an administrator run \"SET PERSIST max_allowed_packet = 67108864\"')" \
	"     /*!80028 WHEN @@global.global_connection_memory_tracking" \
	"          AND @@global.connection_memory_limit < 16777216" \
	"     THEN CONCAT('connection_memory_limit is ', @@global.connection_memory_limit," \
	" ', which is too little for lockq:" \
	" let an administrator run \"SET PERSIST connection_memory_limit = 67108864\"') */" \
	"     END"

/* Where another session has locked that table, the caller waits for it and can say so. */
static const struct db_query who_am_i_and_schema = {
	"who_am_i",
	WHO_AM_I ", " SCHEMA_VERSIONS ", " UNFIT_SERVER, DB_ONE
};

static DB_QUERY(set_time_limit, DB_NO_ROWS,
    "SET SESSION max_execution_time = ?, lock_wait_timeout = ?");

/* The timeouts line up only if the server keeps to them. */
static enum db_rc
check_pinned(struct db *db, const struct db_rows *rows)
{
	const struct {
		const char *name;
		const char *want;
		uint64_t seconds;
	} pinned[] = {
		{ "transaction_isolation", "READ-COMMITTED", 0 },
		{ "autocommit", "1", 0 },
		{ "innodb_lock_wait_timeout", NULL, db->pinned_wait_s },
		{ "wait_timeout", NULL, DB_WAIT_TIMEOUT_S },
		{ "net_write_timeout", NULL, DB_WAIT_TIMEOUT_S },
		{ "character_set_client", "utf8mb4", 0 },
		{ "character_set_results", "utf8mb4", 0 },
	};

	for (size_t i = 0; i < sizeof(pinned) / sizeof(pinned[0]); i++) {
		const char *is = db_cell(rows, 0, 3 + i);

		if (is != NULL && (pinned[i].want != NULL ? strcmp(is, pinned[i].want) == 0 :
		    strtoull(is, NULL, 10) == pinned[i].seconds))
			continue;
		return db_refuse(db, "the session's %s is \"%s\" although it was set otherwise: "
		    "a proxy may have changed it: connect without one", pinned[i].name,
		    is != NULL ? is : "NULL");
	}
	return DB_OK;
}

/* On a new connection the same statement reads the versions of the schema, which saves a round
 * trip. It fails where no database is in use, or where the table is missing, is locked or may not
 * be read. Then the version is 0, and the caller of db_schema() reads the version itself. */
static enum db_rc
read_who_am_i(struct db *db, struct db_rows *rows)
{
	if (db->server_uuid[0] == '\0' && !db->read_only) {
		enum db_rc rc = db_run(db, &who_am_i_and_schema, DB_NO_ARGS, rows);

		if (rc == DB_OK) {
			db->schema.version = db_cell_u64(rows, 0, SCHEMA_COLUMN);
			db->schema.finished = db_cell_u64(rows, 0, FINISHED_COLUMN);
		}
		db->schema.held = rc == DB_ELOCKWAIT;
		if (rc != DB_EFAIL && !db->schema.held)
			return rc;
		db->error = (struct last_error){ .number = 0 };
	}
	return db_run(db, &who_am_i, DB_NO_ARGS, rows);
}

enum db_rc
db_pin(struct db *db)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	char text[sizeof(pin_session) + 64];
	enum db_rc rc;

	snprintf(text, sizeof(text), pin_session, db->read_only, db->pinned_wait_s,
	    db->pinned_wait_s, DB_WAIT_TIMEOUT_S, DB_WAIT_TIMEOUT_S);
	if (mysql_query(db->mysql, text) != 0)
		return db_fail(db, "session settings");
	db->lock_wait_s = db->pinned_wait_s;
	db->connected_at = db_clock_ms();
	rc = read_who_am_i(db, &rows);
	if (rc == DB_OK)
		rc = check_pinned(db, &rows);
	if (rc == DB_OK && db_cell(&rows, 0, UNFIT_COLUMN) != NULL)
		rc = db_refuse(db, "the server's %s", db_cell(&rows, 0, UNFIT_COLUMN));
	if (rc == DB_OK) {
		copy_cell(db->database, sizeof(db->database), &rows, 0, 0);
		db->connection_id = db_cell_u64(&rows, 0, 1);
		copy_cell(db->server_uuid, sizeof(db->server_uuid), &rows, 0, 2);
		copy_cell(db->as_clients, sizeof(db->as_clients), &rows, 0, CLIENTS_COLUMN);
	}
	db_rows_clear(&rows);
	if (rc != DB_OK || db->database[0] != '\0')
		return rc;
	snprintf(db->database, sizeof(db->database), "lockq");
	return mysql_select_db(db->mysql, db->database) == 0 ? DB_OK :
	    db_fail(db, "USE lockq");
}

enum db_rc
db_set_lock_wait(struct db *db, unsigned int seconds)
{
	char sql[96];
	struct db_query set_lock_wait = { "set_lock_wait", sql, DB_NO_ROWS };
	enum db_rc rc = DB_OK;

	/* A text, which is one round trip; with a parameter it would be two. */
	snprintf(sql, sizeof(sql), "SET SESSION innodb_lock_wait_timeout = %u, lock_wait_timeout = "
	    "%u", seconds, seconds);
	if (db->lock_wait_s != seconds)
		rc = db_run(db, &set_lock_wait, DB_NO_ARGS, NULL);
	if (rc == DB_OK)
		db->lock_wait_s = seconds;
	return rc;
}

enum db_rc
db_set_time_limit(struct db *db, uint64_t ms)
{
	enum db_rc rc = DB_OK;

	if (db->time_limit_ms != ms)
		rc = db_run(db, &set_time_limit, DB_ARGS(db_u64(ms),
		    db_u64(ms == 0 ? db->lock_wait_s : (ms + 999) / 1000)), NULL);
	if (rc == DB_OK)
		db->time_limit_ms = ms;
	return rc;
}
