/* SPDX-License-Identifier: MIT */
/* Whether somebody has locked the task or the user of a request, or a table; and who that is. */
#include "handle/held.h"

#include <stdio.h>

/* Only an account that may read these tables of the server gets an answer. */
static DB_QUERY(holder_of_row, DB_MAYBE,
    "SELECT CONCAT(t.processlist_user, '@', t.processlist_host), t.processlist_id"
    "  FROM performance_schema.data_locks AS d"
    "  JOIN performance_schema.threads AS t"
    "    ON t.thread_id = d.thread_id"
    " WHERE d.object_schema = DATABASE() AND d.object_name = ?"
    "   AND d.index_name = 'PRIMARY' AND d.lock_status = 'GRANTED'"
    "   AND d.lock_data = CONCAT_WS(', ', ?, ?)"
    " LIMIT 1");

/* Their INSERT shares the locks of both rows, by its foreign keys. */
static DB_QUERY(free_task, DB_MAYBE,
    "SELECT task_id FROM task WHERE task_id = ? FOR SHARE SKIP LOCKED");
static DB_QUERY(user_of_name, DB_MAYBE, "SELECT user_id FROM app_user WHERE name = ?");
static DB_QUERY(free_user, DB_MAYBE,
    "SELECT user_id FROM app_user WHERE user_id = ? FOR SHARE SKIP LOCKED");

/* What calls read before they lead, the largest first, since that takes long to alter. A statement
 * that opens one of them waits as the call does. */
#define OPENS(table) { table, "SELECT 1 FROM " table " LIMIT 0", DB_MANY }
static const struct db_query opens[] = {
	OPENS("work_log"), OPENS("work_requested"), OPENS("work"), OPENS("leader_run"),
	OPENS("task"), OPENS("app_user"), OPENS("schema_version"), OPENS("task_lock"),
	OPENS("task_wake"), OPENS("request_mine"), OPENS("wake_in"), OPENS("kept_list"),
	OPENS("kept_loan"), OPENS("task_refill"), OPENS("task_touched"),
};

/* Only an account that may read these tables of the server gets an answer. A session that waits for
 * its lock keeps others waiting, too. */
static DB_QUERY(holder_of_table, DB_MAYBE,
    "SELECT CONCAT(t.processlist_user, '@', t.processlist_host), t.processlist_id"
    "  FROM performance_schema.metadata_locks AS m"
    "  JOIN performance_schema.threads AS t"
    "    ON t.thread_id = m.owner_thread_id"
    " WHERE m.object_type = 'TABLE' AND m.object_schema = DATABASE() AND m.object_name = ?"
    "   AND m.lock_type IN ('SHARED_NO_READ_WRITE', 'EXCLUSIVE')"
    " ORDER BY m.lock_status = 'GRANTED' DESC"
    " LIMIT 1");

/* Procedures of schema/doors: accounts that may not read task_lock look, too. */
static DB_QUERY(holders, DB_MANY, "CALL holders_1(?)");
static DB_QUERY(leaders, DB_MANY, "CALL leaders(?)");

enum { HELD_NAP_MS = 100 };

void
held_row(struct db *db, const char *table, struct db_arg key1, struct db_arg key2,
    const char *what, char text[HELD_BYTES])
{
	struct db_rows holder = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &holder_of_row, DB_ARGS(db_text(table), key1, key2), &holder);

	if (rc == DB_OK && holder.n_rows > 0)
		snprintf(text, HELD_BYTES, "%s is held by \"%s\", connection %s", what,
		    db_cell(&holder, 0, 0), db_cell(&holder, 0, 1));
	else
		snprintf(text, HELD_BYTES, "%s is held by another session", what);
	db_rows_clear(&holder);
}

/* Whether the row that @query would lock is one that somebody else has locked. */
static bool
is_held(struct db *db, const struct db_query *query, uint64_t id)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	bool held = db_run(db, query, DB_ARGS(db_u64(id)), &rows) == DB_OK && rows.n_rows == 0;

	db_rows_clear(&rows);
	return held;
}

/* Writes which of the two it is. */
static void
say_task_or_user(struct db *db, uint32_t task_id, const char *user, char text[HELD_BYTES])
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t user_id = 0;
	char what[HELD_BYTES / 2];

	if (is_held(db, &free_task, task_id)) {
		snprintf(what, sizeof(what), "task %u", task_id);
		held_row(db, "task", db_u64(task_id), db_null(), what, text);
		return;
	}
	if (db_run(db, &user_of_name, DB_ARGS(db_text(user)), &rows) == DB_OK && rows.n_rows > 0)
		user_id = db_cell_u64(&rows, 0, 0);
	db_rows_clear(&rows);
	if (user_id != 0 && is_held(db, &free_user, user_id)) {
		snprintf(what, sizeof(what), "user \"%s\"", user);
		held_row(db, "app_user", db_u64(user_id), db_null(), what, text);
	}
}

