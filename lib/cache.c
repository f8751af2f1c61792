/* SPDX-License-Identifier: MIT */
/* Step 4 without a query: keeps in task_candidate what the last query found and nobody got, for
 * task.cache_ttl seconds. Only a process with the task's lock writes there, in the transaction that
 * gives loans; cron deletes what is too old. */
#include "cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Each kept loan, whether its row of `work` is as the query saw it, and whether the view still
 * shows it. Where the server can merge the view into this statement, that is one look-up a
 * loan. */
#define KEPT_COLUMNS(shown) \
	"SELECT /*+ MAX_EXECUTION_TIME(250) */ k.loan_id, k.version, k.position, k.as_of," \
	"       COALESCE(w.version, 0) = k.version, " shown \
	"  FROM task_candidate AS k" \
	"  LEFT JOIN work AS w FORCE INDEX (PRIMARY)" \
	"    ON w.task_id = k.task_id AND w.loan_id = k.loan_id"
#define KEPT_ROWS \
	" WHERE k.task_id = ? AND k.kept_at > NOW(6) - INTERVAL ? SECOND" \
	"   AND (SELECT l.candidates_view FROM task_list AS l WHERE l.task_id = ?) = ?" \
	" ORDER BY k.position" \
	" LIMIT ?"

static const char kept_and_shown[] =
	KEPT_COLUMNS("c.loan_id IS NOT NULL")
	"  LEFT JOIN %s AS c"
	"    ON c.loan_id = k.loan_id"
	KEPT_ROWS;

/* For a view that takes longer than 250 ms for a few loans: then only step 5 checks them. */
static const struct db_query kept = { "kept", KEPT_COLUMNS("TRUE") KEPT_ROWS, DB_MANY };

static const struct db_query forget_before = {
	"forget_before",
	"DELETE FROM task_candidate WHERE task_id = ? AND position < ?",
	DB_NO_ROWS
};

static const struct db_query keep = {
	"keep",
	"INSERT INTO task_candidate (task_id, position, loan_id, version, as_of, kept_at)"
	" SELECT ?, j.position, j.loan_id, j.version, ?, NOW(6)"
	"   FROM JSON_TABLE(?, '$[*]' COLUMNS (position INT UNSIGNED PATH '$[0]',"
	"                                      loan_id BIGINT UNSIGNED PATH '$[1]',"
	"                                      version BIGINT UNSIGNED PATH '$[2]')) AS j"
	"  ORDER BY j.position",
	DB_NO_ROWS
};

/* What one view found is nothing that another one has found. */
static const struct db_query name_view = {
	"name_view",
	"INSERT INTO task_list (task_id, candidates_view) VALUES (?, ?)"
	" ON DUPLICATE KEY UPDATE candidates_view = ?",
	DB_NO_ROWS
};

enum {
	MORE = 16,            /* where that was not enough, so many times as much is read */
	KEPT_MOST = 100000    /* of a longer list the rest is not kept */
};

/* Lists the rows that are still good. */
static enum db_rc
take_kept(struct list *found, const struct db_rows *rows)
{
	enum db_rc rc = DB_OK;

	list_clear(found);
	copy_cell(found->as_of, sizeof(found->as_of), rows, 0, 3);
	for (size_t i = 0; rc == DB_OK && i < rows->n_rows; i++) {
		if (db_cell_u64(rows, i, 4) == 0 || db_cell_u64(rows, i, 5) == 0)
			found->stale++;
		else
			rc = list_add(found, db_cell_u64(rows, i, 0),
			    db_cell_u64(rows, i, 1), (uint32_t)db_cell_u64(rows, i, 2));
	}
	/* The view may show a loan several times. */
	return rc == DB_OK ? list_once(found) : rc;
}

