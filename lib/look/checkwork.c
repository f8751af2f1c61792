/* SPDX-License-Identifier: MIT */
/* What people see, who only look. The other files of this folder read:
 *
 *   place_in_line.c  how many requests come before a pending one, and how long that may take
 *   standing.c       the pending requests of a user, and the tasks
 *   history.c        what happened to a loan
 *   choices.c        what a person may type, for a shell that completes it
 *   stat.c           how each task stands now, and who has led it
 *   day.c            the last day, by quarters of an hour
 *
 * This file has what checkwork shows: lockq_pipeline() reads a user's current assignments, and
 * beside each loan what the task's detail_view has of it; lockq_request_look() reads how a request
 * stands, and waits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "db/db_record.h"
#include "getwork/answer.h"
#include "getwork/lock.h"
#include "getwork/request.h"
#include "getwork/wait.h"
#include "handle/bounds.h"
#include "handle/error.h"
#include "handle/patience.h"
#include "handle/session.h"
#include "look/place_in_line.h"
#include "rules/task.h"

/* --- lockq_pipeline() --- */

/* The loans of one request have one assigned_at, and the log has them in the order of the answer,
 * see log_assigned. Purging leaves the rows of current assignments. A subquery, since a join would
 * show a loan as often as somebody has written such a row. */
static DB_QUERY(read_pipeline, DB_MANY,
    "SELECT w.task_id, t.name, w.loan_id, w.token, w.request_id, w.assigned_at,"
    "       GREATEST(TIMESTAMPDIFF(SECOND, w.assigned_at, NOW(6)), 0), w.lease_expires_at,"
    "       COALESCE(w.lease_expires_at <= NOW(6), 0),"
    "       GREATEST(COALESCE(TIMESTAMPDIFF(SECOND, NOW(6), w.lease_expires_at), 0), 0),"
    "       w.note, t.detail_view"
    "  FROM work AS w"
    "  JOIN task AS t"
    "    ON t.task_id = w.task_id"
    " WHERE w.user_id = ? AND w.state = 'assigned' AND (? = 0 OR w.task_id = ?)"
    " ORDER BY w.task_id, w.assigned_at,"
    "       (SELECT MAX(l.log_id) FROM work_log AS l FORCE INDEX (work_log_loan)"
    "         WHERE l.task_id = w.task_id AND l.loan_id = w.loan_id"
    "           AND l.event = 'assigned' AND l.token = w.token),"
    "       w.loan_id");

enum {
	DETAIL_VIEW = 11,             /* its column above */
	DETAIL_LIMIT_MS = 3000,       /* of each view */
	DETAIL_ROWS_A_LOAN = 20,      /* one is shown; more mean that the view is a wrong one */
	DETAIL_SQL_BYTES = 1024,
	READ_ONLY_TRANSACTION = 1792  /* ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION */
};

/* The assignments of one task. */
struct part {
	struct lockq_assignment *assignments;
	size_t n;
	const char *view; /* task.detail_view */
};

#define ASSIGNMENT(member) DB_FIELD(struct lockq_assignment, member)
static const struct db_record assignment_record = DB_RECORD(struct lockq_assignment,
    ASSIGNMENT(task), ASSIGNMENT(task_name), ASSIGNMENT(loan_id), ASSIGNMENT(token),
    ASSIGNMENT(request_id), ASSIGNMENT(assigned_at), ASSIGNMENT(age_s),
    ASSIGNMENT(lease_expires_at), ASSIGNMENT(lease_expired), ASSIGNMENT(lease_left_s),
    ASSIGNMENT(note));

static const struct db_record detail_record = DB_RECORD(struct lockq_detail,
    DB_FIELD(struct lockq_detail, name), DB_FIELD(struct lockq_detail, value));

/* STRAIGHT_JOIN, or the server might read all rows of the view. The rows come in the loans'
 * order. */
static enum db_rc
detail_statement(char sql[DETAIL_SQL_BYTES], const char *view)
{
	char quoted[4 * 64 + 8];
	int n;

	if (db_quote_identifier(quoted, sizeof(quoted), view) != DB_OK)
		return DB_EFAIL;
	n = snprintf(sql, DETAIL_SQL_BYTES,
	    "SELECT d.*"
	    "  FROM JSON_TABLE(?, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$')) AS j"
	    "  STRAIGHT_JOIN %s AS d"
	    "    ON d.loan_id = j.loan_id"
	    " LIMIT ?", quoted);
	return n > 0 && n < DETAIL_SQL_BYTES ? DB_OK : DB_EFAIL;
}

