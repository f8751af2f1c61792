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

int
test_teardown(void **state)
{
	(void)state;
	/* In this order, whatever a failed test left running ends soonest. */
	workers_kill();
	end_connections();
	proxies_relent();
	workers_end();
	proxies_end();
	clear_fixture();
	return 0;
}
