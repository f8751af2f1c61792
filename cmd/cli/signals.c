/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/signals.h"
#include "cli/times.h"

static volatile sig_atomic_t caught;
static volatile sig_atomic_t group, killed;
static void (*before_end)(void);
static uint64_t caught_at; /* cli_clock_ms() */

/* Composed before a signal can come, since a signal handler may not format text. */
static char wont_wait[256];
static size_t wont_wait_length;

static void
pass_on(void)
{
	if (group == 0 || caught == 0)
		return;
	kill(-group, caught);
	kill(-group, SIGCONT); /* one that is stopped would not see it */
}

static void
on_signal(int signal_number)
{
	int errno_before = errno;
	uint64_t now = cli_clock_ms();

	if (caught == 0) {
		caught_at = now;
		caught = signal_number;
		pass_on();
	} else if (now - caught_at >= 2000 && group != 0 && !killed) {
		killed = true;
		caught_at = now;
		kill(-group, SIGKILL);
	} else if (now - caught_at >= 2000) {
		/* timeout(1) and terminals send two signals at once. Only one that comes later
		 * means that the user does not want to wait any more. */
		if (before_end != NULL)
			before_end();
		(void)!write(STDERR_FILENO, wont_wait, wont_wait_length);
		signal(signal_number, SIG_DFL);
		raise(signal_number);
	}
	errno = errno_before;
}

void
cli_catch_signals(const char *consequence)
{
	struct sigaction action, before;

	(void)snprintf(wont_wait, sizeof(wont_wait), "\nended at once%s%s\n",
	    consequence != NULL ? ": " : "", consequence != NULL ? consequence : "");
	wont_wait_length = strlen(wont_wait);
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* nohup(1) starts a program with SIGHUP ignored, and that must stay so */
	if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
}

int
cli_caught(void)
{
	return caught;
}

void
cli_forget_interrupt(void)
{
	if (caught == SIGINT)
		caught = 0;
}

void
cli_before_end(void (*restore)(void))
{
	before_end = restore;
}

void
cli_block_signals(int more, sigset_t *before)
{
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, more);
	sigprocmask(SIG_BLOCK, &ours, before);
}

void
cli_pass_on(pid_t to)
{
	sigset_t before;

	cli_block_signals(SIGINT, &before);
	group = to;
	pass_on();
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* A signal that comes just before a poll() does not end it, and is heard after this. */
enum { SLICE_MS = 100 };

void
cli_nap(uint64_t ms)
{
	uint64_t end = cli_clock_ms() + ms;

	for (uint64_t now = cli_clock_ms(); now < end && caught == 0; now = cli_clock_ms())
		(void)poll(NULL, 0, end - now < SLICE_MS ? (int)(end - now) : SLICE_MS);
}
