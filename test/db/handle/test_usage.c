/* SPDX-License-Identifier: MIT */
/* What a program may not ask of the library: each call says so with LOCKQ_EUSAGE and a text, before
 * it asks the database anything. */
#include <stdio.h>
#include <string.h>

#include "support.h"

static struct lockq *q;
static char long_name[66 * 4], long_reason[LOCKQ_NOTE_MAX + 2];

static int
connect_owner(void **state)
{
	test_setup(state);
	memset(long_name, 'n', 65);
	memset(long_reason, 'r', LOCKQ_NOTE_MAX + 1);
	q = handle_of_owner();
	return 0;
}

static int
disconnect_owner(void **state)
{
	lockq_free(q);
	return test_teardown(state);
}
#define USAGE_TEST(f) cmocka_unit_test_setup_teardown(f, connect_owner, disconnect_owner)

static void
assert_usage(int rc, const char *part)
{
	if (rc != LOCKQ_EUSAGE || strstr(lockq_error(q), part) == NULL)
		print_error("%d: %s\n", rc, lockq_error(q));
	assert_int_equal(rc, LOCKQ_EUSAGE);
	assert_non_null(strstr(lockq_error(q), part));
}

static void
of_a_correction(void **state)
{
	static const struct lockq_loan_ref loan = { 1, 0 };
	static const struct {
		enum lockq_correction_kind kind;
		const char *from, *to, *reason;
		size_t n_loans;
		uint64_t reserved;
		const char *part;
	} cases[] = {
		{ LOCKQ_RELEASE, NULL, NULL, "r", 1, 1, "a reserved member" },
		{ (enum lockq_correction_kind)77, NULL, NULL, "r", 1, 0, "the kind of correction" },
		{ LOCKQ_RELEASE, NULL, NULL, NULL, 1, 0, "needs a reason" },
		{ LOCKQ_RELEASE, NULL, NULL, "", 1, 0, "needs a reason" },
		{ LOCKQ_RELEASE, NULL, NULL, "r", 0, 0, "from 1 to 10000 loans" },
		{ LOCKQ_RELEASE, NULL, NULL, "r", LOCKQ_DISPOSE_MAX + 1, 0, "1 to 10000 loans" },
		{ LOCKQ_REASSIGN, "a", NULL, "r", 1, 0, "name both" },
		{ LOCKQ_REASSIGN, NULL, "b", "r", 1, 0, "name both" },
		{ LOCKQ_REASSIGN, "a", "a", "r", 1, 0, "to another user than" },
		{ LOCKQ_RELEASE, NULL, "b", "r", 1, 0, "only loans that are reassigned" },
		{ LOCKQ_UNDO, "a", NULL, "r", 1, 0, "an undo gives loans back" },
		{ LOCKQ_URGENT, "a", NULL, "r", 1, 0, "urgent for all users" },
		{ LOCKQ_NOT_URGENT, "a", NULL, NULL, 1, 0, "urgent for all users" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct lockq_correction what = { .manager = "marcus", .task = TASK,
			.kind = cases[i].kind, .from = cases[i].from, .to = cases[i].to,
			.reason = cases[i].reason, .loans = &loan, .n_loans = cases[i].n_loans,
			.reserved = { cases[i].reserved } };
		struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;

		assert_usage(lockq_correct(q, &what, &result), cases[i].part);
		assert_int_equal(result.n_loans, 0);
		lockq_disposed_clear(&result);
	}
}

static void
of_a_disposition(void **state)
{
	static const struct lockq_loan_ref loan = { 1, 0 };
	static const struct {
		const char *user;
		enum lockq_disposition_kind kind;
		uint32_t not_me_s;
		const char *part;
	} cases[] = {
		{ NULL, LOCKQ_COMPLETE, 0, "no user was named" },
		{ "test_a", (enum lockq_disposition_kind)77, 0, "the kind of disposition" },
		{ "test_a", LOCKQ_COMPLETE, 1, "only a loan that is returned" },
		{ "test_a", LOCKQ_RETURN, LOCKQ_NOT_ME_MAX + 1, "for 366 days at most" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
		struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;

		what.user = cases[i].user;
		what.task = TASK;
		what.kind = cases[i].kind;
		what.not_me_s = cases[i].not_me_s;
		what.loans = &loan;
		what.n_loans = 1;
		assert_usage(lockq_dispose(q, &what, &result), cases[i].part);
		lockq_disposed_clear(&result);
	}
}

static void
of_a_manager(void **state)
{
	static const struct lockq_setting share = { "share", "by chance" };
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct lockq_define what = LOCKQ_DEFINE_INIT;
	uint64_t rows;

	(void)state;
	assert_usage(lockq_define(q, &what, NULL), "no manager was named");
	what.manager = long_name;
	assert_usage(lockq_define(q, &what, NULL), "a manager's name has 64 characters");
	what.manager = "marcus";
	what.reason = long_reason;
	assert_usage(lockq_define(q, &what, NULL), "a reason has 512 characters");
	what.reason = NULL;
	assert_usage(lockq_define(q, &what, NULL), "no task was named");
	what.task = TASK;
	assert_usage(lockq_define(q, &what, NULL), "nothing is to be set");
	what.settings = &share;
	what.n_settings = 1;
	assert_usage(lockq_define(q, &what, NULL), "must be order, evenly or least");
	what.reserved[0] = 1;
	assert_usage(lockq_define(q, &what, NULL), "a reserved member");

	assert_usage(lockq_change_person(q, "marcus", "x", (enum lockq_person_change)77, NULL,
	    NULL), "no change of a person");
	assert_usage(lockq_change_person(q, "marcus", NULL, LOCKQ_PERSON_ADD, NULL, NULL),
	    "no user was named");
	assert_usage(lockq_change_person(q, "marcus", long_name, LOCKQ_PERSON_ADD, NULL, NULL),
	    "a user's name has 64 characters");
	assert_usage(lockq_change_person(q, "marcus", "x", LOCKQ_PERSON_ADD, "", NULL),
	    "1 to 32 characters");
	assert_usage(lockq_forget_person(q, "", "x", 1, NULL, &rows), "no manager was named");

	assert_usage(lockq_cancel_for(q, NULL, "1", "r", &answer), "no manager was named");
	assert_usage(lockq_cancel_for(q, "marcus", "1", NULL, &answer), "needs a reason");
	assert_usage(lockq_cancel_for(q, "marcus", NULL, "r", &answer), "no request was named");
}

static void
of_those_who_ask(void **state)
{
	struct lockq_connection where = LOCKQ_CONNECTION_INIT;
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct lockq_ask ask = LOCKQ_ASK_INIT;
	struct lockq_tasks tasks = LOCKQ_TASKS_INIT;
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;

	(void)state;
	ask.task = TASK;
	assert_usage(lockq_getwork(q, &ask, &answer), "a request needs a user");
	assert_usage(lockq_tasks(q, NULL, &tasks), "no user was named");
	assert_usage(lockq_pipeline(q, NULL, 0, &pipeline), "no user was named");
	where.defaults_file = "/dev/null";
	assert_usage(lockq_query_at(q, &where), "reads no option files");
	assert_int_equal(lockq_query_at(q, NULL), LOCKQ_OK);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		USAGE_TEST(of_a_correction),
		USAGE_TEST(of_a_disposition),
		USAGE_TEST(of_a_manager),
		USAGE_TEST(of_those_who_ask),
	};

	test_begin(argc, argv);
	return cmocka_run_group_tests_name("usage", tests, suite_setup, suite_teardown);
}
