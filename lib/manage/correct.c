/* SPDX-License-Identifier: MIT */
/* Managers' corrections: lockq_correct() releases and reassigns loans, takes dispositions back, and
 * has loans offered first; lockq_cancel_for() cancels somebody's request. Procedures of
 * schema/doors do it, and each is one transaction of the server's own. Only an undo runs in a
 * transaction of this program, since it may call the task's on_undo, which must have the rights of
 * the manager's account. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db_record.h"
#include "disposition/disposing.h"
#include "getwork/answer.h"
#include "getwork/request.h"
#include "handle/error.h"
#include "handle/session.h"
#include "manage/managing.h"
#include "rules/task.h"

static DB_QUERY(manage_loans, DB_MANY, "CALL manage_loans_2(?, ?, ?, ?, ?, ?, ?, ?)");
static DB_QUERY(manage_urgent, DB_MANY, "CALL manage_urgent_2(?, ?, ?, ?, ?)");
static DB_QUERY(manage_cancel, DB_ONE, "CALL manage_cancel(?, ?, ?)");
static DB_QUERY(set_users, DB_NO_ROWS, "SET @lockq_users = ?");

/* The columns of the rows of manage_loans_2. */
enum { VERDICT, LOAN_ID, ON_UNDO = 10 };
#define LOAN(member) DB_FIELD(struct lockq_disposed_loan, member)
static const struct db_record loan_record = DB_RECORD(struct lockq_disposed_loan,
    DB_NO_FIELD, LOAN(loan_id), LOAN(state), LOAN(token), LOAN(holder), LOAN(since),
    LOAN(available_at), LOAN(lease_expires_at), LOAN(excluded_until), LOAN(manager));

/* One call of lockq_correct(). Its loans are those of a disposition, which disposition/token.c
 * sorts and for which disposition/on_complete.c calls the procedure. */
struct correcting {
	const struct lockq_correction *what;
	struct lockq_disposition loans;
	struct disposing d;
};

static const char *
action_of(enum lockq_correction_kind kind)
{
	static const char *const words[] = {
		[LOCKQ_RELEASE] = "release", [LOCKQ_REASSIGN] = "reassign", [LOCKQ_UNDO] = "undo",
		[LOCKQ_URGENT] = "urgent mark", [LOCKQ_NOT_URGENT] = "withdrawal"
	};

	return (size_t)kind < sizeof(words) / sizeof(words[0]) ? words[kind] : NULL;
}

static const char *
fault_of(const struct lockq_correction *what)
{
	bool reassigns = what->kind == LOCKQ_REASSIGN;

	if (error_of_reserved(what->reserved) != NULL)
		return error_of_reserved(what->reserved);
	if (action_of(what->kind) == NULL)
		return "the kind of correction is unknown";
	if (what->kind != LOCKQ_NOT_URGENT &&
	    (what->reason == NULL || what->reason[0] == '\0'))
		return "a correction needs a reason";
	if (what->n_loans == 0 || what->n_loans > LOCKQ_DISPOSE_MAX)
		return "a correction names from 1 to 10000 loans";
	if (reassigns && (what->from == NULL || what->to == NULL))
		return "loans are reassigned from one user to another one: name both";
	if (reassigns && strcmp(what->from, what->to) == 0)
		return "loans are reassigned to another user than the one who has them";
	if (!reassigns && what->to != NULL)
		return "only loans that are reassigned go to a user";
	if (what->kind == LOCKQ_UNDO && what->from != NULL)
		return "an undo gives loans back to the users who disposed of them: name none";
	if (what->kind > LOCKQ_UNDO && what->from != NULL)
		return "a loan is urgent for all users: name none";
	return NULL;
}

/* What the procedure says of a loan, and the reason where the word needs one. */
static const struct verdict_of {
	const char *word;
	enum lockq_disposed what;
	const char *reason;
} verdicts[] = {
	{ "done", LOCKQ_DISPOSED, NULL },
	{ "calls", LOCKQ_DISPOSED, NULL },
	{ "already", LOCKQ_DISPOSED_ALREADY, NULL },
	{ "not_assigned", LOCKQ_NOT_ASSIGNED, NULL },
	{ "not_yours", LOCKQ_NOT_YOURS, NULL },
	{ "stale_token", LOCKQ_STALE_TOKEN, NULL },
	{ "lease_over", LOCKQ_LEASE_OVER, NULL },
	{ "full", LOCKQ_NOT_ALLOWED,
	    "the user would have more than the task's max_pipeline allows" },
	{ "excluded", LOCKQ_NOT_ALLOWED, "the user has returned it as one for others" },
	{ "four_eyes", LOCKQ_NOT_ALLOWED, "the user has completed it in the task that "
	    "not_same_user_as names, or has it there" },
	{ "not_again", LOCKQ_NOT_ALLOWED, "the user has completed it, and the task's not_again "
	    "hours are not over" },
	{ "disabled", LOCKQ_NOT_ALLOWED, "its user is disabled" },
	{ "no_on_undo", LOCKQ_NOT_ALLOWED, "the task's on_complete may have changed other data, "
	    "and the task has no on_undo, which would take that back" },
	{ "purged", LOCKQ_NOT_ALLOWED, "the log has no row of it any more" },
	{ "held", LOCKQ_NOT_YOURS, NULL },
	{ "never", LOCKQ_NOT_ALLOWED, "it is never to be offered again" },
};

