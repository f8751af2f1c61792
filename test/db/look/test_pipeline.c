/* SPDX-License-Identifier: MIT */
/* A user's pipeline: the assigned loans, with the columns of the task's detail_view. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { MANY = 300, PATIENT_MS = 15000 };

static void
forget_details(void)
{
	sql("UPDATE task SET detail_view = NULL WHERE task_id IN (%d, %d)", TASK, OTHER_TASK);
	sql("DROP VIEW IF EXISTS test_detail");
	if (administrator() != NULL)
		(void)try_sql(administrator(),
		    "REVOKE SELECT ON test_detail FROM lockq_worker@lockq");
}

/* Makes the task's detail_view with this SELECT. @readable: the tested account may read it. */
__attribute__((format(printf, 2, 3))) static void
set_details(bool readable, const char *format, ...)
{
	char select[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(select, sizeof(select), format, args);
	va_end(args);
	sql("CREATE OR REPLACE VIEW test_detail AS %s", select);
	if (readable && administrator() != NULL)
		sql_on(administrator(), "GRANT SELECT ON test_detail TO lockq_worker@lockq");
	set_task(TASK, "detail_view = 'test_detail'");
}

static int
teardown(void **state)
{
	forget_details();
	return test_teardown(state);
}
#define PIPELINE_TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, teardown)

/* Assigns the loans 1 to @n of TASK, and one of OTHER_TASK, to user 0. Returns a worker of another
 * user, who reads the pipeline. */
static struct worker *
with_assignments(unsigned int n)
{
	struct worker *w = worker_new(1, TASK, 1, 0);

	for (unsigned int i = 1; i <= n; i++)
		add_work(TASK, i, 0, "assigned", 1);
	add_work(OTHER_TASK, 1, 0, "assigned", 1);
	w->proxy = proxy_new();
	worker_connect(w);
	return w;
}

static struct lockq_pipeline
pipeline_of(struct worker *w, size_t n)
{
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;
	int rc = lockq_pipeline(w->q, user(0), 0, &pipeline);

	if (rc != LOCKQ_OK)
		print_error("%s\n", lockq_error(w->q));
	assert_int_equal(rc, LOCKQ_OK);
	assert_int_equal(pipeline.n_assignments, n);
	return pipeline;
}

/* The limits of the details' query do not stay on the handle. */
static void
assert_unlimited(struct worker *w)
{
	struct db *lock = inside_lock_connection(w->q);

	assert_int_equal(u64_on(lock, "SELECT @@max_execution_time"), 0);
	assert_int_equal(u64_on(lock, "SELECT @@lock_wait_timeout"), DB_BRIEF_WAIT_S);
	assert_int_equal(u64_on(lock, "SELECT @@transaction_read_only"), 0);
}

/* The pipeline is complete but for the details of TASK, and says why they are missing. */
static void
assert_fault(struct worker *w, const char *why)
{
	struct lockq_pipeline pipeline = pipeline_of(w, 3);

	assert_non_null(pipeline.detail_fault);
	if (strstr(pipeline.detail_fault, why) == NULL)
		print_error("%s\n", pipeline.detail_fault);
	assert_non_null(strstr(pipeline.detail_fault, why));
	assert_int_equal(strncmp(pipeline.detail_fault, "task 100: detail_view ", 22), 0);
	assert_null(strchr(pipeline.detail_fault, '\n'));
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pipeline.assignments[i].n_details, 0);
	assert_string_equal(lockq_error(w->q), "");
	lockq_pipeline_clear(&pipeline);
	assert_null(pipeline.detail_fault);
}

/* The loans of @w's answer are the assignments from @from on, in its order. */
static void
assert_in_order(const struct lockq_pipeline *p, size_t from, const struct worker *w)
{
	assert_int_equal(w->rc, LOCKQ_OK);
	for (size_t i = 0; i < w->answer.n_loans; i++)
		assert_int_equal(p->assignments[from + i].loan_id, w->answer.loans[i].loan_id);
}

/* The loans' numbers fall while their priority rises. */
static void
has_the_order_of_the_answers(void **state)
{
	struct lockq_disposition renewal = LOCKQ_DISPOSITION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq_loan_ref loan = { 98, 0 };
	struct worker *other, *first, *later;
	struct lockq_pipeline p;

	(void)state;
	for (unsigned int i = 1; i <= 8; i++)
		add_loan(TASK, 100 - i, i);
	add_loan(OTHER_TASK, 7, 2);
	add_loan(OTHER_TASK, 8, 1);
	set_task(TASK, "lease_minutes = 60");
	other = ask_now(0, OTHER_TASK, 2);
	first = ask_now(0, TASK, 3);
	assert_int_equal(ask_now(1, TASK, 1)->rc, LOCKQ_OK);
	later = ask_now(0, TASK, 3);
	assert_int_equal(first->answer.loans[1].loan_id, 98);
	/* A renewed assignment keeps its place. */
	renewal.user = user(0);
	renewal.task = TASK;
	renewal.kind = LOCKQ_RENEW;
	renewal.loans = &loan;
	renewal.n_loans = 1;
	assert_int_equal(lockq_dispose(first->q, &renewal, &result), LOCKQ_OK);
	lockq_disposed_clear(&result);
	p = pipeline_of(later, 8);
	assert_in_order(&p, 0, first);
	assert_in_order(&p, 3, later);
	assert_in_order(&p, 6, other);
	lockq_pipeline_clear(&p);
}

