/* SPDX-License-Identifier: MIT */
/* Dispositions, and the pipeline. */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "support.h"

enum { LOANS_MOST = 8 };

/* A call of lockq_dispose(), in a thread where that is needed. */
struct disposing {
	struct worker *by;
	struct lockq_loan_ref loans[LOANS_MOST];
	struct lockq_disposition what;
	struct lockq_disposed_result result;
	int rc;
	volatile bool done;
	pthread_t thread;
};

static struct disposing
dispose_of(struct worker *by, enum lockq_disposition_kind kind, uint64_t loan_id, uint64_t token)
{
	struct disposing d = { .by = by, .loans = { { loan_id, token } },
		.result = LOCKQ_DISPOSED_RESULT_INIT };

	d.what = (struct lockq_disposition)LOCKQ_DISPOSITION_INIT;
	d.what.user = by->ask.user;
	d.what.task = TASK;
	d.what.kind = kind;
	d.what.n_loans = 1;
	return d;
}

static void *
run(void *data)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct disposing *d = data;

	d->what.loans = d->loans;
	d->rc = lockq_dispose(d->by->q, &d->what, &result);
	d->result = result;
	d->done = true;
	return NULL;
}

static void
start(struct disposing *d)
{
	assert_int_equal(pthread_create(&d->thread, NULL, run, d), 0);
}

static void
finish(struct disposing *d)
{
	uint64_t since = db_clock_ms();

	while (!d->done && db_clock_ms() - since < 30000)
		db_sleep_ms(2);
	assert_true(d->done);
	pthread_join(d->thread, NULL);
}

static void
assert_disposed(enum lockq_disposition_kind kind, struct worker *by, uint64_t loan_id,
    uint64_t token, int rc, enum lockq_disposed what)
{
	struct disposing d = dispose_of(by, kind, loan_id, token);

	(void)run(&d);
	if (d.rc != rc)
		print_error("%s\n", lockq_error(by->q));
	assert_int_equal(d.rc, rc);
	assert_int_equal(d.result.n_loans, 1);
	assert_int_equal(d.result.loans[0].loan_id, loan_id);
	assert_int_equal(d.result.loans[0].what, what);
	lockq_disposed_clear(&d.result);
}

/* Gives the loans 1 to @n to user 0, with token 1. Returns that user's worker. */
static struct worker *
with_loans(unsigned int n)
{
	struct worker *w;

	add_loans(TASK, n);
	w = ask_now(0, TASK, n);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.n_loans, n);
	return w;
}

static uint64_t
log_rows(uint64_t loan_id, const char *event)
{
	return u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d AND loan_id = %" PRIu64
	    " AND event = '%s'", TASK, loan_id, event);
}

static void
each_disposition(void **state)
{
	struct worker *w = with_loans(3);
	struct disposing back = dispose_of(w, LOCKQ_RETURN, 2, 0);

	(void)state;
	assert_disposed(LOCKQ_COMPLETE, w, 1, 0, LOCKQ_OK, LOCKQ_DISPOSED);
	back.what.return_after_s = 4 * 3600;
	back.what.note = "the applicant is away until four";
	(void)run(&back);
	assert_int_equal(back.rc, LOCKQ_OK);
	assert_string_equal(back.result.loans[0].state, "returned");
	assert_string_equal(back.result.loans[0].holder, user(0));
	assert_int_equal(u64("SELECT available_at = '%s' AND available_at = changed_at"
	    " + INTERVAL 4 HOUR AND note LIKE '%%until four' FROM work WHERE task_id = %d"
	    " AND loan_id = 2", back.result.loans[0].available_at, TASK), 1);
	lockq_disposed_clear(&back.result);
	assert_disposed(LOCKQ_NEVER, w, 3, 1, LOCKQ_OK, LOCKQ_DISPOSED);
	assert_string_equal(text_of("SELECT GROUP_CONCAT(state, version ORDER BY loan_id)"
	    " FROM work WHERE task_id = %d", TASK), "completed2,returned2,never2");
	/* Each change has one row in the log, with all columns that a replay needs. */
	assert_int_equal(u64("SELECT COUNT(*) FROM work AS w JOIN work_log AS l"
	    " USING (task_id, loan_id, user_id, token, version, request_id)"
	    " WHERE w.task_id = %d AND l.event = w.state AND l.at = w.changed_at"
	    " AND l.available_at <=> w.available_at AND l.note <=> w.note", TASK), 3);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d", TASK), 6);
}