void
held_task_or_user(struct db *db, uint32_t task_id, const char *user, char text[HELD_BYTES])
{
	struct db_watch *watch = db_set_watch(db, NULL);

	text[0] = '\0';
	say_task_or_user(db, task_id, user, text);
	(void)db_set_watch(db, watch);
}

void
held_by_holder(const struct db_rows *rows, size_t row, char text[HELD_BYTES])
{
	bool seen = !db_cell_is_null(rows, row, 4);
	unsigned long long task = db_cell_u64(rows, row, 0), n = db_cell_u64(rows, row, 1);
	char what[64];

	if (n == 0)
		snprintf(what, sizeof(what), "the lock of task %llu", task);
	else
		snprintf(what, sizeof(what), "%llu %s of work of task %llu", n,
		    n == 1 ? "row" : "rows", task);
	if (seen)
		snprintf(text, HELD_BYTES, "%s %s held by \"%s\", connection %s, idle for %s s, "
		    "which leads nobody: KILL %s ends it", what, n > 1 ? "are" : "is",
		    db_cell(rows, row, 4), db_cell(rows, row, 3), db_cell(rows, row, 5),
		    db_cell(rows, row, 3));
	else
		snprintf(text, HELD_BYTES, "%s is held by %s", what,
		    db_cell_u64(rows, row, 2) != 0 ? "no session, so by a prepared XA transaction: "
		    "XA RECOVER lists it" : "a session that leads nobody: see WHO HOLDS WHAT in "
		    "lockq-admin(7)");
}

/* Whether @row of CALL holders_1() is the lock of a task. */
static bool
read_holder(struct db *db, uint32_t task_id, char text[HELD_BYTES])
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &holders, DB_ARGS(db_u64(task_id)), &rows);

	text[0] = '\0';
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows && text[0] == '\0'; i++) {
		if (db_cell_u64(&rows, i, 1) == 0)
			held_by_holder(&rows, i, text);
	}
	db_rows_clear(&rows);
	return db_after_call(db, rc) == DB_OK && text[0] != '\0';
}

/* Whether the dirty read shows a leader. */
static bool
is_led(struct db *db, uint32_t task_id)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_next_read_dirty(db);
	bool led;

	if (rc == DB_OK)
		rc = db_after_call(db, db_run(db, &leaders, DB_ARGS(db_u64(task_id)), &rows));
	led = rc != DB_OK || rows.n_rows == 0 || !db_cell_is_null(&rows, 0, 2);
	db_rows_clear(&rows);
	return led;
}

/* A process that looks at its own row has the lock for a moment, and a leader may have come. */
void
held_lock(struct db *db, uint32_t task_id, char text[HELD_BYTES])
{
	struct db_watch *watch = db_set_watch(db, NULL);
	bool held = read_holder(db, task_id, text);

	for (int again = 0; held && again < 2; again++) {
		db_sleep_ms(HELD_NAP_MS);
		held = read_holder(db, task_id, text) && !is_led(db, task_id);
	}
	if (!held)
		text[0] = '\0';
	(void)db_set_watch(db, watch);
}

void
held_table(struct db *db, char text[HELD_BYTES])
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct db_watch *watch = db_set_watch(db, NULL);
	size_t i = 0, n = sizeof(opens) / sizeof(opens[0]);

	text[0] = '\0';
	while (i < n && db_run(db, &opens[i], DB_NO_ARGS, &rows) != DB_ELOCKWAIT)
		i++;
	if (i < n && db_run(db, &holder_of_table, DB_ARGS(db_text(opens[i].name)),
	    &rows) == DB_OK && rows.n_rows > 0)
		snprintf(text, HELD_BYTES, "table \"%s\" is locked by \"%s\", connection %s",
		    opens[i].name, db_cell(&rows, 0, 0), db_cell(&rows, 0, 1));
	else if (i < n)
		snprintf(text, HELD_BYTES, "table \"%s\" is locked by another session",
		    opens[i].name);
	(void)db_set_watch(db, watch);
	db_rows_clear(&rows);
}
