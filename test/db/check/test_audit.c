/* SPDX-License-Identifier: MIT */
/* lockq_check_task() as the library: what it is called with, what it sends to the server, and how a
 * caller gives it up. test/cli/managetask/managecheck.t has its findings. */
#include <stdio.h>
#include <string.h>

#include "support.h"

enum { STATEMENT_BYTES = 4096 };

static struct lockq *
connected(struct proxy *proxy)
{
	struct lockq_connection where = proxy != NULL ? proxy_where(proxy) : worker_where();
	struct lockq *q = NULL;

	assert_int_equal(lockq_new(&q), LOCKQ_OK);
	assert_int_equal(lockq_connect(q, &where), LOCKQ_OK);
	return q;
}

static bool
begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static void
nothing_is_locked_or_written(void **state)
{
	static const char *const writes[] = { "INSERT", "UPDATE", "DELETE", "REPLACE", "CALL",
		"START", "BEGIN", "LOCK", "GRANT", "ALTER", "CREATE" };
	struct proxy *proxy = proxy_new();
	struct lockq *q = connected(proxy);
	struct lockq_check what = LOCKQ_CHECK_INIT;
	struct lockq_findings found = LOCKQ_FINDINGS_INIT;
	char text[STATEMENT_BYTES];

	(void)state;
	add_loans(TASK, 40);
	set_task(TASK, "cache_ttl = 60");
	what.task = TASK;
	assert_int_equal(lockq_check_task(q, &what, &found), LOCKQ_OK);
	assert_int_equal(found.loans, 40);
	assert_true(found.query_ms >= 0);
	assert_true(found.check_ms >= 0);
	for (size_t i = 0; i < proxy_total(proxy); i++) {
		proxy_text(proxy, i, text, sizeof(text));
		assert_null(strstr(text, "GET_LOCK"));
		if (!begins(text, "EXPLAIN")) {
			assert_null(strstr(text, "FOR UPDATE"));
			assert_null(strstr(text, "FOR SHARE"));
		}
		for (size_t n = 0; n < sizeof(writes) / sizeof(writes[0]); n++)
			assert_false(begins(text, writes[n]));
	}
	assert_true(proxy_count(proxy, "EXPLAIN") > 0);
	assert_int_equal(epoch_of(TASK), 0);
	lockq_findings_clear(&found);
	lockq_findings_clear(&found);
	lockq_findings_clear(NULL);
	lockq_free(q);
}

static int
give_up(const struct lockq_progress *progress, void *data)
{
	unsigned int *calls = data;

	assert_int_equal(progress->phase, LOCKQ_PHASE_CHECK);
	return ++*calls > 1;
}

static void
the_caller_gives_up(void **state)
{
	struct lockq *q = connected(NULL);
	struct lockq_check what = LOCKQ_CHECK_INIT;
	struct lockq_findings found = LOCKQ_FINDINGS_INIT;
	unsigned int calls = 0;

	(void)state;
	if (administrator() == NULL)
		skip();
	add_loans(TASK, 3);
	make_slow(TASK, 600);
	what.task = TASK;
	lockq_on_progress(q, give_up, &calls);
	assert_int_equal(lockq_check_task(q, &what, &found), LOCKQ_CANCELLED);
	assert_int_equal(calls, 2);
	assert_true(found.query_ms < 0);
	until_on(administrator(), "SELECT COUNT(*) = 0 FROM information_schema.processlist"
	    " WHERE id <> CONNECTION_ID() AND (info LIKE '%%priority IS NULL%%'"
	    " OR info LIKE 'EXECUTE lockq_started%%')");
	/* The handle is as good as before. */
	what.quick = 1;
	assert_int_equal(lockq_check_task(q, &what, &found), LOCKQ_OK);
	assert_int_equal(calls, 2);
	lockq_findings_clear(&found);
	lockq_free(q);
}

static void
a_lost_connection_is_an_error(void **state)
{
	struct proxy *proxy = proxy_new();
	struct lockq *q = connected(proxy);
	struct lockq_check what = LOCKQ_CHECK_INIT;
	struct lockq_findings found = LOCKQ_FINDINGS_INIT;

	(void)state;
	add_loans(TASK, 3);
	what.task = TASK;
	proxy_cut(proxy, QUERY, 1, CUT_BEFORE);
	assert_int_equal(lockq_check_task(q, &what, &found), LOCKQ_EDATABASE);
	assert_string_not_equal(lockq_error(q), "");
	assert_int_equal(lockq_check_task(q, &what, &found), LOCKQ_OK);
	lockq_findings_clear(&found);
	lockq_free(q);
}

static void
what_is_asked_must_make_sense(void **state)
{
	const struct lockq_setting odd = { "colour", "blue" }, small = { "max_count", "0" };
	const struct lockq_setting fewer = { "max_count", "3" };
	const struct lockq_setting made[] = { { "name", "New" }, { "candidates_view", "nowhere" } };
	struct lockq *q = connected(NULL);
	struct lockq_check what = LOCKQ_CHECK_INIT;
	struct lockq_findings found = LOCKQ_FINDINGS_INIT;

	(void)state;
	assert_int_equal(lockq_check_task(q, &what, &found), LOCKQ_EUSAGE);
	what.task = 999999;
	assert_int_equal(lockq_check_task(q, &what, &found), LOCKQ_EREFUSED);
	what.task = TASK;
	what.quick = 1;
	what.n_settings = 1;
	what.settings = &odd;
	assert_int_equal(lockq_check_task(q, &what, &found), LOCKQ_EUSAGE);
	what.settings = &small;
	assert_int_equal(lockq_check_task(q, &what, &found), LOCKQ_EUSAGE);
	what.settings = &fewer;
	assert_int_equal(lockq_check_task(q, &what, &found), LOCKQ_OK);
	what.reserved[2] = 1;
	assert_int_equal(lockq_check_task(q, &what, &found), LOCKQ_EUSAGE);
	what.reserved[2] = 0;
	what.task = 0;
	what.settings = made;
	what.n_settings = 2;
	assert_int_equal(lockq_check_task(q, &what, &found), LOCKQ_OK);
	assert_string_equal(found.name, "New");
	assert_int_equal(found.n_faults, 1);
	assert_int_equal(found.findings[0].severity, LOCKQ_FAULT);
	assert_string_equal(found.findings[0].about, "candidates_view");
	lockq_findings_clear(&found);
	assert_int_equal(lockq_grant(q, &found, NULL), LOCKQ_OK);
	lockq_free(q);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DB_TEST(nothing_is_locked_or_written),
		DB_TEST(the_caller_gives_up),
		DB_TEST(a_lost_connection_is_an_error),
		DB_TEST(what_is_asked_must_make_sense),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("audit", tests, suite_setup, suite_teardown);
}
