/* SPDX-License-Identifier: MIT */
/* lockq_history(): reads from work_log what happened to a loan in a task. */
#include <stdlib.h>

#include "error.h"
#include "patience.h"
#include "session.h"
#include "task.h"

/* Each change of a loan locks its row of work before it writes the log, so log_id has their order.
 * A deleted user is shown by the number. */
static const struct db_query read_history = {
	"read_history",
	"SELECT l.event, l.at, COALESCE(u.name, CONCAT('#', l.user_id)), l.account, l.token,"
	"       l.version, l.request_id, l.available_at, l.lease_expires_at, l.excluded_until,"
	"       l.note, l.manager"
	"  FROM work_log AS l FORCE INDEX (work_log_loan)"
	"  LEFT JOIN app_user AS u"
	"    ON u.user_id = l.user_id"
	" WHERE l.task_id = ? AND l.loan_id = ?"
	" ORDER BY l.log_id",
	DB_MANY
};

static enum db_rc
fill(struct lockq_history *history, const struct db_rows *rows)
{
	history->events = calloc(rows->n_rows + 1, sizeof(*history->events));
	if (history->events == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; i < rows->n_rows; i++) {
		struct lockq_event *e = &history->events[history->n_events++];

		copy_cell(e->event, sizeof(e->event), rows, i, 0);
		copy_cell(e->at, sizeof(e->at), rows, i, 1);
		e->token = db_cell_u64(rows, i, 4);
		e->version = db_cell_u64(rows, i, 5);
		e->request_id = db_cell_u64(rows, i, 6);
		copy_cell(e->available_at, sizeof(e->available_at), rows, i, 7);
		copy_cell(e->lease_expires_at, sizeof(e->lease_expires_at), rows, i, 8);
		copy_cell(e->excluded_until, sizeof(e->excluded_until), rows, i, 9);
		if (copy_text(&e->user, db_cell(rows, i, 2)) != DB_OK ||
		    copy_text(&e->account, db_cell(rows, i, 3)) != DB_OK ||
		    copy_text(&e->note, db_cell(rows, i, 10)) != DB_OK ||
		    copy_text(&e->manager, db_cell(rows, i, 11)) != DB_OK)
			return DB_ENOMEM;
	}
	return DB_OK;
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
	for (size_t i = 0; i < history->n_events; i++) {
		free(history->events[i].user);
		free(history->events[i].account);
		free(history->events[i].note);
		free(history->events[i].manager);
	}
	free(history->events);
	*history = (struct lockq_history)LOCKQ_HISTORY_INIT;
}
