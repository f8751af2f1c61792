/* SPDX-License-Identifier: MIT */
/* What a manager says of a task or a user while people ask: a task is paused, a user is disabled, a
 * request is cancelled. */
#include <stdio.h>
#include <string.h>

#include "inside.h"
#include "support.h"

static const char why[] = "is paused by marcus: month end";

static void
pause_task(void)
{
	set_task(TASK, "paused = 'month end', paused_by = 'marcus', paused_at = NOW(6)");
}

static void
let_go_on(void)
{
	set_task(TASK, "paused = NULL, paused_by = NULL, paused_at = NULL");
}

/* Makes a list of all loans but the first one. */
static void
fill(unsigned int loans)
{
	set_task(TASK, "cache_ttl = 60");
	add_loans(TASK, loans);
	assert_int_equal(ask_now(0, TASK, 1)->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM kept_loan WHERE task_id = %d", TASK), loans - 1);
}

static struct worker *
through_proxy(unsigned int user_no, int64_t timeout_ms)
{
	struct worker *w = worker_new(user_no, TASK, 1, timeout_ms);

	w->proxy = proxy_new();
	return w;
}

/* guard: while a task is paused nobody takes from its list, and nobody leads it. */
static void
nobody_takes_or_leads(void **state)
{
	struct worker *w = through_proxy(1, 0);

	(void)state;
	fill(5);
	pause_task();
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_BUSY);
	assert_int_equal(w->answer.status, LOCKQ_PENDING);
	assert_non_null(strstr(w->answer.reason, why));
	assert_non_null(strstr(w->error, why));
	assert_int_equal(proxy_count(w->proxy, "CALL list_serves"), 0);
	assert_int_equal(rounds_of(TASK), 1);
}

/* A call that waits is served when the task goes on, and tells meanwhile why it waits. */
static void
whoever_waits_is_served_then(void **state)
{
	struct worker *w = worker_new(1, TASK, 1, -1);

	(void)state;
	add_loans(TASK, 3);
	pause_task();
	worker_start(w);
	until("SELECT COUNT(*) = 1 FROM work_requested WHERE task_id = %d AND pending = 1", TASK);
	worker_until_paused(w);
	let_go_on();
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(w->answer.assigned, 1);
	assert_consistent(TASK);
}

/* A call that runs out of time cancels its request, and says why it got nothing. */
static void
a_timeout_says_why(void **state)
{
	struct worker *w = worker_new(1, TASK, 1, 100);

	(void)state;
	add_loans(TASK, 3);
	pause_task();
	worker_start(w);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_BUSY);
	assert_int_equal(w->answer.status, LOCKQ_STATUS_CANCELLED);
	assert_non_null(strstr(w->error, why));
}

/* A leader goes on: it gives what its query has found, also to those who came meanwhile. */
static void
a_leader_goes_on(void **state)
{
	struct worker *w, *other = worker_new(2, TASK, 1, 0);

	(void)state;
	add_loans(TASK, 3);
	w = leader_after_its_query(1, 1);
	pause_task();
	worker_start(other);
	worker_join(other);
	assert_int_equal(other->rc, LOCKQ_BUSY);
	proxy_release(w->proxy);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d", TASK), 2);
}

/* Starts a call that finds a list, and holds it before it takes from that. */
static struct worker *
before_its_pop(int64_t timeout_ms)
{
	struct worker *w = through_proxy(1, timeout_ms);

	fill(5);
	proxy_hold(w->proxy, "CALL list_serves", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	return w;
}

/* guard: a pop gives no loan of a task that was paused after the peek. */
static void
a_task_that_is_paused_at_the_pop(void **state)
{
	struct worker *w = before_its_pop(0);

	(void)state;
	pause_task();
	proxy_release(w->proxy);
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_BUSY);
	assert_int_equal(w->answer.status, LOCKQ_PENDING);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d", TASK), 1);
}

/* guard: what was refused for a pause is taken from the list after it, without a query. */
static void
the_list_counts_after_a_pause(void **state)
{
	struct worker *w = before_its_pop(-1);

	(void)state;
	pause_task();
	proxy_release(w->proxy);
	worker_until_paused(w);
	let_go_on();
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_int_equal(rounds_of(TASK), 1);
}

/* A leader that got the lock just before the pause, and that others have left a list, runs no
 * query: its user takes from the list after the pause. */
static void
a_leader_with_a_list_waits(void **state)
{
	struct worker *w = through_proxy(1, -1);

	(void)state;
	proxy_hold(w->proxy, "INSERT INTO request_in", 1);
	proxy_hold(w->proxy, "SELECT epoch, NOW(6), left_pending", 1);
	set_task(TASK, "cache_ttl = 60");
	worker_start(w);
	proxy_until_held(w->proxy);
	fill(5);
	proxy_release(w->proxy);
	proxy_until_held(w->proxy);
	pause_task();
	proxy_release(w->proxy);
	worker_until_paused(w);
	let_go_on();
	worker_join(w);
	assert_int_equal(w->rc, LOCKQ_OK);
	assert_string_equal(w->answer.how, "list");
	assert_int_equal(rounds_of(TASK), 1);
	assert_consistent(TASK);
}

