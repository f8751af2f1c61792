/* SPDX-License-Identifier: MIT */
/* A disposition that is made again with its UUID is answered as the first time, and changes
 * nothing. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

enum { LOANS_MOST = 8 };
#define UUID_1 "0b7d3d66-5c2f-4d5e-9d63-1a2b3c4d5e6f"
#define UUID_2 "0b7d3d66-5c2f-4d5e-9d63-1a2b3c4d5e70"

/* A call of lockq_dispose(). */
struct call {
	struct worker *by;
	struct lockq_disposition what;
	struct lockq_loan_ref loans[LOANS_MOST];
	struct lockq_disposed_result result;
	int rc;
	volatile bool done;
	pthread_t thread;
};

/* A call for the loans 1 to @n. */
static struct call
call_of(struct worker *by, enum lockq_disposition_kind kind, size_t n)
{
	struct call c = { .by = by, .what = LOCKQ_DISPOSITION_INIT,
		.result = LOCKQ_DISPOSED_RESULT_INIT };

	c.what.user = by->ask.user;
	c.what.task = TASK;
	c.what.kind = kind;
	c.what.n_loans = n;
	c.what.uuid = UUID_1;
	for (size_t i = 0; i < n; i++)
		c.loans[i].loan_id = i + 1;
	return c;
}

static void *
make(void *data)
{
	struct call *c = data;

	c->what.loans = c->loans;
	c->rc = lockq_dispose(c->by->q, &c->what, &c->result);
	c->done = true;
	return NULL;
}

static void
start(struct call *c)
{
	assert_int_equal(pthread_create(&c->thread, NULL, make, c), 0);
}

static void
finish(struct call *c)
{
	uint64_t since = db_clock_ms();

	while (!c->done && db_clock_ms() - since < PATIENCE_MS)
		db_sleep_ms(2);
	assert_true(c->done);
	pthread_join(c->thread, NULL);
}

static void
assert_same_answer(const struct call *first, const struct call *again)
{
	assert_int_equal(again->rc, first->rc);
	assert_int_equal(again->result.n_loans, first->result.n_loans);
	for (size_t i = 0; i < first->result.n_loans; i++) {
		const struct lockq_disposed_loan *a = &first->result.loans[i];
		const struct lockq_disposed_loan *b = &again->result.loans[i];

		if (a->what != b->what)
			print_error("loan %" PRIu64 "\n", a->loan_id);
		assert_int_equal(b->loan_id, a->loan_id);
		assert_int_equal(b->what, a->what);
		assert_int_equal(b->token, a->token);
		assert_string_equal(b->state, a->state);
		assert_string_equal(b->since, a->since);
		assert_string_equal(b->available_at, a->available_at);
		assert_string_equal(b->lease_expires_at, a->lease_expires_at);
		assert_string_equal(b->excluded_until, a->excluded_until);
		assert_int_equal(b->late, a->late);
		assert_int_equal(a->repeated, 0);
		assert_int_equal(b->repeated, 1);
		assert_true((a->holder == NULL) == (b->holder == NULL));
		if (a->holder != NULL)
			assert_string_equal(b->holder, a->holder);
	}
}

static uint64_t
written(void)
{
	return u64("SELECT COUNT(*) + COALESCE((SELECT SUM(version) FROM work WHERE task_id = %d),"
	    " 0) FROM work_log WHERE task_id = %d", TASK, TASK);
}

/* Makes the call again, on another connection of the same user, and compares the answers. */
static void
assert_repeats(const struct call *first)
{
	struct call again = *first;
	uint64_t before = written();

	again.by = worker_connected(0, TASK, 1);
	again.result = (struct lockq_disposed_result)LOCKQ_DISPOSED_RESULT_INIT;
	(void)make(&again);
	assert_same_answer(first, &again);
	assert_int_equal(written(), before);
	lockq_disposed_clear(&again.result);
}

/* Makes the call, which must be refused as a whole, without a word about the loans. */
static void
assert_taken(struct call call)
{
	uint64_t before = written();

	call.result = (struct lockq_disposed_result)LOCKQ_DISPOSED_RESULT_INIT;
	(void)make(&call);
	assert_int_equal(call.rc, LOCKQ_EREFUSED);
	assert_int_equal(call.result.n_loans, 0);
	assert_non_null(strstr(lockq_error(call.by->q), "UUID \"" UUID_1 "\" was used"));
	assert_int_equal(written(), before);
}

static struct worker *
with_loans(unsigned int n)
{
	struct worker *w;

	add_loans(TASK, n);
	w = ask_now(0, TASK, n);
	assert_int_equal(w->answer.n_loans, n);
	return w;
}