static void
what_is_offered_again(void **state)
{
	struct worker *w = with_loans(4), *again;

	(void)state;
	assert_disposed(LOCKQ_COMPLETE, w, 1, 0, LOCKQ_OK, LOCKQ_DISPOSED);
	assert_disposed(LOCKQ_RETURN, w, 2, 0, LOCKQ_OK, LOCKQ_DISPOSED);
	assert_disposed(LOCKQ_NEVER, w, 3, 0, LOCKQ_OK, LOCKQ_DISPOSED);
	again = ask_now(1, TASK, 4);
	assert_int_equal(again->rc, LOCKQ_OK);
	assert_int_equal(again->answer.status, LOCKQ_PARTIAL);
	assert_int_equal(again->answer.n_loans, 2);
	assert_int_equal(again->answer.loans[0].loan_id, 1);
	assert_int_equal(again->answer.loans[1].loan_id, 2);
}

static void
the_same_again_is_fine(void **state)
{
	struct worker *w = with_loans(1);

	(void)state;
	assert_disposed(LOCKQ_COMPLETE, w, 1, 0, LOCKQ_OK, LOCKQ_DISPOSED);
	assert_disposed(LOCKQ_COMPLETE, w, 1, 0, LOCKQ_OK, LOCKQ_DISPOSED_ALREADY);
	assert_disposed(LOCKQ_COMPLETE, w, 1, 1, LOCKQ_OK, LOCKQ_DISPOSED_ALREADY);
	assert_int_equal(log_rows(1, "completed"), 1);
	/* Another disposition of a loan that is completed is refused. */
	assert_disposed(LOCKQ_NEVER, w, 1, 0, LOCKQ_EREFUSED, LOCKQ_NOT_ASSIGNED);
	assert_disposed(LOCKQ_COMPLETE, w, 1, 7, LOCKQ_EREFUSED, LOCKQ_STALE_TOKEN);
}

static void
what_is_refused(void **state)
{
	struct worker *mine = with_loans(2), *other = worker_connected(1, TASK, 1);

	(void)state;
	assert_disposed(LOCKQ_COMPLETE, mine, 99, 0, LOCKQ_EREFUSED, LOCKQ_NOT_ASSIGNED);
	assert_disposed(LOCKQ_COMPLETE, other, 1, 0, LOCKQ_EREFUSED, LOCKQ_NOT_YOURS);
	assert_disposed(LOCKQ_COMPLETE, other, 1, 1, LOCKQ_EREFUSED, LOCKQ_NOT_YOURS);
	assert_disposed(LOCKQ_COMPLETE, mine, 1, 7, LOCKQ_EREFUSED, LOCKQ_STALE_TOKEN);
	sql("UPDATE work SET lease_expires_at = NOW(6) - INTERVAL 1 SECOND WHERE task_id = %d"
	    " AND loan_id = 2", TASK);
	assert_disposed(LOCKQ_NEVER, mine, 2, 0, LOCKQ_EREFUSED, LOCKQ_LEASE_OVER);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND state = 'assigned'",
	    TASK), 2);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d", TASK), 2);
}

/* guard: the token of a disposition is checked. A loan was returned and assigned to the same user
 * again. A disposition with the first token must not end the second assignment. */
static void
an_old_token_is_stale(void **state)
{
	struct worker *w = with_loans(1), *again;

	(void)state;
	assert_disposed(LOCKQ_RETURN, w, 1, 1, LOCKQ_OK, LOCKQ_DISPOSED);
	again = ask_now(0, TASK, 1);
	assert_int_equal(again->rc, LOCKQ_OK);
	assert_int_equal(again->answer.loans[0].token, 2);
	assert_disposed(LOCKQ_COMPLETE, w, 1, 1, LOCKQ_EREFUSED, LOCKQ_STALE_TOKEN);
	assert_disposed(LOCKQ_COMPLETE, w, 1, 2, LOCKQ_OK, LOCKQ_DISPOSED);
}