static const struct verdict_of *
read_verdict(const char *word)
{
	for (size_t i = 0; word != NULL && i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		if (strcmp(verdicts[i].word, word) == 0)
			return &verdicts[i];
	}
	return NULL;
}

/* Fills the results of the loans whose places change, or of @all: the rows are theirs, in the order
 * of loan_id. Then a place changes if its loan is to be corrected. */
static enum db_rc
read_rows(struct db *db, struct disposing *d, const struct db_rows *rows, bool all)
{
	size_t row = 0;
	enum db_rc rc = DB_OK;

	for (size_t i = 0; rc == DB_OK && i < d->n; i++) {
		const struct verdict_of *verdict = read_verdict(db_cell(rows, row, VERDICT));
		struct lockq_disposed_loan *loan = disposing_result(d, i);

		if (!all && !d->places[i].changes)
			continue;
		if (verdict == NULL || db_cell_u64(rows, row, LOAN_ID) != d->places[i].loan_id)
			return db_refuse(db, "manage_loans_2 gave no row for loan %" PRIu64,
			    d->places[i].loan_id);
		loan->what = verdict->what;
		d->places[i].changes = verdict->what == LOCKQ_DISPOSED;
		d->places[i].calls = strcmp(verdict->word, "calls") == 0;
		rc = record_fill(&loan_record, loan, rows, row++, 0);
		if (rc == DB_OK)
			rc = copy_text(&loan->reason, verdict->reason);
	}
	return rc;
}

#define CORRECTION_ARGS(what, step, json) \
	DB_ARGS(db_text((what)->manager), db_text(action_of((what)->kind)), db_text(step), \
	    db_u64((what)->task), db_text(json), db_text((what)->from), db_text((what)->to), \
	    db_text((what)->reason))

/* Whether the rows say that nothing was done at all. *@code is the refusal. */
static bool
refused_whole(struct lockq *q, const struct lockq_correction *what, const struct db_rows *rows,
    int *code)
{
	const char *word = db_cell(rows, 0, VERDICT);

	if (word == NULL || read_verdict(word) != NULL)
		return false;
	if (strcmp(word, "from") == 0)
		*code = error_unknown_user(q, what->from);
	else if (strcmp(word, "to") == 0)
		*code = error_unknown_user(q, what->to);
	else if (strcmp(word, "closed") == 0)
		*code = error_refused(q, "user \"%s\" is disabled: managetask user enable lets the "
		    "user have loans again", what->to);
	else
		*code = error_unknown_task(q, what->task);
	return true;
}

/* Changes the loans by the procedure of the kind. */
static int
run_procedure(struct lockq *q, const struct lockq_correction *what, const char *json,
    struct db_rows *rows)
{
	if (what->kind == LOCKQ_URGENT || what->kind == LOCKQ_NOT_URGENT)
		return managing_run(q, "lockq_manager", &manage_urgent,
		    DB_ARGS(db_text(what->manager), db_u64(what->task), db_text(json),
		    db_bool(what->kind == LOCKQ_NOT_URGENT), db_text(what->reason)),
		    "these loans", rows);
	return managing_run(q, "lockq_manager", &manage_loans,
	    CORRECTION_ARGS(what, "alone", json), "these loans", rows);
}

/* All but an undo, by one transaction of the server's own. */
static int
correct_alone(struct correcting *c)
{
	struct lockq *q = c->d.q;
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct text json = token_json(&c->d, true);
	int code = json.failed ? error_from_db(q, NULL, DB_ENOMEM) : LOCKQ_OK;

	if (code == LOCKQ_OK)
		code = run_procedure(q, c->what, json.data, &rows);
	if (code == LOCKQ_OK && !refused_whole(q, c->what, &rows, &code)) {
		enum db_rc rc = read_rows(q->db, &c->d, &rows, true);

		code = rc == DB_OK ? LOCKQ_OK : managing_untold(q, rc);
	}
	text_clear(&json);
	db_rows_clear(&rows);
	return code;
}