static void
run_out(uint64_t loan_id)
{
	sql("UPDATE work AS w JOIN work_log AS l USING (task_id, loan_id, version)"
	    " SET w.lease_expires_at = NOW(6), w.due_at = NOW(6), l.lease_expires_at = NOW(6)"
	    " WHERE w.task_id = %d AND w.loan_id = %" PRIu64, TASK, loan_id);
}

/* guard: a disposition that is made again with its UUID changes nothing, and is answered as the
 * first time, also when somebody else has the loan by then. */
static void
the_first_answer_comes_again(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		bool late = i == 4;
		struct call c;

		set_task(TASK, "lease_minutes = 60, complete_hold = %d", i);
		c = call_of(with_loans(2), late ? LOCKQ_COMPLETE :
		    (enum lockq_disposition_kind)i, 2);
		c.loans[0].token = 1;
		c.what.note = i % 2 == 0 ? "as agreed" : NULL;
		c.what.not_me_s = c.what.kind == LOCKQ_RETURN ? 3600 : 0;
		if (late)
			run_out(1);
		(void)make(&c);
		assert_int_equal(c.rc, LOCKQ_OK);
		assert_int_equal(c.result.loans[0].late, late);
		assert_repeats(&c);
		/* Whatever comes of the loans: here they are given to somebody else. */
		sql("UPDATE work SET available_at = NOW(6), due_at = NULL WHERE task_id = %d"
		    " AND available_at IS NOT NULL", TASK);
		if (c.what.kind == LOCKQ_RENEW)
			sql("UPDATE work SET lease_expires_at = NOW(6) WHERE task_id = %d"
			    " AND loan_id = 1", TASK);
		assert_int_equal(ask_now(1, TASK, 2)->answer.n_loans,
		    c.what.kind == LOCKQ_NEVER ? 0 : c.what.kind == LOCKQ_RENEW ? 1 : 2);
		assert_repeats(&c);
		assert_consistent(TASK);
		lockq_disposed_clear(&c.result);
		start_again();
	}
}

/* Disposes of one loan, which must be done. */
static void
dispose_of(struct worker *by, enum lockq_disposition_kind kind, uint64_t loan_id, uint32_t after_s)
{
	struct call c = call_of(by, kind, 1);

	c.loans[0].loan_id = loan_id;
	c.what.return_after_s = after_s;
	c.what.not_me_s = kind == LOCKQ_RETURN && after_s == 0 ? 3600 : 0;
	c.what.uuid = NULL;
	(void)make(&c);
	assert_int_equal(c.rc, LOCKQ_OK);
	lockq_disposed_clear(&c.result);
}

/* guard: loans that the first call refused are refused again, for the same reason, which the log
 * still has. By the second call each of them could be changed. */
static void
refusals_come_again(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		enum lockq_disposition_kind kind = i == 0 ? LOCKQ_COMPLETE : LOCKQ_RETURN;
		const enum lockq_disposed expected[] = {
			LOCKQ_DISPOSED, LOCKQ_DISPOSED_ALREADY, LOCKQ_NOT_YOURS, LOCKQ_STALE_TOKEN,
			LOCKQ_DISPOSED, LOCKQ_DISPOSED, LOCKQ_NOT_ASSIGNED
		};
		struct worker *w, *other;
		struct call c;

		set_task(TASK, "lease_minutes = 60, complete_hold = 60, max_count = 10");
		w = with_loans(6);
		dispose_of(w, kind, 2, i == 0 ? 0 : 60);
		dispose_of(w, LOCKQ_RETURN, 3, 0);
		other = ask_now(1, TASK, 1);
		assert_int_equal(other->answer.loans[0].loan_id, 3);
		run_out(5);
		c = call_of(w, kind, 7);
		c.what.return_after_s = i == 0 ? 0 : 60;
		c.loans[3].token = 77;
		(void)make(&c);
		assert_int_equal(c.rc, LOCKQ_EREFUSED);
		for (size_t k = 0; k < 7; k++)
			assert_int_equal(c.result.loans[k].what, expected[k]);
		assert_repeats(&c);
		dispose_of(other, LOCKQ_RETURN, 3, 0);
		sql("DELETE FROM work_exclusion WHERE task_id = %d", TASK);
		sql("UPDATE work SET available_at = NOW(6), due_at = NULL WHERE task_id = %d"
		    " AND available_at IS NOT NULL", TASK);
		add_loan(TASK, 7, 7);
		assert_int_equal(ask_now(0, TASK, 10)->answer.n_loans, 6);
		assert_repeats(&c);
		lockq_disposed_clear(&c.result);
		start_again();
	}
}