/* Several loans are disposed of at once. A loan that can't be disposed of is unchanged, and its
 * entry says why. */
static void
several_loans(void **state)
{
	struct worker *w = with_loans(4);
	struct disposing d = dispose_of(w, LOCKQ_COMPLETE, 3, 0);

	(void)state;
	sql("UPDATE work SET user_id = %u WHERE task_id = %d AND loan_id = 1", user_id(1), TASK);
	d.loans[1] = (struct lockq_loan_ref){ 1, 0 };
	d.loans[2] = (struct lockq_loan_ref){ 77, 0 };
	d.loans[3] = (struct lockq_loan_ref){ 2, 1 };
	d.what.n_loans = 4;
	(void)run(&d);
	assert_int_equal(d.rc, LOCKQ_EREFUSED);
	assert_int_equal(d.result.loans[0].what, LOCKQ_DISPOSED);
	assert_int_equal(d.result.loans[1].what, LOCKQ_NOT_YOURS);
	assert_string_equal(d.result.loans[1].holder, user(1));
	assert_int_equal(d.result.loans[2].what, LOCKQ_NOT_ASSIGNED);
	assert_null(d.result.loans[2].holder);
	assert_int_equal(d.result.loans[3].what, LOCKQ_DISPOSED);
	assert_string_equal(text_of("SELECT GROUP_CONCAT(state ORDER BY loan_id) FROM work"
	    " WHERE task_id = %d", TASK), "assigned,completed,completed,assigned");
	lockq_disposed_clear(&d.result);
}

static void
what_no_loan_could_have_is_a_usage_error(void **state)
{
	struct worker *w = with_loans(1);
	struct disposing d = dispose_of(w, LOCKQ_RETURN, 1, 0);
	char note[514];

	(void)state;
	d.what.return_after_s = LOCKQ_RETURN_AFTER_MAX + 1;
	(void)run(&d);
	assert_int_equal(d.rc, LOCKQ_EUSAGE);
	d.what.return_after_s = 0;
	memset(note, 'x', sizeof(note) - 1);
	note[sizeof(note) - 1] = '\0';
	d.what.note = note;
	(void)run(&d);
	assert_int_equal(d.rc, LOCKQ_EUSAGE);
	note[512] = '\0';
	d.loans[1] = d.loans[0];
	d.what.n_loans = 2;
	(void)run(&d);
	assert_int_equal(d.rc, LOCKQ_EUSAGE);
	d.what.n_loans = 0;
	(void)run(&d);
	assert_int_equal(d.rc, LOCKQ_EUSAGE);
	d.what.n_loans = 1;
	d.what.return_after_s = LOCKQ_RETURN_AFTER_MAX;
	(void)run(&d);
	assert_int_equal(d.rc, LOCKQ_OK);
	lockq_disposed_clear(&d.result);
}

static void
unknown_names_are_refused(void **state)
{
	struct worker *w = with_loans(1);
	struct disposing d = dispose_of(w, LOCKQ_COMPLETE, 1, 0);

	(void)state;
	d.what.user = "test_nobody";
	(void)run(&d);
	assert_int_equal(d.rc, LOCKQ_EREFUSED);
	d.what.user = user(0);
	d.what.task = TASK_LAST;
	(void)run(&d);
	assert_int_equal(d.rc, LOCKQ_EREFUSED);
}

/* A leader gives a loan whose lease has run out to another user while the first user disposes of
 * it. The disposition waits for the leader's commit and is refused. */
static void
it_waits_for_a_leader_that_takes_the_loan(void **state)
{
	struct worker *w = with_loans(1), *leader = worker_new(1, TASK, 1, 0);
	struct disposing d = dispose_of(w, LOCKQ_COMPLETE, 1, 1);

	(void)state;
	sql("UPDATE work SET lease_expires_at = NOW(6) - INTERVAL 1 SECOND WHERE task_id = %d",
	    TASK);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "SET holder = NULL", 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	start(&d);
	until_waiting_for("work", 1);
	assert_false(d.done);
	proxy_release(leader->proxy);
	worker_join(leader);
	finish(&d);
	assert_int_equal(leader->rc, LOCKQ_OK);
	assert_int_equal(d.rc, LOCKQ_EREFUSED);
	assert_int_equal(d.result.loans[0].what, LOCKQ_STALE_TOKEN);
	assert_int_equal(log_rows(1, "completed"), 0);
	lockq_disposed_clear(&d.result);
}

