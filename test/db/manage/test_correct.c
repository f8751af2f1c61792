/* SPDX-License-Identifier: MIT */
/* Managers' corrections against what happens at the same time: the user's own disposition, the end
 * of the lease, leaders, other managers, and lost connections. One wins, the other one is told. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

#define MANAGER_GROUP "lockq_manager"

enum { HANDLES = 4, LOANS = 2 };

static struct lockq *handles[HANDLES];

/* A correction of the loans 1 to @n_loans in a thread of its own. */
struct correction {
	struct lockq *q;
	struct lockq_correction what;
	struct lockq_loan_ref loans[LOANS];
	struct lockq_disposed_result result;
	int rc;
	volatile bool done;
	pthread_t thread;
};

/* A disposition of loan 1 in a thread of its own. */
struct said {
	struct worker *by;
	enum lockq_disposition_kind kind;
	struct lockq_disposed_result result;
	int rc;
	pthread_t thread;
};

static const char *
manager_group(void)
{
	return administrator() != NULL ? MANAGER_GROUP : OWNER_GROUP;
}

/* Returns a manager's handle, which goes through @proxy, unless that is NULL. */
static struct lockq *
manager(struct proxy *proxy)
{
	struct lockq_connection where = proxy != NULL ? proxy_where(proxy) : where_is(NULL);
	size_t n = 0;

	where.defaults_group = manager_group();
	while (handles[n] != NULL)
		assert_true(++n < HANDLES);
	assert_int_equal(lockq_new(&handles[n]), LOCKQ_OK);
	assert_int_equal(lockq_connect(handles[n], &where), LOCKQ_OK);
	return handles[n];
}

static int
end_managers(void **state)
{
	int rc;

	proxies_relent();
	for (size_t i = 0; i < HANDLES; i++) {
		lockq_free(handles[i]);
		handles[i] = NULL;
	}
	rc = test_teardown(state);
	return rc;
}
#define MANAGER_TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, end_managers)

/* To reassign is from user 0 to user 1. */
static struct correction
correction_of(enum lockq_correction_kind kind, const char *by, struct proxy *proxy)
{
	struct correction c = { .q = manager(proxy), .what = LOCKQ_CORRECTION_INIT,
		.loans = { { 1, 0 }, { 2, 0 } }, .rc = -99 };

	c.what.manager = by;
	c.what.task = TASK;
	c.what.kind = kind;
	c.what.reason = "a mistake";
	c.what.n_loans = 1;
	if (kind != LOCKQ_UNDO)
		c.what.from = user(0);
	if (kind == LOCKQ_REASSIGN)
		c.what.to = user(1);
	return c;
}

static void *
correct_it(void *data)
{
	struct correction *c = data;

	c->what.loans = c->loans;
	c->rc = lockq_correct(c->q, &c->what, &c->result);
	c->done = true;
	return NULL;
}

static void
start(struct correction *c)
{
	c->done = false;
	assert_int_equal(pthread_create(&c->thread, NULL, correct_it, c), 0);
}

/* Waits for the call, which says @what of loan 1. */
static void
ends_with(struct correction *c, enum lockq_disposed what)
{
	pthread_join(c->thread, NULL);
	assert_int_equal(c->rc, what <= LOCKQ_DISPOSED_ALREADY ? LOCKQ_OK : LOCKQ_EREFUSED);
	assert_int_equal(c->result.loans[0].what, what);
}

/* Starts it, and waits until it waits for a row of the table, or has not done so. */
static void
start_to_wait(struct correction *c, const char *table)
{
	uint64_t begin = db_clock_ms();

	start(c);
	while (waiting_for(table) == 0 && !c->done) {
		assert_true(db_clock_ms() - begin < PATIENCE_MS);
		db_sleep_ms(2);
	}
}

static void
now_ends_with(struct correction *c, enum lockq_disposed what)
{
	start(c);
	ends_with(c, what);
}

static void *
say_it(void *data)
{
	struct said *s = data;
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_loan_ref loan = { 1, 0 };

	what.user = s->by->ask.user;
	what.task = TASK;
	what.kind = s->kind;
	what.loans = &loan;
	what.n_loans = 1;
	s->rc = lockq_dispose(s->by->q, &what, &s->result);
	return NULL;
}

