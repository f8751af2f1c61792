/* SPDX-License-Identifier: MIT */
/* A task's rules that keep loans from users: not_same_user_as, the second look by another person
 * than the first, and not_again. They hold in every way in which a loan is given. */
#include <stdio.h>
#include <string.h>

#include "support.h"

/* The first look is OTHER_TASK, the second one TASK. */
enum { FIRST = OTHER_TASK, LOANS = 10 };

/* User 0 says so of the loan, through the connection of @w. */
static void
dispose(struct worker *w, uint32_t task, uint64_t loan, enum lockq_disposition_kind kind)
{
	const struct lockq_loan_ref ref = { loan, 0 };
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;

	what.user = w->ask.user;
	what.task = task;
	what.kind = kind;
	what.loans = &ref;
	what.n_loans = 1;
	assert_int_equal(lockq_dispose(w->q, &what, &result), LOCKQ_OK);
	lockq_disposed_clear(&result);
}

/* Returns the first loan that the user gets; 0: none. */
static uint64_t
asks(unsigned int user_no, uint32_t task)
{
	struct worker *w = ask_now(user_no, task, 1);

	assert_consistent(task);
	if (w->rc == LOCKQ_NOTHING)
		return 0;
	assert_string_equal(w->error, "");
	assert_int_equal(w->rc, LOCKQ_OK);
	return w->answer.loans[0].loan_id;
}

/* The user completes the first @n loans of the task, one after the other. */
static void
completes(unsigned int user_no, uint32_t task, unsigned int n)
{
	struct worker *w = ask_now(user_no, task, n);

	assert_int_equal(w->answer.n_loans, n);
	for (unsigned int i = 0; i < n; i++)
		dispose(w, task, w->answer.loans[i].loan_id, LOCKQ_COMPLETE);
}

/* What a manager says. */
static enum lockq_disposed
correct(enum lockq_correction_kind kind, uint32_t task, uint64_t loan, const char *from,
    const char *to, char reason[256])
{
	const struct lockq_loan_ref ref = { loan, 0 };
	const struct lockq_correction what = { .manager = "marcus", .task = task, .kind = kind,
		.from = from, .to = to, .reason = "a mistake", .loans = &ref, .n_loans = 1 };
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	enum lockq_disposed became;
	struct lockq *q = handle_of_owner();

	(void)!lockq_correct(q, &what, &result);
	assert_int_equal(result.n_loans, 1);
	became = result.loans[0].what;
	snprintf(reason, 256, "%s", result.loans[0].reason != NULL ? result.loans[0].reason : "");
	lockq_disposed_clear(&result);
	lockq_free(q);
	return became;
}

static void
four_eyes(void)
{
	add_loans(FIRST, LOANS);
	add_loans(TASK, LOANS);
	set_task(TASK, "not_same_user_as = %d", FIRST);
}

/* guard: a leader gives no loan to the user who has completed it in the other task. */
static void
the_second_look_is_by_another_user(void **state)
{
	(void)state;
	four_eyes();
	completes(0, FIRST, 2);
	assert_int_equal(asks(0, TASK), 3);
	assert_int_equal(asks(1, TASK), 1);
	assert_int_equal(asks(1, TASK), 2);
}

/* guard: nor to the user who has it there, and may complete it next. */
static void
nor_by_who_has_it(void **state)
{
	struct worker *w;

	(void)state;
	four_eyes();
	w = ask_now(0, FIRST, 1);
	assert_int_equal(asks(0, TASK), 2);
	dispose(w, FIRST, 1, LOCKQ_RETURN);
	assert_int_equal(asks(0, TASK), 1);
}

/* guard: nor to one whose lease is over there, and who may still complete it. */
static void
nor_by_who_may_be_late(void **state)
{
	struct lockq_expire what = LOCKQ_EXPIRE_INIT;
	struct lockq_expired did = LOCKQ_EXPIRED_INIT;
	struct lockq *q = handle_of_owner();
	struct worker *w;

	(void)state;
	four_eyes();
	w = ask_now(0, FIRST, 1);
	sql("UPDATE work SET lease_expires_at = NOW(6), due_at = NOW(6) WHERE task_id = %d", FIRST);
	assert_int_equal(asks(0, TASK), 2);
	assert_int_equal(lockq_expire(q, &what, &did), LOCKQ_OK);
	lockq_free(q);
	assert_int_equal(did.leases, 1);
	assert_int_equal(asks(0, TASK), 3);
	dispose(w, FIRST, 1, LOCKQ_COMPLETE);
	assert_int_equal(asks(0, TASK), 4);
}