/* guard: a disposition locks its loans in key order, or two dispositions deadlock. */
static void
loans_are_locked_in_key_order(void **state)
{
	struct worker *w = with_loans(3), *other = worker_new(0, TASK, 1, 0);
	struct db *third = connect_as(OWNER_GROUP);
	struct disposing up = dispose_of(w, LOCKQ_COMPLETE, 1, 0), down;

	(void)state;
	other->proxy = proxy_new();
	worker_connect(other);
	down = dispose_of(other, LOCKQ_COMPLETE, 3, 0);
	up.loans[1] = down.loans[1] = (struct lockq_loan_ref){ 2, 0 };
	up.loans[2] = (struct lockq_loan_ref){ 3, 0 };
	down.loans[2] = (struct lockq_loan_ref){ 1, 0 };
	up.what.n_loans = down.what.n_loans = 3;
	/* @up has locked loan 1 and waits for loan 2. Without the order, @down would lock loan 3
	 * and wait for loan 2. */
	assert_int_equal(db_begin(third), DB_OK);
	(void)u64_on(third, "SELECT loan_id FROM work WHERE task_id = %d AND loan_id = 2"
	    " FOR UPDATE", TASK);
	start(&up);
	until_waiting_for("work", 1);
	start(&down);
	until_waiting_for("work", 2);
	db_rollback(third);
	finish(&up);
	finish(&down);
	assert_int_equal(up.rc, LOCKQ_OK);
	assert_int_equal(down.rc, LOCKQ_OK);
	assert_int_equal(down.result.loans[0].what, LOCKQ_DISPOSED_ALREADY);
	assert_int_equal(proxy_count(other->proxy, "SET autocommit = 0"), 1);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
	    " AND event = 'completed'", TASK), 3);
	lockq_disposed_clear(&up.result);
	lockq_disposed_clear(&down.result);
}

/* Completes loan 1 through the proxy, which cuts the commit. With @held the server gets the commit
 * when the call already waits for the old transaction. The loan must be completed once. */
static void
completed_through(struct proxy *proxy, bool held)
{
	struct worker *by = worker_new(0, TASK, 1, 0);
	struct disposing d;

	by->proxy = proxy;
	worker_connect(by);
	d = dispose_of(by, LOCKQ_COMPLETE, 1, 0);
	start(&d);
	if (held) {
		proxy_until_held(proxy);
		until_waiting_for("work", 1);
		assert_false(d.done);
		proxy_release(proxy);
	}
	finish(&d);
	assert_int_equal(d.rc, LOCKQ_OK);
	assert_int_equal(d.result.loans[0].what, LOCKQ_DISPOSED);
	assert_string_equal(d.result.loans[0].state, "completed");
	lockq_disposed_clear(&d.result);
	assert_int_equal(log_rows(1, "completed"), 1);
	assert_int_equal(u64("SELECT version FROM work WHERE task_id = %d", TASK), 2);
}

/* guard: a disposition in doubt is looked up in the log, and done again if the log does not have
 * it. */
static void
a_commit_in_doubt_is_resolved(void **state)
{
	(void)state;
	for (int how = 0; how < 3; how++) {
		struct proxy *proxy = proxy_new();

		(void)with_loans(1);
		if (how == 0)
			proxy_cut(proxy, "=COMMIT", 1, CUT_AFTER);
		else if (how == 1)
			proxy_cut(proxy, "=COMMIT", 1, CUT_BEFORE);
		else
			proxy_hold_and_cut(proxy, "=COMMIT", 1);
		completed_through(proxy, how == 2);
		proxies_end();
		workers_end();
		clear_fixture();
		make_task(TASK);
	}
}

/* guard: a disposition in doubt is looked up in the log. The lost commit was done, and the loan is
 * assigned to the same user again; the second assignment stays. */
