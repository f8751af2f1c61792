/* SPDX-License-Identifier: MIT */
/* How a request ended, or stands: for getwork and for checkwork --request. */
#include "answer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "db.h"
#include "error.h"
#include "lock.h"
#include "outcome.h"
#include "request.h"
#include "session.h"
#include "task.h"
#include "text.h"
#include "wait.h"

/* All of it at once. The loans are from the log: its order is the list's, and a loan disposed of
 * since is there too. */
#define ANSWER_COLUMNS(user, task) \
	"SELECT r.request_id, r.uuid, " user ", r.task_id, " task ", r.asked, r.requested," \
	"       r.assigned, r.outcome, r.epoch, r.reason, l.user, l.query_ms, l.as_of," \
	"       r.excluded, g.loan_id, g.token, g.lease_expires_at"
#define ANSWER_TABLES \
	"  LEFT JOIN leader_run AS l" \
	"    ON l.task_id = r.task_id AND l.epoch = r.epoch" \
	"  LEFT JOIN work_log AS g" \
	"    ON g.request_id = r.request_id AND g.event = 'assigned'"
enum { ANSWER_LOANS = 15 };

static const struct db_query read_answer = {
	"read_answer",
	ANSWER_COLUMNS("u.name", "t.name")
	"  FROM work_requested AS r"
	"  JOIN app_user AS u"
	"    ON u.user_id = r.user_id"
	"  JOIN task AS t"
	"    ON t.task_id = r.task_id"
	ANSWER_TABLES
	" WHERE r.request_id = ?"
	" ORDER BY g.log_id",
	DB_MANY
};

/* Who asked knows the names; hundreds who have just been woken ask this. */
static const struct db_query read_own_answer = {
	"read_own_answer",
	ANSWER_COLUMNS("NULL", "NULL")
	"  FROM work_requested AS r"
	ANSWER_TABLES
	" WHERE r.request_id = ?"
	" ORDER BY g.log_id",
	DB_MANY
};

/* By the leader's index: those that have ended, which may be millions, are not looked at. */
static const struct db_query read_line = {
	"read_line",
	"SELECT COUNT(*), COALESCE(SUM(r.requested), 0)"
	"  FROM work_requested AS r FORCE INDEX (work_requested_line)"
	"  JOIN task AS t"
	"    ON t.task_id = r.task_id"
	" WHERE r.task_id = ? AND r.pending = 1 AND r.request_id < ?"
	"   AND r.seen_at >= NOW(6) - INTERVAL t.request_ttl SECOND",
	DB_ONE
};

static const struct db_query find_by_uuid = {
	"find_by_uuid", "SELECT request_id FROM work_requested WHERE uuid = ?", DB_MAYBE
};
static const struct db_query find_by_id = {
	"find_by_id", "SELECT request_id FROM work_requested WHERE request_id = ?", DB_MAYBE
};

static int
fill(struct lockq_answer *a, const struct db_rows *rows)
{
	a->request_id = db_cell_u64(rows, 0, 0);
	copy_cell(a->uuid, sizeof(a->uuid), rows, 0, 1);
	a->task = (uint32_t)db_cell_u64(rows, 0, 3);
	a->asked = (uint32_t)db_cell_u64(rows, 0, 5);
	a->requested = (uint32_t)db_cell_u64(rows, 0, 6);
	a->assigned = (uint32_t)db_cell_u64(rows, 0, 7);
	a->status = outcome_read(db_cell(rows, 0, 8));
	a->nobody_leads = 0;
	a->position = 0;
	a->loans_ahead = 0;
	a->expected_ms = -1;
	a->epoch = db_cell_u64(rows, 0, 9);
	a->query_ms = db_cell_is_null(rows, 0, 12) ? -1 : (int64_t)db_cell_u64(rows, 0, 12);
	copy_cell(a->as_of, sizeof(a->as_of), rows, 0, 13);
	a->excluded = (uint32_t)db_cell_u64(rows, 0, 14);
	if (copy_text(&a->user, db_cell(rows, 0, 2)) != DB_OK ||
	    copy_text(&a->task_name, db_cell(rows, 0, 4)) != DB_OK ||
	    copy_text(&a->reason, db_cell(rows, 0, 10)) != DB_OK ||
	    copy_text(&a->leader, db_cell(rows, 0, 11)) != DB_OK)
		return DB_ENOMEM;
	return DB_OK;
}