/* guard: a UUID stands for one call: with another user, kind, time, note, token or loan it is
 * refused, and nothing is told of the loans. */
static void
another_call_is_refused(void **state)
{
	struct worker *w, *other = worker_connected(1, TASK, 1);
	struct call c, changed;

	(void)state;
	w = with_loans(3);
	c = call_of(w, LOCKQ_RETURN, 2);
	c.what.return_after_s = 60;
	c.what.not_me_s = 60;
	c.what.note = "as agreed";
	(void)make(&c);
	assert_int_equal(c.rc, LOCKQ_OK);
	for (int i = 0; i < 8; i++) {
		changed = c;
		switch (i) {
		case 0: changed.by = other, changed.what.user = other->ask.user; break;
		case 1: changed.what.kind = LOCKQ_COMPLETE, changed.what.not_me_s = 0; break;
		case 2: changed.what.return_after_s = 61; break;
		case 3: changed.what.not_me_s = 0; break;
		case 4: changed.what.note = NULL; break;
		case 5: changed.what.note = "as agreed."; break;
		case 6: changed.loans[1].token = 2; break;
		default: changed.loans[2].loan_id = 3, changed.what.n_loans = 3; break;
		}
		assert_taken(changed);
	}
	assert_repeats(&c);
	lockq_disposed_clear(&c.result);
}

/* A call that wrote nothing has not been made: repeated, it is judged anew. */
static void
what_wrote_nothing_was_not_made(void **state)
{
	struct worker *w = worker_connected(0, TASK, 1);
	struct call c = call_of(w, LOCKQ_COMPLETE, 1);

	(void)state;
	add_loans(TASK, 1);
	(void)make(&c);
	assert_int_equal(c.rc, LOCKQ_EREFUSED);
	assert_int_equal(c.result.loans[0].what, LOCKQ_NOT_ASSIGNED);
	assert_int_equal(ask_now(0, TASK, 1)->rc, LOCKQ_OK);
	(void)make(&c);
	assert_int_equal(c.rc, LOCKQ_OK);
	assert_int_equal(c.result.loans[0].repeated, 0);
	assert_repeats(&c);
	lockq_disposed_clear(&c.result);
}

static void
a_uuid_is_kept_in_lower_case(void **state)
{
	struct call c = call_of(with_loans(1), LOCKQ_COMPLETE, 1);
	static const char *const bad[] = {
		"", "x", "0b7d3d66-5c2f-4d5e-9d63-1a2b3c4d5e6",
		"0b7d3d66-5c2f-4d5e-9d63-1a2b3c4d5e6g",
		"0b7d3d665c2f4d5e9d631a2b3c4d5e6f", "{0b7d3d66-5c2f-4d5e-9d63-1a2b3c4d5e6f}"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		c.what.uuid = bad[i];
		(void)make(&c);
		assert_int_equal(c.rc, LOCKQ_EUSAGE);
	}
	c.what.uuid = "0B7D3D66-5C2F-4D5E-9D63-1A2B3C4D5E6F";
	(void)make(&c);
	assert_int_equal(c.rc, LOCKQ_OK);
	assert_string_equal(text_of("SELECT uuid FROM work_log WHERE task_id = %d"
	    " AND event = 'completed'", TASK), UUID_1);
	c.what.uuid = UUID_1;
	assert_repeats(&c);
	lockq_disposed_clear(&c.result);
}

/* guard: two calls with one UUID at once are one call. The second one waits for the first one's
 * COMMIT, and must see what that has written to the log. */
static void
two_at_once(void **state)
{
	struct worker *w, *proxied = worker_new(0, TASK, 1, 0);
	struct call first, second;

	(void)state;
	w = with_loans(2);
	proxied->proxy = proxy_new();
	worker_connect(proxied);
	first = call_of(proxied, LOCKQ_RETURN, 2);
	second = call_of(w, LOCKQ_RETURN, 2);
	proxy_hold(proxied->proxy, "=COMMIT", 1);
	start(&first);
	proxy_until_held(proxied->proxy);
	start(&second);
	until_waiting_for("work", 1);
	proxy_release(proxied->proxy);
	finish(&first);
	finish(&second);
	assert_int_equal(first.rc, LOCKQ_OK);
	assert_same_answer(&first, &second);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
	    " AND event = 'returned'", TASK), 2);
	lockq_disposed_clear(&first.result);
	lockq_disposed_clear(&second.result);
}