static void
disable(unsigned int user_no, bool disabled)
{
	sql("UPDATE app_user SET enabled = %d WHERE user_id = %u", !disabled, user_id(user_no));
}

/* guard: a pop gives no loan to a user who was disabled after the peek. */
static void
a_user_who_is_disabled_at_the_pop(void **state)
{
	struct worker *w = before_its_pop(-1);

	(void)state;
	disable(1, true);
	proxy_release(w->proxy);
	worker_join(w);
	disable(1, false);
	assert_int_equal(w->rc, LOCKQ_EREFUSED);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d", TASK), 1);
}

/* guard: a user who is disabled asks for nothing. */
static void
a_user_who_is_disabled_is_refused(void **state)
{
	struct worker *w;

	(void)state;
	add_loans(TASK, 3);
	disable(1, true);
	w = ask_now(1, TASK, 1);
	disable(1, false);
	assert_int_equal(w->rc, LOCKQ_EREFUSED);
	assert_non_null(strstr(w->error, "is disabled: ask a manager"));
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d", TASK), 0);
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_OK);
}

/* guard: a request that came while its user was being disabled gets nothing from a leader. */
static void
a_late_request_of_a_disabled_user(void **state)
{
	static const char refused[] = "SELECT COUNT(*) FROM work_requested WHERE task_id = %d"
	    " AND user_id = %u AND outcome = 'refused' AND reason LIKE '%%is disabled%%'";

	(void)state;
	add_loans(TASK, 3);
	pause_task();
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_BUSY);
	disable(1, true);
	let_go_on();
	assert_int_equal(ask_now(2, TASK, 1)->rc, LOCKQ_OK);
	disable(1, false);
	assert_int_equal(u64(refused, TASK, user_id(1)), 1);
	assert_int_equal(u64("SELECT COUNT(*) FROM work WHERE task_id = %d", TASK), 1);
}

/* A task that is both paused and disabled is refused: nobody waits for it to go on. */
static void
disabled_counts_more(void **state)
{
	struct worker *w;

	(void)state;
	pause_task();
	set_task(TASK, "enabled = FALSE");
	w = ask_now(1, TASK, 1);
	set_task(TASK, "enabled = TRUE");
	assert_int_equal(w->rc, LOCKQ_EREFUSED);
	assert_non_null(strstr(w->error, "is disabled"));
}

/* guard: where a manager cancels a request, a call that has joined it ends as well: it does not
 * make one of its own. */
static void
a_manager_cancels_for_all_who_joined(void **state)
{
	struct worker *makes = worker_new(1, TASK, 1, -1), *joins = worker_new(1, TASK, 1, -1);

	(void)state;
	add_loans(TASK, 3);
	pause_task();
	worker_start(makes);
	until("SELECT COUNT(*) = 1 FROM work_requested WHERE task_id = %d AND pending = 1", TASK);
	worker_start(joins);
	while (!makes->paused || !joins->paused)
		db_sleep_ms(5);
	sql("UPDATE work_requested SET outcome = 'cancelled', requested = 0, served_at = NOW(6),"
	    " reason = 'cancelled by marcus: a test' WHERE task_id = %d", TASK);
	worker_join(makes);
	while (!joins->done &&
	    u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d", TASK) == 1)
		db_sleep_ms(5);
	joins->give_up = true;
	worker_join(joins);
	assert_int_equal(makes->rc, LOCKQ_BUSY);
	assert_int_equal(joins->rc, LOCKQ_BUSY);
	assert_non_null(strstr(makes->error, "is cancelled: cancelled by marcus: a test"));
	assert_non_null(strstr(joins->error, "is cancelled: cancelled by marcus: a test"));
	assert_int_equal(u64("SELECT COUNT(*) FROM work_requested WHERE task_id = %d", TASK), 1);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(nobody_takes_or_leads),
		DB_TEST(whoever_waits_is_served_then),
		DB_TEST(a_timeout_says_why),
		DB_TEST(a_leader_goes_on),
		DB_TEST(a_task_that_is_paused_at_the_pop),
		DB_TEST(the_list_counts_after_a_pause),
		DB_TEST(a_leader_with_a_list_waits),
		DB_TEST(a_user_who_is_disabled_at_the_pop),
		DB_TEST(a_user_who_is_disabled_is_refused),
		DB_TEST(a_late_request_of_a_disabled_user),
		DB_TEST(disabled_counts_more),
		DB_TEST(a_manager_cancels_for_all_who_joined),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("paused", tests, suite_setup, suite_teardown);
}
