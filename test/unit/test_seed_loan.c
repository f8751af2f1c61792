/* SPDX-License-Identifier: MIT */
/* Made-up loans. The same seed gives the same loans on any machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "seedloans/loan.h"
#include "seedloans/rng.h"
#include "seedloans/tool.h"
#include "cli/when.h"

/* These numbers were computed once. Each machine and each compiler must give the same ones. */
static void
test_rng_is_the_same_everywhere(void **state)
{
	struct rng rng = { 1234567 };

	(void)state;
	/* The published test values of splitmix64. */
	assert_true(rng_next(&rng) == UINT64_C(6457827717110365317));
	assert_true(rng_next(&rng) == UINT64_C(3203168211198807973));
	assert_true(rng_next(&rng) == UINT64_C(9817491932198370423));
}

static void
test_rng_streams_differ(void **state)
{
	struct rng a = rng_for(1, 1, 1), b = rng_for(2, 1, 1), c = rng_for(1, 2, 1),
	    d = rng_for(1, 1, 2), again = rng_for(1, 1, 1);
	uint64_t first = rng_next(&a);

	(void)state;
	assert_true(first == rng_next(&again));
	assert_true(first != rng_next(&b));
	assert_true(first != rng_next(&c));
	assert_true(first != rng_next(&d));
}

static void
test_rng_below_stays_below(void **state)
{
	struct rng rng = rng_for(1, 1, 1);
	unsigned int seen[7] = { 0 }, i;

	(void)state;
	for (i = 0; i < 7000; i++)
		seen[rng_below(&rng, 7)]++;
	for (i = 0; i < 7; i++)
		assert_in_range(seen[i], 800, 1200);
	assert_int_equal(rng_below(&rng, 1), 0);
}

static void
test_loan_follows_from_seed_and_id(void **state)
{
	struct seed_loan a = { 0 }, b = { 0 };
	char when[WHEN_BYTES];

	(void)state;
	loan_make(&a, 1, 2);
	loan_make(&b, 1, 1);
	loan_make(&b, 1, 2);
	assert_string_equal(a.applicant, b.applicant);
	assert_true(a.cents == b.cents && a.submitted == b.submitted);
	when_format(when, a.submitted);
	assert_string_equal(a.applicant, "Jennifer Morales");
	assert_true(a.cents == 48380000);
	assert_string_equal(a.city, "Memphis");
	assert_string_equal(when, "2025-07-24 08:13:50");
}

static void
test_documents_follow_from_the_loan(void **state)
{
	struct seed_document a[LOAN_DOCUMENTS], b[LOAN_DOCUMENTS];
	struct seed_loan loan = { 0 };
	size_t i, n, statements = 0, loans_with = 0;
	uint64_t id;

	(void)state;
	for (id = 1; id <= 2000; id++) {
		size_t before = statements;

		loan_make(&loan, 1, id);
		n = loan_documents(&loan, 1, a);
		assert_int_equal(n, loan_documents(&loan, 1, b));
		for (i = 0; i < n; i++) {
			assert_string_equal(a[i].checksum, b[i].checksum);
			assert_int_equal(strspn(a[i].checksum, "0123456789abcdef"), 64);
			assert_true(a[i].submitted >= loan.submitted);
			assert_true((a[i].checked != 0) == (strcmp(a[i].status, "submitted") != 0));
			if (strcmp(a[i].kind, "bank_statement") == 0 && a[i].checked == 0)
				statements++;
		}
		loans_with += statements > before;
	}
	/* Task 7 needs many loans with documents. */
	assert_in_range(loans_with, 500, 800);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rng_is_the_same_everywhere),
		cmocka_unit_test(test_rng_streams_differ),
		cmocka_unit_test(test_rng_below_stays_below),
		cmocka_unit_test(test_loan_follows_from_seed_and_id),
		cmocka_unit_test(test_documents_follow_from_the_loan)
	};

	return cmocka_run_group_tests_name("seed_loan", tests, NULL, NULL);
}