static void
a_commit_in_doubt_ends_no_later_assignment(void **state)
{
	struct worker *by = worker_new(0, TASK, 1, 0), *again;
	struct disposing d;

	(void)state;
	(void)with_loans(1);
	by->proxy = proxy_new();
	worker_connect(by);
	d = dispose_of(by, LOCKQ_RETURN, 1, 0);
	proxy_cut(by->proxy, "=COMMIT", 1, CUT_AFTER);
	proxy_hold(by->proxy, "SET autocommit = 0", 2);
	start(&d);
	proxy_until_held(by->proxy);
	again = ask_now(0, TASK, 1);
	assert_int_equal(again->rc, LOCKQ_OK);
	proxy_release(by->proxy);
	finish(&d);
	assert_int_equal(d.rc, LOCKQ_OK);
	assert_int_equal(d.result.loans[0].what, LOCKQ_DISPOSED);
	assert_int_equal(log_rows(1, "returned"), 1);
	assert_string_equal(text_of("SELECT state FROM work WHERE task_id = %d", TASK), "assigned");
	lockq_disposed_clear(&d.result);
}

static void
a_commit_that_nobody_can_tell_of(void **state)
{
	struct worker *by = worker_new(0, TASK, 1, 0);
	struct disposing d;

	(void)state;
	(void)with_loans(1);
	by->proxy = proxy_new();
	worker_connect(by);
	d = dispose_of(by, LOCKQ_COMPLETE, 1, 0);
	d.what.timeout_ms = 0;
	proxy_hold(by->proxy, "=COMMIT", 1);
	start(&d);
	proxy_until_held(by->proxy);
	proxy_refuse(by->proxy);
	proxy_drop(by->proxy);
	finish(&d);
	assert_int_equal(d.rc, LOCKQ_EUNKNOWN);
	lockq_disposed_clear(&d.result);
}

static void
the_pipeline_is_what_is_assigned(void **state)
{
	struct worker *w = with_loans(3), *late;
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;

	(void)state;
	set_task(OTHER_TASK, "lease_minutes = 30");
	add_loans(OTHER_TASK, 1);
	late = ask_now(0, OTHER_TASK, 1);
	assert_int_equal(late->rc, LOCKQ_OK);
	assert_disposed(LOCKQ_COMPLETE, w, 2, 0, LOCKQ_OK, LOCKQ_DISPOSED);
	assert_int_equal(lockq_pipeline(w->q, user(0), 0, &pipeline), LOCKQ_OK);
	assert_int_equal(pipeline.n_assignments, 3);
	assert_int_equal(pipeline.assignments[0].task, TASK);
	assert_int_equal(pipeline.assignments[0].loan_id, 1);
	assert_int_equal(pipeline.assignments[1].loan_id, 3);
	assert_string_equal(pipeline.assignments[1].task_name, "test 100");
	assert_int_equal(pipeline.assignments[1].token, 1);
	assert_int_equal(pipeline.assignments[1].request_id, w->answer.request_id);
	assert_in_range(pipeline.assignments[1].age_s, 0, 20);
	assert_int_equal(pipeline.assignments[2].task, OTHER_TASK);
	assert_int_not_equal(pipeline.assignments[2].lease_expires_at[0], '\0');
	assert_false(pipeline.assignments[2].lease_expired);
	sql("UPDATE work SET lease_expires_at = NOW(6) WHERE task_id = %d", OTHER_TASK);
	assert_int_equal(lockq_pipeline(w->q, user(0), OTHER_TASK, &pipeline), LOCKQ_OK);
	assert_int_equal(pipeline.n_assignments, 1);
	assert_true(pipeline.assignments[0].lease_expired);
	assert_int_equal(lockq_pipeline(w->q, user(1), 0, &pipeline), LOCKQ_NOTHING);
	assert_int_equal(lockq_pipeline(w->q, "test_nobody", 0, &pipeline), LOCKQ_EREFUSED);
	assert_int_equal(lockq_pipeline(w->q, user(0), TASK_LAST, &pipeline), LOCKQ_EREFUSED);
	lockq_pipeline_clear(&pipeline);
}

/* guard: --return-after counts from now, also if the server's clock was set back since the loan was
 * given. The log stays in its order, and the same call once more is known. */
