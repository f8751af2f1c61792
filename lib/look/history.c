/* SPDX-License-Identifier: MIT */
/* lockq_history(): reads from work_log what happened to a loan in a task. The change feed reads the
 * same columns, of all loans. */
#include "look/history.h"

#include <stdlib.h>

#include "handle/error.h"
#include "handle/patience.h"
#include "handle/session.h"
#include "rules/task.h"

/* Each change of a loan locks its row of work before it writes the log, so log_id has their
 * order. */
static const struct db_query read_history = {
	"read_history",
	"SELECT " HISTORY_COLUMNS
	"  FROM work_log AS l FORCE INDEX (work_log_loan)"
	"  LEFT JOIN app_user AS u"
	"    ON u.user_id = l.user_id"
	" WHERE l.task_id = ? AND l.loan_id = ?"
	" ORDER BY l.log_id",
	DB_MANY
};

enum db_rc
history_event(struct lockq_event *e, const struct db_rows *rows, size_t row)
{
	copy_cell(e->event, sizeof(e->event), rows, row, 0);
	copy_cell(e->at, sizeof(e->at), rows, row, 1);
	e->token = db_cell_u64(rows, row, 4);
	e->version = db_cell_u64(rows, row, 5);
	e->request_id = db_cell_u64(rows, row, 6);
	copy_cell(e->available_at, sizeof(e->available_at), rows, row, 7);
	copy_cell(e->lease_expires_at, sizeof(e->lease_expires_at), rows, row, 8);
	copy_cell(e->excluded_until, sizeof(e->excluded_until), rows, row, 9);
	if (copy_text(&e->user, db_cell(rows, row, 2)) != DB_OK ||
	    copy_text(&e->account, db_cell(rows, row, 3)) != DB_OK ||
	    copy_text(&e->note, db_cell(rows, row, 10)) != DB_OK ||
	    copy_text(&e->manager, db_cell(rows, row, 11)) != DB_OK)
		return DB_ENOMEM;
	return DB_OK;
}

void
history_event_clear(struct lockq_event *e)
{
	free(e->user);
	free(e->account);
	free(e->note);
	free(e->manager);
	*e = (struct lockq_event){ .user = NULL };
}

static enum db_rc
fill(struct lockq_history *history, const struct db_rows *rows)
{
	enum db_rc rc = DB_OK;

	history->events = calloc(rows->n_rows + 1, sizeof(*history->events));
	if (history->events == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; rc == DB_OK && i < rows->n_rows; i++)
		rc = history_event(&history->events[history->n_events++], rows, i);
	return rc;
}

/* What the call was asked, and where its result goes. */
struct asked {
	uint32_t task;
	uint64_t loan_id;
	struct lockq_history *history;
};

static enum db_rc
look(struct patience *patience, void *data, int *code)
{
	const struct asked *asked = data;
	struct lockq *q = patience->q;
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct task read;
	bool known = true;
	enum db_rc rc = task_read(q->db, asked->task, 0, &read, &known);

	lockq_history_clear(asked->history);
	if (rc == DB_OK && !known)
		*code = error_unknown_task(q, asked->task);
	if (rc != DB_OK || !known)
		return rc;
	rc = db_run(q->db, &read_history, DB_ARGS(db_u64(asked->task), db_u64(asked->loan_id)),
	    &rows);
	if (rc == DB_OK)
		rc = fill(asked->history, &rows);
	db_rows_clear(&rows);
	*code = error_if_none(asked->history->n_events);
	return rc;
}

int
lockq_history(struct lockq *q, uint32_t task, uint64_t loan_id, struct lockq_history *history)
{
	struct asked asked = { task, loan_id, history };

	lockq_history_clear(history);
	return patience_look(q, look, &asked);
}

void
lockq_history_clear(struct lockq_history *history)
{
	if (history == NULL)
		return;
	for (size_t i = 0; i < history->n_events; i++)
		history_event_clear(&history->events[i]);
	free(history->events);
	*history = (struct lockq_history)LOCKQ_HISTORY_INIT;
}
