/* SPDX-License-Identifier: MIT */
/* Step 4 without a query: what the last one found beyond what was given, for task.cache_ttl
 * seconds. Only who holds the task's lock writes here, in the transaction that gives loans out. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

static const struct db_query wanted_loans = {
	"wanted_loans",
	"SELECT COALESCE(SUM(requested), 0) FROM work_requested WHERE task_id = ? AND pending = 1",
	DB_ONE
};

static const struct db_query kept_candidates = {
	"kept_candidates",
	"SELECT loan_id, version, position, as_of"
	"  FROM task_candidate"
	" WHERE task_id = ? AND kept_at > NOW(6) - INTERVAL ? SECOND"
	" ORDER BY position"
	" LIMIT ?",
	DB_MANY
};

/* Where the view can be merged into this, it is a look-up for each loan. */
static const char still_in_view[] =
	"SELECT j.loan_id"
	"  FROM JSON_TABLE(?, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]')) AS j"
	"  STRAIGHT_JOIN %s AS c"
	"    ON c.loan_id = j.loan_id";

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

static const struct db_query view_of_task = {
	"view_of_task",
	"SELECT candidates_view = ? AND cache_ttl > 0 FROM task WHERE task_id = ?",
	DB_ONE
};

enum {
	SPARE = 256,          /* read beyond what is wanted: some will have changed */
	KEPT_MOST = 100000,   /* of a longer list the rest is found again */
	CHEAP_MS = 250        /* a view that takes longer for a few loans is not asked about them */
};

static int
read_wanted(struct db *db, const struct task *task, uint64_t *wanted)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, &wanted_loans, DB_ARGS(db_u64(task->task_id)), &rows);

	*wanted = rc == DB_OK ? db_cell_u64(&rows, 0, 0) : 0;
	db_rows_clear(&rows);
	return rc;
}

static int
read_kept(struct db *db, const struct task *task, uint64_t most, struct candidates *found)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, &kept_candidates, DB_ARGS(db_u64(task->task_id),
	    db_u64(task->cache_ttl), db_u64(most)), &rows);

	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++)
		rc = candidates_add(found, db_cell_u64(&rows, i, 0), db_cell_u64(&rows, i, 1),
		    (uint32_t)db_cell_u64(&rows, i, 2));
	if (rc == DB_OK)
		copy_cell(found->as_of, sizeof(found->as_of), &rows, 0, 3);
	db_rows_clear(&rows);
	return rc;
}

static void
keep_only(struct candidates *found, const struct loans *loans)
{
	size_t before = found->n;

	for (size_t i = 0; i < found->n; i++)
		found->list[i].gone = !loans_have(loans, found->list[i].loan_id);
	candidates_forget_gone(found);
	found->stale += before - found->n;
}

/* Leaves out what the view no longer shows, where it says so in @CHEAP_MS; else step 5's check of
 * `work` has to do. */
static int
ask_view(struct db *db, const struct task *task, struct candidates *found)
{
	char view[NAME_BYTES * 3], sql[sizeof(still_in_view) + sizeof(view)];
	const struct db_query query = { "still_in_view", sql, DB_MANY };
	struct loans loans = { NULL, 0 };
	struct text json = { NULL, 0, 0, false };
	int rc = db_quote_identifier(view, sizeof(view), task->view), reset;

	if (rc != DB_OK)
		return rc;
	snprintf(sql, sizeof(sql), still_in_view, view);
	candidates_json(found, 0, found->n, &json);
	rc = json.failed ? DB_ENOMEM : db_set_time_limit(db, CHEAP_MS);
	if (rc == DB_OK) {
		rc = loans_read(db, &query, json.data, 0, &loans);
		if (rc == DB_OK)
			keep_only(found, &loans);
		if (rc == DB_ETIME || rc == DB_ELOCKWAIT)
			rc = DB_OK;
		reset = db_set_time_limit(db, 0);
		rc = rc == DB_OK ? reset : rc;
	}
	loans_clear(&loans);
	text_clear(&json);
	return rc;
}

int
cache_read(struct db *db, const struct task *task, struct candidates *found, bool *enough)
{
	struct loans loans = { NULL, 0 };
	uint64_t wanted = 0;
	int rc = read_wanted(db, task, &wanted);

	*enough = false;
	if (rc == DB_OK)
		rc = read_kept(db, task, wanted + SPARE, found);
	if (rc != DB_OK || found->n == 0)
		return rc;
	rc = candidates_unchanged(db, task, found, found->n, &loans);
	if (rc == DB_OK)
		keep_only(found, &loans);
	loans_clear(&loans);
	if (rc == DB_OK && found->n >= wanted)
		rc = ask_view(db, task, found);
	/* A view that can't be used is for the query to report. */
	*enough = rc == DB_OK && found->n > 0 && found->n >= wanted;
	found->how = "cache";
	found->hint = found->kept = true;
	return rc == DB_EFAIL || rc == DB_EINTERRUPTED ? DB_OK : rc;
}

static int
forget_all(struct db *db, const struct task *task)
{
	return db_run(db, &forget_before, DB_ARGS(db_u64(task->task_id), db_u64(UINT32_MAX)),
	    NULL);
}

/* The task's manager may have changed the view while it was queried. What we have just put in
 * shares a lock on the task's row by its foreign key, so from here on nobody does. */
static int
forget_if_changed(struct db *db, const struct task *task)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, &view_of_task, DB_ARGS(db_text(task->view), db_u64(task->task_id)),
	    &rows);
	bool same = rc == DB_OK && db_cell_u64(&rows, 0, 0) != 0;

	db_rows_clear(&rows);
	return rc == DB_OK && !same ? forget_all(db, task) : rc;
}

/* The leftovers of a new list in place of the old ones. */
static int
replace(struct db *db, const struct task *task, const struct candidates *list)
{
	struct text json = { NULL, 0, 0, false };
	size_t n = 0;
	int rc = forget_all(db, task);

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
		rc = forget_if_changed(db, task);
	text_clear(&json);
	return rc;
}

int
cache_update(struct db *db, const struct task *task, const struct candidates *list)
{
	size_t first = 0;

	if (!list->kept)
		return task->cache_ttl == 0 ? DB_OK : replace(db, task, list);
	/* Loans go out in the list's order, so what is used up is what comes first. */
	while (first < list->n && list->list[first].gone)
		first++;
	if (first == 0)
		return DB_OK;
	return db_run(db, &forget_before, DB_ARGS(db_u64(task->task_id), db_u64(first < list->n ?
	    list->list[first].position : list->list[first - 1].position + 1)), NULL);
}