static size_t
loan_column(const struct db_rows *rows)
{
	size_t column = 0;

	while (column < rows->n_columns && strcasecmp(db_column(rows, column), "loan_id") != 0)
		column++;
	return column;
}

static enum db_rc
fill_details(struct lockq_assignment *a, const struct db_rows *rows, size_t row, size_t skip)
{
	a->details = calloc(rows->n_columns + 1, sizeof(*a->details));
	if (a->details == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; i < rows->n_columns; i++) {
		struct lockq_detail *d = &a->details[a->n_details];

		if (i == skip)
			continue;
		a->n_details++;
		if (copy_text(&d->name, db_column(rows, i)) != DB_OK ||
		    copy_text(&d->value, db_cell(rows, row, i)) != DB_OK)
			return DB_ENOMEM;
	}
	return DB_OK;
}

/* Shows the first row of each loan. The search goes on after the last loan that was found, since
 * the rows come in the order of the assignments. */
static enum db_rc
spread_details(const struct part *part, const struct db_rows *rows)
{
	size_t skip = loan_column(rows), at = 0;
	enum db_rc rc = DB_OK;

	for (size_t row = 0; rc == DB_OK && row < rows->n_rows; row++) {
		size_t i = 0;

		while (i < part->n && part->assignments[(at + i) % part->n].loan_id !=
		    db_cell_u64(rows, row, skip))
			i++;
		at = (at + i) % part->n;
		if (i < part->n && part->assignments[at].details == NULL)
			rc = fill_details(&part->assignments[at], rows, row, skip);
	}
	return rc;
}

/* Read only, since a view may call functions that write. */
static enum db_rc
query_details(struct db *db, const struct part *part, uint64_t limit_ms, struct db_rows *rows)
{
	char sql[DETAIL_SQL_BYTES];
	const struct db_query query = { "detail_view", sql, DB_VIEW };
	struct text loans = { NULL, 0, 0, false };
	uint64_t most = part->n * DETAIL_ROWS_A_LOAN;
	enum db_rc rc = detail_statement(sql, part->view);

	if (rc != DB_OK)
		return db_refuse(db, "this is not the name of a view: a name has letters, digits, "
		    "_ and $, and one dot at most");
	for (size_t i = 0; i < part->n; i++)
		text_add(&loans, "%s%" PRIu64, i == 0 ? "[" : ",", part->assignments[i].loan_id);
	text_add(&loans, "]");
	if (loans.failed)
		rc = DB_ENOMEM;
	if (rc == DB_OK)
		rc = db_set_time_limit(db, limit_ms);
	if (rc == DB_OK)
		rc = db_next_read_only(db);
	if (rc == DB_OK)
		rc = db_run(db, &query, DB_ARGS(db_text(loans.data), db_u64(most)), rows);
	if (rc == DB_OK && rows->n_rows == most)
		rc = db_refuse(db, "it has %d rows or more per loan on average, and should "
		    "have one", DETAIL_ROWS_A_LOAN);
	text_clear(&loans);
	return rc;
}

/* A view that fails adds to @faults; the pipeline is shown all the same. */
static enum db_rc
read_details(struct db *db, const struct part *part, uint64_t limit_ms, struct text *faults)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = limit_ms == 0 ? db_refuse(db, "there was no time left to read it") :
	    query_details(db, part, limit_ms, &rows);

	if (rc == DB_OK)
		rc = spread_details(part, &rows);
	db_rows_clear(&rows);
	if (rc == DB_OK || rc == DB_ENOMEM)
		return rc;
	text_add(faults, "%stask %u: ", faults->used > 0 ? "; " : "", part->assignments[0].task);
	if (db_errno(db) == READ_ONLY_TRANSACTION)
		text_add(faults, "detail_view \"%s\" writes, but it may only read", part->view);
	else if (rc == DB_ETIME)
		text_add(faults, "detail_view \"%s\" was ended after %u s", part->view,
		    (unsigned int)((limit_ms + 999) / 1000));
	else
		text_add(faults, "detail_view \"%s\": %s", part->view, db_error(db));
	return faults->failed ? DB_ENOMEM : DB_OK;
}

/* Each view gets its time, 0 where the call has to end. */
static uint64_t
detail_limit(uint64_t end)
{
	uint64_t now = db_clock_ms();

	if (now >= end)
		return 0;
	return end - now < DETAIL_LIMIT_MS ? end - now : DETAIL_LIMIT_MS;
}

