/* SPDX-License-Identifier: MIT */
/* Leases: what ends a lease, what renews it, and what a late user is told. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

enum { LOANS = 500 };

static struct worker *
with_leases(unsigned int n)
{
	struct worker *w;

	add_loans(TASK, n);
	set_task(TASK, "lease_minutes = 60");
	w = ask_now(0, TASK, n);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, n);
	return w;
}

/* Disposes of one loan. */
static int
say(struct worker *by, enum lockq_disposition_kind kind, uint64_t loan_id, uint64_t token,
    struct lockq_disposed_result *result)
{
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_loan_ref loan = { loan_id, token };

	what.user = by->ask.user;
	what.task = TASK;
	what.kind = kind;
	what.loans = &loan;
	what.n_loans = 1;
	return lockq_dispose(by->q, &what, result);
}

static void
assert_said(struct worker *by, enum lockq_disposition_kind kind, uint64_t loan_id,
    enum lockq_disposed what)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;

	assert_int_equal(say(by, kind, loan_id, 0, &result), what <= LOCKQ_DISPOSED_ALREADY ?
	    LOCKQ_OK : LOCKQ_EREFUSED);
	assert_int_equal(result.loans[0].what, what);
	lockq_disposed_clear(&result);
}

/* Makes the loan's lease end a minute ago. */
static void
run_out(uint64_t loan_id)
{
	sql("UPDATE work SET lease_expires_at = NOW(6) - INTERVAL 1 MINUTE,"
	    " due_at = NOW(6) - INTERVAL 1 MINUTE WHERE task_id = %d AND loan_id = %" PRIu64, TASK,
	    loan_id);
}

/* Ends each assignment whose lease has run out, as cron does. */
static void
let_cron_run(void)
{
	struct lockq_expire what = LOCKQ_EXPIRE_INIT;
	struct lockq_expired did = LOCKQ_EXPIRED_INIT;
	struct worker *cron = worker_connected(2, TASK, 1);

	assert_int_equal(lockq_expire(cron->q, &what, &did), LOCKQ_OK);
}

/* Returns the events of loan 1 with their versions. */
static const char *
log_of_it(void)
{
	return text_of("SELECT GROUP_CONCAT(event, version ORDER BY log_id) FROM work_log"
	    " WHERE task_id = %d AND loan_id = 1", TASK);
}

static void
it_is_renewed(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w = with_leases(1);

	(void)state;
	sql("UPDATE work SET lease_expires_at = NOW(6) + INTERVAL 1 MINUTE,"
	    " due_at = lease_expires_at WHERE task_id = %d", TASK);
	assert_int_equal(say(w, LOCKQ_RENEW, 1, 1, &result), LOCKQ_OK);
	assert_int_equal(result.loans[0].what, LOCKQ_DISPOSED);
	assert_string_equal(result.loans[0].state, "assigned");
	assert_int_equal(u64("SELECT state = 'assigned' AND version = 2 AND token = 1"
	    " AND lease_expires_at = '%s' AND due_at = lease_expires_at"
	    " AND lease_expires_at = changed_at + INTERVAL 60 MINUTE FROM work"
	    " WHERE task_id = %d", result.loans[0].lease_expires_at, TASK), 1);
	assert_int_equal(u64("SELECT COUNT(*) FROM work AS w JOIN work_log AS l"
	    " USING (task_id, loan_id, user_id, token, version, request_id, lease_expires_at)"
	    " WHERE w.task_id = %d AND l.event = 'renewed' AND l.at = w.changed_at", TASK), 1);
	/* A second renewal is a change of its own. The assignment stays the same. */
	assert_said(w, LOCKQ_RENEW, 1, LOCKQ_DISPOSED);
	assert_int_equal(say(w, LOCKQ_COMPLETE, 1, 1, &result), LOCKQ_OK);
	assert_int_equal(u64("SELECT version = 4 AND lease_expires_at IS NULL AND due_at IS NULL"
	    " FROM work WHERE task_id = %d", TASK), 1);
	assert_said(w, LOCKQ_RENEW, 1, LOCKQ_NOT_ASSIGNED);
	assert_consistent(TASK);
	lockq_disposed_clear(&result);
}