static void
say(struct said *s)
{
	assert_int_equal(pthread_create(&s->thread, NULL, say_it, s), 0);
}

static void
is_told(struct said *s, enum lockq_disposed what)
{
	pthread_join(s->thread, NULL);
	assert_int_equal(s->rc, what <= LOCKQ_DISPOSED_ALREADY ? LOCKQ_OK : LOCKQ_EREFUSED);
	assert_int_equal(s->result.loans[0].what, what);
}

/* User 0 says @kind of loan 1, through a proxy. */
static struct said
user_who_says(enum lockq_disposition_kind kind)
{
	struct said s = { .by = worker_new(0, TASK, 1, 0), .kind = kind };

	s.by->proxy = proxy_new();
	worker_connect(s.by);
	return s;
}

/* User 0 has the loans 1 to @n. */
static struct worker *
with_loans(unsigned int n)
{
	struct worker *w;

	add_loans(TASK, n);
	set_task(TASK, "lease_minutes = 60");
	w = ask_now(0, TASK, n);
	assert_int_equal(w->answer.n_loans, n);
	return w;
}

/* Makes the lease of loan 1 end now. */
static void
run_out(void)
{
	sql("UPDATE work SET lease_expires_at = NOW(6), due_at = NOW(6) WHERE task_id = %d"
	    " AND loan_id = 1", TASK);
}

/* Returns the events of loan 1 with their versions, and who corrected. */
static const char *
log_of_it(void)
{
	return text_of("SELECT GROUP_CONCAT(event, version, COALESCE(CONCAT(' by ', manager), '')"
	    " ORDER BY log_id) FROM work_log WHERE task_id = %d AND loan_id = 1", TASK);
}

/* Lets a correction lock loan 1 and wait for loan 2, which the test holds. Its lock wait is longer
 * than a busy machine delays the test. */
static struct db *
hold_after_first_lock(struct correction *c, struct proxy *proxy)
{
	struct db *other = connect_as(OWNER_GROUP);

	proxy_replace(proxy, "innodb_lock_wait_timeout = 1,", "innodb_lock_wait_timeout = 9,");
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT loan_id FROM work WHERE task_id = %d AND loan_id = 2"
	    " FOR UPDATE", TASK);
	c->what.n_loans = 2;
	start(c);
	until_waiting_for("work", 1);
	return other;
}

static const enum lockq_correction_kind takes_away[] = { LOCKQ_RELEASE, LOCKQ_REASSIGN };
static const enum lockq_disposition_kind ends_it[] = {
	LOCKQ_COMPLETE, LOCKQ_RETURN, LOCKQ_NEVER
};
static const char *const ended[] = { "completed", "returned", "never" };
enum { CORRECTIONS = 2, DISPOSITIONS = 3 };

/* guard: a correction judges a loan under its lock. The user's disposition has changed the row, and
 * is committed while the correction waits. */
static void
the_disposition_comes_first(void **state)
{
	(void)state;
	for (size_t i = 0; i < CORRECTIONS * DISPOSITIONS; i++) {
		struct said s = user_who_says(ends_it[i / CORRECTIONS]);
		struct correction c = correction_of(takes_away[i % CORRECTIONS], "marcus", NULL);
		char log[64];

		(void)with_loans(1);
		proxy_hold(s.by->proxy, "=COMMIT", 1);
		say(&s);
		proxy_until_held(s.by->proxy);
		start_to_wait(&c, "work");
		proxy_release(s.by->proxy);
		is_told(&s, LOCKQ_DISPOSED);
		ends_with(&c, LOCKQ_NOT_ASSIGNED);
		assert_string_equal(c.result.loans[0].state, ended[i / CORRECTIONS]);
		assert_string_equal(c.result.loans[0].holder, user(0));
		snprintf(log, sizeof(log), "assigned1,%s2", ended[i / CORRECTIONS]);
		assert_string_equal(log_of_it(), log);
		assert_consistent(TASK);
		lockq_disposed_clear(&s.result);
		lockq_disposed_clear(&c.result);
		(void)end_managers(state);
		(void)test_setup(state);
	}
}

