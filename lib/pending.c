/* SPDX-License-Identifier: MIT */
/* Step 5's line: who asks, for how many, and what may not go to whom; and how each request ends. */
#include "pending.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Read after the query and under READ COMMITTED, or the requests made meanwhile stay invisible;
 * FOR UPDATE, or one that is being cancelled would be served. The key is in the order of ORDER BY:
 * a sort would lock every row before it passes any on. What a user holds is counted here, under the
 * task's lock: only who has that gives loans. And the cap is the one of now. */
static const struct db_query pending_requests = {
	"pending_requests",
	"SELECT r.request_id, r.user_id, r.requested, r.seen_at < NOW(6) - INTERVAL ? SECOND,"
	"       (SELECT COUNT(*) FROM work_exclusion AS e"
	"         WHERE e.task_id = r.task_id AND e.user_id = r.user_id AND e.until > NOW(6)),"
	"       t.max_pipeline,"
	"       IF(t.max_pipeline IS NULL, 0, " LOANS_HELD("r.user_id", "r.task_id") ")"
	"  FROM work_requested AS r FORCE INDEX (work_requested_line)"
	"  STRAIGHT_JOIN task AS t"
	"    ON t.task_id = r.task_id"
	" WHERE r.task_id = ? AND r.pending = 1"
	" ORDER BY r.request_id"
	"   FOR UPDATE OF r SKIP LOCKED",
	DB_MANY
};

/* In the order of the key, as they are looked up. */
static const struct db_query read_exclusions = {
	"read_exclusions",
	"SELECT e.user_id, e.loan_id"
	"  FROM JSON_TABLE(?, '$[*]' COLUMNS (user_id INT UNSIGNED PATH '$')) AS j"
	"  STRAIGHT_JOIN work_exclusion AS e FORCE INDEX (PRIMARY)"
	"    ON e.task_id = ? AND e.user_id = j.user_id"
	" WHERE e.until > NOW(6)"
	" ORDER BY e.user_id, e.loan_id",
	DB_MANY
};

static const struct db_query end_requests = {
	"end_requests",
	"UPDATE JSON_TABLE(?, '$[*]' COLUMNS (request_id BIGINT UNSIGNED PATH '$[0]',"
	"                                     requested INT UNSIGNED PATH '$[1]',"
	"                                     assigned INT UNSIGNED PATH '$[2]',"
	"                                     outcome VARCHAR(16) PATH '$[3]',"
	"                                     excluded INT UNSIGNED PATH '$[4]',"
	"                                     reason VARCHAR(512) PATH '$[5]')) AS j"
	"  STRAIGHT_JOIN work_requested AS r FORCE INDEX (PRIMARY)"
	"    ON r.request_id = j.request_id"
	"   SET r.requested = j.requested, r.assigned = j.assigned, r.outcome = j.outcome,"
	"       r.excluded = j.excluded, r.epoch = ?, r.reason = COALESCE(j.reason, LEFT(?, 512)),"
	"       r.served_at = NOW(6)"
	" WHERE r.outcome = 'pending'",
	DB_NO_ROWS
};

static void
read_pending(struct queue *line, uint64_t own_request, const struct db_rows *rows, size_t row)
{
	struct pending *c = &line->list[line->n++];

	c->request_id = db_cell_u64(rows, row, 0);
	c->user_id = db_cell_u64(rows, row, 1);
	c->asked = c->requested = (uint32_t)db_cell_u64(rows, row, 2);
	/* No loans for people who left; who waits touches seen_at, and we are here. */
	if (c->request_id != own_request && db_cell_u64(rows, row, 3) != 0) {
		c->outcome = LOCKQ_EXPIRED;
		return;
	}
	c->requested = max_pipeline_fit(db_cell_u64(rows, row, 5), db_cell_u64(rows, row, 6),
	    c->asked, c->reason);
	/* No loan is looked for. */
	if (c->requested == 0) {
		c->outcome = LOCKQ_REFUSED;
		return;
	}
	c->n_excluded = db_cell_u64(rows, row, 4);
	line->wanted += c->requested + c->n_excluded;
	line->n_excluded += c->n_excluded;
}

