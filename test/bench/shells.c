/* SPDX-License-Identifier: MIT */
/*
 * Starts many processes and records when each of them answers.
 *
 *   shells FIRST LAST GAP_MS COMMAND [ARGUMENT…]
 *
 * It starts COMMAND for each number from FIRST to LAST, GAP_MS apart; % in an argument stands for
 * the number. When all processes have ended it prints a line for each, with tabs: the number, the
 * start, the arrival of the first line of output (0: no line), the exit status, that line. Times
 * are microseconds since 1970. A signal, or the end of its parent, ends shells and its processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

enum { SHELLS_MAX = 2000, LINE_BYTES = 4096, ARGUMENTS_MAX = 64, ARGUMENT_BYTES = 256 };

struct shell {
	pid_t pid;
	int fd; /* its output; -1: it was read to its end */
	uint64_t started_us, answered_us;
	int status;
	char line[LINE_BYTES];
	size_t used;
};

static struct shell shells[SHELLS_MAX];
static struct pollfd polled[SHELLS_MAX];
static volatile sig_atomic_t caught;

static void
catch(int signal_no)
{
	caught = signal_no;
}

static void
number_into(char *out, const char *argument, long number)
{
	const char *mark = strchr(argument, '%');
	int before = mark != NULL ? (int)(mark - argument) : (int)strlen(argument);

	if (mark == NULL)
		snprintf(out, ARGUMENT_BYTES, "%s", argument);
	else
		snprintf(out, ARGUMENT_BYTES, "%.*s%ld%s", before, argument, number, mark + 1);
}

/* This runs in the child. If the parent ended before prctl(), no signal comes, but getppid() has
 * changed. */
static void
become(char **command, long number, int out, pid_t parent)
{
	static char texts[ARGUMENTS_MAX][ARGUMENT_BYTES];
	char *arguments[ARGUMENTS_MAX + 1] = { texts[0] };
	int null = open("/dev/null", O_RDONLY);

	for (size_t i = 0; i < ARGUMENTS_MAX && command[i] != NULL; i++) {
		number_into(texts[i], command[i], number);
		arguments[i] = texts[i];
	}
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent || null < 0 ||
	    dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(126);
	execvp(arguments[0], arguments);
	_exit(127);
}

static int
start(struct shell *shell, long number, char **command)
{
	pid_t parent = getpid();
	int ends[2];

	if (pipe(ends) != 0 || fcntl(ends[0], F_SETFD, FD_CLOEXEC) != 0 ||
	    fcntl(ends[1], F_SETFD, FD_CLOEXEC) != 0)
		return -1;
	shell->started_us = now_us();
	shell->pid = fork();
	if (shell->pid == 0)
		become(command, number, ends[1], parent);
	close(ends[1]);
	shell->fd = ends[0];
	return shell->pid > 0 ? 0 : -1;
}

static void
end(struct shell *shell)
{
	int status = 0;

	close(shell->fd);
	shell->fd = -1;
	while (waitpid(shell->pid, &status, 0) < 0 && errno == EINTR)
		;
	shell->pid = 0;
	shell->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Keeps the first line of a process and drops the rest. */
static void
hear(struct shell *shell)
{
	char more[LINE_BYTES];
	ssize_t n = read(shell->fd, more, sizeof(more));

	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0) {
		end(shell);
		return;
	}
	for (ssize_t i = 0; i < n && shell->answered_us == 0; i++) {
		if (more[i] == '\n')
			shell->answered_us = now_us();
		else if (shell->used < LINE_BYTES - 1)
			shell->line[shell->used++] = more[i];
	}
}

/* Waits for output until @until_us, or without limit if that is 0. Returns false if all have
 * ended. */
static int
listen_to(size_t n, uint64_t until_us)
{
	uint64_t now = now_us();
	int ms = until_us == 0 ? -1 : until_us > now ? (int)((until_us - now + 999) / 1000) : 0;
	size_t open_ones = 0;

	for (size_t i = 0; i < n; i++) {
		polled[i] = (struct pollfd){ .fd = shells[i].fd, .events = POLLIN };
		open_ones += shells[i].fd >= 0;
	}
	if (open_ones == 0 && until_us == 0)
		return 0;
	if (poll(polled, n, ms) > 0) {
		for (size_t i = 0; i < n; i++) {
			if (polled[i].fd >= 0 && polled[i].revents != 0)
				hear(&shells[i]);
		}
	}
	return 1;
}

static void
end_all(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (shells[i].pid > 0)
			kill(shells[i].pid, SIGTERM);
	}
	for (size_t i = 0; i < n; i++) {
		if (shells[i].pid > 0)
			end(&shells[i]);
	}
}

static int
run(long first, size_t n, uint64_t gap_us, char **command)
{
	uint64_t begun = now_us();
	size_t started = 0;
	int rc = 0;

	while (rc == 0 && started < n && !caught) {
		uint64_t due = begun + started * gap_us;

		if (now_us() < due) {
			(void)listen_to(started, due);
			continue;
		}
		rc = start(&shells[started], first + (long)started, command);
		started += rc == 0;
	}
	while (rc == 0 && !caught && listen_to(n, 0))
		;
	if (rc != 0)
		perror("shells");
	end_all(started);
	return rc;
}

static int
usage(void)
{
	fprintf(stderr, "usage: shells FIRST LAST GAP_MS COMMAND [ARGUMENT...], up to %d of "
	    "them\n", SHELLS_MAX);
	return 2;
}

int
main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = catch };
	long first = argc > 4 ? strtol(argv[1], NULL, 10) : 0;
	long last = argc > 4 ? strtol(argv[2], NULL, 10) : 0;
	double gap_ms = argc > 4 ? strtod(argv[3], NULL) : 0;

	if (first < 1 || last < first || last - first >= SHELLS_MAX || gap_ms < 0 ||
	    argc - 4 > ARGUMENTS_MAX)
		return usage();
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	for (size_t i = 0; i < SHELLS_MAX; i++)
		shells[i].fd = -1;
	if (run(first, (size_t)(last - first + 1), (uint64_t)(gap_ms * 1000), argv + 4) != 0)
		return 5;
	for (long i = 0; i <= last - first; i++)
		printf("%ld\t%" PRIu64 "\t%" PRIu64 "\t%d\t%s\n", first + i, shells[i].started_us,
		    shells[i].answered_us, shells[i].status, shells[i].line);
	return caught ? 128 + caught : 0;
}