static int
fill_loans(struct lockq_answer *a, const struct db_rows *rows)
{
	free(a->loans);
	a->n_loans = 0;
	a->loans = calloc(rows->n_rows + 1, sizeof(*a->loans));
	if (a->loans == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; i < rows->n_rows && !db_cell_is_null(rows, i, ANSWER_LOANS); i++) {
		struct lockq_loan *loan = &a->loans[a->n_loans++];

		loan->loan_id = db_cell_u64(rows, i, ANSWER_LOANS);
		loan->token = db_cell_u64(rows, i, ANSWER_LOANS + 1);
		copy_cell(loan->lease_expires_at, sizeof(loan->lease_expires_at), rows, i,
		    ANSWER_LOANS + 2);
	}
	return DB_OK;
}

static int
read_with(struct db *db, const struct db_query *query, uint64_t request_id,
    struct lockq_answer *answer)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, query, DB_ARGS(db_u64(request_id)), &rows);

	if (rc == DB_OK && rows.n_rows == 0)
		rc = db_refuse(db, "request %llu is gone", (unsigned long long)request_id);
	if (rc == DB_OK)
		rc = fill(answer, &rows);
	if (rc == DB_OK)
		rc = fill_loans(answer, &rows);
	db_rows_clear(&rows);
	return rc;
}

int
answer_read(struct db *db, uint64_t request_id, struct lockq_answer *answer)
{
	return read_with(db, &read_answer, request_id, answer);
}

int
answer_read_own(struct db *db, uint64_t request_id, struct lockq_answer *answer)
{
	return read_with(db, &read_own_answer, request_id, answer);
}

int
answer_prepare(struct db *db)
{
	return db_prepare(db, &read_own_answer);
}

int
answer_rc(struct lockq *q, const struct lockq_answer *answer)
{
	switch (answer->status) {
	case LOCKQ_SERVED:
	case LOCKQ_PARTIAL:
		return LOCKQ_OK;
	case LOCKQ_EMPTY:
		return LOCKQ_NOTHING;
	case LOCKQ_FAILED:
		error_set(q, "task %u: the query failed: %s", answer->task,
		    answer->reason != NULL ? answer->reason : "no reason given");
		return LOCKQ_EQUERY;
	case LOCKQ_REFUSED:
		error_set(q, "request %llu was refused: %s",
		    (unsigned long long)answer->request_id,
		    answer->reason != NULL ? answer->reason : "no reason given");
		return LOCKQ_EREFUSED;
	case LOCKQ_STATUS_UNKNOWN:
		return LOCKQ_EUNKNOWN;
	case LOCKQ_PENDING:
	case LOCKQ_STATUS_CANCELLED:
	case LOCKQ_EXPIRED:
		break;
	}
	return LOCKQ_BUSY;
}

void
lockq_answer_clear(struct lockq_answer *answer)
{
	if (answer == NULL)
		return;
	free(answer->user);
	free(answer->task_name);
	free(answer->leader);
	free(answer->reason);
	free(answer->loans);
	*answer = (struct lockq_answer)LOCKQ_ANSWER_INIT;
}

/* Of the backoff: some two looks a second. */
enum { LOOK_EVERY = 4, LOOK_SLICE_S = 5 };

/* *@found is false where there is none. */
static int
find_request(struct lockq *q, const char *text, struct request *request, bool *found)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	char uuid[UUID_BYTES] = "";
	bool is_id = strspn(text, "0123456789") == strlen(text);
	int rc = DB_OK;

	errno = 0;
	request->request_id = is_id ? strtoull(text, NULL, 10) : 0;
	if (is_id && errno == 0) {
		rc = db_run(q->lock, &find_by_id, DB_ARGS(db_u64(request->request_id)), &rows);
	} else if (strlen(text) == UUID_BYTES - 1 &&
	    strspn(text, "0123456789abcdefABCDEF-") == UUID_BYTES - 1) {
		for (size_t i = 0; text[i] != '\0'; i++)
			uuid[i] = (char)tolower((unsigned char)text[i]);
		rc = db_run(q->lock, &find_by_uuid, DB_ARGS(db_text(uuid)), &rows);
	}
	*found = rc == DB_OK && rows.n_rows > 0;
	if (*found)
		request->request_id = db_cell_u64(&rows, 0, 0);
	db_rows_clear(&rows);
	return rc;
}

