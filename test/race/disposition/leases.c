/* SPDX-License-Identifier: MIT */
/*
 * leases TASK PREFIX LOANS ROUNDS SEED FILE: sixteen processes work on the few loans of a task, two
 * processes for each of the users PREFIX-1 to PREFIX-8. In each round all act at once, near the
 * moment when a lease ends. Their actions are drawn from SEED: a process asks for work, disposes
 * of loans or renews leases, does both in one call, or does what cron does. A loan may be its own
 * or not, and the token right, old or missing.
 *
 * FILE gets what the processes were told, a row of SQL values on each line: round, process, user,
 * kind (asked, disposed, expired), event, loan, given token, outcome ("in_one": the loan was given
 * in the commit of a disposition); then from the answer: token, holder, state and since; then the
 * request, the note, cron's counts (leases, available), and the times when the call began and
 * ended.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "db/db_text.h"
#include "inside.h"
#include "seedloans/rng.h"

enum {
	PROCESSES = 16, USERS = 8, KNOWN = 8, LOANS_AT_ONCE = 3,
	SPREAD_US = 4000,       /* processes act within this time around the end of a lease */
	SOON_US = 2000,         /* until a round starts, if no lease ends soon */
	FAR_US = 700000,        /* a lease that ends later than this does not end soon */
	PATIENCE_MS = 120000    /* until all sixteen have done a round */
};

/* One of the processes. */
struct worker {
	unsigned int n, round;
	char user[64];
	const char *prefix;
	uint32_t task;
	unsigned long loans;
	struct rng rng;
	struct lockq *q;
	struct lockq_loan_ref known[KNOWN];  /* the last loans that it was given */
	size_t n_known, next_known;
	struct lockq_loan_ref seen[KNOWN];   /* loans that somebody holds just before the round */
	size_t n_seen;
	int go, back;                        /* pipes from the parent and to it */
	int out;
};

/* The action of a process in a round. */
struct action {
	enum { ASK, DISPOSE, EXPIRE } what;
	struct lockq_ask ask;
	bool asks;                           /* DISPOSE: and asks */
	struct lockq_disposition disposition;
	struct lockq_loan_ref loans[LOANS_AT_ONCE];
	struct lockq_expire expire;
	char note[64];
	char began[TIME_BYTES], ended[TIME_BYTES];
};

/* The words of a process to its parent, and how often the parent has heard each word from all
 * processes. */
enum { READY, DONE, WORDS };
struct heard {
	int from;
	unsigned long times[WORDS];
};

static const char *const events[] = { "completed", "returned", "never", "renewed" };

static const struct db_query long_session = {
	"long_session", "SET SESSION wait_timeout = 3600", DB_NO_ROWS
};

static const struct db_query next_end = {
	"next_end",
	"SELECT TIMESTAMPDIFF(MICROSECOND, NOW(6), MIN(lease_expires_at))"
	"  FROM work"
	" WHERE task_id = ? AND state = 'assigned'"
	"   AND lease_expires_at > NOW(6) + INTERVAL 10000 MICROSECOND",
	DB_ONE
};

/* Writes the time as the server does. Server and program have the same clock. */
static void
time_now(char text[TIME_BYTES])
{
	struct timespec now;
	struct tm parts;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &parts);
	n = strftime(text, TIME_BYTES, "%Y-%m-%d %H:%M:%S", &parts);
	snprintf(text + n, TIME_BYTES - n, ".%06u", (unsigned int)(now.tv_nsec / 1000) % 1000000);
}

static unsigned int
draw(struct worker *w, unsigned int below)
{
	return (unsigned int)rng_below(&w->rng, below);
}

/* Draws a loan: one that somebody holds now, one that this process was given, or any loan. */
static struct lockq_loan_ref
draw_loan(struct worker *w)
{
	unsigned int how = draw(w, 100);
	struct lockq_loan_ref ref = { draw(w, (unsigned int)w->loans) + 1, 0 };

	if (how < 80 && w->n_seen > 0)
		ref = w->seen[draw(w, (unsigned int)w->n_seen)];
	else if (how < 94 && w->n_known > 0)
		ref = w->known[draw(w, (unsigned int)w->n_known)];
	if (draw(w, 4) == 0)
		ref.token = 0;
	return ref;
}

