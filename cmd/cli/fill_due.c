/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/ask.h"

/* A script may have passed the process a file that is locked, or a pipe that is read to its end. */
static bool
close_files(void)
{
	DIR *files = opendir("/proc/self/fd");
	const struct dirent *file;
	int nowhere = open("/dev/null", O_RDWR), number;

	if (files == NULL || nowhere < 0)
		return false;
	for (int i = 0; i <= STDERR_FILENO; i++)
		(void)dup2(nowhere, i);
	while ((file = readdir(files)) != NULL) {
		number = (int)strtol(file->d_name, NULL, 10);
		if (number > STDERR_FILENO && number != dirfd(files))
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
	(void)setsid();
	/* Without the handlers of exit(), which would say good-bye on the caller's connection. */
	_exit(close_files() ? fill(&own, task) : CLI_EXIT_DATABASE);
}