static void
says_how_much_lease_is_left(void **state)
{
	struct worker *w = with_assignments(3);
	struct lockq_pipeline p;

	(void)state;
	sql("UPDATE work SET note = 'call in the afternoon', assigned_at = NOW(6) - INTERVAL 1 DAY"
	    " WHERE task_id = %d AND loan_id = 3", TASK);
	sql("UPDATE work SET lease_expires_at = NOW(6) + INTERVAL 2 HOUR"
	    " WHERE task_id = %d AND loan_id = 2", TASK);
	sql("UPDATE work SET lease_expires_at = NOW(6) - INTERVAL 2 HOUR WHERE task_id = %d",
	    OTHER_TASK);
	p = pipeline_of(w, 4);
	assert_int_equal(p.assignments[0].loan_id, 3);
	assert_string_equal(p.assignments[0].note, "call in the afternoon");
	assert_in_range(p.assignments[0].age_s, 86400, 86460);
	assert_int_equal(p.assignments[1].loan_id, 1);
	assert_null(p.assignments[1].note);
	assert_string_equal(p.assignments[1].lease_expires_at, "");
	assert_int_equal(p.assignments[1].lease_left_s, 0);
	assert_in_range(p.assignments[2].lease_left_s, 7100, 7200);
	assert_false(p.assignments[2].lease_expired);
	assert_int_equal(p.assignments[3].task, OTHER_TASK);
	assert_int_equal(p.assignments[3].lease_left_s, 0);
	assert_true(p.assignments[3].lease_expired);
	assert_null(p.detail_fault);
	lockq_pipeline_clear(&p);
}

static void
shows_the_views_columns(void **state)
{
	struct worker *w = with_assignments(3);
	struct lockq_pipeline p;

	(void)state;
	/* The view has one row for loan 1, two for loan 2, none for loan 3, and one for a loan that
	 * is not in the pipeline. */
	set_details(true, "SELECT 'J\xc3\xb6rg' AS applicant, n AS LOAN_ID, 12.50 AS `a mount`,"
	    " NULL AS city FROM test_number WHERE n IN (1, 4)"
	    " UNION ALL SELECT CONCAT('twin ', t.n), 2, 1.00, '' FROM test_number AS t"
	    "  WHERE t.n < 3");
	p = pipeline_of(w, 4);
	if (p.detail_fault != NULL)
		print_error("%s\n", p.detail_fault);
	assert_null(p.detail_fault);
	assert_int_equal(p.assignments[0].n_details, 3);
	assert_string_equal(p.assignments[0].details[0].name, "applicant");
	assert_string_equal(p.assignments[0].details[0].value, "J\xc3\xb6rg");
	assert_string_equal(p.assignments[0].details[1].name, "a mount");
	assert_string_equal(p.assignments[0].details[1].value, "12.50");
	assert_string_equal(p.assignments[0].details[2].name, "city");
	assert_null(p.assignments[0].details[2].value);
	assert_int_equal(p.assignments[1].loan_id, 2);
	assert_int_equal(p.assignments[1].n_details, 3);
	assert_int_equal(strncmp(p.assignments[1].details[0].value, "twin ", 5), 0);
	assert_string_equal(p.assignments[1].details[2].value, "");
	assert_int_equal(p.assignments[2].n_details, 0);
	assert_int_equal(p.assignments[3].n_details, 0);
	lockq_pipeline_clear(&p);
	assert_unlimited(w);
}

static void
asks_once_a_task(void **state)
{
	struct worker *w = with_assignments(1);
	struct lockq_pipeline p;
	size_t one, many, before = proxy_total(w->proxy);

	(void)state;
	set_details(true, "SELECT n AS loan_id, n * 2 AS twice FROM test_number");
	p = pipeline_of(w, 2);
	lockq_pipeline_clear(&p);
	one = proxy_total(w->proxy) - before;
	sql("INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id,"
	    " assigned_at, changed_at) SELECT %d, n, %u, 'assigned', 1, 1, 1, NOW(6), NOW(6)"
	    " FROM test_number WHERE n BETWEEN 2 AND %d", TASK, user_id(0), MANY);
	sql("UPDATE work SET assigned_at = NOW(6) - INTERVAL (loan_id * 7919) %% 104729 SECOND"
	    " WHERE task_id = %d", TASK);
	before = proxy_total(w->proxy);
	p = pipeline_of(w, MANY + 1);
	many = proxy_total(w->proxy) - before;
	/* The second time the statements are prepared already. */
	assert_true(many <= one);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(strtoull(p.assignments[i].details[0].value, NULL, 10),
		    p.assignments[i].loan_id * 2);
	lockq_pipeline_clear(&p);
}