/* Begins the transaction, with what work_completes_2() needs. */
static enum db_rc
begin_undo(struct db *db, const struct disposing *d)
{
	struct text ids = on_complete_ids(d);
	enum db_rc rc = DB_ENOMEM;

	if (!ids.failed)
		rc = db_begin_set(db, "@lockq_ids = CONVERT(? USING ascii),"
		    " @lockq_failed = JSON_ARRAY(), @lockq_ended = 0", DB_ARGS(db_text(ids.data)));
	text_clear(&ids);
	return rc;
}

/* Calls on_undo for the loans that need it, each with the user whose work is taken back. */
static enum db_rc
call_on_undo(struct db *db, struct disposing *d)
{
	struct text users = { NULL, 0, 0, false };
	enum db_rc rc = DB_ENOMEM;

	if (d->on_complete == NULL)
		return DB_OK;
	for (size_t row = 0; row < d->n; row++) {
		const char *holder = disposing_result(d, row)->holder;

		text_add(&users, row == 0 ? "[" : ",");
		text_add_json(&users, holder != NULL ? holder : "");
	}
	text_add(&users, "]");
	if (!users.failed)
		rc = db_run(db, &set_users, DB_ARGS(db_text(users.data)), NULL);
	text_clear(&users);
	return rc == DB_OK ? on_complete_all(db, d) : rc;
}

/* Runs a step of the procedure for the loans that it concerns, and reads what it says. */
static enum db_rc
step_of_undo(struct db *db, struct correcting *c, bool first, struct db_rows *rows)
{
	struct text json = token_json(&c->d, first);
	enum db_rc rc = json.failed ? DB_ENOMEM : db_run(db, &manage_loans,
	    CORRECTION_ARGS(c->what, first ? "judge" : "change", json.data), rows);

	text_clear(&json);
	c->d.task_known = rc == DB_OK && read_verdict(db_cell(rows, 0, VERDICT)) != NULL;
	return c->d.task_known ? read_rows(db, &c->d, rows, first) : rc;
}

static size_t
n_changes(const struct disposing *d)
{
	size_t n = 0;

	for (size_t row = 0; row < d->n; row++)
		n += d->places[row].changes;
	return n;
}

static enum db_rc
undo_once(struct db *db, struct correcting *c)
{
	struct db_rows judged = { 0, 0, NULL, NULL }, changed = { 0, 0, NULL, NULL };
	size_t n;
	enum db_rc rc = begin_undo(db, &c->d);

	c->d.refused = c->d.procedure_waits = false;
	if (rc == DB_OK)
		rc = step_of_undo(db, c, true, &judged);
	c->d.on_complete = db_cell(&judged, 0, ON_UNDO);
	if (rc == DB_OK && c->d.task_known)
		rc = call_on_undo(db, &c->d);
	n = n_changes(&c->d);
	if (rc == DB_OK && c->d.task_known && n > 0)
		rc = step_of_undo(db, c, false, &changed);
	/* What on_undo has changed would stay, and the loan would not be given back. */
	if (rc == DB_OK && n_changes(&c->d) != n)
		rc = db_fail_with(db, DB_ERETRY, "a user or a task has changed meanwhile");
	if (rc == DB_OK)
		rc = db_commit(db);
	if (rc != DB_OK && !db_lost(db))
		db_rollback(db);
	db_rows_clear(&judged);
	db_rows_clear(&changed);
	return on_complete_silent(&c->d, rc);
}

static int
undo(struct correcting *c)
{
	struct lockq *q = c->d.q;
	unsigned int try = 0;
	enum db_rc rc = session_ready(q);

	if (rc != DB_OK)
		return error_from_db(q, q->db, rc);
	do {
		db_count_attempt(q->db, ++try);
		/* What a procedure has set in an earlier try must not stay. */
		rc = db_restore(q->db);
		if (rc == DB_OK) {
			db_set_role(q->db, "lockq_manager");
			rc = undo_once(q->db, c);
		}
	} while (managing_again(q->db, rc, try));
	if (rc == DB_EFAIL && c->d.refused)
		return on_complete_refused(&c->d) == DB_OK ? LOCKQ_OK :
		    error_from_db(q, NULL, DB_ENOMEM);
	if (rc == DB_OK && !c->d.task_known)
		return error_unknown_task(q, c->what->task);
	if (rc == DB_OK)
		return LOCKQ_OK;
	if (c->d.procedure_waits && rc == DB_ELOCKWAIT)
		return error_busy(q, "%s: nothing was changed: try again", c->d.held);
	/* Before its COMMIT a transaction has done nothing. */
	return rc == DB_ELOST || rc == DB_ENOMEM || rc == DB_EINTERRUPTED ?
	    error_from_db(q, q->db, rc) : managing_failed(q, rc, "these loans");
}