static void
without_a_lease_there_is_nothing_to_renew(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 1);
	w = ask_now(0, TASK, 1);
	assert_said(w, LOCKQ_RENEW, 1, LOCKQ_DISPOSED_ALREADY);
	/* A renewal gives no lease to an assignment that had none. */
	set_task(TASK, "lease_minutes = 60");
	assert_said(w, LOCKQ_RENEW, 1, LOCKQ_DISPOSED_ALREADY);
	assert_int_equal(u64("SELECT version = 1 AND lease_expires_at IS NULL FROM work"
	    " WHERE task_id = %d", TASK), 1);
}

/* The task has no lease any more, so a renewal takes the limit away. */
static void
a_limit_that_was_lifted(void **state)
{
	struct worker *w = with_leases(1);

	(void)state;
	set_task(TASK, "lease_minutes = NULL");
	assert_said(w, LOCKQ_RENEW, 1, LOCKQ_DISPOSED);
	assert_int_equal(u64("SELECT lease_expires_at IS NULL AND due_at IS NULL FROM work"
	    " WHERE task_id = %d", TASK), 1);
}

static const enum lockq_disposition_kind kinds[] = {
	LOCKQ_NEVER, LOCKQ_RENEW, LOCKQ_RETURN, LOCKQ_COMPLETE
};
enum { NEVER_LATE = 2 }; /* the kinds before it are refused after the end of the lease */

/* A user whose lease has run out does not withdraw the loan, whatever happened to it since, nor
 * renew it where the task counts what a user has. Somebody else's loan is not completed either. */
static void
who_is_late(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w = with_leases(1), *other;

	(void)state;
	set_task(TASK, "max_pipeline = 5");
	run_out(1);
	for (size_t i = 0; i < NEVER_LATE; i++)
		assert_said(w, kinds[i], 1, LOCKQ_LEASE_OVER);
	/* Cron has returned the loan, so it is nobody's. The user had not returned it. */
	let_cron_run();
	for (size_t i = 0; i < NEVER_LATE; i++)
		assert_said(w, kinds[i], 1, LOCKQ_LEASE_OVER);
	other = ask_now(1, TASK, 1);
	assert_int_equal(other->rc, LOCKQ_OK);
	for (size_t i = 0; i < 4; i++) {
		assert_said(w, kinds[i], 1, LOCKQ_NOT_YOURS);
		assert_int_equal(say(w, kinds[i], 1, 1, &result), LOCKQ_EREFUSED);
		assert_int_equal(result.loans[0].what, LOCKQ_STALE_TOKEN);
		assert_string_equal(result.loans[0].holder, user(1));
		assert_int_equal(u64("SELECT assigned_at = '%s' FROM work WHERE task_id = %d",
		    result.loans[0].since, TASK), 1);
	}
	assert_said(other, LOCKQ_COMPLETE, 1, LOCKQ_DISPOSED);
	lockq_disposed_clear(&result);
}

/* guard: late work is taken as long as nobody else has been given the loan. It does not matter
 * whether cron has noted the end of the lease. */
static void
late_work_is_taken(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct worker *w = with_leases(1);
		bool by_cron = i % 2 == 1;

		run_out(1);
		if (by_cron)
			let_cron_run();
		assert_int_equal(say(w, LOCKQ_COMPLETE, 1, i < 2 ? 0 : 1, &result), LOCKQ_OK);
		assert_int_equal(result.loans[0].what, LOCKQ_DISPOSED);
		assert_int_equal(result.loans[0].late, 1);
		assert_string_equal(result.loans[0].state, "completed");
		assert_string_equal(log_of_it(), "assigned1,expired2,completed3");
		/* The completion is not before the end of the lease, which the answer tells. */
		assert_int_equal(u64("SELECT COUNT(*) FROM work AS w JOIN work_log AS l"
		    " USING (task_id, loan_id, user_id, token, version, request_id)"
		    " JOIN work_log AS e USING (task_id, loan_id, user_id, token, request_id)"
		    " WHERE w.task_id = %d AND w.state = 'completed' AND l.event = 'completed'"
		    " AND w.lease_expires_at IS NULL AND w.due_at IS NULL AND l.at = w.changed_at"
		    " AND l.at = '%s' AND e.event = 'expired' AND e.version = 2 AND e.at <= l.at"
		    " AND e.lease_expires_at = '%s' AND e.available_at = e.lease_expires_at"
		    " AND e.uuid IS NULL AND l.uuid IS NOT NULL", TASK, result.loans[0].since,
		    result.loans[0].lease_expires_at), 1);
		assert_consistent(TASK);
		assert_said(w, LOCKQ_COMPLETE, 1, LOCKQ_DISPOSED_ALREADY);
		assert_said(w, LOCKQ_NEVER, 1, LOCKQ_NOT_ASSIGNED);
		lockq_disposed_clear(&result);
		start_again();
	}
}

