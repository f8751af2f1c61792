/* SPDX-License-Identifier: MIT */
/* Reads tasks, users and the usual time of a task's query from their tables. */
#include "rules/task.h"

#include <string.h>

#include "db/db_record.h"
#include "handle/error.h"
#include "handle/session.h"

static DB_QUERY(read_task, DB_MAYBE,
    "SELECT " TASK_COLUMNS("?")
    "  FROM task AS t"
    " WHERE t.task_id = ?");

static DB_QUERY(user_by_name, DB_MAYBE, "SELECT user_id FROM app_user WHERE name = ?");

/* The median of the last nine queries, so that one slow query changes nothing. */
static DB_QUERY(usual_query, DB_MAYBE,
    "SELECT query_ms"
    "  FROM (SELECT query_ms, ROW_NUMBER() OVER (ORDER BY query_ms) AS place,"
    "               COUNT(*) OVER () AS n"
    "          FROM (SELECT query_ms"
    "                  FROM leader_run"
    "                 WHERE task_id = ? AND query_ms IS NOT NULL AND how <> 'failed'"
    "                 ORDER BY epoch DESC"
    "                 LIMIT 9) AS last) AS sorted"
    " WHERE place = n DIV 2 + 1");

enum share
task_share(const char *word)
{
	static const char *const words[] = {
		[SHARE_ORDER] = "order", [SHARE_EVENLY] = "evenly", [SHARE_LEAST] = "least"
	};
	unsigned int share = SHARE_ORDER;

	while (share < SHARE_UNKNOWN && (word == NULL || strcmp(word, words[share]) != 0))
		share++;
	return (enum share)share;
}

#define TASK(member) DB_FIELD(struct task, member)
static const struct db_record task_record = DB_RECORD(struct task,
    TASK(name), TASK(view), TASK(enabled), TASK(max_count), TASK(max_query_s),
    TASK(candidate_limit), TASK(request_ttl), TASK(lease_minutes), TASK(cache_ttl),
    TASK(max_pipeline), TASK(view_repeats), TASK(check_view), TASK(use_unchecked), DB_NO_FIELD,
    TASK(paused), TASK(excluded), TASK(has_rules));

void
task_fill(struct task *task, uint32_t task_id, const struct db_rows *rows)
{
	record_fill_plain(&task_record, task, rows, 0, 0);
	task->task_id = task_id;
	task->share = task_share(db_cell(rows, 0, 13));
	/* What one user takes from a list is no share of anything. */
	if (task->share != SHARE_ORDER)
		task->cache_ttl = 0;
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

enum db_rc
task_and_user(struct lockq *q, const char *user, uint32_t task_id, struct task *task,
    uint32_t *user_id, int *refusal)
{
	bool task_known = task == NULL;
	uint64_t id = 0;
	enum db_rc rc;

	if (user == NULL) {
		*refusal = error_usage(q, "no user was named");
		return DB_OK;
	}
	rc = db_number(q->db, &user_by_name, DB_ARGS(db_text(user)), &id);
	*user_id = (uint32_t)id;
	if (id != 0 && task != NULL)
		rc = task_read(q->db, task_id, *user_id, task, &task_known);
	if (rc == DB_OK && id == 0)
		*refusal = error_unknown_user(q, user);
	else if (rc == DB_OK && !task_known)
		*refusal = error_unknown_task(q, task_id);
	return rc;
}

enum db_rc
task_usual_ms(struct db *db, uint32_t task_id, uint64_t *ms)
{
	return db_number(db, &usual_query, DB_ARGS(db_u64(task_id)), ms);
}

void
task_usual_ms_if_shown(const struct lockq *q, struct db *db, uint32_t task_id, uint64_t *ms)
{
	if (q->progress != NULL && *ms == 0 && task_usual_ms(db, task_id, ms) != DB_OK)
		*ms = 0;
}