/* Reads the first @most rows; *@all is true where there are no more. */
static enum db_rc
read_kept(struct db *db, const struct task *task, uint64_t most, struct list *found,
    bool *all)
{
	char view[NAME_BYTES * 3], sql[sizeof(kept_and_shown) + sizeof(view)];
	const struct db_query shown = { "kept_and_shown", sql, DB_MANY };
	const struct db_arg args[] = { db_u64(task->task_id), db_u64(task->cache_ttl),
		db_u64(task->task_id), db_text(task->view), db_u64(most) };
	const unsigned int n_args = sizeof(args) / sizeof(args[0]);
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_quote_identifier(view, sizeof(view), task->view);

	if (rc != DB_OK)
		return rc;
	snprintf(sql, sizeof(sql), kept_and_shown, view);
	rc = db_run(db, &shown, args, n_args, &rows);
	if (rc == DB_ETIME)
		rc = db_run(db, &kept, args, n_args, &rows);
	*all = rc == DB_OK && rows.n_rows < most;
	if (rc == DB_OK)
		rc = take_kept(found, &rows);
	db_rows_clear(&rows);
	return rc;
}

enum db_rc
cache_read(struct db *db, const struct task *task, uint64_t wanted, struct list *found,
    bool *enough)
{
	uint64_t most = list_enough(wanted);
	bool all = false;
	enum db_rc rc = read_kept(db, task, most, found, &all);

	while (rc == DB_OK && !all && found->n < wanted) {
		most *= MORE;
		rc = read_kept(db, task, most, found, &all);
	}
	found->complete = all;
	found->cut = !all;
	*enough = rc == DB_OK && found->n > 0 && found->n >= wanted;
	found->source = LIST_CACHE;
	found->kept = true;
	/* Without a kept list the heavy query runs, and reports what is wrong with the view. */
	return rc == DB_EFAIL || rc == DB_EINTERRUPTED || rc == DB_ETIME || rc == DB_ELOCKWAIT ?
	    DB_OK : rc;
}

static enum db_rc
forget_all(struct db *db, const struct task *task)
{
	return db_run(db, &forget_before, DB_ARGS(db_u64(task->task_id), db_u64(UINT32_MAX)),
	    NULL);
}

/* Replaces the kept loans by those of a new list that nobody got. The task's manager may have named
 * another view during the query; then the next leader sees that the list is not of that one. */
static enum db_rc
replace(struct db *db, const struct task *task, const struct list *list)
{
	struct text json = { NULL, 0, 0, false };
	size_t n = 0;
	enum db_rc rc = forget_all(db, task);

	for (size_t i = 0; rc == DB_OK && i < list->n && n < KEPT_MOST; i++) {
		if (list->list[i].gone)
			continue;
		text_add(&json, "%s[%" PRIu32 ",%" PRIu64 ",%" PRIu64 "]", n == 0 ? "[" : ",",
		    list->list[i].position, list->list[i].loan_id, list->list[i].version);
		n++;
	}
	text_add(&json, "]");
	if (json.failed)
		rc = DB_ENOMEM;
	else if (rc == DB_OK && n > 0)
		rc = db_change(db, &keep, DB_ARGS(db_u64(task->task_id), db_text(list->as_of),
		    db_text(json.data)), n);
	if (rc == DB_OK && n > 0)
		rc = db_run(db, &name_view, DB_ARGS(db_u64(task->task_id), db_text(task->view),
		    db_text(task->view)), NULL);
	text_clear(&json);
	return rc;
}

enum db_rc
cache_update(struct db *db, const struct task *task, const struct list *list)
{
	size_t first = 0;

	if (!list->kept)
		return task->cache_ttl == 0 ? DB_OK : replace(db, task, list);
	/* Loans are given in the list's order, so those that are gone come first. */
	while (first < list->n && list->list[first].gone)
		first++;
	if (first == 0)
		return DB_OK;
	return db_run(db, &forget_before, DB_ARGS(db_u64(task->task_id), db_u64(first < list->n ?
	    list->list[first].position : list->list[first - 1].position + 1)), NULL);
}