/* Those of all who have some. */
static enum db_rc
read_excluded(struct db *db, const struct task *task, struct queue *line)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct text users = { NULL, 0, 0, false };
	enum db_rc rc = DB_ENOMEM;

	for (size_t i = 0; i < line->n; i++) {
		if (line->list[i].n_excluded > 0)
			text_add(&users, "%s%" PRIu64, users.used == 0 ? "[" : ",",
			    line->list[i].user_id);
	}
	text_add(&users, "]");
	if (!users.failed)
		rc = db_run(db, &read_exclusions, DB_ARGS(db_text(users.data),
		    db_u64(task->task_id)), &rows);
	text_clear(&users);
	line->n_excluded = 0;
	if (rc == DB_OK) {
		line->excluded = calloc(rows.n_rows + 1, sizeof(*line->excluded));
		rc = line->excluded != NULL ? DB_OK : DB_ENOMEM;
	}
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++)
		line->excluded[line->n_excluded++] = (struct exclusion){
			db_cell_u64(&rows, i, 0), db_cell_u64(&rows, i, 1)
		};
	db_rows_clear(&rows);
	return rc;
}

enum db_rc
pending_read(struct db *db, const struct task *task, uint64_t own_request, struct queue *line)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = db_run(db, &pending_requests, DB_ARGS(db_u64(task->request_ttl),
	    db_u64(task->task_id)), &rows);

	pending_clear(line);
	if (rc == DB_OK) {
		line->list = calloc(rows.n_rows + 1, sizeof(*line->list));
		rc = line->list != NULL ? DB_OK : DB_ENOMEM;
	}
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++)
		read_pending(line, own_request, &rows, i);
	db_rows_clear(&rows);
	return rc == DB_OK && line->n_excluded > 0 ? read_excluded(db, task, line) : rc;
}

static int
compare_exclusion(const void *a, const void *b)
{
	const struct exclusion *x = a, *y = b;

	if (x->user_id != y->user_id)
		return x->user_id < y->user_id ? -1 : 1;
	return (x->loan_id > y->loan_id) - (x->loan_id < y->loan_id);
}

bool
pending_exclude(const struct queue *line, const struct pending *pending, uint64_t loan_id)
{
	struct exclusion wanted = { pending->user_id, loan_id };

	return pending->n_excluded > 0 && bsearch(&wanted, line->excluded, line->n_excluded,
	    sizeof(wanted), compare_exclusion) != NULL;
}

static void
add_ended(struct text *json, const struct pending *c)
{
	bool lowered = c->outcome == LOCKQ_PARTIAL || c->outcome == LOCKQ_EMPTY;

	text_add(json, "%s[%" PRIu64 ",%u,%u,\"%s\",%u", json->used == 0 ? "[" : ",",
	    c->request_id, lowered ? c->given : c->asked, c->given,
	    lockq_status_name(c->outcome), c->excluded);
	if (c->reason[0] != '\0')
		text_add(json, ",\"%s\"", c->reason);
	text_add(json, "]");
}

enum db_rc
pending_write(struct db *db, const struct queue *line, const struct lead *lead,
    const char *reason, size_t *n_ended)
{
	struct text json = { NULL, 0, 0, false };
	size_t n = 0;
	enum db_rc rc = DB_OK;

	for (size_t i = 0; i < line->n; i++) {
		if (line->list[i].outcome == LOCKQ_PENDING)
			continue;
		add_ended(&json, &line->list[i]);
		n++;
	}
	text_add(&json, "]");
	if (json.failed)
		rc = DB_ENOMEM;
	else if (n > 0)
		rc = db_change(db, &end_requests,
		    DB_ARGS(db_text(json.data), db_u64(lead->epoch), db_text(reason)), n);
	text_clear(&json);
	*n_ended += n;
	return rc;
}

void
pending_clear(struct queue *line)
{
	free(line->list);
	free(line->excluded);
	*line = (struct queue){ .list = NULL };
}