static void
a_bad_view_is_a_fault_and_no_error(void **state)
{
	struct worker *w = with_assignments(2);

	(void)state;
	set_task(TASK, "detail_view = 'test_no_such_view'");
	assert_fault(w, "test_no_such_view");
	set_task(TASK, "detail_view = 'x` JOIN work'");
	assert_fault(w, "detail_view \"x` JOIN work\": this is not the name of a view");
	set_details(true, "SELECT n AS number, n * 2 AS twice FROM test_number");
	assert_fault(w, "loan_id");
	set_details(true, "SELECT a.n AS loan_id, b.n FROM test_number AS a, test_number AS b");
	assert_fault(w, "it has 20 rows or more per loan on average");
	forget_details();
	if (administrator() != NULL) {
		set_details(false, "SELECT n AS loan_id FROM test_number");
		assert_fault(w, "denied");
	}
	/* A column of the view's table is gone. */
	sql("CREATE TABLE test_gone (loan_id INT, a INT)");
	set_details(true, "SELECT loan_id, a FROM test_gone");
	sql("DROP TABLE test_gone");
	assert_fault(w, "test_detail");
	assert_unlimited(w);
}

static void
one_bad_view_takes_nothing_from_another_task(void **state)
{
	struct worker *w = with_assignments(2);
	struct lockq_pipeline p;

	(void)state;
	set_details(true, "SELECT n AS loan_id, 'here' AS place FROM test_number");
	set_task(OTHER_TASK, "detail_view = 'test_no_such_view'");
	p = pipeline_of(w, 3);
	assert_string_equal(p.assignments[1].details[0].value, "here");
	assert_int_equal(p.assignments[2].n_details, 0);
	assert_int_equal(strncmp(p.detail_fault, "task 101: ", 10), 0);
	set_task(TASK, "detail_view = 'test_neither'");
	lockq_pipeline_clear(&p);
	p = pipeline_of(w, 3);
	assert_int_equal(strncmp(p.detail_fault, "task 100: ", 10), 0);
	assert_non_null(strstr(p.detail_fault, "; task 101: "));
	lockq_pipeline_clear(&p);
}

static void
a_slow_view_is_ended(void **state)
{
	struct worker *w = with_assignments(2);
	uint64_t began;

	(void)state;
	/* This query takes minutes before its first row comes. */
	set_details(true, "SELECT a.n AS loan_id, COUNT(*) AS n FROM test_number AS a"
	    " JOIN test_number AS b ON SHA2(REPEAT(CONCAT(a.n, b.n), 5000), 512) <> ''"
	    " GROUP BY a.n");
	began = db_clock_ms();
	assert_fault(w, "was ended after 3 s");
	assert_true(db_clock_ms() - began < PATIENT_MS);
	assert_unlimited(w);
}

static void *
alter(void *data)
{
	sql_on(data, "ALTER TABLE test_number COMMENT = 'altered'");
	return NULL;
}

/* A waiting ALTER stalls all statements that come after it on the same table. The pipeline does not
 * wait for it. */
