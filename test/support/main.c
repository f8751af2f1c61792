/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "support.h"

void
test_begin(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	if (getenv("LOCKQ_DEFAULTS_FILE") == NULL) {
		printf("1..0 # SKIP LOCKQ_DEFAULTS_FILE is not set: scripts/sandbox run\n");
		exit(0);
	}
	if (lockq_library_init() != LOCKQ_OK)
		abort();
}

int
suite_setup(void **state)
{
	(void)state;
	remove_fixture();
	return 0;
}

int
suite_teardown(void **state)
{
	(void)state;
	remove_fixture();
	close_connections();
	return 0;
}

int
test_setup(void **state)
{
	(void)state;
	make_task(TASK);
	make_task(OTHER_TASK);
	return 0;
}

/* The last request whose two numbers do not tell how it has ended; 0: none. */
static uint64_t
untrue_request(void)
{
	return u64("SELECT COALESCE(MAX(request_id), 0) FROM work_requested"
	    " WHERE NOT CASE WHEN outcome = 'pending' THEN requested = asked AND assigned = 0"
	    "                WHEN outcome IN ('served', 'partial') THEN"
	    "                  assigned > 0 AND requested = assigned"
	    "                ELSE requested = 0 AND assigned = 0 END");
}

int
test_teardown(void **state)
{
	uint64_t untrue;

	(void)state;
	/* In this order, whatever a failed test left running ends soonest. */
	workers_kill();
	end_connections();
	proxies_relent();
	workers_end();
	proxies_end();
	untrue = untrue_request();
	clear_fixture();
	assert_int_equal(untrue, 0);
	return 0;
}