static void
returned_after_the_clock_was_set_back(void **state)
{
	static const uint32_t after_s[] = { 0, 1800 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct worker *w;
		struct disposing back;

		start_again();
		add_loans(TASK, 1);
		w = ask_now(0, TASK, 1);
		sql("UPDATE work SET assigned_at = assigned_at + INTERVAL 1 HOUR, changed_at ="
		    " changed_at + INTERVAL 1 HOUR WHERE task_id = %d", TASK);
		sql("UPDATE work_log SET at = at + INTERVAL 1 HOUR WHERE task_id = %d", TASK);
		back = dispose_of(w, LOCKQ_RETURN, 1, 0);
		back.what.return_after_s = after_s[i];
		(void)run(&back);
		assert_int_equal(back.rc, LOCKQ_OK);
		assert_int_equal(u64("SELECT available_at BETWEEN NOW(6) + INTERVAL %u SECOND"
		    " - INTERVAL 1 MINUTE AND NOW(6) + INTERVAL %u SECOND AND changed_at > NOW(6)"
		    " FROM work WHERE task_id = %d", after_s[i], after_s[i], TASK), 1);
		lockq_disposed_clear(&back.result);
		(void)run(&back);
		assert_int_equal(back.rc, LOCKQ_OK);
		assert_int_equal(back.result.loans[0].what, LOCKQ_DISPOSED_ALREADY);
		lockq_disposed_clear(&back.result);
		assert_int_equal(ask_now(1, TASK, 1)->rc, i == 0 ? LOCKQ_OK : LOCKQ_NOTHING);
	}
}

/* A loan that was returned for at once is given, also if the server's clock was set back since: by
 * a leader, and then from its list. One that was returned for later waits. */
static void
given_after_the_clock_was_set_back(void **state)
{
	struct worker *w;
	struct disposing back;

	(void)state;
	start_again();
	add_loans(TASK, 5);
	w = ask_now(0, TASK, 5);
	for (uint64_t loan = 1; loan <= 5; loan++) {
		back = dispose_of(w, LOCKQ_RETURN, loan, 0);
		back.what.return_after_s = loan == 5 ? 60 : 0;
		(void)run(&back);
		assert_int_equal(back.rc, LOCKQ_OK);
		lockq_disposed_clear(&back.result);
	}
	sql("UPDATE work SET assigned_at = assigned_at + INTERVAL 1 HOUR, changed_at = changed_at"
	    " + INTERVAL 1 HOUR, available_at = available_at + INTERVAL 1 HOUR"
	    " WHERE task_id = %d", TASK);
	/* Its lease has ended, and cron has logged that. */
	sql("UPDATE work SET lease_expires_at = available_at, changed_at = changed_at"
	    " + INTERVAL 1 MINUTE WHERE task_id = %d AND loan_id = 4", TASK);
	sql("UPDATE task SET cache_ttl = 600 WHERE task_id = %d", TASK);
	assert_int_equal(ask_now(1, TASK, 2)->answer.n_loans, 2);
	w = ask_now(2, TASK, 2);
	assert_int_equal(w->answer.n_loans, 2);
	assert_string_equal(w->answer.how, "list");
	assert_int_equal(ask_now(3, TASK, 1)->rc, LOCKQ_NOTHING);
	sql("UPDATE task SET cache_ttl = 0 WHERE task_id = %d", TASK);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(given_after_the_clock_was_set_back),
		DB_TEST(returned_after_the_clock_was_set_back),
		DB_TEST(each_disposition),
		DB_TEST(what_is_offered_again),
		DB_TEST(the_same_again_is_fine),
		DB_TEST(what_is_refused),
		DB_TEST(an_old_token_is_stale),
		DB_TEST(several_loans),
		DB_TEST(what_no_loan_could_have_is_a_usage_error),
		DB_TEST(unknown_names_are_refused),
		DB_TEST(it_waits_for_a_leader_that_takes_the_loan),
		DB_TEST(loans_are_locked_in_key_order),
		DB_TEST(a_commit_in_doubt_is_resolved),
		DB_TEST(a_commit_in_doubt_ends_no_later_assignment),
		DB_TEST(a_commit_that_nobody_can_tell_of),
		DB_TEST(the_pipeline_is_what_is_assigned),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("disposition", tests, suite_setup, suite_teardown);
}