/* guard: what was completed before somebody else had the loan counts, too. */
static void
it_is_not_forgotten(void **state)
{
	struct lockq_expire what = LOCKQ_EXPIRE_INIT;
	struct lockq_expired did = LOCKQ_EXPIRED_INIT;
	struct lockq *q = handle_of_owner();
	struct worker *w;

	(void)state;
	four_eyes();
	completes(0, FIRST, 1);
	w = ask_now(1, FIRST, 1);
	assert_int_equal(w->answer.loans[0].loan_id, 1);
	dispose(w, FIRST, 1, LOCKQ_RETURN);
	assert_int_equal(asks(0, TASK), 2);
	/* Nor by a purge. */
	sql("UPDATE work_log SET at = at - INTERVAL 3 DAY WHERE task_id = %d", FIRST);
	what.purge_after_s = LOCKQ_PURGE_AFTER_MIN;
	assert_int_equal(lockq_expire(q, &what, &did), LOCKQ_OK);
	lockq_free(q);
	assert_int_equal(did.log_rows, 2);
	assert_int_equal(ask_now(0, TASK, 1)->answer.loans[0].loan_id, 3);
}

/* guard: "no work" tells that loans were left which are not for this user. */
static void
nothing_for_you(void **state)
{
	struct worker *w;

	(void)state;
	four_eyes();
	completes(0, FIRST, LOANS);
	w = ask_now(0, TASK, 1);
	assert_int_equal(w->rc, LOCKQ_NOTHING);
	assert_int_equal(w->answer.status, LOCKQ_EMPTY);
	assert_int_equal(w->answer.excluded, LOANS);
	assert_int_equal(asks(1, TASK), 1);
}

/* guard: a leader's list is longer by the loans that are not for its user, or it queries again and
 * again. */
static void
a_list_that_is_cut(void **state)
{
	(void)state;
	add_loans(FIRST, 40);
	add_loans(TASK, 40);
	set_task(TASK, "not_same_user_as = %d, max_count = 3, candidate_limit = 5", FIRST);
	set_task(FIRST, "max_count = 30");
	completes(0, FIRST, 30);
	assert_int_equal(asks(0, TASK), 31);
	assert_int_equal(asks(1, TASK), 1);
	/* A short list, too. */
	add_round(TASK, "query", 1);
	assert_int_equal(asks(0, TASK), 32);
}

/* guard: whoever takes from a kept list passes over the loans that are not for the user, however
 * many there are. */
static void
from_a_kept_list(void **state)
{
	(void)state;
	add_loans(TASK, 2400);
	set_task(TASK, "not_same_user_as = %d, cache_ttl = 60", FIRST);
	assert_int_equal(asks(1, TASK), 1);
	sql("INSERT INTO work_log (task_id, loan_id, event, user_id, account, token, version,"
	    " request_id, at) SELECT %d, loan_id, 'completed', %u, 'x', 1, 2, 1, NOW(6)"
	    "   FROM test_candidate WHERE task_id = %d AND loan_id <= 2300", FIRST,
	    user_id(0), TASK);
	assert_int_equal(asks(0, TASK), 2301);
	assert_int_equal(asks(0, TASK), 2302);
	assert_int_equal(asks(1, TASK), 2);
	assert_int_equal(rounds_of(TASK), 1);
	/* The first loans are not gone. */
	assert_int_equal(u64("SELECT head < 10 FROM kept_list WHERE task_id = %d", TASK), 1);
}

/* The user takes the first loan of the list by raw SQL, and is told this. */
static void
assert_told(unsigned int user_no, const char *told)
{
	static const struct db_query take = {
		"take", "CALL list_serves_2(UUID(), NULL, ?, ?, 1, 1, ?, '[1000000]', '[]',"
		" UTC_TIMESTAMP(6), NULL, FALSE)", DB_MANY
	};
	struct db *db = connect_as(worker_where().defaults_group);
	struct db_rows rows = { 0, 0, NULL, NULL };

	assert_int_equal(db_run(db, &take, DB_ARGS(db_u64(user_id(user_no)), db_u64(TASK),
	    db_u64(epoch_of(TASK))), &rows), DB_OK);
	assert_string_equal(db_cell(&rows, 0, 0), told);
	db_rows_clear(&rows);
}