/* @rows are those of read_pipeline. */
static enum db_rc
details(const struct patience *patience, struct lockq_pipeline *pipeline,
    const struct db_rows *rows)
{
	uint64_t end = db_clock_ms() + patience_left(patience);
	struct text faults = { NULL, 0, 0, false };
	enum db_rc rc = DB_OK;

	for (size_t i = 0, n; rc == DB_OK && i < pipeline->n_assignments; i += n) {
		struct part part = { &pipeline->assignments[i], 0, db_cell(rows, i, DETAIL_VIEW) };

		while (i + part.n < pipeline->n_assignments &&
		    part.assignments[part.n].task == part.assignments[0].task)
			part.n++;
		n = part.n;
		if (part.view != NULL)
			rc = read_details(patience->q->db, &part, detail_limit(end), &faults);
	}
	pipeline->detail_fault = faults.data;
	return rc;
}

/* What the call was asked, and where its result goes. */
struct asked {
	const char *user;
	uint32_t task;
	struct lockq_pipeline *pipeline;
};

static enum db_rc
look_at_pipeline(struct patience *patience, void *data, int *code)
{
	const struct asked *asked = data;
	struct lockq *q = patience->q;
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct task known;
	uint32_t user_id = 0;
	enum db_rc rc = task_and_user(q, asked->user, asked->task,
	    asked->task != 0 ? &known : NULL, &user_id, code);

	lockq_pipeline_clear(asked->pipeline);
	if (rc != DB_OK || *code != LOCKQ_OK)
		return rc;
	rc = db_run(q->db, &read_pipeline, DB_ARGS(db_u64(user_id), db_u64(asked->task),
	    db_u64(asked->task)), &rows);
	if (rc == DB_OK)
		rc = record_list(&assignment_record, &rows, &asked->pipeline->assignments,
		    &asked->pipeline->n_assignments);
	if (rc == DB_OK)
		rc = details(patience, asked->pipeline, &rows);
	db_rows_clear(&rows);
	*code = error_if_none(asked->pipeline->n_assignments);
	return rc;
}

int
lockq_pipeline(struct lockq *q, const char *user, uint32_t task, struct lockq_pipeline *pipeline)
{
	struct asked asked = { user, task, pipeline };
	int code;

	lockq_pipeline_clear(pipeline);
	code = patience_look(q, look_at_pipeline, &asked);
	/* Else the next call would have the limit of query_details(); a new connection has none. */
	if (!db_lost(q->db) && db_set_time_limit(q->db, 0) != DB_OK)
		session_disconnect(q);
	return code;
}

void
lockq_pipeline_clear(struct lockq_pipeline *pipeline)
{
	if (pipeline == NULL)
		return;
	for (size_t i = 0; i < pipeline->n_assignments; i++)
		record_list_free(&detail_record, pipeline->assignments[i].details,
		    pipeline->assignments[i].n_details);
	record_list_free(&assignment_record, pipeline->assignments, pipeline->n_assignments);
	free(pipeline->detail_fault);
	*pipeline = (struct lockq_pipeline)LOCKQ_PIPELINE_INIT;
}

/* --- lockq_request_look() --- */

/* Reads the request, and keeps a pending one from expiring; the answer then says whether somebody
 * leads. */
static enum db_rc
look_once(struct lockq *q, const struct request *request, struct leader *leader,
    struct lockq_answer *answer)
{
	bool held = false, pending = false;
	enum db_rc rc = answer_read(q->db, request->request_id, answer);

	if (rc != DB_OK || answer->status != LOCKQ_PENDING)
		return rc;
	/* An account without these privileges may look, too, and so may one that finds the row
	 * held by another session. */
	rc = db_set_lock_wait(q->db, SEEN_WAIT_S);
	if (rc == DB_OK)
		rc = request_seen(q->db, request, 0, &pending);
	/* A replica has the answer, too. */
	if (rc == DB_EMOVED)
		rc = session_connect(q);
	if (rc == DB_OK || rc == DB_EFAIL || rc == DB_ELOCKWAIT)
		rc = lock_holder(q->db, answer->task, leader, &held);
	answer->nobody_leads = rc == DB_OK && !held;
	if (rc == DB_OK && held)
		rc = copy_text(&answer->leader, leader->name);
	return rc == DB_EFAIL ? DB_OK : rc;
}

