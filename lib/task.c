/* SPDX-License-Identifier: MIT */
#include "task.h"

#include <stdlib.h>

#include "error.h"
#include "session.h"

static const struct db_query read_task = {
	"read_task",
	"SELECT " TASK_COLUMNS("?")
	"  FROM task AS t"
	" WHERE t.task_id = ?",
	DB_MAYBE
};

static const struct db_query user_by_name = {
	"user_by_name", "SELECT user_id FROM app_user WHERE name = ?", DB_MAYBE
};

static const struct db_query recent_queries = {
	"recent_queries",
	"SELECT query_ms"
	"  FROM leader_run"
	" WHERE task_id = ? AND query_ms IS NOT NULL AND how <> 'failed'"
	" ORDER BY epoch DESC"
	" LIMIT 9",
	DB_MANY
};

void
task_fill(struct task *task, uint32_t task_id, const struct db_rows *rows)
{
	task->task_id = task_id;
	copy_cell(task->name, sizeof(task->name), rows, 0, 0);
	copy_cell(task->view, sizeof(task->view), rows, 0, 1);
	task->enabled = db_cell_u64(rows, 0, 2) != 0;
	task->max_count = (uint32_t)db_cell_u64(rows, 0, 3);
	task->max_query_s = (uint32_t)db_cell_u64(rows, 0, 4);
	task->candidate_limit = (uint32_t)db_cell_u64(rows, 0, 5);
	task->request_ttl = (uint32_t)db_cell_u64(rows, 0, 6);
	task->lease_minutes = (uint32_t)db_cell_u64(rows, 0, 7);
	task->cache_ttl = (uint32_t)db_cell_u64(rows, 0, 8);
	task->max_pipeline = (uint32_t)db_cell_u64(rows, 0, 9);
	task->view_repeats = db_cell_u64(rows, 0, 10) != 0;
	task->excluded = db_cell_u64(rows, 0, 11);
}

enum db_rc
task_read(struct db *db, uint32_t task_id, uint32_t user_id, struct task *task, bool *known)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &read_task, DB_ARGS(db_u64(user_id), db_u64(task_id)), &rows);

	*known = rc == DB_OK && rows.n_rows > 0;
	if (*known)
		task_fill(task, task_id, &rows);
	db_rows_clear(&rows);
	return rc;
}

static enum db_rc
read_user(struct db *db, const char *name, uint32_t *user_id, bool *known)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &user_by_name, DB_ARGS(db_text(name)), &rows);

	*known = rc == DB_OK && rows.n_rows > 0;
	if (*known)
		*user_id = (uint32_t)db_cell_u64(&rows, 0, 0);
	db_rows_clear(&rows);
	return rc;
}

int
task_and_user(struct lockq *q, const char *user, uint32_t task_id, struct task *task,
    uint32_t *user_id)
{
	bool user_known = false, task_known = false;
	enum db_rc rc;

	if (user == NULL) {
		error_set(q, "no user was named");
		return LOCKQ_EUSAGE;
	}
	rc = read_user(q->lock, user, user_id, &user_known);
	if (user_known && task != NULL)
		rc = task_read(q->lock, task_id, *user_id, task, &task_known);
	if (rc != DB_OK)
		return error_from_db(q, q->lock, rc);
	if (!user_known)
		return error_unknown_user(q, user);
	return task == NULL || task_known ? LOCKQ_OK : error_unknown_task(q, task_id);
}

static int
compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

enum db_rc
task_usual_ms(struct db *db, uint32_t task_id, uint64_t *ms)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t all[9] = { 0 };
	size_t n = 0;
	enum db_rc rc = db_run(db, &recent_queries, DB_ARGS(db_u64(task_id)), &rows);

	for (; rc == DB_OK && n < rows.n_rows && n < sizeof(all) / sizeof(all[0]); n++)
		all[n] = db_cell_u64(&rows, n, 0);
	qsort(all, n, sizeof(all[0]), compare_u64);
	*ms = n > 0 ? all[n / 2] : 0;
	db_rows_clear(&rows);
	return rc;
}

void
know_usual(const struct lockq *q, struct db *db, uint32_t task_id, uint64_t *ms)
{
	if (q->progress != NULL && *ms == 0 && task_usual_ms(db, task_id, ms) != DB_OK)
		*ms = 0;
}