/* guard: who takes from a list by hand gets nothing that is not for the user. */
static void
by_hand(void **state)
{
	(void)state;
	four_eyes();
	set_task(TASK, "cache_ttl = 60");
	assert_int_equal(asks(1, TASK), 1);
	completes(0, FIRST, 2);
	assert_told(0, "fewer");
	assert_told(1, "given");
	assert_int_equal(u64("SELECT loan_id FROM work WHERE task_id = %d AND loan_id > 1", TASK),
	    2);
	assert_consistent(TASK);
}

/* guard: a leader's loan that has become one for others since it looked is not given. The first
 * task gives it to the same user meanwhile. */
static void
a_race_of_two_leaders(void **state)
{
	struct worker *slow = worker_new(0, TASK, 1, -1);

	(void)state;
	four_eyes();
	slow->proxy = proxy_new();
	proxy_hold(slow->proxy, "INSERT INTO log_in", 1);
	worker_start(slow);
	proxy_until_held(slow->proxy);
	completes(0, FIRST, 1);
	proxy_release(slow->proxy);
	worker_join(slow);
	assert_int_equal(slow->rc, LOCKQ_OK);
	assert_int_equal(slow->answer.loans[0].loan_id, 2);
	assert_int_equal(slow->answer.n_loans, 1);
	assert_consistent(TASK);
}

/* guard: a loan that has become one for others while a list gives it is not given, and the log
 * has nothing of it. The trigger stands for the first task, in which the user completes the loan
 * at that moment: once, since it sets a variable. The loan is new, or it has been returned. */
static void
a_race_with_a_list(void **state)
{
	(void)state;
	if (administrator() == NULL)
		skip();
	sql_on(administrator(), "USE %s", db_database(owner()));
	for (int returned = 0; returned < 2; returned++) {
		struct worker *w = worker_new(0, TASK, 1, -1), *before;

		four_eyes();
		before = ask_now(1, TASK, 1 + (uint32_t)returned);
		if (returned)
			dispose(before, TASK, 2, LOCKQ_RETURN);
		set_task(TASK, "cache_ttl = 60");
		before = worker_new(1, TASK, 1, -1);
		before->refills = true;
		worker_start(before);
		worker_join(before);
		sql_on(administrator(), "CREATE TRIGGER test_completes AFTER INSERT"
		    " ON work_requested FOR EACH ROW"
		    " BEGIN IF @test_completed IS NULL THEN SET @test_completed = 1;"
		    " INSERT INTO work_log (task_id, loan_id, event, user_id, account, token,"
		    " version, request_id, at) VALUES (%d, 2, 'completed', NEW.user_id, 'x', 1, 2,"
		    " 1, NOW(6)); END IF; END", FIRST);
		w->proxy = proxy_new();
		worker_start(w);
		worker_join(w);
		sql("DROP TRIGGER test_completes");
		assert_int_equal(w->rc, LOCKQ_OK);
		assert_int_equal(w->answer.loans[0].loan_id, 2);
		assert_int_equal(proxy_count(w->proxy, "CALL list_serves"), 2);
		assert_consistent(TASK);
		start_again();
	}
}

/* guard: a rule that is set while the query runs holds for its list. */
static void
it_is_set_meanwhile(void **state)
{
	struct worker *slow = worker_new(0, TASK, 1, -1);

	(void)state;
	add_loans(FIRST, LOANS);
	add_loans(TASK, LOANS);
	completes(0, FIRST, 2);
	slow->proxy = proxy_new();
	proxy_hold(slow->proxy, QUERY, 1);
	worker_start(slow);
	proxy_until_held(slow->proxy);
	set_task(TASK, "not_same_user_as = %d", FIRST);
	proxy_release(slow->proxy);
	worker_join(slow);
	assert_int_equal(slow->answer.loans[0].loan_id, 3);
}

/* Two users share what there is, and a hand-over serves one who came late. */
static void
shares_and_a_hand_over(void **state)
{
	struct worker *leader = worker_new(1, TASK, 2, -1), *late = worker_new(0, TASK, 2, -1);

	(void)state;
	four_eyes();
	set_task(TASK, "share = 'evenly'");
	completes(0, FIRST, 2);
	leader->proxy = proxy_new();
	proxy_hold(leader->proxy, "SET holder = NULL", 1);
	worker_start(leader);
	proxy_until_held(leader->proxy);
	worker_start(late);
	until("SELECT COUNT(*) = 1 FROM work_requested WHERE task_id = %d AND pending = 1"
	    " AND user_id = %u", TASK, user_id(0));
	proxy_release(leader->proxy);
	worker_join(leader);
	worker_join(late);
	assert_int_equal(leader->answer.n_loans, 2);
	assert_int_equal(late->answer.n_loans, 2);
	assert_int_equal(leader->answer.loans[0].loan_id, 1);
	assert_int_equal(late->answer.loans[0].loan_id, 3);
	assert_consistent(TASK);
}