/* A lease is renewed late, and a loan returned late, by the same rules: the log has the end of the
 * lease before it. */
static void
a_late_return_or_renewal_is_taken(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;

	(void)state;
	for (int i = 0; i < 4; i++) {
		enum lockq_disposition_kind kind = i < 2 ? LOCKQ_RETURN : LOCKQ_RENEW;
		struct worker *w = with_leases(1), *other;

		set_task(TASK, "max_pipeline = NULL");
		run_out(1);
		if (i % 2 == 1)
			let_cron_run();
		assert_int_equal(say(w, kind, 1, 1, &result), LOCKQ_OK);
		assert_int_equal(result.loans[0].what, LOCKQ_DISPOSED);
		assert_int_equal(result.loans[0].late, 1);
		assert_string_equal(log_of_it(), i < 2 ? "assigned1,expired2,returned3" :
		    "assigned1,expired2,renewed3");
		assert_int_equal(u64("SELECT IF(state = 'assigned', lease_expires_at > NOW(6)"
		    " AND due_at = lease_expires_at AND lease_expires_at = '%s',"
		    " lease_expires_at IS NULL AND lease_expires_at <=> NULLIF('%s', '%s'))"
		    " FROM work WHERE task_id = %d", result.loans[0].lease_expires_at,
		    result.loans[0].lease_expires_at, result.loans[0].lease_expires_at, TASK), 1);
		assert_consistent(TASK);
		other = ask_now(1, TASK, 1);
		assert_int_equal(other->rc, i < 2 ? LOCKQ_OK : LOCKQ_NOTHING);
		assert_said(w, kind, 1, i < 2 ? LOCKQ_NOT_YOURS : LOCKQ_DISPOSED);
		lockq_disposed_clear(&result);
		start_again();
	}
}

/* Who is disabled gets no loan back by a late renewal. */
static void
a_disabled_user_renews_nothing_late(void **state)
{
	struct worker *w = with_leases(1);

	(void)state;
	set_task(TASK, "max_pipeline = NULL");
	run_out(1);
	sql("UPDATE app_user SET enabled = FALSE WHERE name = '%s'", w->ask.user);
	assert_said(w, LOCKQ_RENEW, 1, LOCKQ_LEASE_OVER);
	sql("UPDATE app_user SET enabled = TRUE WHERE name = '%s'", w->ask.user);
	assert_said(w, LOCKQ_RENEW, 1, LOCKQ_DISPOSED);
}

/* guard: a loan that its user has returned is not completed late. The end of the lease that it
 * would have had does not matter. */
static void
what_was_returned_stays_returned(void **state)
{
	struct worker *w = with_leases(1);

	(void)state;
	assert_said(w, LOCKQ_RETURN, 1, LOCKQ_DISPOSED);
	assert_said(w, LOCKQ_COMPLETE, 1, LOCKQ_NOT_ASSIGNED);
	assert_string_equal(log_of_it(), "assigned1,returned2");
}