static bool
is_among(const struct lockq_loan_ref *list, size_t n, uint64_t loan_id)
{
	for (size_t i = 0; i < n; i++) {
		if (list[i].loan_id == loan_id)
			return true;
	}
	return false;
}

static void
draw_ask(struct worker *w, struct action *a)
{
	a->ask = (struct lockq_ask)LOCKQ_ASK_INIT;
	a->ask.user = w->user;
	a->ask.task = w->task;
	a->ask.count = draw(w, LOANS_AT_ONCE) + 1;
	a->ask.timeout_ms = PATIENCE_MS;
}

static void
draw_disposition(struct worker *w, struct action *a)
{
	struct lockq_disposition *d = &a->disposition;
	unsigned int kind = draw(w, 100), n = draw(w, LOANS_AT_ONCE) + 1;

	a->what = DISPOSE;
	*d = (struct lockq_disposition)LOCKQ_DISPOSITION_INIT;
	d->kind = kind < 27 ? LOCKQ_COMPLETE : kind < 57 ? LOCKQ_RETURN :
	    kind < 96 ? LOCKQ_RENEW : LOCKQ_NEVER;
	if (d->kind == LOCKQ_RETURN) {
		d->return_after_s = draw(w, 3) == 0;
		d->not_me_s = draw(w, 4) == 0 ? 1 + draw(w, 2) : 0;
	}
	a->asks = draw(w, 3) == 0;
	draw_ask(w, a);
	snprintf(a->note, sizeof(a->note), "round %u, process %u", w->round, w->n);
	d->user = w->user;
	d->task = w->task;
	d->note = a->note;
	d->loans = a->loans;
	for (unsigned int i = 0; i < n; i++) {
		a->loans[d->n_loans] = draw_loan(w);
		if (!is_among(a->loans, d->n_loans, a->loans[d->n_loans].loan_id))
			d->n_loans++;
	}
}

static void
draw_action(struct worker *w, struct action *a)
{
	unsigned int what = draw(w, 100);

	*a = (struct action){ .what = ASK };
	if (what < 30) {
		draw_ask(w, a);
	} else if (what < 40) {
		a->what = EXPIRE;
		a->expire = (struct lockq_expire)LOCKQ_EXPIRE_INIT;
		a->expire.batch = draw(w, LOANS_AT_ONCE) + 1;
	} else {
		draw_disposition(w, a);
	}
}

/* Reads the pipeline of a user, mostly of its own. The action will be about these loans. */
static int
look(struct worker *w)
{
	struct lockq_pipeline pipeline = LOCKQ_PIPELINE_INIT;
	char user[sizeof(w->user)];
	int rc;

	snprintf(user, sizeof(user), "%s-%u", w->prefix,
	    draw(w, 5) == 0 ? draw(w, USERS) + 1 : w->n % USERS + 1);
	rc = lockq_pipeline(w->q, user, w->task, &pipeline);
	w->n_seen = 0;
	for (size_t i = 0; i < pipeline.n_assignments && w->n_seen < KNOWN; i++)
		w->seen[w->n_seen++] = (struct lockq_loan_ref){ pipeline.assignments[i].loan_id,
			pipeline.assignments[i].token };
	lockq_pipeline_clear(&pipeline);
	return rc == LOCKQ_NOTHING ? LOCKQ_OK : rc;
}

/* Writes a line in one write(), so that lines of two processes never mix. */
static int
tell(const struct worker *w, struct text *line)
{
	ssize_t n = line->failed ? -1 : write(w->out, line->data, line->used);
	bool whole = n >= 0 && (size_t)n == line->used;

	text_clear(line);
	return whole ? LOCKQ_OK : LOCKQ_ENOMEM;
}

static void
begin_line(const struct worker *w, const char *what, struct text *line)
{
	text_add(line, "(%u,%u,'%s','%s',", w->round, w->n, w->user, what);
}

