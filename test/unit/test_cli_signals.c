/* SPDX-License-Identifier: MIT */
/* The second signal, which ends a program at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/signals.h"

static void
sleep_two_seconds(void)
{
	struct timespec left = { 2, 0 };

	while (nanosleep(&left, &left) != 0)
		continue;
}

/* Sends itself SIGTERM twice, with two seconds between; never returns. */
static void
get_two_signals(const char *consequence)
{
	cli_catch_signals(consequence);
	kill(getpid(), SIGTERM);
	if (cli_caught() != SIGTERM)
		_exit(1);
	sleep_two_seconds();
	kill(getpid(), SIGTERM);
	_exit(0);
}

/* Reads what a process that gets two signals writes to standard error. */
static void
expect_last_words(const char *consequence, const char *expected)
{
	char text[512] = "";
	size_t used = 0;
	ssize_t n;
	int ends[2], status;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		get_two_signals(consequence);
	}
	close(ends[1]);
	for (;;) {
		n = read(ends[0], text + used, sizeof(text) - 1 - used);
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	assert_string_equal(text, expected);
}

static void
the_second_signal_tells_the_consequence(void **state)
{
	(void)state;
	expect_last_words("see the log", "\nended at once: see the log\n");
}

static void
the_second_signal_without_a_consequence(void **state)
{
	(void)state;
	expect_last_words(NULL, "\nended at once\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_signal_tells_the_consequence),
		cmocka_unit_test(the_second_signal_without_a_consequence)
	};

	return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
