/* SPDX-License-Identifier: MIT */
/*
 * This program uses liblockq: it asks for loans, "works" on each, and says what became of it.
 *
 *   cc ask.c $(pkg-config --cflags --libs lockq) -o ask
 *   LOCKQ_DEFAULTS_FILE=$PWD/lockq.cnf ./ask oliver 7 3
 *
 * These two commands are enough after `make install`. After `make install prefix="$HOME/.local"`,
 * pkg-config needs PKG_CONFIG_PATH=$HOME/.local/lib/pkgconfig, and ./ask needs
 * LD_LIBRARY_PATH=$HOME/.local/lib.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <lockq.h>

/* lockq_getwork() calls this function about four times a second while it waits. Any value but 0
 * would end the call. */
static int
show_progress(const struct lockq_progress *progress, void *data)
{
	(void)data;
	if (progress->phase == LOCKQ_PHASE_WAIT && progress->leader != NULL)
		fprintf(stderr, "waiting for \"%s\"'s query: %" PRIu64 " ms\n", progress->leader,
		    progress->leader_ms);
	else if (progress->phase == LOCKQ_PHASE_QUERY)
		fprintf(stderr, "our query runs: %" PRIu64 " ms\n", progress->phase_ms);
	return 0;
}

/* The real work goes here. In this example the loans with an odd number are not ready yet. */
static int
work_on(uint64_t loan_id)
{
	return loan_id % 2 == 0;
}

/* With its token a loan is refused if its lease ran out and it was assigned again meanwhile. */
static int
say(struct lockq *q, const struct lockq_ask *ask, const struct lockq_loan *loan, int done)
{
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq_loan_ref ref = { loan->loan_id, loan->token };
	int rc;

	what.user = ask->user;
	what.task = ask->task;
	what.kind = done ? LOCKQ_COMPLETE : LOCKQ_RETURN;
	what.return_after_s = done ? 0 : 4 * 3600;
	what.loans = &ref;
	what.n_loans = 1;
	rc = lockq_dispose(q, &what, &result);
	if (rc == LOCKQ_OK)
		printf("loan %" PRIu64 ": %s\n", loan->loan_id, result.loans[0].state);
	lockq_disposed_clear(&result);
	return rc;
}

int
main(int argc, char **argv)
{
	struct lockq_connection where = LOCKQ_CONNECTION_INIT;
	struct lockq_ask ask = LOCKQ_ASK_INIT;
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct lockq *q = NULL;
	size_t i;
	int rc;

	if (argc != 4) {
		fprintf(stderr, "usage: ask USER TASK COUNT\n");
		return 2;
	}
	/* The library does not read the environment, so the program does. */
	where.defaults_file = getenv("LOCKQ_DEFAULTS_FILE");
	where.program = "ask";
	ask.user = argv[1];
	ask.task = (uint32_t)strtoul(argv[2], NULL, 10);
	ask.count = (uint32_t)strtoul(argv[3], NULL, 10);
	ask.timeout_ms = 60000;

	rc = lockq_new(&q);
	if (rc == LOCKQ_OK)
		rc = lockq_connect(q, &where);
	if (rc == LOCKQ_OK) {
		lockq_on_progress(q, show_progress, NULL);
		rc = lockq_getwork(q, &ask, &answer);
	}
	for (i = 0; rc == LOCKQ_OK && i < answer.n_loans; i++)
		rc = say(q, &ask, &answer.loans[i], work_on(answer.loans[i].loan_id));

	if (rc == LOCKQ_NOTHING)
		printf("no work for task %" PRIu32 " as of %s\n", ask.task, answer.as_of);
	else if (rc == LOCKQ_BUSY)
		printf("request %" PRIu64 " is %s\n", answer.request_id,
		    lockq_status_name(answer.status));
	else if (rc < 0)
		fprintf(stderr, "ask: %s\n", q != NULL ? lockq_error(q) : "out of memory");
	lockq_answer_clear(&answer);
	lockq_free(q);
	return rc == LOCKQ_OK ? 0 : 1;
}
