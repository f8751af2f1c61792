/* SPDX-License-Identifier: MIT */
/* lockq_dispose_and_ask(): loans are completed, and others are given, in one commit where the
 * task's list serves. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "support.h"

static const struct lockq_loan_ref loan_1 = { .loan_id = 1 };

/* User 1 has loan 1, and the list has the others, up to @loans. */
static void
begin(unsigned int loans)
{
	struct worker *w;

	set_task(TASK, "cache_ttl = 60, complete_hold = 3600");
	add_loans(TASK, loans);
	w = ask_now(1, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.loans[0].loan_id, 1);
}

/* User 1 completes loan 1, and asks for @count. */
static struct worker *
completes_and_asks(uint32_t count)
{
	static struct lockq_disposition complete;
	struct worker *w = worker_new(1, TASK, count, 5000);

	complete = (struct lockq_disposition)LOCKQ_DISPOSITION_INIT;
	complete.user = user(1);
	complete.task = TASK;
	complete.kind = LOCKQ_COMPLETE;
	complete.loans = &loan_1;
	complete.n_loans = 1;
	w->first = &complete;
	return w;
}

static void
run(struct worker *w)
{
	worker_start(w);
	worker_join(w);
}

static uint64_t
completed(void)
{
	return u64("SELECT COUNT(*) FROM work_log WHERE task_id = %d AND event = 'completed'",
	    TASK);
}

static uint64_t
held_by_user_1(void)
{
	return u64("SELECT COUNT(*) FROM work WHERE task_id = %d AND state = 'assigned'"
	    " AND user_id = %u", TASK, user_id(1));
}

/* Loan 1 is completed, and the user has the loans from 2 on. */
static void
assert_done(const struct worker *w, uint32_t count, bool one_commit)
{
	if (w->rc != LOCKQ_OK)
		print_error("%s\n", w->error);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->disposed.asked, 1);
	assert_int_equal(w->disposed.n_loans, 1);
	assert_int_equal(w->disposed.loans[0].what, LOCKQ_DISPOSED);
	assert_int_equal(w->answer.one_commit, one_commit);
	assert_int_equal(w->answer.n_loans, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(w->answer.loans[i].loan_id, 2 + i);
	assert_int_equal(completed(), 1);
	assert_int_equal(held_by_user_1(), count);
	assert_consistent(TASK);
}

/* guard: where the list serves, the disposition and the loans are one commit. */
static void
one_commit(void **state)
{
	struct worker *w;

	(void)state;
	begin(10);
	w = completes_and_asks(2);
	w->proxy = proxy_new();
	run(w);
	assert_done(w, 2, true);
	assert_string_equal(w->answer.how, "list");
	assert_int_equal(proxy_count(w->proxy, "CALL list_serves"), 1);
	assert_int_equal(proxy_count(w->proxy, "=COMMIT"), 0);
	assert_int_equal(rounds_of(TASK), 1);
}

/* No transaction is left open by which the answer was read, or a manager's ALTER TABLE would wait
 * for a program that works on its loans. */
static void
no_transaction_is_left(void **state)
{
	struct worker *w;

	(void)state;
	if (administrator() == NULL)
		skip();
	begin(10);
	w = completes_and_asks(2);
	run(w);
	assert_done(w, 2, true);
	assert_int_equal(u64_on(administrator(), "SELECT COUNT(*)"
	    " FROM performance_schema.metadata_locks AS m"
	    " JOIN performance_schema.threads AS t ON t.thread_id = m.owner_thread_id"
	    " WHERE t.processlist_id = %" PRIu64 " AND m.object_type = 'TABLE'",
	    db_connection_id(inside_lock_connection(w->q))), 0);
}

/* Without a list the disposition is committed first, and then the call leads. */
static void
without_a_list(void **state)
{
	struct worker *w;

	(void)state;
	begin(10);
	set_task(TASK, "cache_ttl = 0");
	w = completes_and_asks(2);
	run(w);
	assert_done(w, 2, false);
	assert_int_equal(w->answer.led, 1);
}

/* The connection is lost between the two, and for a moment there is no server. */
static void
a_connection_that_is_lost_after_the_disposition(void **state)
{
	struct worker *w;

	(void)state;
	begin(10);
	set_task(TASK, "cache_ttl = 0");
	w = completes_and_asks(2);
	w->proxy = proxy_new();
	worker_connect(w);
	proxy_refuse(w->proxy);
	proxy_cut(w->proxy, "SET autocommit = 1", 1, CUT_BEFORE);
	worker_start(w);
	worker_until_paused(w);
	proxy_accept(w->proxy);
	worker_join(w);
	assert_done(w, 2, false);
}