static void
the_correction_comes_first(void **state)
{
	(void)state;
	for (size_t i = 0; i < CORRECTIONS * DISPOSITIONS; i++) {
		bool releases = takes_away[i % CORRECTIONS] == LOCKQ_RELEASE;
		struct proxy *proxy = proxy_new();
		struct correction c = correction_of(takes_away[i % CORRECTIONS], "marcus", proxy);
		struct said s = { with_loans(2), ends_it[i / CORRECTIONS],
			LOCKQ_DISPOSED_RESULT_INIT, -99, 0 };
		struct db *other = hold_after_first_lock(&c, proxy);

		say(&s);
		until_waiting_for("work", 2);
		db_rollback(other);
		ends_with(&c, LOCKQ_DISPOSED);
		is_told(&s, releases ? LOCKQ_NOT_ASSIGNED : LOCKQ_NOT_YOURS);
		assert_string_equal(s.result.loans[0].holder, user(releases ? 0 : 1));
		assert_string_equal(log_of_it(), releases ? "assigned1,returned2 by marcus" :
		    "assigned1,returned2 by marcus,assigned3 by marcus");
		assert_consistent(TASK);
		lockq_disposed_clear(&s.result);
		lockq_disposed_clear(&c.result);
		(void)end_managers(state);
		(void)test_setup(state);
	}
}

/* A user who goes on loses the loan nevertheless. */
static void
a_renewal_saves_nothing(void **state)
{
	struct said s = user_who_says(LOCKQ_RENEW);
	struct correction c = correction_of(LOCKQ_RELEASE, "marcus", NULL);

	(void)state;
	(void)with_loans(1);
	proxy_hold(s.by->proxy, "=COMMIT", 1);
	say(&s);
	proxy_until_held(s.by->proxy);
	start_to_wait(&c, "work");
	proxy_release(s.by->proxy);
	is_told(&s, LOCKQ_DISPOSED);
	ends_with(&c, LOCKQ_DISPOSED);
	assert_string_equal(log_of_it(), "assigned1,renewed2,returned3 by marcus");
	assert_consistent(TASK);
	lockq_disposed_clear(&s.result);
	lockq_disposed_clear(&c.result);
}

/* guard: whether a lease is over is asked at a time at which the row is locked. The lease ends
 * while the correction waits. */
static void
the_lease_ends_meanwhile(void **state)
{
	struct proxy *proxy = proxy_new();
	struct correction c = correction_of(LOCKQ_RELEASE, "marcus", proxy);
	struct db *other = connect_as(OWNER_GROUP);

	(void)state;
	(void)with_loans(1);
	proxy_replace(proxy, "innodb_lock_wait_timeout = 1,", "innodb_lock_wait_timeout = 9,");
	assert_int_equal(db_begin(other), DB_OK);
	(void)u64_on(other, "SELECT loan_id FROM work WHERE task_id = %d FOR UPDATE", TASK);
	start_to_wait(&c, "work");
	sql_on(other, "UPDATE work SET lease_expires_at = NOW(6), due_at = NOW(6)"
	    " WHERE task_id = %d", TASK);
	assert_int_equal(db_commit(other), DB_OK);
	ends_with(&c, LOCKQ_LEASE_OVER);
	assert_string_equal(log_of_it(), "assigned1");
	lockq_disposed_clear(&c.result);
}

/* Cron has logged the end of the lease, and has not committed. */
static void
cron_comes_first(void **state)
{
	(void)state;
	for (size_t i = 0; i < CORRECTIONS; i++) {
		struct correction c = correction_of(takes_away[i], "marcus", NULL);
		struct db *cron = connect_as(OWNER_GROUP);

		(void)with_loans(1);
		run_out();
		assert_int_equal(db_begin(cron), DB_OK);
		(void)u64_on(cron, "SELECT loan_id FROM work WHERE task_id = %d FOR UPDATE", TASK);
		sql_on(cron, "INSERT INTO work_log (task_id, loan_id, event, user_id, account,"
		    " token, version, request_id, available_at, lease_expires_at, at)"
		    " SELECT task_id, loan_id, 'expired', user_id, 'cron', token, version + 1,"
		    " request_id, lease_expires_at, lease_expires_at, NOW(6) FROM work"
		    " WHERE task_id = %d", TASK);
		sql_on(cron, "CALL work_moves(%d, '[[1]]')", TASK);
		start_to_wait(&c, "work");
		assert_int_equal(db_commit(cron), DB_OK);
		ends_with(&c, LOCKQ_LEASE_OVER);
		assert_string_equal(c.result.loans[0].state, "returned");
		assert_string_equal(log_of_it(), "assigned1,expired2");
		lockq_disposed_clear(&c.result);
		(void)end_managers(state);
		(void)test_setup(state);
	}
}