/* guard: late work ends no later assignment, be it somebody else's or the same user's. */
static void
a_later_assignment_is_not_ended(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;

	(void)state;
	for (unsigned int who = 0; who < 2; who++) {
		struct worker *w = with_leases(1), *next;

		run_out(1);
		next = ask_now(who, TASK, 1);
		assert_int_equal(next->rc, LOCKQ_OK);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(say(w, LOCKQ_COMPLETE, 1, 1, &result), LOCKQ_EREFUSED);
			assert_int_equal(result.loans[0].what, LOCKQ_STALE_TOKEN);
			assert_int_equal(result.loans[0].late, 0);
			/* The next assignment is late, too, but it is another one. */
			run_out(1);
		}
		assert_string_equal(log_of_it(), "assigned1,expired2,assigned3");
		lockq_disposed_clear(&result);
		start_again();
	}
}

/* A worker logs by raw SQL, without a lock, that it has completed a loan late, in the moment in
 * which a leader gives that loan to somebody else. guard: of two rows of the log with the same
 * version an assignment counts, so that it is not hidden. */
static void
a_completion_by_hand_hides_no_assignment(void **state)
{
	struct worker *leader = worker_new(1, TASK, 1, 0);
	struct db *by_hand = connect_as(worker_group());

	(void)state;
	(void)with_leases(1);
	run_out(1);
	let_cron_run();
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "CALL work_moves", 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	sql_on(by_hand, "INSERT INTO log_in (task_id, loan_id, event, user_id, account, token,"
	    " version, request_id, at) SELECT task_id, loan_id, 'completed', user_id, USER(),"
	    " token, version + 1, request_id, NOW(6) FROM work WHERE task_id = %d", TASK);
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_OK);
	sql_on(by_hand, "CALL work_moves(%d, '[[1]]')", TASK);
	assert_int_equal(u64("SELECT state = 'assigned' AND user_id = %u AND version = 3 FROM work"
	    " WHERE task_id = %d", user_id(1), TASK), 1);
}

/* The next leader gives the loan away even if cron never runs. */
static void
it_ends_without_cron(void **state)
{
	struct worker *other;

	(void)state;
	(void)with_leases(1);
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_NOTHING);
	run_out(1);
	other = ask_now(1, TASK, 1);
	assert_int_equal(other->rc, LOCKQ_OK);
	assert_string_equal(text_of("SELECT GROUP_CONCAT(event, version, user_id = %u"
	    " ORDER BY version) FROM work_log WHERE task_id = %d", user_id(1), TASK),
	    "assigned10,expired20,assigned31");
	assert_consistent(TASK);
}

/* A repeated disposition is "already" done only if it asks for the same. A disposition with another
 * time or exclusion is refused, since it would be lost. */
static void
something_else_is_not_the_same(void **state)
{
	static const struct lockq_disposition others[] = {
		{ .return_after_s = 0, .note = NULL, .not_me_s = 60 },
		{ .return_after_s = 60, .note = NULL, .not_me_s = 3600 },
		{ .return_after_s = 60, .note = NULL, .not_me_s = 0 },
	};
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_loan_ref loan = { 1, 0 };
	struct worker *w = with_leases(1);

	(void)state;
	for (size_t i = 0; i < 2 + sizeof(others) / sizeof(others[0]); i++) {
		bool same = i < 2;

		if (!same)
			what = others[i - 2];
		what.user = w->ask.user;
		what.task = TASK;
		what.kind = LOCKQ_RETURN;
		what.loans = &loan;
		what.n_loans = 1;
		if (same) {
			what.return_after_s = what.not_me_s = 60;
			what.note = "call again";
		}
		assert_int_equal(lockq_dispose(w->q, &what, &result), same ? LOCKQ_OK :
		    LOCKQ_EREFUSED);
		assert_int_equal(result.loans[0].what, i == 0 ? LOCKQ_DISPOSED : same ?
		    LOCKQ_DISPOSED_ALREADY : LOCKQ_NOT_ASSIGNED);
	}
	lockq_disposed_clear(&result);
}

