/* SPDX-License-Identifier: MIT */
/*
 * Runs programs in turn, one at a time, and prints what each run took.
 *
 *   rounds time TASK ROUNDS COMMAND…   a line per run: which command, wall ms, CPU ms of the
 *                                      process, CPU ms of the server
 *   rounds count TASK COMMAND…         a line per command: connections, questions, prepared
 *                                      statements, executions of them, bytes sent, bytes received,
 *                                      by the server's counters
 *
 * A COMMAND is one argument, split at blanks. "%n" in it is replaced by the number of leaders that
 * the task has had since FIRST_EPOCH. Before each run all loans of the task become free. A run
 * lasts from the fork to the end of the process. The server time includes closing connections.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "clock.h"
#include "db/db.h"
#include "inside.h"

enum { WORDS = 32, SETTLE_MS = 5, COUNT_SETTLE_MS = 100, COMMANDS = 8 };

extern char **environ;

static struct db *db;
static clockid_t server_clock;
static uint32_t task;
static uint64_t first_epoch;

static const struct db_query free_loans = {
	"free_loans", "DELETE FROM work WHERE task_id = ?", DB_NO_ROWS
};

static const struct db_query read_epoch = {
	"read_epoch", "SELECT epoch FROM task_lock WHERE task_id = ?", DB_ONE
};

static const struct db_query read_counters = {
	"read_counters",
	"SHOW GLOBAL STATUS"
	" WHERE Variable_name IN ('Bytes_received', 'Bytes_sent', 'Com_stmt_execute',"
	"                         'Com_stmt_prepare', 'Connections', 'Questions')",
	DB_MANY
};

/* The counters, in the order in which the server shows them. */
enum { RECEIVED, SENT, EXECUTED, PREPARED, CONNECTED, ASKED, COUNTERS };

struct took {
	double wall_ms, cpu_ms, server_ms;
};

static void
check(int rc)
{
	if (rc == DB_OK)
		return;
	fprintf(stderr, "rounds: %s\n", db_error(db));
	exit(5);
}

/* Connects as the sandbox's administrator. */
static void
open_server(void)
{
	const char *sandbox = getenv("LOCKQ_SANDBOX_DIR");
	struct lockq_connection where = LOCKQ_CONNECTION_INIT;
	char path[4096], pid[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/mysqld.pid", sandbox != NULL ? sandbox : ".");
	file = fopen(path, "re");
	if (file == NULL || fgets(pid, sizeof(pid), file) == NULL ||
	    clock_getcpuclockid((pid_t)strtol(pid, NULL, 10), &server_clock) != 0) {
		fprintf(stderr, "rounds: LOCKQ_SANDBOX_DIR is no running sandbox\n");
		exit(5);
	}
	fclose(file);
	snprintf(path, sizeof(path), "%s/admin.cnf", sandbox);
	where.defaults_file = path;
	where.defaults_group = "client";
	where.database = "lockq";
	check(where_connect(&db, &where));
}

static double
cpu_ms(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1e3 +
	    (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e3;
}

/* Returns the task's epoch, which each leader raises by one. */
static uint64_t
epoch(void)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t is;

	check(db_run(db, &read_epoch, DB_ARGS(db_u64(task)), &rows));
	is = db_cell_u64(&rows, 0, 0);
	db_rows_clear(&rows);
	return is;
}

/* Cuts @text into @words. */
static void
split(char *text, char *words[WORDS], char leaders[32])
{
	size_t n = 0;

	snprintf(leaders, 32, "%" PRIu64, epoch() - first_epoch);
	for (char *word = text; word != NULL && n + 1 < WORDS; n++) {
		char *end = strchr(word, ' ');

		if (end != NULL)
			*end++ = '\0';
		words[n] = strcmp(word, "%n") == 0 ? leaders : word;
		word = end;
	}
	words[n] = NULL;
}

static struct took
run(const char *command)
{
	posix_spawn_file_actions_t actions;
	struct rusage before, after;
	struct took took;
	char *text = strdup(command), *words[WORDS], leaders[32];
	int status = -1, rc;
	pid_t pid;

	check(db_run(db, &free_loans, DB_ARGS(db_u64(task)), NULL));
	split(text, words, leaders);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	db_sleep_ms(SETTLE_MS);
	getrusage(RUSAGE_CHILDREN, &before);
	took.server_ms = ms_of(server_clock);
	took.wall_ms = now_ms();
	rc = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
	while (rc == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	took.wall_ms = now_ms() - took.wall_ms;
	if (rc != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "rounds: failed: %s\n", command);
		exit(5);
	}
	getrusage(RUSAGE_CHILDREN, &after);
	took.cpu_ms = cpu_ms(&after) - cpu_ms(&before);
	db_sleep_ms(SETTLE_MS);
	took.server_ms = ms_of(server_clock) - took.server_ms;
	posix_spawn_file_actions_destroy(&actions);
	free(text);
	return took;
}

static void
counters(uint64_t values[COUNTERS])
{
	struct db_rows rows = { 0, 0, NULL, NULL };

	db_sleep_ms(COUNT_SETTLE_MS);
	check(db_run(db, &read_counters, DB_NO_ARGS, &rows));
	for (size_t i = 0; i < COUNTERS; i++)
		values[i] = db_cell_u64(&rows, i, 1);
	db_rows_clear(&rows);
}

/* Prints what a run of @command adds to the counters, less what the counting itself adds. */
static void
count(const char *command)
{
	uint64_t values[4][COUNTERS], own;
	static const unsigned int order[COUNTERS] = {
		CONNECTED, ASKED, PREPARED, EXECUTED, RECEIVED, SENT
	};

	for (size_t i = 0; i < 2; i++)
		(void)run(command);
	counters(values[0]);
	check(db_run(db, &free_loans, DB_ARGS(db_u64(task)), NULL));
	(void)epoch();
	counters(values[1]);
	(void)run(command);
	counters(values[2]);
	for (size_t i = 0; i < COUNTERS; i++) {
		own = values[1][order[i]] - values[0][order[i]];
		printf("%" PRIu64 "%c", values[2][order[i]] - values[1][order[i]] - own,
		    i + 1 == COUNTERS ? '\n' : ' ');
	}
}

static void
time_all(unsigned long n_rounds, char **commands, size_t n)
{
	for (unsigned long round = 0; round < n_rounds; round++) {
		/* Each command comes first in some rounds, so the order favours none. */
		for (size_t i = 0; i < n; i++) {
			size_t which = (i + round) % n;
			struct took took = run(commands[which]);

			printf("%zu %.3f %.3f %.3f\n", which, took.wall_ms, took.cpu_ms,
			    took.server_ms);
		}
	}
}

int
main(int argc, char **argv)
{
	bool times = argc >= 5 && strcmp(argv[1], "time") == 0;
	const char *first = getenv("FIRST_EPOCH");

	if (!times && (argc < 4 || strcmp(argv[1], "count") != 0)) {
		fprintf(stderr, "usage: rounds time TASK ROUNDS COMMAND...\n"
		    "       rounds count TASK COMMAND...\n");
		return 2;
	}
	task = (uint32_t)strtoul(argv[2], NULL, 10);
	first_epoch = first != NULL ? strtoull(first, NULL, 10) : 0;
	open_server();
	if (times)
		time_all(strtoul(argv[3], NULL, 10), argv + 4, (size_t)argc - 4);
	for (int i = 3; !times && i < argc; i++)
		count(argv[i]);
	db_close(db);
	return 0;
}
