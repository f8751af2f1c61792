/* SPDX-License-Identifier: MIT */
/* What a user says at the end: complete, return later, never. One transaction for all loans. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* By primary key and in key order, so that two dispositions never wait for each other in a ring. */
static const struct db_query lock_loans = {
	"lock_loans",
	"SELECT j.loan_id, w.user_id, u.name, w.state, w.token, w.version, w.changed_at,"
	"       w.available_at, COALESCE(w.lease_expires_at <= NOW(6), 0)"
	"  FROM (SELECT loan_id"
	"          FROM JSON_TABLE(?, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$')) AS ids"
	"         ORDER BY loan_id LIMIT 18446744073709551615) AS j"
	"  LEFT JOIN work AS w FORCE INDEX (PRIMARY)"
	"    ON w.task_id = ? AND w.loan_id = j.loan_id"
	"  LEFT JOIN app_user AS u"
	"    ON u.user_id = w.user_id"
	"   FOR UPDATE OF w",
	DB_MANY
};

#define CHANGE_TABLE \
	"JSON_TABLE(?, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]'," \
	"                              version BIGINT UNSIGNED PATH '$[1]')) AS j"

/* Conditional on the version, though the row is locked: what was not seen is not overwritten. */
static const struct db_query dispose_work = {
	"dispose_work",
	"UPDATE " CHANGE_TABLE
	"  STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)"
	"    ON w.task_id = ? AND w.loan_id = j.loan_id"
	"   SET w.state = ?, w.version = w.version + 1, w.note = ?,"
	"       w.available_at = NOW(6) + INTERVAL ? SECOND, w.due_at = NOW(6) + INTERVAL ? SECOND,"
	"       w.lease_expires_at = NULL, w.changed_at = NOW(6)"
	" WHERE w.state = 'assigned' AND w.user_id = ? AND w.version = j.version",
	DB_NO_ROWS
};

static const struct db_query log_disposed = {
	"log_disposed",
	"INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,"
	"                      request_id, available_at, note, at)"
	" SELECT w.task_id, w.loan_id, w.state, w.user_id, CURRENT_USER(), w.token, w.version,"
	"        w.request_id, w.available_at, w.note, w.changed_at"
	"   FROM " CHANGE_TABLE
	"   STRAIGHT_JOIN work AS w FORCE INDEX (PRIMARY)"
	"     ON w.task_id = ? AND w.loan_id = j.loan_id"
	"  ORDER BY w.loan_id",
	DB_NO_ROWS
};

/* What a lost commit did is in the log, whatever became of the loan since. */
static const struct db_query disposed_before = {
	"disposed_before",
	"SELECT l.loan_id"
	"  FROM JSON_TABLE(?, '$[*]' COLUMNS (loan_id BIGINT UNSIGNED PATH '$[0]',"
	"                                     token BIGINT UNSIGNED PATH '$[1]')) AS j"
	"  STRAIGHT_JOIN work_log AS l"
	"    ON l.task_id = ? AND l.loan_id = j.loan_id"
	" WHERE l.token = j.token AND l.event = ? AND l.user_id = ?"
	" ORDER BY l.loan_id",
	DB_MANY
};

static const char *const states[] = { "completed", "returned", "never" };

enum { NOTE_CHARACTERS = 512, LOANS_MAX = 10000 };

/* One call of lockq_dispose(). */
struct disposing {
	const struct lockq_disposition *what;
	struct lockq_disposed_result *result;
	uint32_t user_id;
	const char *ids;     /* JSON array of the loans */
	struct text tried;   /* JSON array of the loans and tokens that an earlier try changed */
	bool in_doubt;       /* that try may have been committed */
};

void
lockq_disposed_clear(struct lockq_disposed_result *result)
{
	if (result == NULL)
		return;
	for (size_t i = 0; i < result->n_loans; i++)
		free(result->loans[i].holder);
	free(result->loans);
	*result = (struct lockq_disposed_result)LOCKQ_DISPOSED_RESULT_INIT;
}

static enum lockq_disposed
judge(const struct disposing *d, const struct lockq_loan_ref *ref, const struct db_rows *rows,
    size_t row)
{
	const char *state = db_cell(rows, row, 3);
	bool mine = db_cell_u64(rows, row, 1) == d->user_id;
	bool current = ref->token == 0 || ref->token == db_cell_u64(rows, row, 4);

	if (state == NULL)
		return LOCKQ_NOT_ASSIGNED;
	if (mine && current && strcmp(state, states[d->what->kind]) == 0)
		return LOCKQ_DISPOSED_ALREADY;
	if (strcmp(state, "assigned") != 0)
		return LOCKQ_NOT_ASSIGNED;
	if (!mine)
		return LOCKQ_NOT_YOURS;
	if (!current)
		return LOCKQ_STALE_TOKEN;
	return db_cell_u64(rows, row, 8) != 0 ? LOCKQ_LEASE_OVER : LOCKQ_DISPOSED;
}