static void
end_line(const struct action *a, struct text *line)
{
	text_add(line, ",'%s','%s')\n", a->began, a->ended);
}

static int
fail(const struct worker *w, const char *what, int rc)
{
	fprintf(stderr, "leases: round %u, process %u, %s: %d %s\n", w->round, w->n, what, rc,
	    lockq_error(w->q));
	return rc;
}

static void
remember(struct worker *w, const struct lockq_loan *loan)
{
	w->known[w->next_known] = (struct lockq_loan_ref){ loan->loan_id, loan->token };
	w->next_known = (w->next_known + 1) % KNOWN;
	if (w->n_known < KNOWN)
		w->n_known++;
}

/* @outcome is of the loans that were given. */
static void
tell_answer(struct worker *w, const struct action *a, const struct lockq_answer *answer,
    const char *outcome, struct text *lines)
{
	for (size_t i = 0; i < answer->n_loans; i++) {
		const struct lockq_loan *loan = &answer->loans[i];

		remember(w, loan);
		begin_line(w, "asked", lines);
		text_add(lines, "'assigned',%" PRIu64 ",0,'%s',%" PRIu64 ",'%s','assigned',"
		    "NULL,%" PRIu64 ",NULL,0,0", loan->loan_id, outcome, loan->token, w->user,
		    answer->request_id);
		end_line(a, lines);
	}
	if (answer->n_loans == 0) {
		begin_line(w, "asked", lines);
		text_add(lines, "NULL,0,0,'%s',0,NULL,NULL,NULL,%" PRIu64 ",NULL,0,0",
		    lockq_status_name(answer->status), answer->request_id);
		end_line(a, lines);
	}
}

static int
ask(struct worker *w, struct action *a)
{
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct text lines = { NULL, 0, 0, false };
	int rc, told = LOCKQ_OK;

	time_now(a->began);
	rc = lockq_getwork(w->q, &a->ask, &answer);
	time_now(a->ended);
	if (rc != LOCKQ_OK && rc != LOCKQ_NOTHING)
		told = fail(w, "ask", rc);
	tell_answer(w, a, &answer, "done", &lines);
	lockq_answer_clear(&answer);
	rc = tell(w, &lines);
	return told != LOCKQ_OK ? told : rc;
}

static void
tell_loan(const struct worker *w, const struct action *a, const struct lockq_disposed_loan *loan,
    uint64_t given, struct text *line)
{
	static const char *const outcomes[] = {
		[LOCKQ_DISPOSED] = "done",
		[LOCKQ_DISPOSED_ALREADY] = "already",
		[LOCKQ_NOT_ASSIGNED] = "not_assigned",
		[LOCKQ_NOT_YOURS] = "not_yours",
		[LOCKQ_STALE_TOKEN] = "stale_token",
		[LOCKQ_LEASE_OVER] = "lease_over",
		[LOCKQ_NOT_COMPLETED] = "not_completed",
		[LOCKQ_NOT_ALLOWED] = "not_allowed"
	};
	const char *holder = loan->holder != NULL ? loan->holder : "";

	begin_line(w, "disposed", line);
	text_add(line, "'%s',%" PRIu64 ",%" PRIu64 ",'%s',%" PRIu64 ",NULLIF('%s',''),"
	    "NULLIF('%s',''),NULLIF('%s',''),0,'%s',0,0", events[a->disposition.kind],
	    loan->loan_id, given, outcomes[loan->what], loan->token, holder, loan->state,
	    loan->since, a->note);
	end_line(a, line);
}