/* Cron passes over the loan that is being corrected. */
static void
the_correction_is_before_cron(void **state)
{
	struct proxy *proxy = proxy_new();
	struct correction c = correction_of(LOCKQ_RELEASE, "marcus", proxy);
	struct lockq_expire what = LOCKQ_EXPIRE_INIT;
	struct lockq_expired did = LOCKQ_EXPIRED_INIT;
	struct worker *cron = worker_connected(2, TASK, 1);
	struct db *other;

	(void)state;
	(void)with_loans(2);
	other = hold_after_first_lock(&c, proxy);
	assert_int_equal(lockq_expire(cron->q, &what, &did), LOCKQ_OK);
	assert_int_equal(did.leases, 0);
	db_rollback(other);
	ends_with(&c, LOCKQ_DISPOSED);
	assert_int_equal(lockq_expire(cron->q, &what, &did), LOCKQ_OK);
	assert_int_equal(did.leases + did.available, 0);
	assert_string_equal(log_of_it(), "assigned1,returned2 by marcus");
	assert_consistent(TASK);
	lockq_disposed_clear(&c.result);
}

/* Returns a leader for user 1 who has given loan 1 away, and has not committed. */
static struct worker *
leader_who_gives(void)
{
	struct worker *leader = worker_new(1, TASK, 1, 8000);

	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "=COMMIT", 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	return leader;
}

/* A leader gives the loan to user 1, since its lease is over. */
static void
a_leader_comes_first(void **state)
{
	(void)state;
	for (size_t i = 0; i < CORRECTIONS; i++) {
		struct correction c = correction_of(takes_away[i], "marcus", NULL);
		struct worker *leader;

		(void)with_loans(1);
		run_out();
		leader = leader_who_gives();
		c.what.to = i == 0 ? NULL : user(2);
		start_to_wait(&c, "work");
		proxy_release(leader->proxy);
		worker_join(leader);
		assert_int_equal(leader->answer.n_loans, 1);
		ends_with(&c, LOCKQ_NOT_YOURS);
		assert_string_equal(c.result.loans[0].holder, user(1));
		assert_string_equal(log_of_it(), "assigned1,expired2,assigned3");
		assert_consistent(TASK);
		lockq_disposed_clear(&c.result);
		(void)end_managers(state);
		(void)test_setup(state);
	}
}

/* With the token of the assignment that the manager has seen, nobody else loses the loan. */
static void
a_stale_token_takes_nothing(void **state)
{
	struct correction c = correction_of(LOCKQ_RELEASE, "marcus", NULL);
	uint64_t token = with_loans(1)->answer.loans[0].token;

	(void)state;
	run_out();
	assert_int_equal(ask_now(1, TASK, 1)->answer.n_loans, 1);
	c.what.from = NULL;
	c.loans[0].token = token;
	now_ends_with(&c, LOCKQ_STALE_TOKEN);
	assert_string_equal(c.result.loans[0].holder, user(1));
	assert_int_equal(c.result.loans[0].token, token + 1);
	lockq_disposed_clear(&c.result);
}

/* A leader whose query has seen the loan as available, before it was corrected, gives it to nobody:
 * the version has changed. */
static void
a_leader_passes_over_it(void **state)
{
	struct correction back = correction_of(LOCKQ_RELEASE, "marcus", NULL);
	struct correction undo = correction_of(LOCKQ_UNDO, "marcus", NULL);
	struct worker *leader;

	(void)state;
	(void)with_loans(1);
	now_ends_with(&back, LOCKQ_DISPOSED);
	leader = leader_after_its_query(1, 1);
	now_ends_with(&undo, LOCKQ_DISPOSED);
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->answer.n_loans, 0);
	assert_string_equal(log_of_it(), "assigned1,returned2 by marcus,assigned3 by marcus");
	assert_consistent(TASK);
	lockq_disposed_clear(&back.result);
	lockq_disposed_clear(&undo.result);
}