static void
a_view_that_is_being_altered_is_not_waited_for(void **state)
{
	struct worker *w = with_assignments(2);
	struct db *reads, *alters;
	pthread_t thread;

	(void)state;
	set_details(true, "SELECT n AS loan_id FROM test_number");
	reads = connect_as(OWNER_GROUP);
	alters = connect_as(OWNER_GROUP);
	assert_int_equal(db_begin(reads), DB_OK);
	(void)u64_on(reads, "SELECT COUNT(*) FROM test_number");
	assert_int_equal(pthread_create(&thread, NULL, alter, alters), 0);
	until("SELECT COUNT(*) FROM information_schema.processlist WHERE id = %" PRIu64
	    " AND state LIKE 'Waiting for table metadata lock'", db_connection_id(alters));
	assert_fault(w, "Lock wait timeout");
	assert_unlimited(w);
	db_rollback(reads);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void
a_lost_connection_leaves_the_pipeline(void **state)
{
	struct worker *w = with_assignments(2);
	struct lockq_pipeline p;

	(void)state;
	set_details(true, "SELECT n AS loan_id FROM test_number");
	proxy_cut(w->proxy, ASK_VIEW, 1, CUT_BEFORE);
	assert_fault(w, "test_detail");
	/* The handle works as before. */
	p = pipeline_of(w, 3);
	assert_null(p.detail_fault);
	assert_unlimited(w);
	lockq_pipeline_clear(&p);
}

static void
reads_the_choices(void **state)
{
	struct worker *w = with_assignments(2);
	struct lockq_choices choices = LOCKQ_CHOICES_INIT;
	char about[32];

	(void)state;
	sql("UPDATE work SET token = 5 WHERE task_id = %d AND loan_id = 2", TASK);
	assert_int_equal(lockq_choices(w->q, LOCKQ_CHOICE_LOANS, user(0), TASK, NULL, &choices),
	    LOCKQ_OK);
	assert_int_equal(choices.n_choices, 2);
	assert_string_equal(choices.choices[1].value, "2");
	assert_string_equal(choices.choices[1].about, "5");
	assert_int_equal(lockq_choices(w->q, LOCKQ_CHOICE_LOANS, user(0), TASK, "3", &choices),
	    LOCKQ_NOTHING);
	assert_int_equal(choices.n_choices, 0);
	assert_int_equal(lockq_choices(w->q, LOCKQ_CHOICE_LOANS, user(1), TASK, NULL, &choices),
	    LOCKQ_NOTHING);
	assert_int_equal(lockq_choices(w->q, LOCKQ_CHOICE_LOANS, NULL, TASK, NULL, &choices),
	    LOCKQ_EUSAGE);
	assert_int_equal(lockq_choices(w->q, (enum lockq_choice_kind)9, NULL, 0, NULL, &choices),
	    LOCKQ_EUSAGE);
	assert_int_equal(lockq_choices(w->q, LOCKQ_CHOICE_USERS, NULL, 0, user(0), &choices),
	    LOCKQ_OK);
	assert_string_equal(choices.choices[0].value, user(0));
	assert_string_equal(choices.choices[0].about, "");
	/* A request that has ended is none, although its row is there. */
	sql("INSERT INTO work_requested (uuid, user_id, account, task_id, asked, requested)"
	    " SELECT UUID(), user_id, 'a', %d, 1, 1 FROM app_user WHERE name = '%s'", TASK,
	    user(1));
	assert_int_equal(lockq_choices(w->q, LOCKQ_CHOICE_REQUESTS, NULL, 0, NULL, &choices),
	    LOCKQ_OK);
	assert_int_equal(choices.n_choices, 1);
	snprintf(about, sizeof(about), "%s, task %d", user(1), TASK);
	assert_string_equal(choices.choices[0].about, about);
	sql("UPDATE work_requested SET outcome = 'cancelled', requested = 0"
	    " WHERE task_id = %d", TASK);
	assert_int_equal(lockq_choices(w->q, LOCKQ_CHOICE_REQUESTS, NULL, 0, NULL, &choices),
	    LOCKQ_NOTHING);
	lockq_choices_clear(&choices);
	lockq_choices_clear(NULL);
}

/* Whoever waits at a key gets a list that has an end. */
static void
choices_are_bounded(void **state)
{
	struct worker *w = with_assignments(0);
	struct lockq_choices choices = LOCKQ_CHOICES_INIT;

	(void)state;
	sql("INSERT INTO work (task_id, loan_id, user_id, state, token, version, request_id,"
	    " assigned_at, changed_at)"
	    " WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 999)"
	    " SELECT %d, i + 1000 * k, user_id, 'assigned', 1, 1, 1, NOW(6), NOW(6)"
	    "   FROM n, (SELECT 0 AS k UNION SELECT 1) AS twice, app_user WHERE name = '%s'",
	    TASK, user(0));
	assert_int_equal(lockq_choices(w->q, LOCKQ_CHOICE_LOANS, user(0), TASK, NULL, &choices),
	    LOCKQ_OK);
	assert_int_equal(choices.n_choices, LOCKQ_CHOICES_MAX);
	lockq_choices_clear(&choices);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		PIPELINE_TEST(reads_the_choices),
		PIPELINE_TEST(choices_are_bounded),
		PIPELINE_TEST(has_the_order_of_the_answers),
		PIPELINE_TEST(says_how_much_lease_is_left),
		PIPELINE_TEST(shows_the_views_columns),
		PIPELINE_TEST(asks_once_a_task),
		PIPELINE_TEST(a_bad_view_is_a_fault_and_no_error),
		PIPELINE_TEST(one_bad_view_takes_nothing_from_another_task),
		PIPELINE_TEST(a_slow_view_is_ended),
		PIPELINE_TEST(a_view_that_is_being_altered_is_not_waited_for),
		PIPELINE_TEST(a_lost_connection_leaves_the_pipeline),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("pipeline", tests, suite_setup, suite_teardown);
}
