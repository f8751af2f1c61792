/* SPDX-License-Identifier: MIT */
/* lockq_dispose(): completes or returns loans, or renews their leases, in one transaction. What
 * becomes of a loan is in this folder:
 *
 *   token.c            judges and changes the loans of a call
 *   on_complete.c      calls the task's procedure
 *   repeated.c         answers a call that was made before
 *   held_loan.c        says which session holds a loan
 *   dispose_and_ask.c  takes the next loans in the same commit
 *   expire.c           cron's work: leases that are over, forgotten requests, old rows
 *   expire_batch.c     the same, a page of rows at a time */
#include <stdio.h>
#include <stdlib.h>

#include "disposition/disposing.h"
#include "getwork/request.h"
#include "handle/error.h"
#include "handle/progress.h"
#include "handle/retry.h"
#include "handle/session.h"
#include "rules/task.h"

/* The values go into user variables once, so the later statements have no parameters and are one
 * round trip each. @lockq_at is taken once, so that the answer has the times that are written. */
static const char said[] =
	"@lockq_at = NOW(6), @lockq_task = ?,"
	" @lockq_user = CONVERT(? USING utf8mb4) COLLATE utf8mb4_0900_as_cs,"
	" @lockq_event = CONVERT(? USING utf8mb4) COLLATE utf8mb4_0900_as_cs,"
	" @lockq_loans = ?, @lockq_failed = JSON_ARRAY(), @lockq_ended = 0,"
	" @lockq_after = ?, @lockq_not_me = ?,"
	" @lockq_note = CONVERT(? USING utf8mb4) COLLATE utf8mb4_0900_as_cs,"
	" @lockq_ids = CONVERT(? USING ascii),"
	" @lockq_uuid = CONVERT(? USING ascii) COLLATE ascii_bin";

void
lockq_disposed_clear(struct lockq_disposed_result *result)
{
	if (result == NULL)
		return;
	for (size_t i = 0; i < result->n_loans; i++) {
		free(result->loans[i].holder);
		free(result->loans[i].reason);
		free(result->loans[i].manager);
	}
	free(result->loans);
	*result = (struct lockq_disposed_result)LOCKQ_DISPOSED_RESULT_INIT;
}

/* Begins the transaction and sets the user variables. */
static enum db_rc
say(struct db *db, const struct disposing *d)
{
	const struct lockq_disposition *what = d->what;
	struct text loans = token_json(d, true), ids = on_complete_ids(d);
	const char *event = what->kind == LOCKQ_RENEW ? "renewed" : state_name(d->state);
	bool returns = what->kind == LOCKQ_RETURN;
	enum db_rc rc = DB_ENOMEM;

	if (!loans.failed && !ids.failed)
		rc = db_begin_set(db, said, DB_ARGS(db_u64(what->task), db_text(what->user),
		    db_text(event), db_text(loans.data),
		    returns ? db_u64(what->return_after_s) : db_null(),
		    returns && what->not_me_s > 0 ? db_u64(what->not_me_s) : db_null(),
		    db_text(what->note), db_text(ids.data), db_text(d->uuid)));
	text_clear(&loans);
	text_clear(&ids);
	return rc;
}

/* The transaction without its COMMIT: with it six round trips, however many loans there are, and
 * one for each CALL. */
static enum db_rc
dispose_body(struct db *db, void *data)
{
	struct disposing *d = data;
	struct db_rows rows = { 0, 0, NULL, NULL };
	enum db_rc rc = say(db, d);

	d->user_known = d->task_known = d->repeats = d->uuid_taken = d->procedure_waits =
	    d->refused = false;
	if (rc == DB_OK)
		rc = token_judge(db, d, &rows);
	if (rc == DB_OK && d->repeats)
		rc = repeated_answer(db, d);
	if (rc == DB_OK && d->n_change > 0)
		rc = on_complete_all(db, d);
	if (rc == DB_OK && d->n_change > 0)
		rc = token_change(db, d, &rows);
	db_rows_clear(&rows);
	return rc;
}

bool
disposing_gives_up(struct lockq *q)
{
	struct ticking ticking = {
		.q = q, .phase = LOCKQ_PHASE_DISPOSE, .since = q->operating.since
	};

	/* As in other waits, the caller is not asked about a moment. */
	return db_clock_ms() - ticking.since >= TICK_SLICE_MS && tick(&ticking) != 0;
}

/* Without the last part where a loan is refused, or nothing is changed, or the caller gives up, and
 * where that part has failed: the disposition is tried again then. */
static enum db_rc
commit(struct disposing *d)
{
	const struct lockq_disposed_result result = { .loans = d->results, .n_loans = d->n };
	struct db *db = d->q->db;
	struct last_part *last = d->last;
	enum db_rc rc;

	/* What was found is told, also where the connection is lost here. */
	if (d->n_change == 0) {
		db_rollback(db);
		return DB_OK;
	}
	if (last == NULL || disposing_worst(&result) != NULL || disposing_gives_up(d->q))
		return db_commit(db);
	d->last = NULL;
	rc = last->run(db, last->data);
	return rc == DB_OK || rc == DB_EINDOUBT ? rc : DB_ERETRY;
}

