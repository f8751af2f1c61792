/* SPDX-License-Identifier: MIT */
/*
 * One of the many who work during a soak: a process that asks for loans and says what became of
 * them, again and again over one handle, until SIGTERM.
 *
 *   worker USER SEED FILE REST_MS TASK…
 *
 * It rests for so long each time before it asks again.
 * What each call told is a line of JSON in FILE, as test/history/check reads it. A line is written
 * when its call has ended, so of the call in which the process is killed there is none.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/json.h"
#include "cli/dispose.h"
#include "cli/exit_status.h"
#include "lockq.h"

enum { TASKS_MAX = 32, COUNT_MAX = 3, WAIT_MS = 60000, AWAY_MS = 200 };

static struct {
	const char *user;
	uint32_t tasks[TASKS_MAX];
	size_t n_tasks;
	uint64_t seed;
	long rest_ms;
	int file;
	struct lockq *q;
} me;
static volatile sig_atomic_t over;

static void
end(int signal_number)
{
	(void)signal_number;
	over = 1;
}

/* Returns a number below @n. The same seed makes the same choices. */
static uint32_t
choose(uint32_t n)
{
	me.seed = me.seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(me.seed >> 33) % n;
}

static double
now(void)
{
	struct timespec time = { 0, 0 };

	clock_gettime(CLOCK_REALTIME, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void
rest(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

/* @how and @value say how @call was asked; @value may be NULL. A line is one write, so that a
 * process that is killed leaves no half of it. */
static void
tell(const char *call, uint32_t task, const char *how, json_t *value, double from, int rc,
    json_t *answer)
{
	json_t *object = json_object();
	size_t length;
	char *line;

	cli_json_set(object, "call", json_string(call));
	cli_json_set(object, "user", json_string(me.user));
	cli_json_set(object, "task", task != 0 ? cli_json_number(task) : json_null());
	if (value != NULL)
		cli_json_set(object, how, value);
	cli_json_set(object, "from", json_real(from));
	cli_json_set(object, "to", json_real(now()));
	cli_json_set(object, "exit", json_integer(cli_exit_status(rc, 0)));
	cli_json_set(object, "answer", answer);
	line = cli_json_line(object);
	length = line != NULL ? strlen(line) : 0;
	if (line != NULL)
		line[length++] = '\n';
	if (line == NULL || write(me.file, line, length) != (ssize_t)length)
		over = 1;
	free(line);
}

/* Opens the handle, and waits where the server is away. The library itself connects again later. */
static void
open_handle(void)
{
	struct lockq_connection where = LOCKQ_CONNECTION_INIT;

	where.defaults_file = getenv("LOCKQ_DEFAULTS_FILE");
	while (!over && me.q == NULL) {
		if (lockq_new(&me.q) == LOCKQ_OK && lockq_connect(me.q, &where) == LOCKQ_OK)
			return;
		lockq_free(me.q);
		me.q = NULL;
		rest(AWAY_MS);
	}
}

static json_t *
disposed(const struct lockq_disposition *what, const struct lockq_disposed_result *result)
{
	json_t *answer = json_array();

	for (size_t i = 0; i < result->n_loans; i++) {
		const struct lockq_disposed_loan *loan = &result->loans[i];
		json_t *object = json_object();

		cli_json_set(object, "loan_id", cli_json_number(loan->loan_id));
		cli_json_set(object, "user", json_string(what->user));
		cli_json_set(object, "task", cli_json_number(what->task));
		cli_json_set(object, "result", json_string(disposition_result(loan->what)));
		cli_json_set(object, "state", cli_json_text(loan->state));
		cli_json_set(object, "token", cli_json_number(loan->token));
		cli_json_set(object, "available_at", cli_json_time(loan->available_at));
		cli_json_set(object, "lease_expires_at", cli_json_time(loan->lease_expires_at));
		cli_json_set(object, "excluded_until", cli_json_time(loan->excluded_until));
		cli_json_set(object, "late", json_boolean(loan->late));
		cli_json_set(object, "repeated", json_boolean(loan->repeated));
		json_array_append_new(answer, object);
	}
	return answer;
}

static void
dispose(enum lockq_disposition_kind kind, uint32_t task, const struct lockq_loan_ref *loans,
    size_t n)
{
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	double from = now();
	int rc;

	if (n == 0)
		return;
	what.user = me.user;
	what.task = task;
	what.kind = kind;
	what.return_after_s = kind == LOCKQ_RETURN ? choose(3) : 0;
	what.loans = loans;
	what.n_loans = n;
	rc = lockq_dispose(me.q, &what, &result);
	tell("disposition", task, "return_after", kind == LOCKQ_RETURN ?
	    json_integer(what.return_after_s) : NULL, from, rc, disposed(&what, &result));
	lockq_disposed_clear(&result);
	if (rc < 0)
		rest(AWAY_MS);
}

/* Most loans are completed, some are returned for a moment, and some are forgotten until their
 * leases end. */
static void
work_on(uint32_t task, const struct lockq_loan_ref *loans, size_t n)
{
	uint32_t way = choose(100);

	if (way < 3)
		return;
	if (way < 8)
		dispose(LOCKQ_RENEW, task, loans, n);
	if (way < 15)
		dispose(LOCKQ_RETURN, task, loans, 1);
	else if (way == 15 && choose(4) == 0)
		dispose(LOCKQ_NEVER, task, loans, 1);
	else
		dispose(LOCKQ_COMPLETE, task, loans, 1);
	dispose(LOCKQ_COMPLETE, task, loans + 1, n - 1);
}

static void
ask(uint32_t task)
{
	struct lockq_loan_ref loans[COUNT_MAX] = { { 0, 0 } };
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct lockq_ask what = LOCKQ_ASK_INIT;
	double from = now();
	json_t *told;
	size_t n = 0;
	int rc;

	what.user = me.user;
	what.task = task;
	what.count = 1 + choose(COUNT_MAX);
	what.timeout_ms = WAIT_MS;
	what.wait = choose(10) == 0 ? LOCKQ_WAIT_NONE : LOCKQ_WAIT_BLOCKING;
	rc = lockq_getwork(me.q, &what, &answer);
	told = cli_json_answer(&answer, cli_exit_status(rc, 0), rc < 0 || rc == LOCKQ_BUSY ?
	    lockq_error(me.q) : NULL);
	cli_json_set(told, "repeated", json_boolean(answer.repeated));
	tell("getwork", task, "no_wait", json_boolean(what.wait == LOCKQ_WAIT_NONE), from, rc,
	    json_pack("[o]", told));
	for (; n < answer.n_loans && n < COUNT_MAX; n++) {
		loans[n].loan_id = answer.loans[n].loan_id;
		loans[n].token = answer.loans[n].token;
	}
	lockq_answer_clear(&answer);
	if (n > 0)
		work_on(task, loans, n);
	else
		rest(rc < 0 ? AWAY_MS : choose(AWAY_MS));
}

/* Looks at what is the user's. What an earlier process has left is completed. */
static void
look(bool and_complete)
{
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;
	json_t *answer = json_array();
	double from = now();
	int rc = lockq_pipeline(me.q, me.user, 0, &pipeline);

	for (size_t i = 0; i < pipeline.n_assignments; i++) {
		const struct lockq_assignment *a = &pipeline.assignments[i];
		json_t *object = json_object();

		cli_json_set(object, "task", cli_json_number(a->task));
		cli_json_set(object, "loan_id", cli_json_number(a->loan_id));
		cli_json_set(object, "token", cli_json_number(a->token));
		json_array_append_new(answer, object);
	}
	if (rc == LOCKQ_OK && pipeline.n_assignments == 0)
		rc = LOCKQ_NOTHING;
	tell("checkwork", 0, "", NULL, from, rc, answer);
	for (size_t i = 0; and_complete && i < pipeline.n_assignments; i++) {
		const struct lockq_assignment *a = &pipeline.assignments[i];
		struct lockq_loan_ref loan = { a->loan_id, a->token };

		dispose(LOCKQ_COMPLETE, a->task, &loan, 1);
	}
	lockq_pipeline_clear(&pipeline);
}

int
main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = end };

	if (argc < 6 || argc - 5 > TASKS_MAX) {
		fprintf(stderr, "usage: worker USER SEED FILE REST_MS TASK...\n");
		return 2;
	}
	me.user = argv[1];
	me.seed = strtoull(argv[2], NULL, 10);
	me.file = open(argv[3], O_WRONLY | O_CREAT | O_APPEND, 0600);
	me.rest_ms = strtol(argv[4], NULL, 10);
	for (int i = 5; i < argc; i++)
		me.tasks[me.n_tasks++] = (uint32_t)strtoul(argv[i], NULL, 10);
	if (me.file < 0 || sigaction(SIGTERM, &action, NULL) != 0) {
		fprintf(stderr, "worker: can't write to %s\n", argv[3]);
		return 5;
	}
	open_handle();
	if (!over)
		look(true);
	while (!over) {
		ask(me.tasks[choose((uint32_t)me.n_tasks)]);
		if (choose(20) == 0)
			look(false);
		rest(me.rest_ms);
	}
	lockq_free(me.q);
	return 0;
}