/* A renewal with a note is recorded even if there is no lease to renew. */
static void
a_note_without_a_lease(void **state)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_loan_ref loan = { 1, 0 };
	struct worker *w;

	(void)state;
	add_loans(TASK, 1);
	w = ask_now(0, TASK, 1);
	set_task(TASK, "lease_minutes = 60");
	what.user = w->ask.user;
	what.task = TASK;
	what.kind = LOCKQ_RENEW;
	what.note = "waiting for page 3";
	what.loans = &loan;
	what.n_loans = 1;
	assert_int_equal(lockq_dispose(w->q, &what, &result), LOCKQ_OK);
	assert_int_equal(result.loans[0].what, LOCKQ_DISPOSED);
	assert_int_equal(u64("SELECT note = '%s' AND lease_expires_at IS NULL AND due_at IS NULL"
	    " AND version = 2 FROM work WHERE task_id = %d", what.note, TASK), 1);
	/* A renewal without a note keeps the note. */
	what.note = NULL;
	sql("UPDATE work SET lease_expires_at = NOW(6) + INTERVAL 1 MINUTE WHERE task_id = %d",
	    TASK);
	assert_int_equal(lockq_dispose(w->q, &what, &result), LOCKQ_OK);
	assert_int_equal(u64("SELECT note = 'waiting for page 3' AND version = 3 FROM work"
	    " WHERE task_id = %d", TASK), 1);
	lockq_disposed_clear(&result);
}

struct call {
	struct worker *by;
	enum lockq_disposition_kind kind;
	struct lockq_disposed_result result;
	int rc;
};

static void *
say_it(void *data)
{
	struct call *call = data;

	call->rc = say(call->by, call->kind, 1, 0, &call->result);
	return NULL;
}

/* Says @kind of loan 1; its lease runs out between the look and the change. */
static struct call
run_out_meanwhile(enum lockq_disposition_kind kind)
{
	struct call call = { worker_new(0, TASK, 1, 0), kind, LOCKQ_DISPOSED_RESULT_INIT, -1 };
	pthread_t thread;

	(void)with_leases(1);
	call.by->proxy = proxy_new();
	worker_connect(call.by);
	sql("UPDATE work SET lease_expires_at = NOW(6) + INTERVAL 2 SECOND,"
	    " due_at = lease_expires_at WHERE task_id = %d", TASK);
	proxy_hold(call.by->proxy, "excluded_until, note", 1);
	assert_int_equal(pthread_create(&thread, NULL, say_it, &call), 0);
	proxy_until_held(call.by->proxy);
	until("SELECT lease_expires_at <= NOW(6) FROM work WHERE task_id = %d", TASK);
	proxy_release(call.by->proxy);
	pthread_join(thread, NULL);
	return call;
}

/* guard: a lease that runs out between the look and the change is over. */
static void
it_runs_out_meanwhile(void **state)
{
	struct call call = run_out_meanwhile(LOCKQ_NEVER);

	(void)state;
	assert_int_equal(call.rc, LOCKQ_EREFUSED);
	assert_int_equal(call.result.loans[0].what, LOCKQ_LEASE_OVER);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d", TASK), 1);
	lockq_disposed_clear(&call.result);
}

static void
it_becomes_late_meanwhile(void **state)
{
	struct call call = run_out_meanwhile(LOCKQ_COMPLETE);

	(void)state;
	assert_int_equal(call.rc, LOCKQ_OK);
	assert_int_equal(call.result.loans[0].late, 1);
	assert_string_equal(log_of_it(), "assigned1,expired2,completed3");
	lockq_disposed_clear(&call.result);
}

/* The lease runs out after the call has taken its time, and before it looks at the row. guard: the
 * log has the end of the lease at its time, and not at the time of the call. */
static void
it_ends_before_the_look(void **state)
{
	struct call call = { worker_new(0, TASK, 1, 0), LOCKQ_COMPLETE,
		LOCKQ_DISPOSED_RESULT_INIT, -1 };
	pthread_t thread;

	(void)state;
	(void)with_leases(1);
	call.by->proxy = proxy_new();
	worker_connect(call.by);
	proxy_hold(call.by->proxy, "SELECT j.loan_id, me.user_id", 1);
	assert_int_equal(pthread_create(&thread, NULL, say_it, &call), 0);
	proxy_until_held(call.by->proxy);
	sql("UPDATE work SET lease_expires_at = NOW(6), due_at = NOW(6) WHERE task_id = %d", TASK);
	proxy_release(call.by->proxy);
	pthread_join(thread, NULL);
	assert_int_equal(call.rc, LOCKQ_OK);
	assert_int_equal(call.result.loans[0].late, 1);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
	    " AND event IN ('expired', 'completed') AND at >= '%s'", TASK,
	    call.result.loans[0].lease_expires_at), 2);
	lockq_disposed_clear(&call.result);
}

