/* SPDX-License-Identifier: MIT */
/* The processes that a program leaves behind: they fill a list that is due, or lead on when the
 * program's time is over. Nobody waits for them. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/ask.h"

static bool leads_on; /* this is such a leader */

static bool
is_kept(int number, const int *sockets, size_t n_sockets)
{
	for (size_t i = 0; i < n_sockets; i++) {
		if (sockets[i] == number)
			return true;
	}
	return false;
}

/* Leaves the caller's session and files: a script may have passed the process a file that is
 * locked, or a pipe that is read to its end. */
static bool
stay_behind(const int *sockets, size_t n_sockets)
{
	DIR *files = opendir("/proc/self/fd");
	const struct dirent *file;
	int nowhere = open("/dev/null", O_RDWR), number;

	(void)setsid();
	if (files == NULL || nowhere < 0)
		return false;
	for (int i = 0; i <= STDERR_FILENO; i++)
		(void)dup2(nowhere, i);
	while ((file = readdir(files)) != NULL) {
		number = (int)strtol(file->d_name, NULL, 10);
		if (number > STDERR_FILENO && number != dirfd(files) &&
		    !is_kept(number, sockets, n_sockets))
			(void)close(number);
	}
	closedir(files);
	return true;
}

/* Connects anew, since the connection of the process that asked is not this one's. The directory
 * stays: the names of a socket and of keys may be relative to it. What becomes of the query stands
 * in leader_run, and a failure in the answers to those who take from the old list. A process that
 * was killed, or can't connect, leaves no word: the next one tries again. */
static int
fill(struct cli_common *common, uint32_t task)
{
	struct lockq_refilled result;
	struct lockq *q = NULL;
	int rc = lockq_new(&common->q);

	common->connection.program = "refill";
	if (rc == LOCKQ_OK)
		rc = lockq_read_options(common->q, &common->connection);
	if (rc == LOCKQ_OK)
		rc = cli_open(&q, common);
	if (rc == LOCKQ_OK)
		rc = lockq_refill(q, task, 1, &result);
	lockq_free(common->q);
	return cli_exit_status(rc, cli_caught());
}

void
cli_fill_due(const struct cli_common *common, struct lockq *q, uint32_t task)
{
	struct cli_common own = *common;

	if (lockq_option_no_refill(q) || lockq_refill_due(q, 0) == 0 || fork() != 0)
		return;
	/* Without the handlers of exit(), which would say good-bye on the caller's connection. */
	_exit(stay_behind(NULL, 0) ? fill(&own, task) : CLI_EXIT_DATABASE);
}

/* A lockq_overtime_fn. */
static int
leave_leader(const int *sockets, size_t n_sockets, void *data)
{
	const bool *no_process = data;
	pid_t child = *no_process ? -1 : fork();

	if (child < 0) {
		cli_message("the time is over, but your query serves all that asked meanwhile, and "
		    "%s: it goes on", *no_process ? "--no-refill leaves no process for it" :
		    "no process can be made for it");
		return 0;
	}
	if (child > 0)
		return 1;
	if (!stay_behind(sockets, n_sockets))
		_exit(CLI_EXIT_DATABASE);
	leads_on = true;
	return 0;
}

void
cli_watch_overtime(struct lockq *q, bool no_process)
{
	static bool forbidden;

	forbidden = no_process || lockq_option_no_refill(q);
	lockq_on_overtime(q, leave_leader, &forbidden);
}

void
cli_end_behind(struct lockq *q)
{
	if (!leads_on)
		return;
	lockq_free(q);
	_exit(CLI_EXIT_DONE);
}