/* Each of two tasks is the second look of the other one. */
static void
both_ways(void **state)
{
	(void)state;
	four_eyes();
	set_task(FIRST, "not_same_user_as = %d", TASK);
	completes(0, FIRST, 2);
	completes(1, TASK, 3);
	assert_int_equal(asks(0, TASK), 3);
	assert_int_equal(asks(1, FIRST), 4);
	assert_int_equal(asks(2, FIRST), 1);
	assert_int_equal(asks(2, TASK), 2);
}

/* guard: users do not get a loan again that they have completed lately; others do. */
static void
not_again(void **state)
{
	(void)state;
	add_loans(TASK, LOANS);
	set_task(TASK, "not_again = 2, cache_ttl = 60");
	completes(0, TASK, 2);
	assert_int_equal(asks(0, TASK), 3);
	set_task(TASK, "cache_ttl = 0");
	assert_int_equal(asks(1, TASK), 1);
	assert_int_equal(asks(0, TASK), 4);
	sql("UPDATE work_log SET logged_at = logged_at - INTERVAL 121 MINUTE WHERE task_id = %d"
	    " AND event = 'completed'", TASK);
	assert_int_equal(asks(0, TASK), 2);
}

/* guard: a completion that a manager has taken back does not count. */
static void
an_undo(void **state)
{
	char reason[256];
	struct worker *w;

	(void)state;
	four_eyes();
	w = ask_now(0, FIRST, 1);
	dispose(w, FIRST, 1, LOCKQ_COMPLETE);
	assert_int_equal(correct(LOCKQ_UNDO, FIRST, 1, NULL, NULL, reason), LOCKQ_DISPOSED);
	assert_int_equal(asks(0, TASK), 2);
	dispose(w, FIRST, 1, LOCKQ_RETURN);
	assert_int_equal(asks(0, TASK), 1);
	/* The same of not_again, where the loan is with the user again at once. */
	set_task(FIRST, "not_again = 5");
	completes(0, FIRST, 1);
	assert_int_equal(correct(LOCKQ_UNDO, FIRST, 1, NULL, NULL, reason), LOCKQ_DISPOSED);
	dispose(w, FIRST, 1, LOCKQ_RETURN);
	assert_int_equal(asks(0, FIRST), 1);
}

/* guard: a manager gives nobody a loan that is not for that user, and is told why. */
static void
a_manager_is_refused(void **state)
{
	char reason[256];

	(void)state;
	four_eyes();
	completes(0, FIRST, 1);
	assert_int_equal(asks(1, TASK), 1);
	assert_int_equal(correct(LOCKQ_REASSIGN, TASK, 1, user(1), user(0), reason),
	    LOCKQ_NOT_ALLOWED);
	assert_non_null(strstr(reason, "not_same_user_as"));
	set_task(TASK, "not_same_user_as = NULL, not_again = 3");
	assert_int_equal(correct(LOCKQ_REASSIGN, TASK, 1, user(1), user(0), reason),
	    LOCKQ_DISPOSED);
	completes(2, TASK, 1);
	assert_int_equal(asks(1, TASK), 2);
	assert_int_equal(correct(LOCKQ_REASSIGN, TASK, 2, user(1), user(2), reason),
	    LOCKQ_NOT_ALLOWED);
	assert_non_null(strstr(reason, "not_again"));
	assert_consistent(TASK);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(the_second_look_is_by_another_user),
		DB_TEST(nor_by_who_has_it),
		DB_TEST(nor_by_who_may_be_late),
		DB_TEST(it_is_not_forgotten),
		DB_TEST(nothing_for_you),
		DB_TEST(a_list_that_is_cut),
		DB_TEST(from_a_kept_list),
		DB_TEST(by_hand),
		DB_TEST(a_race_of_two_leaders),
		DB_TEST(a_race_with_a_list),
		DB_TEST(it_is_set_meanwhile),
		DB_TEST(shares_and_a_hand_over),
		DB_TEST(both_ways),
		DB_TEST(not_again),
		DB_TEST(an_undo),
		DB_TEST(a_manager_is_refused),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("rules", tests, suite_setup, suite_teardown);
}