/* What a leader has given to somebody is not given back. */
static void
an_undo_comes_too_late(void **state)
{
	struct correction c = correction_of(LOCKQ_UNDO, "marcus", NULL);
	struct said s = { with_loans(1), LOCKQ_COMPLETE, LOCKQ_DISPOSED_RESULT_INIT, -99, 0 };
	struct worker *leader;

	(void)state;
	say(&s);
	is_told(&s, LOCKQ_DISPOSED);
	leader = leader_who_gives();
	start_to_wait(&c, "work");
	proxy_release(leader->proxy);
	worker_join(leader);
	ends_with(&c, LOCKQ_NOT_YOURS);
	assert_string_equal(c.result.loans[0].holder, user(1));
	assert_string_equal(log_of_it(), "assigned1,completed2,assigned3");
	assert_consistent(TASK);
	lockq_disposed_clear(&c.result);
	lockq_disposed_clear(&s.result);
}

/* The user says something of the loan, and the undo waits for the end of that. */
static void
an_undo_waits_for_the_disposition(void **state)
{
	struct said s = user_who_says(LOCKQ_NEVER);
	struct correction c = correction_of(LOCKQ_UNDO, "marcus", NULL);

	(void)state;
	(void)with_loans(1);
	proxy_hold(s.by->proxy, "=COMMIT", 1);
	say(&s);
	proxy_until_held(s.by->proxy);
	start_to_wait(&c, "work");
	proxy_release(s.by->proxy);
	is_told(&s, LOCKQ_DISPOSED);
	ends_with(&c, LOCKQ_DISPOSED);
	assert_string_equal(c.result.loans[0].holder, user(0));
	assert_string_equal(log_of_it(), "assigned1,never2,assigned3 by marcus");
	assert_consistent(TASK);
	lockq_disposed_clear(&c.result);
	lockq_disposed_clear(&s.result);
}

/* Two managers correct the same loan. The second one is told, unless it is the same one who says
 * the same. */
static void
another_manager(void **state)
{
	static const struct {
		enum lockq_correction_kind first, second;
		const char *by;
		enum lockq_disposed told;
	} pairs[] = {
		{ LOCKQ_RELEASE, LOCKQ_RELEASE, "maria", LOCKQ_NOT_ASSIGNED },
		{ LOCKQ_RELEASE, LOCKQ_RELEASE, "marcus", LOCKQ_DISPOSED_ALREADY },
		{ LOCKQ_RELEASE, LOCKQ_REASSIGN, "marcus", LOCKQ_NOT_ASSIGNED },
		{ LOCKQ_REASSIGN, LOCKQ_REASSIGN, "maria", LOCKQ_NOT_YOURS },
		{ LOCKQ_REASSIGN, LOCKQ_REASSIGN, "marcus", LOCKQ_DISPOSED_ALREADY },
		{ LOCKQ_REASSIGN, LOCKQ_RELEASE, "marcus", LOCKQ_NOT_YOURS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct proxy *proxy = proxy_new(), *proxy_2 = proxy_new();
		struct correction c = correction_of(pairs[i].first, "marcus", proxy);
		struct correction d = correction_of(pairs[i].second, pairs[i].by, proxy_2);
		struct db *other;

		(void)with_loans(2);
		other = hold_after_first_lock(&c, proxy);
		proxy_replace(proxy_2, "innodb_lock_wait_timeout = 1,",
		    "innodb_lock_wait_timeout = 9,");
		start(&d);
		until_waiting_for("work", 2);
		db_rollback(other);
		ends_with(&c, LOCKQ_DISPOSED);
		ends_with(&d, pairs[i].told);
		assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
		    " AND loan_id = 1", TASK), pairs[i].first == LOCKQ_RELEASE ? 2 : 3);
		assert_consistent(TASK);
		lockq_disposed_clear(&c.result);
		lockq_disposed_clear(&d.result);
		(void)end_managers(state);
		(void)test_setup(state);
	}
}

