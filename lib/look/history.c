/* SPDX-License-Identifier: MIT */
/* lockq_history(): reads from work_log what happened to a loan in a task. The change feed reads the
 * same columns, of all loans. */
#include "db/db_record.h"
#include "look/history.h"

#include "handle/error.h"
#include "handle/patience.h"
#include "handle/session.h"
#include "rules/task.h"

/* Each change of a loan locks its row of work before it writes the log, so log_id has their
 * order. */
static DB_QUERY(read_history, DB_MANY,
    "SELECT " HISTORY_COLUMNS
    "  FROM work_log AS l FORCE INDEX (work_log_loan)"
    "  LEFT JOIN app_user AS u"
    "    ON u.user_id = l.user_id"
    " WHERE l.task_id = ? AND l.loan_id = ?"
    " ORDER BY l.log_id");
/* The same of all tasks. */
static DB_QUERY(read_histories, DB_MANY,
    "SELECT " HISTORY_COLUMNS
    "  FROM task AS t"
    "  STRAIGHT_JOIN work_log AS l FORCE INDEX (work_log_loan)"
    "     ON l.task_id = t.task_id AND l.loan_id = ?"
    "  LEFT JOIN app_user AS u"
    "    ON u.user_id = l.user_id"
    " ORDER BY l.log_id");

#define EVENT(member) DB_FIELD(struct lockq_event, member)
static const struct db_record event_record = DB_RECORD(struct lockq_event,
    EVENT(event), EVENT(at), EVENT(user), EVENT(account), EVENT(token), EVENT(version),
    EVENT(request_id), EVENT(available_at), EVENT(lease_expires_at), EVENT(excluded_until),
    EVENT(note), EVENT(manager), EVENT(task));

enum db_rc
history_event(struct lockq_event *e, const struct db_rows *rows, size_t row)
{
	return record_fill(&event_record, e, rows, row, 0);
}

void
history_event_clear(struct lockq_event *e)
{
	record_free_texts(&event_record, e);
	*e = (struct lockq_event){ .user = NULL };
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
	struct task read;
	bool known = true;
	enum db_rc rc = asked->task == 0 ? DB_OK :
	    task_read(q->db, asked->task, 0, &read, &known);

	lockq_history_clear(asked->history);
	if (rc == DB_OK && !known)
		*code = error_unknown_task(q, asked->task);
	if (rc != DB_OK || !known)
		return rc;
	rc = asked->task == 0 ?
	    record_read(&event_record, q->db, &read_histories, DB_ARGS(db_u64(asked->loan_id)),
	    &asked->history->events, &asked->history->n_events) :
	    record_read(&event_record, q->db, &read_history, DB_ARGS(db_u64(asked->task),
	    db_u64(asked->loan_id)), &asked->history->events, &asked->history->n_events);
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
	record_list_free(&event_record, history->events, history->n_events);
	*history = (struct lockq_history)LOCKQ_HISTORY_INIT;
}