static enum db_rc
dispose_once(struct disposing *d)
{
	struct db *db = d->q->db;
	/* What a procedure has set in an earlier try must not stay. */
	enum db_rc rc = db_restore(db);

	db_count_attempt(db, ++d->attempt);
	if (rc == DB_OK)
		rc = dispose_body(db, d);
	if (rc == DB_OK)
		rc = commit(d);
	if (rc != DB_OK && !db_lost(db))
		db_rollback(db);
	return on_complete_silent(d, rc);
}

/* Another session holds what the disposition needs; the server has said so after a second. DB_OK
 * where there is time to try again. */
static enum db_rc
wait_for_holder(struct disposing *d, uint64_t since)
{
	struct ticking ticking = {
		.q = d->q, .phase = LOCKQ_PHASE_RETRY, .since = since, .detail = d->held
	};

	error_set_detail(d->q, d->q->db);
	/* Where a table is locked this look takes a second, too. */
	if (!d->procedure_waits && d->what->timeout_ms != 0 &&
	    (d->held[0] == '\0' || db_clock_ms() < d->deadline))
		held_loan(d->q->db, d->what->task, d->held);
	if (d->held[0] == '\0')
		snprintf(d->held, sizeof(d->held), HELD_UNKNOWN);
	if (db_clock_ms() >= d->deadline)
		return DB_ELOCKWAIT;
	if (tick(&ticking) != 0)
		return DB_ECANCELLED;
	db_backoff(0);
	return DB_OK;
}

/* @ready tells whether there is a connection. Tries until it is done, until its time is over where
 * other sessions hold what it needs or the server is away, and a few times after other failures.
 * After a lost connection the whole transaction is run again on a new one. Its locks wait for the
 * old transaction to end, and if that was committed, the log has this call's UUID, as it has that
 * of an earlier call of the user's with the same one. */
static enum db_rc
dispose_surely(struct disposing *d, enum db_rc ready)
{
	uint64_t since = db_clock_ms();
	struct ticking ticking = { .q = d->q, .phase = LOCKQ_PHASE_RETRY, .since = since };
	/* To connect may have taken all of its time. */
	uint64_t patience = d->deadline > since ? d->deadline - since : 0;
	enum db_rc rc = ready == DB_OK ? dispose_once(d) : ready;

	for (unsigned int try = 0;;) {
		enum verdict verdict;

		d->in_doubt = d->in_doubt || rc == DB_EINDOUBT;
		if (rc == DB_ELOCKWAIT) {
			rc = wait_for_holder(d, since);
			if (rc != DB_OK)
				break;
			rc = dispose_once(d);
			continue;
		}
		d->fails_over = d->fails_over || rc == DB_ELOST || rc == DB_EINDOUBT;
		verdict = retry_verdict(rc, db_is_behind(d->q->db), try, db_clock_ms() - since,
		    retry_patience(rc, d->fails_over, patience));
		if (verdict == GIVE_UP)
			break;
		ticking.detail = db_error(d->q->db);
		if (verdict != AGAIN && tick(&ticking) != 0) {
			rc = DB_ECANCELLED;
			break;
		}
		db_backoff(try++);
		rc = verdict == AGAIN ? DB_OK : session_connect(d->q);
		if (rc == DB_OK)
			rc = dispose_once(d);
	}
	/* A lost COMMIT may have been done, and a later failure does not tell that it was not. */
	return rc < 0 && d->in_doubt && !d->refused ? DB_EINDOUBT : rc;
}

static const char *
fault_of(const struct lockq_disposition *what)
{
	char uuid[UUID_BYTES];

	if (error_of_reserved(what->reserved) != NULL)
		return error_of_reserved(what->reserved);
	if (what->user == NULL)
		return "no user was named";
	if (what->n_loans == 0 || what->n_loans > LOCKQ_DISPOSE_MAX)
		return "a disposition names from 1 to 10000 loans";
	if ((unsigned int)what->kind > LOCKQ_RENEW)
		return "the kind of disposition is unknown";
	if (what->kind == LOCKQ_RETURN && what->return_after_s > LOCKQ_RETURN_AFTER_MAX)
		return "a loan can be returned for 0 to 72 hours";
	if (what->not_me_s > 0 && what->kind != LOCKQ_RETURN)
		return "only a loan that is returned can be kept from being offered to its user";
	if (what->not_me_s > LOCKQ_NOT_ME_MAX)
		return "a loan can be kept from its user for 366 days at most";
	if (what->uuid != NULL && !request_read_uuid(uuid, what->uuid))
		return "the UUID of a disposition is none";
	if (what->note != NULL && text_characters(what->note) > LOCKQ_NOTE_MAX)
		return "a note has 512 characters at most";
	return NULL;
}