static void *
complete_both(void *data)
{
	struct call *call = data;
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_loan_ref loans[] = { { 1, 0 }, { 2, 0 } };

	what.user = call->by->ask.user;
	what.task = TASK;
	what.kind = LOCKQ_COMPLETE;
	what.loans = loans;
	what.n_loans = 2;
	call->rc = lockq_dispose(call->by->q, &what, &call->result);
	return NULL;
}

/* guard: work is late, and not refused, if the lease ran out and cron ended it after the look at it
 * began. The look waits for loan 1, which another session holds, and which is not the user's. */
static void
cron_ends_it_during_the_look(void **state)
{
	struct db *other = connect_as(OWNER_GROUP);
	struct worker *cron = worker_connected(2, TASK, 1);
	struct lockq_expire what = LOCKQ_EXPIRE_INIT;
	struct lockq_expired did = LOCKQ_EXPIRED_INIT;
	struct call call = { worker_connected(0, TASK, 1), LOCKQ_COMPLETE,
		LOCKQ_DISPOSED_RESULT_INIT, -1 };
	pthread_t thread;

	(void)state;
	add_loans(TASK, 2);
	set_task(TASK, "lease_minutes = 60");
	(void)ask_now(1, TASK, 1);
	assert_int_equal(ask_now(0, TASK, 1)->answer.loans[0].loan_id, 2);
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT loan_id FROM work WHERE task_id = %d AND loan_id = 1"
	    " FOR UPDATE", TASK);
	assert_int_equal(pthread_create(&thread, NULL, complete_both, &call), 0);
	until_waiting_for("work", 1);
	sql("UPDATE work SET lease_expires_at = NOW(6), due_at = NOW(6) WHERE task_id = %d"
	    " AND loan_id = 2", TASK);
	assert_int_equal(lockq_expire(cron->q, &what, &did), LOCKQ_OK);
	db_rollback(other);
	pthread_join(thread, NULL);
	assert_int_equal(did.leases, 1);
	assert_int_equal(call.rc, LOCKQ_EREFUSED);
	assert_int_equal(call.result.loans[0].what, LOCKQ_NOT_YOURS);
	assert_int_equal(call.result.loans[1].what, LOCKQ_DISPOSED);
	assert_int_equal(call.result.loans[1].late, 1);
	assert_string_equal(text_of("SELECT GROUP_CONCAT(event, version ORDER BY log_id)"
	    " FROM work_log WHERE task_id = %d AND loan_id = 2", TASK),
	    "assigned1,expired2,completed3");
	assert_consistent(TASK);
	lockq_disposed_clear(&call.result);
}

/* A leader passes over a loan that is being completed late. */
static void
it_is_not_given_away_meanwhile(void **state)
{
	struct call call = { worker_new(0, TASK, 1, 0), LOCKQ_COMPLETE,
		LOCKQ_DISPOSED_RESULT_INIT, -1 };
	pthread_t thread;

	(void)state;
	(void)with_leases(1);
	run_out(1);
	call.by->proxy = proxy_new();
	worker_connect(call.by);
	proxy_hold(call.by->proxy, "'expired', w.user_id", 1);
	assert_int_equal(pthread_create(&thread, NULL, say_it, &call), 0);
	proxy_until_held(call.by->proxy);
	assert_int_equal(ask_now(1, TASK, 1)->answer.n_loans, 0);
	proxy_release(call.by->proxy);
	pthread_join(thread, NULL);
	assert_int_equal(call.rc, LOCKQ_OK);
	assert_string_equal(log_of_it(), "assigned1,expired2,completed3");
	lockq_disposed_clear(&call.result);
}