/* Looks once; while it is pending, who leads goes into the answer. */
static int
look_once(struct lockq *q, const struct request *request, struct leader *leader,
    struct lockq_answer *answer)
{
	bool held = false, pending = false;
	int rc = answer_read(q->lock, request->request_id, answer);

	if (rc != DB_OK || answer->status != LOCKQ_PENDING)
		return rc;
	/* Who may only read can't keep a request alive, nor see who leads, but may look. */
	rc = request_seen(q->lock, request, 0, &pending);
	if (rc == DB_OK || rc == DB_EFAIL)
		rc = lock_holder(q->lock, answer->task, leader, &held);
	answer->nobody_leads = rc == DB_OK && !held;
	if (rc == DB_OK && held)
		rc = copy_text(&answer->leader, leader->name);
	return rc == DB_EFAIL ? DB_OK : rc;
}

/* Its place in the task's line. Only here: followers who have just woken have no time for it. Where
 * it is not known whether somebody leads, nobody knows how long it takes. */
static int
look_at_line(struct db *db, const struct leader *leader, struct lockq_answer *answer)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t usual_ms = 0;
	int rc = db_run(db, &read_line, DB_ARGS(db_u64(answer->task), db_u64(answer->request_id)),
	    &rows);

	if (rc == DB_OK) {
		answer->position = (uint32_t)db_cell_u64(&rows, 0, 0) + 1;
		answer->loans_ahead = db_cell_u64(&rows, 0, 1);
		rc = task_usual_ms(db, answer->task, &usual_ms);
	}
	db_rows_clear(&rows);
	if (rc != DB_OK || usual_ms == 0 || (answer->leader == NULL && !answer->nobody_leads))
		return rc;
	if (answer->leader == NULL)
		answer->expected_ms = (int64_t)usual_ms;
	else
		answer->expected_ms = usual_ms > leader->ms ? (int64_t)(usual_ms - leader->ms) : 0;
	return rc;
}

/* Who may not wait on task_wake looks now and then; a connection that is lost is made again. */
static int
look_later(struct lockq *q, int rc, struct waiting *waiting, bool *over)
{
	if (rc != DB_EFAIL && rc != DB_ELOST && rc != DB_ECROWDED)
		return rc;
	*over = db_clock_ms() >= waiting->deadline;
	if (*over)
		return rc == DB_EFAIL ? DB_OK : rc;
	if (wait_a_moment(q, LOCKQ_PHASE_WAIT, NULL, LOOK_EVERY, waiting) != DB_OK)
		return DB_ECANCELLED;
	return rc == DB_EFAIL ? DB_OK : session_connect(q);
}

int
lockq_request_look(struct lockq *q, const char *request, int64_t wait_ms,
    struct lockq_answer *answer)
{
	uint64_t start = db_clock_ms();
	struct waiting waiting = {
		.deadline = start + (uint64_t)(wait_ms > 0 ? wait_ms : 0),
		.slice_s = LOOK_SLICE_S, .seen = start
	};
	struct leader leader = { .name = "" };
	struct request found = { .request_id = 0 };
	bool known = true, over = false;
	int rc = session_ready(q);

	q->error[0] = '\0';
	if (rc == DB_OK)
		rc = find_request(q, request, &found, &known);
	if (rc == DB_OK && !known) {
		error_set(q, "there is no request %s", request);
		return LOCKQ_EREFUSED;
	}
	while (rc == DB_OK && !over) {
		rc = look_once(q, &found, &leader, answer);
		if (rc == DB_EFAIL || (rc == DB_OK && answer->status != LOCKQ_PENDING))
			break;
		/* For the progress function; where nobody leads there is none to be seen. */
		if (answer->leader == NULL)
			waiting.usual_ms = 0;
		else if (rc == DB_OK && wait_ms > 0 && waiting.usual_ms == 0)
			rc = task_usual_ms(q->lock, answer->task, &waiting.usual_ms);
		if (rc == DB_OK)
			rc = wait_blocking(q, answer->task, &found, &leader, &waiting, &over);
		rc = look_later(q, rc, &waiting, &over);
	}
	/* What it says is of now, not of before the wait. */
	if (rc == DB_OK && over && wait_ms > 0)
		rc = look_once(q, &found, &leader, answer);
	if (rc == DB_OK && answer->status == LOCKQ_PENDING)
		rc = look_at_line(q->lock, &leader, answer);
	answer->waited_ms = db_clock_ms() - start;
	return rc != DB_OK ? error_from_db(q, q->lock, rc) : answer_rc(q, answer);
}
