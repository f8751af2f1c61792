/* SPDX-License-Identifier: MIT */
/* Reads how a request ended or stands, for lockq_getwork() and lockq_request_look(). */
#include "getwork/answer.h"

#include <stdlib.h>

#include "db/db_record.h"
#include "db/db_text.h"
#include "rules/outcome_state.h"

/* One statement reads the request, its round and its loans. The loans are from the log, which has
 * them in the list's order, also those that were disposed of since. A follower's call knows the
 * names of its user and its task, so its statement joins fewer tables: with all of them, the
 * median from the commit to the printed loans is one and a half times as long for 20 followers. */
#define ANSWER_COLUMNS(user, task) \
	"SELECT r.request_id, r.uuid, " user ", r.task_id, " task ", r.asked, r.requested," \
	"       r.assigned, r.outcome, r.epoch, r.reason, l.user," \
	"       IF(r.source IS NULL, l.query_ms, NULL), l.as_of," \
	"       r.excluded, COALESCE(r.source, l.how), r.checked, g.loan_id, g.token," \
	"       g.lease_expires_at"
#define ANSWER_TABLES \
	"  LEFT JOIN leader_run AS l" \
	"    ON l.task_id = r.task_id AND l.epoch = r.epoch" \
	"  LEFT JOIN work_log AS g" \
	"    ON g.request_id = r.request_id AND g.event = 'assigned'"
enum { ANSWER_LOANS = 17 };

static DB_QUERY(read_answer, DB_MANY,
    ANSWER_COLUMNS("u.name", "t.name")
    "  FROM work_requested AS r"
    "  JOIN app_user AS u"
    "    ON u.user_id = r.user_id"
    "  JOIN task AS t"
    "    ON t.task_id = r.task_id"
    ANSWER_TABLES
    " WHERE r.request_id = ?"
    " ORDER BY g.log_id");

/* Hundreds of followers that a commit has woken run this one at once. */
static DB_QUERY(read_own_answer, DB_MANY,
    ANSWER_COLUMNS("NULL", "NULL")
    "  FROM work_requested AS r"
    ANSWER_TABLES
    " WHERE r.request_id = ?"
    " ORDER BY g.log_id");

#define ANSWER(member) DB_FIELD(struct lockq_answer, member)
static const struct db_record answer_record = DB_RECORD(struct lockq_answer,
    ANSWER(request_id), ANSWER(uuid), ANSWER(user), ANSWER(task), ANSWER(task_name), ANSWER(asked),
    ANSWER(requested), ANSWER(assigned), DB_NO_FIELD, ANSWER(epoch), ANSWER(reason), ANSWER(leader),
    ANSWER(query_ms), ANSWER(as_of), ANSWER(excluded), ANSWER(how), ANSWER(checked));

static enum db_rc
fill(struct lockq_answer *a, const struct db_rows *rows, size_t first)
{
	a->status = outcome_read(db_cell(rows, 0, first + 8));
	a->nobody_leads = 0;
	a->position = 0;
	a->loans_ahead = 0;
	a->expected_ms = -1;
	return record_fill(&answer_record, a, rows, 0, first);
}

static enum db_rc
fill_loans(struct lockq_answer *a, const struct db_rows *rows, size_t column)
{
	free(a->loans);
	a->n_loans = 0;
	a->loans = calloc(rows->n_rows + 1, sizeof(*a->loans));
	if (a->loans == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; i < rows->n_rows && !db_cell_is_null(rows, i, column); i++) {
		struct lockq_loan *loan = &a->loans[a->n_loans++];

		loan->loan_id = db_cell_u64(rows, i, column);
		loan->token = db_cell_u64(rows, i, column + 1);
		copy_cell(loan->lease_expires_at, sizeof(loan->lease_expires_at), rows, i,
		    column + 2);
	}
	return DB_OK;
}

enum db_rc
answer_fill(struct lockq_answer *answer, const struct db_rows *rows, size_t first)
{
	enum db_rc rc = fill(answer, rows, first);

	return rc == DB_OK ? fill_loans(answer, rows, first + ANSWER_LOANS) : rc;
}

static enum db_rc
read_with(struct db *db, const struct db_query *query, uint64_t request_id,
    struct lockq_answer *answer)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, query, DB_ARGS(db_u64(request_id)), &rows);

	if (rc == DB_OK && rows.n_rows == 0)
		rc = db_refuse(db, "request %llu was purged: ask again",
		    (unsigned long long)request_id);
	if (rc == DB_OK)
		rc = answer_fill(answer, &rows, 0);
	db_rows_clear(&rows);
	return rc;
}

enum db_rc
answer_read(struct db *db, uint64_t request_id, struct lockq_answer *answer)
{
	return read_with(db, &read_answer, request_id, answer);
}

enum db_rc
answer_read_own(struct db *db, uint64_t request_id, struct lockq_answer *answer)
{
	return read_with(db, &read_own_answer, request_id, answer);
}

enum db_rc
answer_prepare(struct db *db)
{
	return db_prepare(db, &read_own_answer);
}

void
lockq_answer_clear(struct lockq_answer *answer)
{
	if (answer == NULL)
		return;
	record_free_texts(&answer_record, answer);
	free(answer->refill_failed);
	free(answer->loans);
	*answer = (struct lockq_answer)LOCKQ_ANSWER_INIT;
}