/* A disposition takes six round trips for any number of loans. */
static void
it_takes_six_round_trips(void **state)
{
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	static struct lockq_loan_ref loans[LOANS];
	struct worker *by = worker_new(0, TASK, 1, 0);
	size_t before;

	(void)state;
	set_task(TASK, "max_count = %d", LOANS);
	(void)with_leases(LOANS);
	by->proxy = proxy_new();
	worker_connect(by);
	for (unsigned int i = 0; i < LOANS; i++)
		loans[i] = (struct lockq_loan_ref){ LOANS - i, i % 2 };
	what.user = by->ask.user;
	what.task = TASK;
	what.loans = loans;
	what.kind = LOCKQ_RENEW;
	for (unsigned int n = 1; n <= LOANS; n = n == 1 ? LOANS : n + 1) {
		what.n_loans = n;
		before = proxy_round_trips(by->proxy);
		assert_int_equal(lockq_dispose(by->q, &what, &result), LOCKQ_OK);
		printf("# %u loans: %zu round trips\n", n, proxy_round_trips(by->proxy) - before);
		assert_in_range(proxy_round_trips(by->proxy) - before, 1, 6);
	}
	what.kind = LOCKQ_RETURN;
	what.not_me_s = 60;
	what.note = "not for me";
	before = proxy_round_trips(by->proxy);
	assert_int_equal(lockq_dispose(by->q, &what, &result), LOCKQ_OK);
	/* The exclusion takes two more. */
	assert_in_range(proxy_round_trips(by->proxy) - before, 1, 8);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_exclusion WHERE task_id = %d", TASK),
	    LOANS);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND state = 'returned'"
	    " AND version = IF(loan_id = %d, 4, 3)", TASK, LOANS), LOANS);
	assert_consistent(TASK);
	lockq_disposed_clear(&result);
}

/* Times are those of the server, in UTC, in whatever time zone the server is. */
static void
the_servers_zone_does_not_matter(void **state)
{
	static const char *const zones[] = { "-11:00", "+14:00", "SYSTEM" };
	struct worker *w;

	(void)state;
	if (administrator() == NULL)
		skip();
	add_loans(TASK, 3);
	for (uint64_t i = 0; i < 3; i++) {
		struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
		struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
		struct lockq_loan_ref loan = { i + 1, 0 };

		sql_on(administrator(), "SET GLOBAL time_zone = '%s'", zones[i]);
		w = ask_now(0, TASK, 1);
		what.user = w->ask.user;
		what.task = TASK;
		what.kind = LOCKQ_RETURN;
		what.return_after_s = LOCKQ_RETURN_AFTER_MAX;
		what.loans = &loan;
		what.n_loans = 1;
		assert_int_equal(lockq_dispose(w->q, &what, &result), LOCKQ_OK);
		lockq_disposed_clear(&result);
		assert_int_equal(u64("SELECT available_at BETWEEN UTC_TIMESTAMP(6)"
		    " + INTERVAL 72 HOUR - INTERVAL 1 MINUTE AND UTC_TIMESTAMP(6)"
		    " + INTERVAL 72 HOUR FROM work WHERE task_id = %d AND loan_id = %" PRIu64,
		    TASK, i + 1), 1);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(it_is_renewed),
		DB_TEST(without_a_lease_there_is_nothing_to_renew),
		DB_TEST(a_limit_that_was_lifted),
		DB_TEST(who_is_late),
		DB_TEST(late_work_is_taken),
		DB_TEST(a_late_return_or_renewal_is_taken),
		DB_TEST(a_disabled_user_renews_nothing_late),
		DB_TEST(what_was_returned_stays_returned),
		DB_TEST(a_later_assignment_is_not_ended),
		DB_TEST(a_completion_by_hand_hides_no_assignment),
		DB_TEST(it_ends_without_cron),
		DB_TEST(something_else_is_not_the_same),
		DB_TEST(a_note_without_a_lease),
		DB_TEST(it_runs_out_meanwhile),
		DB_TEST(it_becomes_late_meanwhile),
		DB_TEST(it_ends_before_the_look),
		DB_TEST(cron_ends_it_during_the_look),
		DB_TEST(it_is_not_given_away_meanwhile),
		DB_TEST(it_takes_six_round_trips),
		DB_TEST(the_servers_zone_does_not_matter),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("lease", tests, suite_setup, suite_teardown);
}