/* Returns the code of the worst result. */
static int
overall(struct lockq *q, const struct lockq_correction *what,
    const struct lockq_disposed_result *result)
{
	const struct lockq_disposed_loan *worst = disposing_worst(result);
	char noun[LOCKQ_NOUN_SIZE + 1];

	if (worst == NULL)
		return LOCKQ_OK;
	(void)noun_of(q->db, what->task, 1, noun);
	if (worst->what == LOCKQ_NOT_COMPLETED)
		return error_query(q, "the undo of %s %llu failed: %s", noun,
		    (unsigned long long)worst->loan_id, worst->reason);
	return error_refused(q, "the %s of %s %llu was refused%s%s", action_of(what->kind), noun,
	    (unsigned long long)worst->loan_id,
	    worst->reason != NULL ? ": " : "",
	    worst->reason != NULL ? worst->reason : "");
}

static int
correct(struct lockq *q, const struct lockq_correction *correction,
    struct lockq_disposed_result *result)
{
	struct correcting c = {
		.what = correction,
		.loans = { .task = correction->task, .loans = correction->loans,
		    .n_loans = correction->n_loans },
		.d = { .q = q, .n = correction->n_loans, .undoes = true,
		    .deadline = db_clock_ms() + LOCKQ_DISPOSE_TIMEOUT_MS },
	};
	const char *fault = fault_of(correction);
	bool twice = false;
	int code = managing_check(q, correction->manager, correction->reason);

	lockq_disposed_clear(result);
	if (code != LOCKQ_OK || fault != NULL)
		return code != LOCKQ_OK ? code : error_usage(q, "%s", fault);
	error_clear(q);
	c.d.what = &c.loans;
	result->loans = calloc(c.d.n, sizeof(*result->loans));
	if (result->loans == NULL || token_sort(&c.d, &twice) != DB_OK)
		code = error_from_db(q, NULL, DB_ENOMEM);
	else if (twice)
		code = error_usage(q, "a correction names each loan once");
	result->n_loans = result->loans != NULL ? c.d.n : 0;
	c.d.results = result->loans;
	if (code == LOCKQ_OK)
		code = correction->kind == LOCKQ_UNDO ? undo(&c) : correct_alone(&c);
	free(c.d.places);
	if (code == LOCKQ_OK)
		return overall(q, correction, result);
	lockq_disposed_clear(result);
	return code;
}

int
lockq_correct(struct lockq *q, const struct lockq_correction *correction,
    struct lockq_disposed_result *result)
{
	operation_begin(q, OPERATION_MANAGE, correction->manager, correction->task);
	return operation_end(q, 0, correct(q, correction, result));
}

/* --- lockq_cancel_for() --- */

static int
judge_cancel(struct lockq *q, const char *word, const struct lockq_answer *answer)
{
	if (strcmp(word, "ended") != 0)
		return LOCKQ_OK;
	return error_refused(q, "request %llu of user \"%s\" has ended before: %s",
	    (unsigned long long)answer->request_id, answer->user != NULL ? answer->user : "",
	    lockq_status_name(answer->status));
}

static int
cancel_for(struct lockq *q, const char *manager, const char *request, const char *reason,
    struct lockq_answer *answer)
{
	struct request named = { .request_id = 0 };
	char word[WORD_BYTES], held[64];
	uint64_t id = 0;
	bool found = false;
	int code = managing_check(q, manager, reason);
	enum db_rc rc;

	lockq_answer_clear(answer);
	if (code != LOCKQ_OK)
		return code;
	error_clear(q);
	if (reason == NULL || reason[0] == '\0')
		return error_usage(q, "a correction needs a reason");
	if (request == NULL)
		return error_usage(q, "no request was named");
	rc = session_ready(q);
	if (rc == DB_OK)
		rc = request_find_named(q->db, request, &named, &found);
	if (rc != DB_OK)
		return error_from_db(q, q->db, rc);
	if (!found)
		return error_refused(q, "request \"%s\" is unknown", request);
	snprintf(held, sizeof(held), "request %" PRIu64, named.request_id);
	code = managing_call(q, &manage_cancel, DB_ARGS(db_text(manager),
	    db_u64(named.request_id), db_text(reason)), held, word, &id);
	if (code != LOCKQ_OK)
		return code;
	rc = answer_read(q->db, named.request_id, answer);
	if (rc != DB_OK)
		return managing_untold(q, rc);
	return judge_cancel(q, word, answer);
}

int
lockq_cancel_for(struct lockq *q, const char *manager, const char *request, const char *reason,
    struct lockq_answer *answer)
{
	int code;

	operation_begin(q, OPERATION_MANAGE, manager, 0);
	code = cancel_for(q, manager, request, reason, answer);
	return operation_end(q, answer->request_id, code);
}