/* An undo has called on_undo and written all, and has not committed. */
static void
two_undos(void **state)
{
	struct proxy *proxy = proxy_new(), *proxy_2 = proxy_new();
	struct correction c = correction_of(LOCKQ_UNDO, "marcus", proxy);
	struct correction d = correction_of(LOCKQ_UNDO, "maria", proxy_2);
	struct said s = { with_loans(1), LOCKQ_COMPLETE, LOCKQ_DISPOSED_RESULT_INIT, -99, 0 };

	(void)state;
	say(&s);
	is_told(&s, LOCKQ_DISPOSED);
	proxy_hold(proxy, "=COMMIT", 1);
	proxy_replace(proxy_2, "innodb_lock_wait_timeout = 1,", "innodb_lock_wait_timeout = 9,");
	start(&c);
	proxy_until_held(proxy);
	/* Nobody gets it meanwhile. */
	assert_int_equal(ask_now(1, TASK, 1)->answer.n_loans, 0);
	start(&d);
	until_waiting_for("work", 1);
	proxy_release(proxy);
	ends_with(&c, LOCKQ_DISPOSED);
	ends_with(&d, LOCKQ_NOT_YOURS);
	assert_string_equal(log_of_it(), "assigned1,completed2,assigned3 by marcus");
	assert_consistent(TASK);
	lockq_disposed_clear(&c.result);
	lockq_disposed_clear(&d.result);
	lockq_disposed_clear(&s.result);
}

/* guard: whoever gives loans locks the user's row of pipeline_lock before counting. A leader gives
 * user 1 the last loan that the task allows, and has not committed. */
static void
max_pipeline_holds(void **state)
{
	static const enum lockq_correction_kind gives[] = { LOCKQ_REASSIGN, LOCKQ_UNDO };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct proxy *proxy = proxy_new();
		struct correction c = correction_of(gives[i], "marcus", proxy);
		struct worker *holder, *leader = worker_new(1, TASK, 1, 8000);

		add_loans(TASK, 2);
		set_task(TASK, "max_pipeline = 1");
		sql("INSERT INTO pipeline_lock (task_id, user_id) VALUES (%d, %u)", TASK,
		    user_id(1));
		holder = ask_now(i == 0 ? 0 : 1, TASK, 1);
		if (gives[i] == LOCKQ_UNDO) {
			struct said s = { holder, LOCKQ_NEVER, LOCKQ_DISPOSED_RESULT_INIT, -99, 0 };

			say(&s);
			is_told(&s, LOCKQ_DISPOSED);
			lockq_disposed_clear(&s.result);
		}
		proxy_replace(proxy, "innodb_lock_wait_timeout = 1,",
		    "innodb_lock_wait_timeout = 9,");
		leader->proxy = proxy_new();
		proxy_hold(leader->proxy, "=COMMIT", 1);
		worker_start(leader);
		proxy_until_held(leader->proxy);
		start_to_wait(&c, "pipeline_lock");
		proxy_release(leader->proxy);
		worker_join(leader);
		assert_int_equal(leader->answer.n_loans, 1);
		ends_with(&c, LOCKQ_NOT_ALLOWED);
		assert_non_null(strstr(c.result.loans[0].reason, "max_pipeline"));
		assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND user_id = %u"
		    " AND state = 'assigned'", TASK, user_id(1)), 1);
		assert_consistent(TASK);
		lockq_disposed_clear(&c.result);
		(void)end_managers(state);
		(void)test_setup(state);
	}
}

/* guard: the token of a loan that is given to somebody is above every earlier one of it, also where
 * the task's epoch is not. */
static void
the_token_grows(void **state)
{
	struct correction c = correction_of(LOCKQ_REASSIGN, "marcus", NULL);
	struct correction d = correction_of(LOCKQ_REASSIGN, "marcus", NULL);
	uint64_t token = with_loans(1)->answer.loans[0].token;

	(void)state;
	now_ends_with(&c, LOCKQ_DISPOSED);
	assert_int_equal(c.result.loans[0].token, token + 1);
	d.what.from = user(1);
	d.what.to = user(2);
	now_ends_with(&d, LOCKQ_DISPOSED);
	assert_int_equal(d.result.loans[0].token, token + 2);
	lockq_disposed_clear(&c.result);
	lockq_disposed_clear(&d.result);
}

/* guard: where the user may not have the loan any more when on_undo has been called, what on_undo
 * has done is undone. The task allows fewer loans from that moment on. */