static int
dispose(struct worker *w, struct action *a)
{
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct lockq_answer answer = LOCKQ_ANSWER_INIT;
	struct text lines = { NULL, 0, 0, false };
	int rc, told = LOCKQ_OK;

	time_now(a->began);
	rc = a->asks ? lockq_dispose_and_ask(w->q, &a->disposition, &result, &a->ask, &answer) :
	    lockq_dispose(w->q, &a->disposition, &result);
	time_now(a->ended);
	if (rc != LOCKQ_OK && (result.asked ? rc != LOCKQ_NOTHING : rc != LOCKQ_EREFUSED &&
	    rc != LOCKQ_EQUERY))
		told = fail(w, "dispose", rc);
	for (size_t i = 0; i < result.n_loans; i++)
		tell_loan(w, a, &result.loans[i], a->loans[i].token, &lines);
	if (result.n_loans == 0 && told == LOCKQ_OK)
		told = fail(w, "dispose: no answer", rc);
	if (result.asked)
		tell_answer(w, a, &answer, answer.one_commit ? "in_one" : "done", &lines);
	lockq_answer_clear(&answer);
	lockq_disposed_clear(&result);
	rc = told != LOCKQ_OK ? told : tell(w, &lines);
	return rc;
}

static int
expire(struct worker *w, struct action *a)
{
	struct lockq_expired expired = LOCKQ_EXPIRED_INIT;
	struct text line = { NULL, 0, 0, false };
	int rc;

	time_now(a->began);
	rc = lockq_expire(w->q, &a->expire, &expired);
	time_now(a->ended);
	if (rc != LOCKQ_OK)
		return fail(w, "expire", rc);
	begin_line(w, "expired", &line);
	text_add(&line, "NULL,0,0,'%s',0,NULL,NULL,NULL,0,NULL,%" PRIu64 ",%" PRIu64,
	    expired.busy ? "busy" : "done", expired.leases, expired.available);
	end_line(a, &line);
	return tell(w, &line);
}

static int
act(struct worker *w, struct action *a)
{
	switch (a->what) {
	case ASK:
		return ask(w, a);
	case DISPOSE:
		return dispose(w, a);
	case EXPIRE:
		break;
	}
	return expire(w, a);
}

/* One round: prepares, says READY, waits for the start, acts, says DONE. */
static int
take_part(struct worker *w)
{
	static const unsigned char ready = READY, done = DONE;
	struct action action;
	uint64_t start_us;
	int rc = look(w);

	if (rc != LOCKQ_OK)
		return fail(w, "look", rc);
	draw_action(w, &action);
	if (write(w->back, &ready, 1) != 1 ||
	    read(w->go, &start_us, sizeof(start_us)) != (ssize_t)sizeof(start_us))
		return LOCKQ_ENOMEM;
	sleep_until(start_us + draw(w, SPREAD_US));
	rc = act(w, &action);
	return write(w->back, &done, 1) == 1 ? rc : LOCKQ_ENOMEM;
}

/* All rounds of a process. Returns its exit status: 0, or 1 after an error. */
static int
work(struct worker *w, unsigned long rounds)
{
	struct lockq_connection where = LOCKQ_CONNECTION_INIT;
	int rc, worst = LOCKQ_OK;

	where.defaults_file = getenv("LOCKQ_DEFAULTS_FILE");
	rc = lockq_new(&w->q);
	if (rc == LOCKQ_OK)
		rc = lockq_connect(w->q, &where);
	if (rc != LOCKQ_OK)
		return fail(w, "connect", rc) != LOCKQ_OK;
	for (w->round = 1; w->round <= rounds; w->round++) {
		rc = take_part(w);
		worst = worst == LOCKQ_OK ? rc : worst;
	}
	lockq_free(w->q);
	return worst != LOCKQ_OK;
}

/* Waits until all processes have said @word @nth times. A quick process is READY again before
 * others are DONE, so both words are counted. */
static bool
all_have_said(struct heard *heard, unsigned char word, unsigned long nth)
{
	struct pollfd fd = { .fd = heard->from, .events = POLLIN };
	unsigned char said;

	while (heard->times[word] < nth * PROCESSES) {
		if (poll(&fd, 1, PATIENCE_MS) <= 0 || read(heard->from, &said, 1) != 1)
			return false;
		heard->times[said == DONE ? DONE : READY]++;
	}
	return true;
}

/* Returns the start of the next round: half the spread before the next lease ends, if that is
 * soon. */