/* After a wait. An account that may not wait on task_wake looks four times a second, and so does
 * one on a replica. A connection that is lost is made again: a server that is started again is away
 * for a while. */
static enum db_rc
look_later(struct lockq *q, enum db_rc rc, struct waiting *waiting, bool *over)
{
	bool refused = rc == DB_EFAIL;

	if (!refused && rc != DB_ELOST && rc != DB_EMOVED && rc != DB_ECROWDED)
		return rc;
	do {
		*over = db_clock_ms() >= waiting->deadline;
		if (*over)
			return refused ? DB_OK : rc;
		if (wait_a_moment(q, LOCKQ_PHASE_WAIT, NULL, LOOK_EVERY, 0, waiting) != DB_OK)
			return DB_ECANCELLED;
		rc = refused ? DB_OK : session_connect(q);
	} while (rc == DB_ELOST || rc == DB_EMOVED || rc == DB_ECROWDED);
	return rc;
}

/* What the call was asked, where its result goes, and how its wait goes. */
struct looking {
	const char *request;
	struct lockq_answer *answer;
	struct waiting waiting;
	bool waits; /* the caller wants to wait */
};

static enum db_rc
wait_for_answer(struct patience *patience, const struct request *found, struct leader *leader,
    struct looking *l, bool *over)
{
	struct lockq *q = patience->q;
	enum db_rc rc = DB_OK;

	/* For the progress function, which shows it beside the leader's time. */
	if (l->answer->leader == NULL)
		l->waiting.usual_ms = 0;
	else if (l->waits && l->waiting.usual_ms == 0)
		rc = task_usual_ms(q->db, l->answer->task, &l->waiting.usual_ms);
	if (rc == DB_OK)
		rc = wait_blocking(q, l->answer->task, found, leader, &l->waiting, over);
	if (rc == DB_OK && !*over)
		patience_renew(patience);
	return rc;
}

/* Looks at the request, and waits while it is pending. */
static enum db_rc
look_and_wait(struct patience *patience, const struct request *found, struct leader *leader,
    struct looking *l)
{
	struct lockq *q = patience->q;
	bool over = false;
	enum db_rc rc = DB_OK;

	while (rc == DB_OK && !over) {
		rc = patience_ready(patience);
		if (rc == DB_OK)
			rc = look_once(q, found, leader, l->answer);
		if (rc == DB_EFAIL || (rc == DB_OK && l->answer->status != LOCKQ_PENDING))
			return rc;
		if (rc == DB_OK)
			rc = wait_for_answer(patience, found, leader, l, &over);
		rc = look_later(q, rc, &l->waiting, &over);
	}
	/* Read the answer again: the one from before the wait is out of date. */
	return rc == DB_OK && l->waits ? look_once(q, found, leader, l->answer) : rc;
}

static enum db_rc
look_at_request(struct patience *patience, void *data, int *code)
{
	struct looking *l = data;
	struct lockq *q = patience->q;
	struct leader leader = { .name = "" };
	struct request found = { .request_id = 0 };
	char held[HELD_BYTES] = "";
	bool known = true;
	enum db_rc rc = request_find_named(q->db, l->request, &found, &known);

	lockq_answer_clear(l->answer);
	if (rc == DB_OK && !known)
		*code = error_refused(q, "request \"%s\" is unknown", l->request);
	if (rc != DB_OK || !known)
		return rc;
	rc = look_and_wait(patience, &found, &leader, l);
	if (rc == DB_OK && l->answer->status == LOCKQ_PENDING)
		rc = place_in_line(q->db, &leader, l->answer);
	if (rc == DB_OK && l->answer->nobody_leads && l->answer->reason == NULL)
		held_lock(q->db, l->answer->task, held);
	if (held[0] != '\0')
		rc = copy_text(&l->answer->reason, held);
	if (rc == DB_OK)
		*code = error_from_answer(q, l->answer, false);
	return rc;
}

int
lockq_request_look(struct lockq *q, const char *request, int64_t wait_ms,
    struct lockq_answer *answer)
{
	uint64_t start = db_clock_ms();
	struct looking looking = {
		.request = request, .answer = answer, .waits = wait_ms > 0, .waiting = {
			.deadline = start + (uint64_t)(wait_ms > 0 ? wait_ms : 0),
			.slice_s = LOOK_SLICE_S, .seen = start
		}
	};
	int code;

	lockq_answer_clear(answer);
	code = patience_look(q, look_at_request, &looking);
	answer->waited_ms = db_clock_ms() - start;
	return code;
}