static void
on_undo_is_undone(void **state)
{
	struct proxy *proxy = proxy_new();
	struct correction c = correction_of(LOCKQ_UNDO, "marcus", proxy);
	struct said s = { with_loans(2), LOCKQ_COMPLETE, LOCKQ_DISPOSED_RESULT_INIT, -99, 0 };

	(void)state;
	sql("DROP PROCEDURE IF EXISTS test_on_undo");
	sql("CREATE PROCEDURE test_on_undo (IN p_loan BIGINT UNSIGNED, IN p_user VARCHAR(64))"
	    " SQL SECURITY DEFINER UPDATE test_candidate SET priority = 77"
	    " WHERE task_id = %d AND loan_id = p_loan", TASK);
	set_task(TASK, "on_undo = 'test_on_undo'");
	say(&s);
	is_told(&s, LOCKQ_DISPOSED);
	proxy_hold(proxy, "CALL manage_loans_2", 2);
	start(&c);
	proxy_until_held(proxy);
	set_task(TASK, "max_pipeline = 1");
	proxy_release(proxy);
	ends_with(&c, LOCKQ_NOT_ALLOWED);
	assert_string_equal(log_of_it(), "assigned1,completed2");
	assert_int_equal(u64("SELECT COUNT(*) FROM test_candidate WHERE priority = 77"), 0);
	set_task(TASK, "max_pipeline = NULL");
	now_ends_with(&c, LOCKQ_DISPOSED);
	assert_int_equal(u64("SELECT COUNT(*) FROM test_candidate WHERE priority = 77"), 1);
	set_task(TASK, "on_undo = NULL");
	sql("DROP PROCEDURE test_on_undo");
	lockq_disposed_clear(&c.result);
	lockq_disposed_clear(&s.result);
}

/* The connection is lost: the manager is told that nobody knows, and says the same again. */
static void
a_lost_connection(void **state)
{
	static const struct {
		enum lockq_correction_kind kind;
		const char *at;
		enum proxy_cut when;
		int rc;
	} cuts[] = {
		{ LOCKQ_RELEASE, "CALL manage_loans_2", CUT_BEFORE, LOCKQ_EUNKNOWN },
		{ LOCKQ_RELEASE, "CALL manage_loans_2", CUT_AFTER, LOCKQ_EUNKNOWN },
		{ LOCKQ_REASSIGN, "CALL manage_loans_2", CUT_AFTER, LOCKQ_EUNKNOWN },
		{ LOCKQ_UNDO, "CALL manage_loans_2", CUT_AFTER, LOCKQ_EDATABASE },
		{ LOCKQ_UNDO, "=COMMIT", CUT_BEFORE, LOCKQ_EUNKNOWN },
		{ LOCKQ_UNDO, "=COMMIT", CUT_AFTER, LOCKQ_EUNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct proxy *proxy = proxy_new();
		struct correction c = correction_of(cuts[i].kind, "marcus", proxy);
		struct said s = { with_loans(1), LOCKQ_COMPLETE, LOCKQ_DISPOSED_RESULT_INIT, -99,
			0 };
		bool undo = cuts[i].kind == LOCKQ_UNDO;
		bool done = cuts[i].when == CUT_AFTER && cuts[i].rc == LOCKQ_EUNKNOWN;

		if (undo) {
			say(&s);
			is_told(&s, LOCKQ_DISPOSED);
			lockq_disposed_clear(&s.result);
		}
		proxy_cut(proxy, cuts[i].at, 1, cuts[i].when);
		start(&c);
		pthread_join(c.thread, NULL);
		assert_int_equal(c.rc, cuts[i].rc);
		assert_int_equal(c.result.n_loans, 0);
		now_ends_with(&c, done ? LOCKQ_DISPOSED_ALREADY : LOCKQ_DISPOSED);
		assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d", TASK),
		    cuts[i].kind == LOCKQ_RELEASE ? 2 : 3);
		assert_consistent(TASK);
		lockq_disposed_clear(&c.result);
		(void)end_managers(state);
		(void)test_setup(state);
	}
}

/* What others hold for long ends each try. Nothing is changed, and the manager may try again. After
 * a deadlock the call has tried again itself. */