static int
fill_loan(struct lockq_disposed_loan *loan, const struct db_rows *rows, size_t row)
{
	loan->token = db_cell_u64(rows, row, 4);
	copy_cell(loan->state, sizeof(loan->state), rows, row, 3);
	copy_cell(loan->since, sizeof(loan->since), rows, row, 6);
	copy_cell(loan->available_at, sizeof(loan->available_at), rows, row, 7);
	return copy_text(&loan->holder, db_cell(rows, row, 2));
}

/* Rows come in the order of loan ids, the caller's loans in any. */
static size_t
row_of(const struct db_rows *rows, uint64_t loan_id)
{
	size_t low = 0, high = rows->n_rows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (db_cell_u64(rows, middle, 0) < loan_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The loans that an earlier try, whose commit was lost, is seen to have changed. */
static int
read_done(struct db *db, const struct disposing *d, struct db_rows *done)
{
	if (!d->in_doubt || d->tried.used == 0)
		return DB_OK;
	return db_run(db, &disposed_before, DB_ARGS(db_text(d->tried.data), db_u64(d->what->task),
	    db_text(states[d->what->kind]), db_u64(d->user_id)), done);
}

/* Locks the loans and says of each what is to become of it; @change gets those that change. */
static int
judge_all(struct db *db, struct disposing *d, struct text *change, uint64_t *n_change)
{
	struct db_rows rows = { 0, 0, NULL, NULL }, done = { 0, 0, NULL, NULL };
	int rc = db_run(db, &lock_loans, DB_ARGS(db_text(d->ids), db_u64(d->what->task)), &rows);

	*n_change = 0;
	if (rc == DB_OK)
		rc = read_done(db, d, &done);
	text_clear(&d->tried);
	for (size_t i = 0; rc == DB_OK && i < d->what->n_loans; i++) {
		const struct lockq_loan_ref *ref = &d->what->loans[i];
		struct lockq_disposed_loan *loan = &d->result->loans[i];
		size_t row = row_of(&rows, ref->loan_id), log_row = row_of(&done, ref->loan_id);
		bool is_done = log_row < done.n_rows &&
		    db_cell_u64(&done, log_row, 0) == ref->loan_id;

		loan->loan_id = ref->loan_id;
		loan->what = is_done ? LOCKQ_DISPOSED : judge(d, ref, &rows, row);
		rc = fill_loan(loan, &rows, row);
		if (loan->what != LOCKQ_DISPOSED)
			continue;
		text_add(&d->tried, "%s[%" PRIu64 ",%" PRIu64 "]", d->tried.used == 0 ? "[" : ",",
		    ref->loan_id, loan->token);
		if (!is_done)
			text_add(change, "%s[%" PRIu64 ",%" PRIu64 "]",
			    (*n_change)++ == 0 ? "[" : ",", ref->loan_id,
			    db_cell_u64(&rows, row, 5));
	}
	text_add(change, "]");
	if (d->tried.used > 0)
		text_add(&d->tried, "]");
	db_rows_clear(&rows);
	db_rows_clear(&done);
	return rc == DB_OK && (change->failed || d->tried.failed) ? DB_ENOMEM : rc;
}

static int
dispose_body(struct db *db, void *data)
{
	struct disposing *d = data;
	const struct lockq_disposition *what = d->what;
	struct text change = { NULL, 0, 0, false };
	struct db_arg after = what->kind == LOCKQ_RETURN ? db_u64(what->return_after_s) : db_null();
	uint64_t n = 0;
	int rc = judge_all(db, d, &change, &n);

	if (rc == DB_OK && n > 0)
		rc = db_change(db, &dispose_work, DB_ARGS(db_text(change.data), db_u64(what->task),
		    db_text(states[what->kind]), db_text(what->note), after, after,
		    db_u64(d->user_id)), n);
	if (rc == DB_OK && n > 0)
		rc = db_change(db, &log_disposed, DB_ARGS(db_text(change.data),
		    db_u64(what->task)), n);
	text_clear(&change);
	return rc;
}

/* What the rows say after the change, so that an answer shows the server's times. */
static int
refresh(struct db *db, struct disposing *d)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	int rc = db_run(db, &lock_loans, DB_ARGS(db_text(d->ids), db_u64(d->what->task)), &rows);

	for (size_t i = 0; rc == DB_OK && i < d->what->n_loans; i++)
		rc = fill_loan(&d->result->loans[i], &rows,
		    row_of(&rows, d->what->loans[i].loan_id));
	db_rows_clear(&rows);
	return rc;
}

static int
dispose_and_refresh(struct db *db, void *data)
{
	int rc = dispose_body(db, data);

	return rc == DB_OK ? refresh(db, data) : rc;
}

/* A connection lost on the way: the same again on a new one, which waits for the old transaction's
 * end. What that one did is found done, by this user, under this token. */
static int
dispose_surely(struct lockq *q, struct disposing *d)
{
	int rc = db_transaction(q->lock, dispose_and_refresh, d, NULL);

	/* What rolling back cures was tried again there, to its bound. */
	for (unsigned int try = 0; try < DB_TRIES; try++) {
		d->in_doubt = d->in_doubt || rc == DB_EINDOUBT;
		if (rc != DB_EINDOUBT && rc != DB_ELOST && rc != DB_ECROWDED)
			break;
		db_backoff(try);
		rc = handle_connect(q);
		if (rc == DB_OK && d->in_doubt)
			rc = db_set_lock_wait(q->lock, DB_RESOLVE_WAIT_S);
		if (rc == DB_OK)
			rc = db_transaction(q->lock, dispose_and_refresh, d, NULL);
		else if (rc == DB_EFAIL)
			rc = DB_ELOST;
	}
	/* It may have been done: no failure afterwards says that it was not. */
	return rc != DB_OK && d->in_doubt ? DB_EINDOUBT : rc;
}

static size_t
characters(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static int
compare_ref(const void *a, const void *b)
{
	const struct lockq_loan_ref *x = a, *y = b;

	return (x->loan_id > y->loan_id) - (x->loan_id < y->loan_id);
}

static bool
has_duplicates(const struct lockq_disposition *what)
{
	struct lockq_loan_ref *sorted = calloc(what->n_loans, sizeof(*sorted));
	bool found = sorted == NULL;

	for (size_t i = 0; sorted != NULL && i < what->n_loans; i++)
		sorted[i] = what->loans[i];
	if (sorted != NULL)
		qsort(sorted, what->n_loans, sizeof(*sorted), compare_ref);
	for (size_t i = 1; sorted != NULL && i < what->n_loans; i++)
		found = found || sorted[i].loan_id == sorted[i - 1].loan_id;
	free(sorted);
	return found;
}

static int
check_what(struct lockq *q, const struct lockq_disposition *what)
{
	const char *fault = NULL;

	if (what->n_loans == 0 || what->n_loans > LOANS_MAX)
		fault = "name 1 to 10000 loans";
	else if ((unsigned int)what->kind >= sizeof(states) / sizeof(states[0]))
		fault = "no such disposition";
	else if (what->kind == LOCKQ_RETURN && what->return_after_s > LOCKQ_RETURN_AFTER_MAX)
		fault = "a loan can be returned for 0 to 72 hours";
	else if (what->note != NULL && characters(what->note) > NOTE_CHARACTERS)
		fault = "a note has 512 characters at most";
	else if (has_duplicates(what))
		fault = "name each loan once";
	if (fault != NULL)
		error_set(q, "%s", fault);
	return fault == NULL ? LOCKQ_OK : LOCKQ_EUSAGE;
}

static int
result_new(struct disposing *d, struct text *ids)
{
	for (size_t i = 0; i < d->what->n_loans; i++)
		text_add(ids, "%s%" PRIu64, i == 0 ? "[" : ",", d->what->loans[i].loan_id);
	text_add(ids, "]");
	d->ids = ids->data;
	d->result->loans = calloc(d->what->n_loans, sizeof(*d->result->loans));
	d->result->n_loans = d->result->loans != NULL ? d->what->n_loans : 0;
	return d->result->loans != NULL && !ids->failed ? DB_OK : DB_ENOMEM;
}

static int
overall(struct lockq *q, const struct lockq_disposed_result *result)
{
	for (size_t i = 0; i < result->n_loans; i++) {
		if (result->loans[i].what > LOCKQ_DISPOSED_ALREADY) {
			error_set(q, "loan %llu was refused",
			    (unsigned long long)result->loans[i].loan_id);
			return LOCKQ_EREFUSED;
		}
	}
	return LOCKQ_OK;
}

int
lockq_dispose(struct lockq *q, const struct lockq_disposition *disposition,
    struct lockq_disposed_result *result)
{
	struct disposing d = { .what = disposition, .result = result };
	struct text ids = { NULL, 0, 0, false };
	struct task task;
	int rc;

	lockq_disposed_clear(result);
	q->error[0] = '\0';
	rc = check_what(q, disposition);
	if (rc != LOCKQ_OK)
		return rc;
	rc = handle_ready(q);
	if (rc != DB_OK)
		return error_from_db(q, q->lock, rc);
	rc = task_and_user(q, disposition->user, disposition->task, &task, &d.user_id);
	if (rc != LOCKQ_OK)
		return rc;
	rc = result_new(&d, &ids);
	if (rc == DB_OK)
		rc = dispose_surely(q, &d);
	text_clear(&ids);
	text_clear(&d.tried);
	if (rc != DB_OK) {
		lockq_disposed_clear(result);
		rc = error_from_db(q, q->lock, rc);
		if (rc == LOCKQ_EUNKNOWN)
			error_unknown(q);
		return rc;
	}
	return overall(q, result);
}