/* Returns the code of the worst result. */
static int
overall(struct lockq *q, uint32_t task, const struct lockq_disposed_result *result)
{
	const struct lockq_disposed_loan *worst = disposing_worst(result);
	char noun[LOCKQ_NOUN_SIZE + 1];

	if (worst == NULL)
		return LOCKQ_OK;
	(void)noun_of(q->db, task, 1, noun);
	if (worst->what == LOCKQ_NOT_COMPLETED)
		return error_query(q, "%s %llu was not completed: %s", noun,
		    (unsigned long long)worst->loan_id, worst->reason);
	if (worst->what == LOCKQ_NOT_ALLOWED)
		return error_refused(q, "%s %llu was not completed: %s", noun,
		    (unsigned long long)worst->loan_id, worst->reason);
	return error_refused(q, "the disposition of %s %llu was refused", noun,
	    (unsigned long long)worst->loan_id);
}

static int
settle(const struct disposing *d, enum db_rc rc, struct lockq_disposed_result *result)
{
	struct lockq *q = d->q;

	if (rc == DB_OK && d->user_known && d->task_known && d->other_account[0] == '\0' &&
	    !d->uuid_taken)
		return overall(q, d->what->task, result);
	lockq_disposed_clear(result);
	if (rc == DB_ELOCKWAIT)
		return error_busy(q, "%s: nothing was changed: try again", d->held);
	/* The caller has given up before the COMMIT. */
	if (rc == DB_ECANCELLED)
		return error_cancelled(q, "interrupted: nothing was changed");
	if (rc == DB_OK && !d->user_known)
		return error_unknown_user(q, d->what->user);
	if (rc == DB_OK && !d->task_known)
		return error_unknown_task(q, d->what->task);
	if (rc == DB_OK && d->other_account[0] != '\0')
		return error_other_account(q, d->what->user, d->other_account);
	if (rc == DB_OK)
		return error_refused(q, "UUID \"%s\" was used for another disposition: repeat that "
		    "one as it was, or choose another UUID", d->uuid);
	return error_from_db(q, q->db, rc);
}

int
dispose(struct lockq *q, const struct lockq_disposition *disposition,
    struct last_part *last, struct lockq_disposed_result *result)
{
	static const enum state states[] = {
		[LOCKQ_COMPLETE] = COMPLETED, [LOCKQ_RETURN] = RETURNED, [LOCKQ_NEVER] = NEVER,
		[LOCKQ_RENEW] = ASSIGNED
	};
	struct disposing d = { .q = q, .what = disposition, .n = disposition->n_loans,
		.last = last };
	const char *fault = fault_of(disposition);
	bool twice = false;
	enum db_rc rc = DB_OK, ready = DB_OK;

	lockq_disposed_clear(result);
	error_clear(q);
	if (fault == NULL)
		rc = token_sort(&d, &twice);
	if (fault != NULL || twice) {
		free(d.places);
		return error_usage(q, "%s", twice ? "a disposition names each loan once" : fault);
	}
	d.state = states[disposition->kind];
	d.deadline = db_clock_ms() + (disposition->timeout_ms < 0 ? LOCKQ_DISPOSE_TIMEOUT_MS :
	    (uint64_t)disposition->timeout_ms);
	/* A fresh connection is not pinged, since dispose_surely() goes on after a lost one. */
	if (rc == DB_OK && (q->db == NULL || !db_is_fresh(q->db)))
		ready = session_ready(q);
	if (rc == DB_OK) {
		result->loans = calloc(d.n, sizeof(*result->loans));
		result->n_loans = result->loans != NULL ? d.n : 0;
		rc = result->loans != NULL ? DB_OK : DB_ENOMEM;
	}
	d.results = result->loans;
	if (disposition->uuid == NULL || !request_read_uuid(d.uuid, disposition->uuid))
		request_make_uuid(d.uuid);
	if (rc == DB_OK)
		rc = dispose_surely(&d, ready);
	/* What was given up is ended on the server, or it keeps the loans locked. A procedure that
	 * runs with its definer's rights can't be killed by this account. It goes on until its end,
	 * and is rolled back then. */
	if (rc == DB_ECANCELLED && db_lost(q->db))
		(void)!session_abandon(q);
	/* It had loans to change when the last part was run. */
	if (last != NULL)
		last->was_done = rc == DB_OK && d.last == NULL && d.n_change == 0;
	if (rc == DB_EFAIL && d.refused)
		rc = on_complete_refused(&d);
	free(d.places);
	return settle(&d, rc, result);
}

int
lockq_dispose(struct lockq *q, const struct lockq_disposition *disposition,
    struct lockq_disposed_result *result)
{
	operation_begin(q, OPERATION_DISPOSITION, disposition->user,
	    disposition->task);
	return operation_end(q, 0, dispose(q, disposition, NULL, result));
}
