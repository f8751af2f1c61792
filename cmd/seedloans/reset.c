/* SPDX-License-Identifier: MIT */
/* Empties lockq's and the example's tables, but not task and task_lock: if epochs went back, an old
 * token would be valid again. */
#include "seedloans/tool.h"

enum { GUARD_TRIES = 20, GUARD_PAUSE_MS = 50 };

/* NOWAIT, because a session that waits for these locks lets leader after leader go first. */
static const struct db_query lock_all_tasks = {
	"lock_all_tasks",
	"SELECT task_id FROM task_lock ORDER BY task_id FOR UPDATE NOWAIT",
	DB_MANY
};

/* The epoch is raised: a leader that has released its lock and still has a list must find that
 * another one has led since. */
static const struct db_query lead_all_tasks = {
	"lead_all_tasks",
	"UPDATE task_lock"
	"   SET epoch = epoch + 1, holder = 'seedloans --reset', since = NOW(6)"
	" ORDER BY task_id",
	DB_NO_ROWS
};
static const struct db_query leave_all_tasks = {
	"leave_all_tasks", "UPDATE task_lock SET holder = NULL ORDER BY task_id", DB_NO_ROWS
};

/* A holder is never committed, so only a dirty read shows it. */
static const struct db_query who_leads = {
	"who_leads",
	"SELECT l.holder, l.task_id"
	"  FROM task_lock AS l"
	" WHERE l.holder IS NOT NULL"
	" ORDER BY l.task_id"
	" LIMIT 1",
	DB_MAYBE
};

/* TRUNCATE needs foreign_key_checks = 0 even where the tables that refer to its table are empty. */
static const struct db_query truncate_session = {
	"truncate_session", "SET SESSION foreign_key_checks = 0", DB_NO_ROWS
};
static const struct db_query end_truncate_session = {
	"end_truncate_session", "SET SESSION foreign_key_checks = 1", DB_NO_ROWS
};

/* Children before parents, so that a reset that is cut short leaves no row without its parent. */
static const struct db_query empty_tables[] = {
	{ "empty_kept_loan", "TRUNCATE TABLE kept_loan", DB_NO_ROWS },
	{ "empty_kept_list", "TRUNCATE TABLE kept_list", DB_NO_ROWS },
	{ "empty_task_refill", "TRUNCATE TABLE task_refill", DB_NO_ROWS },
	{ "empty_pipeline_lock", "TRUNCATE TABLE pipeline_lock", DB_NO_ROWS },
	{ "empty_work_exclusion", "TRUNCATE TABLE work_exclusion", DB_NO_ROWS },
	{ "empty_leader_run", "TRUNCATE TABLE leader_run", DB_NO_ROWS },
	{ "empty_work_requested", "TRUNCATE TABLE work_requested", DB_NO_ROWS },
	{ "empty_work_log", "TRUNCATE TABLE work_log", DB_NO_ROWS },
	/* The numbers of the log begin anew, so its readers do. */
	{ "reset_follow_cursor", "UPDATE follow_cursor SET position = 0", DB_NO_ROWS },
	{ "empty_work", "TRUNCATE TABLE work", DB_NO_ROWS },
	{ "empty_app_user", "TRUNCATE TABLE app_user", DB_NO_ROWS },
	{ "empty_loan_document", "TRUNCATE TABLE loan_document", DB_NO_ROWS },
	{ "empty_loan", "TRUNCATE TABLE loan", DB_NO_ROWS }
};
enum { N_TABLES = sizeof(empty_tables) / sizeof(empty_tables[0]) };

static const struct db_query no_heavy_work = {
	"no_heavy_work", "UPDATE example_setting SET value = 0 WHERE name = 'heavy_rounds'",
	DB_NO_ROWS
};

/* Returns LOCKQ_BUSY with the leader's name, or 0 where no leader is to be seen. */
static int
find_leader(struct seed *seed)
{
	struct db_rows rows = { 0 };
	enum db_rc rc;
	int code;

	rc = db_next_read_dirty(seed->db);
	if (rc == DB_OK)
		rc = db_run(seed->db, &who_leads, DB_NO_ARGS, &rows);
	code = seed_from_db(seed, seed->db, rc);
	if (code == 0 && rows.n_rows > 0)
		code = seed_fail(seed, LOCKQ_BUSY, "user \"%s\" leads task %s: nothing was "
		    "emptied: try again when that query is done", db_cell(&rows, 0, 0),
		    db_cell(&rows, 0, 1));
	db_rows_clear(&rows);
	return code;
}

static int
take_guard(struct seed *seed, struct db *guard)
{
	struct db_rows rows = { 0 };
	unsigned int try;
	enum db_rc rc;
	int code;

	for (try = 0; try < GUARD_TRIES; try++) {
		rc = db_begin(guard);
		if (rc == DB_OK)
			rc = db_run(guard, &lock_all_tasks, DB_NO_ARGS, &rows);
		db_rows_clear(&rows);
		if (rc == DB_OK)
			return seed_from_db(seed, guard,
			    db_run(guard, &lead_all_tasks, DB_NO_ARGS, NULL));
		if (rc != DB_EHELD)
			return seed_from_db(seed, guard, rc);
		db_rollback(guard);
		code = find_leader(seed);
		if (code != 0)
			return code;
		/* No holder: a session looks at its own request, or commits, for a moment only. */
		db_sleep_ms(GUARD_PAUSE_MS);
	}
	return seed_fail(seed, LOCKQ_BUSY,
	    "another session holds the lock of a task: nothing was emptied: try again");
}

static int
empty_all(struct seed *seed, struct db *guard)
{
	unsigned int i;
	enum db_rc rc;
	int code;

	code = seed_from_db(seed, seed->db, db_run(seed->db, &truncate_session, DB_NO_ARGS, NULL));
	for (i = 0; code == 0 && i < N_TABLES; i++) {
		code = seed_tell(seed, SEED_RESET, i, N_TABLES);
		if (code == 0)
			code = seed_from_db(seed, guard, db_ping(guard));
		if (code != 0)
			break;
		rc = db_run(seed->db, &empty_tables[i], DB_NO_ARGS, NULL);
		if (rc == DB_ELOCKWAIT)
			code = seed_fail(seed, LOCKQ_BUSY, "table \"%s\" is in use by another "
			    "statement: %s: try again when it is done",
			    empty_tables[i].name + sizeof("empty_") - 1,
			    i == 0 ? "nothing was emptied" : "some tables are empty by now");
		else
			code = seed_from_db(seed, seed->db, rc);
	}
	if (code == 0)
		code = seed_from_db(seed, seed->db,
		    db_run(seed->db, &end_truncate_session, DB_NO_ARGS, NULL));
	if (code == 0)
		code = seed_from_db(seed, seed->db,
		    db_run(seed->db, &no_heavy_work, DB_NO_ARGS, NULL));
	return code;
}

/* TRUNCATE commits, so the locks are held on a connection of their own. */
int
seed_reset(struct seed *seed)
{
	struct db *guard = NULL;
	enum db_rc rc;
	int code;

	rc = db_connect(&guard, seed->where);
	code = seed_from_db(seed, guard, rc);
	if (code == 0)
		code = take_guard(seed, guard);
	if (code == 0)
		code = empty_all(seed, guard);
	if (code == 0)
		code = seed_from_db(seed, guard,
		    db_run(guard, &leave_all_tasks, DB_NO_ARGS, NULL));
	if (code == 0)
		code = seed_from_db(seed, guard, db_commit(guard));
	db_close(guard);
	return code;
}
