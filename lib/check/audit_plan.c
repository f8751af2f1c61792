/* SPDX-License-Identifier: MIT */
/* The audit of lockq's own locking statements, by EXPLAIN. A locking statement locks each row that
 * it looks at, so without its index it locks the rows of other people, and with a sort it locks all
 * rows before it takes the first. EXPLAIN locks none of these. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/audit.h"
#include "disposition/disposing.h"
#include "getwork/assign.h"
#include "getwork/pending.h"
#include "handle/error.h"
#include "handle/session.h"

/* The columns of EXPLAIN. */
enum { PLAN_ID = 0, PLAN_TABLE = 2, PLAN_TYPE = 4, PLAN_EXTRA = 11 };

/* A statement, the alias under which it locks a table, and the index that it needs there. */
struct locking {
	const struct db_query *query;
	const char *alias, *table, *index, *columns;
	struct db_arg args[3];
	size_t n_args;
};

/* For the statements whose parameters are user variables; each disposition sets these anew. */
static DB_QUERY(say_loans, DB_NO_ROWS, "SET @lockq_task = ?, @lockq_loans = '[[1],[2]]'");

static DB_QUERY(index_there, DB_ONE,
    "SELECT COUNT(*) > 0"
    "  FROM information_schema.statistics"
    " WHERE table_schema = DATABASE() AND table_name = ? AND index_name = ?");

static enum db_rc
mend_index(struct audit *a, const struct locking *l, char **mend)
{
	bool primary = strcmp(l->index, "PRIMARY") == 0;
	uint64_t there = 0;
	enum db_rc rc = db_number(a->q->db, &index_there, DB_ARGS(db_text(l->table),
	    db_text(l->index)), &there);

	*mend = primary ?
	    audit_mend(a, "ALTER TABLE `%s` %sADD PRIMARY KEY (%s)", l->table,
	    there != 0 ? "DROP PRIMARY KEY, " : "", l->columns) :
	    audit_mend(a, "ALTER TABLE `%s` %s%s%sADD KEY %s (%s)", l->table,
	    there != 0 ? "DROP KEY " : "", there != 0 ? l->index : "", there != 0 ? ", " : "",
	    l->index, l->columns);
	return rc;
}

/* Finds fault with the plan, and names it; NULL where it is as it should be. */
static const char *
fault_of(const struct locking *l, const struct db_rows *plan, const char **code)
{
	for (size_t i = 0; i < plan->n_rows; i++) {
		const char *table = db_cell(plan, i, PLAN_TABLE);
		const char *type = db_cell(plan, i, PLAN_TYPE);
		const char *extra = db_cell(plan, i, PLAN_EXTRA);

		if (table != NULL && type != NULL && strcmp(table, l->alias) == 0 &&
		    (strcmp(type, "ALL") == 0 || strcmp(type, "index") == 0)) {
			*code = "full_scan";
			return "reads the whole table";
		}
		/* Only the statement itself locks, not its subqueries. */
		if (extra != NULL && db_cell_u64(plan, i, PLAN_ID) == 1 &&
		    strstr(extra, "filesort") != NULL) {
			*code = "sort_under_lock";
			return "sorts under a lock, so it locks more rows than it takes";
		}
	}
	return NULL;
}

static void
note_unseen(struct audit *a)
{
	audit_found(a, LOCKQ_NOTE, "plans_unseen", "lockq", NULL, "the plans of lockq's statements "
	    "were not looked at: %s", db_error(a->q->db));
}

static enum db_rc
look_at_plan(struct audit *a, const struct locking *l, const struct db_rows *plan, bool lacks_index)
{
	const char *code = "index_missing";
	const char *fault = lacks_index ? "fails without its index" : fault_of(l, plan, &code);
	char *mend = NULL;
	enum db_rc rc;

	if (fault == NULL)
		return DB_OK;
	rc = mend_index(a, l, &mend);
	audit_found(a, LOCKQ_FAULT, code, "lockq", mend, "lockq's statement %s %s: \"%s\" needs "
	    "the index \"%s\" (%s)", l->query->name, fault, l->table, l->index, l->columns);
	return rc;
}

static enum db_rc
explain_one(struct audit *a, const struct locking *l, bool *goes_on)
{
	struct text sql = { NULL, 0, 0, false };
	struct db_query query = { "explain", NULL, DB_MANY };
	struct db_rows plan = { 0, 0, NULL, NULL };
	bool lacks_index;
	enum db_rc rc = DB_ENOMEM;

	text_add(&sql, "EXPLAIN FORMAT = TRADITIONAL %s", l->query->sql);
	query.sql = sql.data;
	if (!sql.failed)
		rc = db_run(a->q->db, &query, l->args, l->n_args, &plan);
	lacks_index = rc == DB_EFAIL && db_errno(a->q->db) == NO_INDEX;
	if (rc == DB_OK || lacks_index) {
		rc = look_at_plan(a, l, &plan, lacks_index);
	} else if (rc == DB_EFAIL) {
		note_unseen(a);
		*goes_on = false;
		rc = DB_OK;
	}
	db_rows_clear(&plan);
	text_clear(&sql);
	return rc;
}

enum db_rc
audit_plans(struct audit *a)
{
	static const char loans[] = "[[1,2],[2,1],[3,0]]";
	const struct db_arg task = db_u64(a->what->task);
	const struct locking all[] = {
		{ &pending_requests, "r", "work_requested", "work_requested_line",
		    "task_id, pending, request_id", { db_u64(600), task, db_text(NULL) }, 3 },
		{ &lock_pipelines, "p", "pipeline_lock", "PRIMARY", "task_id, user_id",
		    { task }, 1 },
		{ &in_kept_list, "k", "kept_loan", "kept_loan_loan", "task_id, epoch, loan_id",
		    { db_text(loans), task }, 2 },
		{ &lock_kept, "k", "kept_loan", "PRIMARY", "task_id, epoch, position",
		    { db_text(loans), task }, 2 },
		{ &lock_seen, "w", "work", "PRIMARY", "task_id, loan_id", { db_text(loans), task },
		    2 },
		{ &lock_loans, "l", "work_log", "work_log_loan", "task_id, loan_id, log_id",
		    { { NULL, 0, false, false } }, 0 },
	};
	bool goes_on = true;
	enum db_rc rc = db_run(a->q->db, &say_loans, DB_ARGS(task), NULL);

	for (size_t i = 0; rc == DB_OK && goes_on && i < sizeof(all) / sizeof(all[0]); i++)
		rc = explain_one(a, &all[i], &goes_on);
	return rc;
}