static uint64_t
next_start(struct db *db, uint32_t task)
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t now, in_us = SOON_US;

	if (db_run(db, &next_end, DB_ARGS(db_u64(task)), &rows) == DB_OK &&
	    !db_cell_is_null(&rows, 0, 0) && db_cell_u64(&rows, 0, 0) < FAR_US)
		in_us = db_cell_u64(&rows, 0, 0) - SPREAD_US / 2;
	now = now_us();
	db_rows_clear(&rows);
	return now + in_us;
}

static int
lead_rounds(struct db *db, uint32_t task, unsigned long rounds, int back, const int go[PROCESSES])
{
	struct heard heard = { back, { 0, 0 } };

	for (unsigned long i = 1; i <= rounds; i++) {
		uint64_t start_us;

		if (!all_have_said(&heard, READY, i))
			return -1;
		start_us = next_start(db, task);
		for (size_t n = 0; n < PROCESSES; n++) {
			if (write(go[n], &start_us, sizeof(start_us)) != (ssize_t)sizeof(start_us))
				return -1;
		}
		if (!all_have_said(&heard, DONE, i))
			return -1;
	}
	return 0;
}

static pid_t
start_worker(struct worker *w, unsigned long rounds, int *go, int back_end)
{
	int ends[2];
	pid_t child;

	if (pipe(ends) != 0)
		return -1;
	child = fork();
	if (child == 0) {
		close(ends[1]);
		close(back_end);
		w->go = ends[0];
		_exit(work(w, rounds));
	}
	close(ends[0]);
	*go = ends[1];
	return child;
}

/* Waits for all processes that were started. Returns false if one of them did not exit with 0. */
static bool
all_ended(const pid_t *children, size_t n, bool kill_them)
{
	bool well = true;
	int status;

	for (size_t i = 0; i < n; i++) {
		if (kill_them)
			kill(children[i], SIGKILL);
		if (waitpid(children[i], &status, 0) != children[i] || status != 0)
			well = false;
	}
	return well;
}

static int
race(struct worker *w, unsigned long rounds, uint64_t seed)
{
	struct lockq_connection where = LOCKQ_CONNECTION_INIT;
	struct db *db = NULL;
	pid_t children[PROCESSES];
	int go[PROCESSES], back[2], rc = -1;
	size_t n = 0;

	if (pipe(back) != 0)
		return -1;
	for (w->back = back[1]; n < PROCESSES; n++) {
		w->n = (unsigned int)n;
		w->rng.state = seed * PROCESSES + n;
		snprintf(w->user, sizeof(w->user), "%s-%zu", w->prefix, n % USERS + 1);
		children[n] = start_worker(w, rounds, &go[n], back[0]);
		if (children[n] < 0)
			break;
	}
	close(back[1]);
	where.defaults_file = getenv("LOCKQ_DEFAULTS_FILE");
	if (n == PROCESSES && where_connect(&db, &where) == DB_OK &&
	    db_run(db, &long_session, DB_NO_ARGS, NULL) == DB_OK)
		rc = lead_rounds(db, w->task, rounds, back[0], go);
	if (!all_ended(children, n, rc != 0))
		rc = -1;
	db_close(db);
	return rc;
}

int
main(int argc, char **argv)
{
	struct worker w = { .n = 0 };

	if (argc != 7) {
		fprintf(stderr, "usage: leases TASK PREFIX LOANS ROUNDS SEED FILE\n");
		return 2;
	}
	w.task = (uint32_t)strtoul(argv[1], NULL, 10);
	w.prefix = argv[2];
	w.loans = strtoul(argv[3], NULL, 10);
	w.out = open(argv[6], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, S_IRUSR | S_IWUSR);
	if (w.out < 0) {
		perror(argv[6]);
		return 5;
	}
	/* A write to the pipe of a process that has ended returns an error then. */
	signal(SIGPIPE, SIG_IGN);
	return race(&w, strtoul(argv[4], NULL, 10), strtoull(argv[5], NULL, 10)) == 0 ? 0 : 5;
}