/* A loan that is refused keeps the call from asking, and the others are completed. */
static void
a_loan_that_is_refused(void **state)
{
	static const struct lockq_loan_ref loans[] = { { .loan_id = 1 }, { .loan_id = 5 } };
	struct lockq_disposition what;
	struct worker *w;

	(void)state;
	begin(10);
	w = completes_and_asks(2);
	what = *w->first;
	what.loans = loans;
	what.n_loans = 2;
	w->first = &what;
	run(w);
	assert_int_equal(w->rc, LOCKQ_EREFUSED);
	assert_int_equal(w->disposed.asked, 0);
	assert_int_equal(w->disposed.n_loans, 2);
	assert_int_equal(w->answer.request_id, 0);
	assert_int_equal(completed(), 1);
	assert_int_equal(held_by_user_1(), 0);
	assert_consistent(TASK);
}

/* A place of max_pipeline that the disposition makes free counts for what is asked. */
static void
a_place_that_becomes_free(void **state)
{
	struct worker *w;

	(void)state;
	begin(10);
	set_task(TASK, "max_pipeline = 1");
	w = completes_and_asks(1);
	run(w);
	assert_done(w, 1, true);
}

/* guard: a list that can't serve at the pop leaves the disposition committed, and the call asks. */
static void
a_list_that_is_gone(void **state)
{
	struct worker *w;

	(void)state;
	begin(10);
	w = completes_and_asks(2);
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "CALL list_serves", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	set_task(TASK, "cache_ttl = 0");
	proxy_release(w->proxy);
	worker_join(w);
	assert_done(w, 2, false);
}

/* guard: a pop that fails takes nothing of the disposition with it. */
static void
a_pop_that_fails(void **state)
{
	static const unsigned int errors[] = { 1213, 1205, 3101, 1062 };

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct worker *w;

		begin(10);
		w = completes_and_asks(2);
		w->proxy = proxy_new();
		proxy_fail(w->proxy, "CALL list_serves", 1, 1, errors[i]);
		run(w);
		assert_done(w, 2, false);
		start_again();
	}
}

/* guard: a pop whose answer is lost has given, and the call finds that out. One that the server has
 * not seen has not. */
static void
a_pop_that_was_lost(void **state)
{
	(void)state;
	for (int after = 0; after < 2; after++) {
		struct worker *w;

		begin(10);
		w = completes_and_asks(2);
		w->proxy = proxy_new();
		proxy_cut(w->proxy, "CALL list_serves", 1, after ? CUT_AFTER : CUT_BEFORE);
		run(w);
		assert_done(w, 2, after);
		assert_int_equal(rounds_of(TASK), 1);
		start_again();
	}
}

/* guard: where the connection is lost again, the call goes on finding out. */
static void
a_pop_that_was_lost_twice(void **state)
{
	struct worker *w;

	(void)state;
	begin(10);
	w = completes_and_asks(2);
	w->proxy = proxy_new();
	proxy_cut(w->proxy, "CALL list_serves", 1, CUT_AFTER);
	proxy_cut(w->proxy, "SELECT request_id FROM work_requested WHERE uuid", 1, CUT_BEFORE);
	run(w);
	assert_done(w, 2, true);
	assert_string_equal(w->error, "");
}

/* guard: an answer that can't be read after the COMMIT does not mean that nothing was done. Other
 * sessions have tables locked: one that the answer is in, and one by which the disposition would
 * find out. */
static void
an_answer_and_a_log_that_are_not_read(void **state)
{
	struct db *other = connect_as(OWNER_GROUP), *another = connect_as(OWNER_GROUP);
	struct lockq_disposition what;
	struct worker *w;

	(void)state;
	begin(10);
	sql_on(other, "LOCK TABLES leader_run WRITE");
	w = completes_and_asks(2);
	what = *w->first;
	what.timeout_ms = 0;
	w->first = &what;
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "SELECT j.loan_id, me.user_id", 2);
	worker_start(w);
	proxy_until_held(w->proxy);
	sql_on(another, "LOCK TABLES work_log WRITE");
	proxy_release(w->proxy);
	worker_join(w);
	sql_on(another, "UNLOCK TABLES");
	sql_on(other, "UNLOCK TABLES");
	assert_int_equal(w->rc, LOCKQ_EUNKNOWN);
	assert_string_not_equal(w->answer.uuid, "");
	assert_int_equal(completed(), 1);
	assert_int_equal(held_by_user_1(), 2);
	assert_consistent(TASK);
}

/* guard: once the caller has given up, no loans are given, in the disposition's commit or after it.
 * The caller is asked as in other waits, so not within the first quarter of a second. */
static void
a_caller_who_gives_up(void **state)
{
	struct worker *w;

	(void)state;
	begin(10);
	w = completes_and_asks(2);
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "CALL work_moves", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	w->give_up = true;
	db_sleep_ms(250);
	proxy_release(w->proxy);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_CANCELLED);
	assert_string_equal(w->error, "interrupted: nothing was asked for");
	assert_int_equal(w->disposed.asked, 0);
	assert_int_equal(w->disposed.n_loans, 1);
	assert_int_equal(w->disposed.loans[0].what, LOCKQ_DISPOSED);
	assert_int_equal(proxy_count(w->proxy, "CALL list_serves"), 0);
	assert_int_equal(completed(), 1);
	assert_int_equal(held_by_user_1(), 0);
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d", TASK), 1);
	assert_consistent(TASK);
}