static void
it_is_held(void **state)
{
	(void)state;
	(void)with_loans(1);
	for (size_t i = 0; i < 2; i++) {
		struct proxy *proxy = proxy_new();
		struct correction c = correction_of(i == 0 ? LOCKQ_RELEASE : LOCKQ_UNDO, "marcus",
		    proxy);

		proxy_fail(proxy, "CALL manage_loans_2", 1, 99, 1205);
		start(&c);
		pthread_join(c.thread, NULL);
		assert_int_equal(c.rc, LOCKQ_BUSY);
		assert_int_equal(c.result.n_loans, 0);
		assert_non_null(strstr(lockq_error(c.q), "nothing was changed: try again"));
		assert_string_equal(log_of_it(), i == 0 ? "assigned1" :
		    "assigned1,returned2 by marcus");
		proxies_relent();
		proxy_fail(proxy, "CALL manage_loans_2", 1, 2, 1213);
		now_ends_with(&c, LOCKQ_DISPOSED);
		lockq_disposed_clear(&c.result);
	}
	assert_consistent(TASK);
}

struct cancelling {
	struct lockq *q;
	char request[32];
	struct lockq_answer answer;
	int rc;
	pthread_t thread;
};

static void *
cancel_it(void *data)
{
	struct cancelling *c = data;

	c->rc = lockq_cancel_for(c->q, "marcus", c->request, "a mistake", &c->answer);
	return NULL;
}

/* A leader is serving the request. The manager waits, and is told that it was served. */
static void
a_leader_serves_first(void **state)
{
	struct cancelling c = { .q = manager(NULL), .answer = LOCKQ_ANSWER_INIT };
	struct worker *leader;

	(void)state;
	add_loans(TASK, 1);
	leader = leader_who_gives();
	snprintf(c.request, sizeof(c.request), "%" PRIu64, request_of(TASK, 1));
	assert_int_equal(pthread_create(&c.thread, NULL, cancel_it, &c), 0);
	until_waiting_for("work_requested", 1);
	proxy_release(leader->proxy);
	worker_join(leader);
	pthread_join(c.thread, NULL);
	assert_int_equal(leader->answer.n_loans, 1);
	assert_int_equal(c.rc, LOCKQ_EREFUSED);
	assert_int_equal(c.answer.status, LOCKQ_SERVED);
	assert_non_null(strstr(lockq_error(c.q), "has ended before: served"));
	assert_string_equal(outcome_of(TASK, 1), "served");
	lockq_answer_clear(&c.answer);
}

/* A leader whose query runs does not serve a request that a manager has cancelled. */
static void
a_manager_cancels_first(void **state)
{
	struct cancelling c = { .q = manager(NULL), .answer = LOCKQ_ANSWER_INIT };
	struct worker *leader;

	(void)state;
	add_loans(TASK, 1);
	leader = leader_after_its_query(1, 1);
	snprintf(c.request, sizeof(c.request), "%" PRIu64, request_of(TASK, 1));
	(void)cancel_it(&c);
	assert_int_equal(c.rc, LOCKQ_OK);
	proxy_release(leader->proxy);
	worker_join(leader);
	assert_int_equal(leader->rc, LOCKQ_BUSY);
	assert_int_equal(leader->answer.status, LOCKQ_STATUS_CANCELLED);
	assert_string_equal(leader->answer.reason, "cancelled by marcus: a mistake");
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d", TASK), 0);
	lockq_answer_clear(&c.answer);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		MANAGER_TEST(the_disposition_comes_first),
		MANAGER_TEST(the_correction_comes_first),
		MANAGER_TEST(a_renewal_saves_nothing),
		MANAGER_TEST(the_lease_ends_meanwhile),
		MANAGER_TEST(cron_comes_first),
		MANAGER_TEST(the_correction_is_before_cron),
		MANAGER_TEST(a_leader_comes_first),
		MANAGER_TEST(a_stale_token_takes_nothing),
		MANAGER_TEST(a_leader_passes_over_it),
		MANAGER_TEST(an_undo_comes_too_late),
		MANAGER_TEST(an_undo_waits_for_the_disposition),
		MANAGER_TEST(another_manager),
		MANAGER_TEST(two_undos),
		MANAGER_TEST(max_pipeline_holds),
		MANAGER_TEST(the_token_grows),
		MANAGER_TEST(on_undo_is_undone),
		MANAGER_TEST(a_lost_connection),
		MANAGER_TEST(it_is_held),
		MANAGER_TEST(a_leader_serves_first),
		MANAGER_TEST(a_manager_cancels_first),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("correct", tests, suite_setup, suite_teardown);
}
