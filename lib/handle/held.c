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