/* guard: the answer is in UTF-8, whatever on_complete has made of the session. */
static void
a_procedure_that_changes_the_session(void **state)
{
	struct worker *w;

	(void)state;
	begin(10);
	sql("UPDATE leader_run SET user = 'j\u00fcrgen' WHERE task_id = %d", TASK);
	sql("DROP PROCEDURE IF EXISTS test_on_complete");
	sql("CREATE PROCEDURE test_on_complete (IN p_loan_id BIGINT UNSIGNED,"
	    " IN p_user VARCHAR(64)) SET NAMES latin1");
	if (administrator() != NULL)
		sql_on(administrator(), "GRANT EXECUTE ON PROCEDURE %s.test_on_complete"
		    " TO lockq_worker@lockq", db_database(owner()));
	set_task(TASK, "on_complete = 'test_on_complete'");
	w = completes_and_asks(2);
	run(w);
	assert_done(w, 2, true);
	assert_string_equal(w->answer.leader, "j\u00fcrgen");
}

/* A UUID that was used before gives its old answer, after the disposition. */
static void
a_uuid_that_was_used(void **state)
{
	static const char uuid[] = "11111111-2222-4333-8444-555555555555";
	struct worker *w;

	(void)state;
	begin(10);
	w = worker_new(1, TASK, 1, 5000);
	w->ask.uuid = uuid;
	run(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.loans[0].loan_id, 2);
	w = completes_and_asks(1);
	w->ask.uuid = uuid;
	run(w);
	assert_done(w, 1, false);
	assert_int_equal(w->answer.repeated, 1);
}

/* A process that is stopped between the disposition and the pop holds no loan of the list,
 * and when it is killed, neither is done. */
static void
a_process_that_is_killed(void **state)
{
	struct worker *w, *other;

	(void)state;
	begin(10);
	w = completes_and_asks(2);
	w->proxy = proxy_new();
	proxy_hold(w->proxy, "CALL list_serves", 1);
	(void)worker_fork(w);
	proxy_until_held(w->proxy);
	other = ask_now(2, TASK, 1);
	assert_int_equal(other->rc, LOCKQ_OK);
	assert_int_equal(other->answer.loans[0].loan_id, 2);
	assert_true(other->ms < NO_LOCK_WAIT_MS);
	kill(w->pid, SIGKILL);
	assert_int_equal(worker_reap(w->pid), -1);
	proxy_drop(w->proxy);
	until("SELECT COUNT(*) = 1 FROM (SELECT loan_id FROM work WHERE task_id = %d"
	    " AND loan_id = 1 FOR UPDATE SKIP LOCKED) AS free", TASK);
	assert_int_equal(completed(), 0);
	assert_int_equal(held_by_user_1(), 1);
	assert_consistent(TASK);
}

static void
pop_by_hand(struct db *db)
{
	(void)try_sql(db, "CALL list_serves_2(UUID(), NULL, %u, %d, 1, 1, %" PRIu64
	    ", '[1000000]', '[]', UTC_TIMESTAMP(6), NULL, TRUE)", user_id(1), TASK,
	    epoch_of(TASK));
}

/* guard: by hand, the pop joins no transaction where there is none: it would lock nothing. */
static void
by_hand_without_a_transaction(void **state)
{
	struct db *db = connect_as(worker_where().defaults_group);

	(void)state;
	begin(10);
	pop_by_hand(db);
	assert_int_equal(db_errno(db), 1305);
	assert_int_equal(held_by_user_1(), 1);
	assert_consistent(TASK);
}

/* Nor one that reads what was there before. */
static void
by_hand_in_an_old_view(void **state)
{
	struct db *db = connect_as(worker_where().defaults_group);

	(void)state;
	begin(10);
	sql_on(db, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
	sql_on(db, "START TRANSACTION");
	pop_by_hand(db);
	assert_int_equal(db_errno(db), 1644);
	assert_int_equal(held_by_user_1(), 1);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(one_commit),
		DB_TEST(no_transaction_is_left),
		DB_TEST(without_a_list),
		DB_TEST(a_loan_that_is_refused),
		DB_TEST(a_place_that_becomes_free),
		DB_TEST(a_list_that_is_gone),
		DB_TEST(a_pop_that_fails),
		DB_TEST(a_pop_that_was_lost),
		DB_TEST(a_pop_that_was_lost_twice),
		DB_TEST(an_answer_and_a_log_that_are_not_read),
		DB_TEST(a_caller_who_gives_up),
		DB_TEST(a_procedure_that_changes_the_session),
		DB_TEST(a_uuid_that_was_used),
		DB_TEST(a_process_that_is_killed),
		DB_TEST(a_connection_that_is_lost_after_the_disposition),
		DB_TEST(by_hand_without_a_transaction),
		DB_TEST(by_hand_in_an_old_view),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("dispose_ask", tests, suite_setup, suite_teardown);
}
