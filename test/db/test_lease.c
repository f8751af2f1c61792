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

/* A user whose lease has run out changes nothing, whatever happened to the loan since. */
static void
who_is_late(void **state)
{
	static const enum lockq_disposition_kind kinds[] = {
		LOCKQ_COMPLETE, LOCKQ_RETURN, LOCKQ_NEVER, LOCKQ_RENEW
	};
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w = with_leases(1), *other;

	(void)state;
	run_out(1);
	for (size_t i = 0; i < 4; i++)
		assert_said(w, kinds[i], 1, LOCKQ_LEASE_OVER);
	/* Cron has returned the loan, so it is nobody's. The user had not returned it. */
	sql("UPDATE work SET state = 'returned', version = version + 1,"
	    " available_at = lease_expires_at, due_at = NULL WHERE task_id = %d", TASK);
	for (size_t i = 0; i < 4; i++)
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
	struct lockq_disposed_result result;
	int rc;
};

static void *
complete(void *data)
{
	struct call *call = data;

	call->rc = say(call->by, LOCKQ_COMPLETE, 1, 0, &call->result);
	return NULL;
}

/* guard: a lease that runs out between the look and the change is over. */
static void
it_runs_out_meanwhile(void **state)
{
	struct call call = { worker_new(0, TASK, 1, 0), LOCKQ_DISPOSED_RESULT_INIT, -1 };
	pthread_t thread;

	(void)state;
	(void)with_leases(1);
	call.by->proxy = proxy_new();
	worker_connect(call.by);
	sql("UPDATE work SET lease_expires_at = NOW(6) + INTERVAL 3 SECOND,"
	    " due_at = lease_expires_at WHERE task_id = %d", TASK);
	proxy_hold(call.by->proxy, "excluded_until, note", 1);
	assert_int_equal(pthread_create(&thread, NULL, complete, &call), 0);
	proxy_until_held(call.by->proxy);
	until("SELECT lease_expires_at <= NOW(6) FROM work WHERE task_id = %d", TASK);
	proxy_release(call.by->proxy);
	pthread_join(thread, NULL);
	assert_int_equal(call.rc, LOCKQ_EREFUSED);
	assert_int_equal(call.result.loans[0].what, LOCKQ_LEASE_OVER);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d", TASK), 1);
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
		DB_TEST(it_ends_without_cron),
		DB_TEST(something_else_is_not_the_same),
		DB_TEST(a_note_without_a_lease),
		DB_TEST(it_runs_out_meanwhile),
		DB_TEST(it_takes_six_round_trips),
		DB_TEST(the_servers_zone_does_not_matter),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("lease", tests, suite_setup, suite_teardown);
}