/* The connection of the first call is lost at COMMIT. The call finds out, and answers as if nothing
 * had happened; so does a repetition. */
static void
a_commit_in_doubt(void **state)
{
	(void)state;
	for (int how = 0; how < 3; how++) {
		struct worker *by = worker_new(0, TASK, 1, 0);
		struct call c;

		(void)with_loans(2);
		by->proxy = proxy_new();
		worker_connect(by);
		if (how < 2)
			proxy_cut(by->proxy, "=COMMIT", 1, how == 0 ? CUT_BEFORE : CUT_AFTER);
		else
			proxy_hold_and_cut(by->proxy, "=COMMIT", 1);
		c = call_of(by, LOCKQ_COMPLETE, 3);
		start(&c);
		if (how == 2) {
			proxy_until_held(by->proxy);
			until_waiting_for("work", 1);
			proxy_release(by->proxy);
		}
		finish(&c);
		assert_int_equal(c.rc, LOCKQ_EREFUSED);
		assert_int_equal(c.result.loans[0].what, LOCKQ_DISPOSED);
		assert_int_equal(c.result.loans[2].what, LOCKQ_NOT_ASSIGNED);
		assert_repeats(&c);
		assert_int_equal(ask_now(1, TASK, 2)->answer.n_loans, 2);
		assert_repeats(&c);
		lockq_disposed_clear(&c.result);
		start_again();
	}
}

/* Nobody can tell what became of the COMMIT. The same call finds out later. */
static void
an_unknown_outcome_is_found_later(void **state)
{
	struct worker *by = worker_new(0, TASK, 1, 0);
	struct call c, again;

	(void)state;
	(void)with_loans(1);
	by->proxy = proxy_new();
	worker_connect(by);
	c = call_of(by, LOCKQ_COMPLETE, 1);
	c.what.timeout_ms = 0;
	proxy_hold_and_cut(by->proxy, "=COMMIT", 1);
	start(&c);
	proxy_until_held(by->proxy);
	proxy_refuse(by->proxy);
	finish(&c);
	assert_int_equal(c.rc, LOCKQ_EUNKNOWN);
	again = call_of(worker_connected(0, TASK, 1), LOCKQ_COMPLETE, 1);
	start(&again);
	until_waiting_for("work", 1);
	proxy_release(by->proxy);
	finish(&again);
	assert_int_equal(again.rc, LOCKQ_OK);
	assert_int_equal(again.result.loans[0].what, LOCKQ_DISPOSED);
	assert_int_equal(again.result.loans[0].repeated, 1);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d"
	    " AND event = 'completed'", TASK), 1);
	lockq_disposed_clear(&again.result);
}

static uint64_t
rows_read(void)
{
	return u64_on(administrator(), "SELECT SUM(count_read)"
	    " FROM performance_schema.table_io_waits_summary_by_index_usage"
	    " WHERE object_schema = '%s' AND object_name = 'work_log'", db_database(owner()));
}

/* A repetition finds its rows by the keys of the log, however long the log is. */
static void
it_reads_few_rows(void **state)
{
	struct worker *w = with_loans(2);
	struct call c = call_of(w, LOCKQ_RENEW, 2);
	uint64_t before;

	(void)state;
	if (administrator() == NULL)
		skip();
	set_task(TASK, "lease_minutes = 60");
	c.what.note = "still at it";
	(void)make(&c);
	assert_int_equal(c.rc, LOCKQ_OK);
	sql("INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,"
	    " request_id, at) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
	    " WHERE i < 900) SELECT %d, 1000 + i, 'assigned', %u, 'x', 1, 1, 1, NOW(6) FROM n",
	    TASK, user_id(0));
	/* assert_repeats() reads all rows of the task, twice. */
	before = rows_read();
	(void)written();
	(void)written();
	before = rows_read() - before + rows_read();
	assert_repeats(&c);
	printf("# rows of the log read: %" PRIu64 "\n", rows_read() - before);
	assert_in_range(rows_read() - before, 1, 100);
	lockq_disposed_clear(&c.result);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(the_first_answer_comes_again),
		DB_TEST(refusals_come_again),
		DB_TEST(another_call_is_refused),
		DB_TEST(what_wrote_nothing_was_not_made),
		DB_TEST(a_uuid_is_kept_in_lower_case),
		DB_TEST(two_at_once),
		DB_TEST(a_commit_in_doubt),
		DB_TEST(an_unknown_outcome_is_found_later),
		DB_TEST(it_reads_few_rows),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("repeated", tests, suite_setup, suite_teardown);
}
