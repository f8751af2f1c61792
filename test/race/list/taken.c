/* SPDX-License-Identifier: MIT */
/*
 * taken TASK PREFIX LOANS ROUNDS CHANCES SEED FOLDER: people take from a task's kept list, while
 * some of the programs are stopped, or killed, at every statement that they send.
 *
 * A program that is to be stopped connects through a proxy, which holds its nth statement. There it
 * is stopped with SIGSTOP or killed with SIGKILL, before the server gets the statement, or as the
 * server gets it. Meanwhile other programs take loans, dispose of some, fill the list and touch
 * loans, and all of them end. Then all stopped programs go on, and only after that the first of
 * them is waited for: one that waits for the locks of another could lose its connection.
 * In each of ROUNDS rounds this is done for each statement of a take, of a refill, of a call that
 * leads, of a disposition, and of a call that completes loans and asks. After that, programs are
 * stopped and killed CHANCES times at moments drawn from SEED.
 *
 * The users are PREFIX-1 to PREFIX-16. FOLDER/runs gets a line for each program: a number, UUID,
 * user, kind, 1 if it was stopped or killed, exit status (137: killed), and the loans that it was
 * to complete before it asked. NUMBER.json in FOLDER has
 * what it told. At the end this program prints how many statements each kind of program has sent.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uuid/uuid.h>

#include "seedloans/rng.h"
#include "support.h"

enum { TAKE, REFILL, FRESH, DISPOSE, BOTH, EXPIRE, KINDS };
enum how { STOPPED, STOPPED_AS_SENT, KILLED, KILLED_AS_SENT, HOWS };
static const char *const kinds[KINDS] = { "take", "refill", "fresh", "dispose", "both", "expire" };

enum {
	AT_STATEMENT = 4,       /* programs of a batch that are held at a statement */
	BESIDE = 6,             /* and those beside them, at most */
	USERS_FREE = 6,         /* the first user of those beside */
	STATEMENTS = 80,        /* more than any of the programs sends */
	CHANCE_US = 30000,      /* most programs are done within this time */
	FIRST_FD = 3, LAST_FD = 1023,
	SLOW_MS = 200000        /* a program that is not stopped has ended by then */
};

struct run {
	unsigned int number;
	int kind;
	char user[64];
	char uuid[37];
	char what[256];         /* loans of a disposition; or "" */
	struct proxy *proxy;    /* NULL: none */
	pid_t pid;              /* 0: it has ended */
	unsigned int nth;       /* the statement at which it is to be stopped */
	enum how how;
	bool held;              /* it was stopped or killed */
	int status;
};

static struct {
	uint32_t task;
	unsigned int loans;
	const char *prefix, *folder;
	uint64_t seed;
	struct rng rng;
	unsigned int n;                 /* programs so far */
	FILE *runs;
	struct proxy *proxies[AT_STATEMENT];
	unsigned int next[KINDS];       /* the next statement of a kind to stop at */
	unsigned int length[KINDS];     /* statements that the kind sends at most */
	unsigned int cycles[KINDS];     /* how often all of them were stopped at */
	unsigned int stops[KINDS];
} race;

static unsigned int
draw(unsigned int below)
{
	return (unsigned int)rng_below(&race.rng, below);
}

/* --- programs ------------------------------------------------------------------------------- */

/* Adds an argument, or two. */
static void
add(char *argv[], size_t *n, const char *name, const char *value)
{
	argv[(*n)++] = (char *)(uintptr_t)name;
	if (value != NULL)
		argv[(*n)++] = (char *)(uintptr_t)value;
	argv[*n] = NULL;
}

static void
add_disposition(char *argv[], size_t *n, const struct run *run, const char *note)
{
	static const char *const hours[] = { "0", "0", "0", "1s" };
	unsigned int how = draw(20);

	add(argv, n, "--loan", run->what);
	add(argv, n, "--note", note);
	if (how < 9) {
		add(argv, n, "--complete", NULL);
	} else {
		add(argv, n, "--return-after", hours[draw(4)]);
		if (how > 16)
			add(argv, n, "--not-me", NULL);
	}
}

/* In the child: runs the program, whose output goes to a file. It must have none of the proxies'
 * sockets, or a connection that is closed here would stay open there. */
static void
execute(char *argv[], unsigned int number)
{
	char path[4200];
	int out;

	for (int fd = FIRST_FD; fd <= LAST_FD; fd++)
		close(fd);
	snprintf(path, sizeof(path), "%s/%u.json", race.folder, number);
	out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	snprintf(path, sizeof(path), "%s/errors", race.folder);
	if (out < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(open(path, O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		_exit(99);
	execvp(argv[0], argv);
	_exit(98);
}

static void
start(struct run *run)
{
	char *argv[32], task[16], note[16], count[16];
	const char *socket = run->proxy != NULL ? proxy_where(run->proxy).socket : NULL;
	uuid_t uuid;
	size_t n = 0;

	run->number = ++race.n;
	uuid_generate_random(uuid);
	uuid_unparse_lower(uuid, run->uuid);
	snprintf(task, sizeof(task), "%" PRIu32, race.task);
	snprintf(note, sizeof(note), "%u", run->number);
	snprintf(count, sizeof(count), "%u", draw(3) + 1);
	switch (run->kind) {
	case REFILL:
		add(argv, &n, "refill", "--task");
		add(argv, &n, task, NULL);
		break;
	case EXPIRE:
		add(argv, &n, "disposition", "--expire");
		break;
	case DISPOSE:
		add(argv, &n, "disposition", "--user");
		add(argv, &n, run->user, NULL);
		add(argv, &n, "--task", task);
		add_disposition(argv, &n, run, note);
		break;
	default:
		add(argv, &n, "getwork", "--no-refill");
		add(argv, &n, "--user", run->user);
		add(argv, &n, "--task", task);
		add(argv, &n, "--count", count);
		add(argv, &n, "--uuid", run->uuid);
		if (run->kind == FRESH)
			add(argv, &n, "--fresh", NULL);
		if (run->kind == BOTH)
			add(argv, &n, "--complete", run->what);
		if (draw(4) == 0)
			add(argv, &n, "--no-wait", NULL);
		else
			add(argv, &n, "--timeout", "60");
		break;
	}
	add(argv, &n, "--json", NULL);
	if (socket != NULL)
		add(argv, &n, "--socket", socket);
	fflush(race.runs);
	run->pid = fork();
	assert_true(run->pid >= 0);
	if (run->pid == 0)
		execute(argv, run->number);
}

static void
note_end(struct run *run, int status)
{
	run->pid = 0;
	run->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	fprintf(race.runs, "%u\t%s\t%s\t%s\t%d\t%d\t%s\n", run->number, run->uuid, run->user,
	    kinds[run->kind], run->held, run->status, run->kind == BOTH ? run->what : "");
}

static bool
has_ended(struct run *run)
{
	int status;

	if (run->pid != 0 && waitpid(run->pid, &status, WNOHANG) == run->pid)
		note_end(run, status);
	return run->pid == 0;
}

/* Waits until it has ended, and fails the test if it does not. */
static void
finish(struct run *run)
{
	uint64_t since = db_clock_ms();

	while (!has_ended(run)) {
		if (db_clock_ms() - since > SLOW_MS) {
			fprintf(stderr, "taken: %s of %s, number %u, does not end\n",
			    kinds[run->kind], run->user, run->number);
			exit(1);
		}
		db_sleep_ms(1);
	}
}

/* --- who, and what -------------------------------------------------------------------------- */

static struct run
run_of(int kind, unsigned int user_no)
{
	struct run run = { .kind = kind };

	snprintf(run.user, sizeof(run.user), "%s-%u", race.prefix, user_no);
	return run;
}

/* Fills @runs with dispositions of all that some users hold, except @but, and returns how many
 * there are. */
static size_t
dispositions(struct run *runs, size_t most, const char *but)
{
	static const struct db_query held = {
		"held",
		"SELECT name, loans FROM ("
		"  SELECT u.name, GROUP_CONCAT(CONCAT(w.loan_id, ':', w.token)) AS loans"
		"    FROM work AS w JOIN app_user AS u ON u.user_id = w.user_id"
		"   WHERE w.task_id = ? AND w.state = 'assigned' AND u.name <> ?"
		"   GROUP BY u.name) AS d"
		" ORDER BY CHAR_LENGTH(loans) * RAND() DESC LIMIT ?", DB_MANY
	};
	struct db_rows rows = { 0, 0, NULL, NULL };
	size_t n = 0;

	assert_int_equal(db_run(owner(), &held, DB_ARGS(db_u64(race.task), db_text(but),
	    db_u64(most)), &rows), DB_OK);
	for (; n < rows.n_rows; n++) {
		runs[n] = (struct run){ .kind = DISPOSE };
		snprintf(runs[n].user, sizeof(runs[n].user), "%s", db_cell(&rows, n, 0));
		snprintf(runs[n].what, sizeof(runs[n].what), "%s", db_cell(&rows, n, 1));
	}
	db_rows_clear(&rows);
	return n;
}

static void
touch_some(void)
{
	for (int i = 0; i < 3; i++)
		sql("INSERT INTO task_touched (task_id, loan_id) VALUES (%" PRIu32 ", %u)",
		    race.task, 1 + draw(race.loans));
}

/* The same for one of them, every other time by a call that also asks. */
static size_t
disposition(struct run *run)
{
	static bool asks;
	size_t n = dispositions(run, 1, "");

	if (n > 0) {
		run->kind = asks ? BOTH : DISPOSE;
		asks = !asks;
	}
	return n;
}

/* Others do all that one can do with the list. Nothing holds them up, as long as they leave the
 * loans of @but, whose disposition may be stopped. */
static void
others_work(bool refills, const char *but)
{
	struct run beside[BESIDE];
	size_t n = dispositions(beside, 2, but);

	beside[n++] = run_of(TAKE, USERS_FREE + draw(5));
	beside[n++] = run_of(TAKE, USERS_FREE + 5 + draw(5));
	if (refills)
		beside[n++] = run_of(REFILL, USERS_FREE);
	else if (draw(4) == 0)
		beside[n++] = run_of(EXPIRE, USERS_FREE);
	touch_some();
	for (size_t i = 0; i < n; i++)
		start(&beside[i]);
	for (size_t i = 0; i < n; i++)
		finish(&beside[i]);
}

/* --- at every statement --------------------------------------------------------------------- */

/* Stops or kills it at the statement that its proxy holds. */
static void
strike(struct run *run)
{
	int status;

	run->held = true;
	race.stops[run->kind]++;
	kill(run->pid, run->how == KILLED || run->how == KILLED_AS_SENT ? SIGKILL : SIGSTOP);
	assert_int_equal(waitpid(run->pid, &status, WUNTRACED), run->pid);
	if (!WIFSTOPPED(status))
		note_end(run, status);
	if (run->how == KILLED)
		proxy_drop(run->proxy);
	else if (run->how != STOPPED)
		proxy_release(run->proxy);
}

/* Starts the program, which is to be stopped at its next statement. */
static void
start_to_be_held(struct run *run, struct proxy *proxy)
{
	run->nth = ++race.next[run->kind];
	run->how = (run->nth + race.cycles[run->kind] + race.seed) % HOWS;
	run->proxy = proxy;
	proxy_hold(proxy, "", run->nth);
	start(run);
}

static void
await_hold(struct run *run)
{
	uint64_t since = db_clock_ms();

	while (!has_ended(run) && !proxy_is_holding(run->proxy)) {
		assert_true(db_clock_ms() - since < SLOW_MS);
		db_sleep_ms(1);
	}
	if (run->pid != 0) {
		if (race.length[run->kind] < run->nth)
			race.length[run->kind] = run->nth;
		strike(run);
	} else if (run->status > 1) {
		/* It was refused, or somebody led: the same statement again. */
		race.next[run->kind]--;
	} else {
		race.next[run->kind] = 0;
		race.cycles[run->kind]++;
	}
}

static void
batch(int leader, bool refills)
{
	struct run runs[AT_STATEMENT];
	size_t n = disposition(runs);
	const char *disposer = n > 0 ? runs[0].user : "";

	runs[n++] = run_of(leader, 1);
	runs[n++] = run_of(TAKE, 2);
	runs[n++] = run_of(TAKE, 3);
	/* One after the other: two programs of a kind are held at two statements, and whoever is to
	 * lead has the lock before another one that finds the list empty. */
	for (size_t i = 0; i < n; i++) {
		start_to_be_held(&runs[i], race.proxies[i]);
		await_hold(&runs[i]);
	}
	others_work(refills, disposer);
	for (size_t i = 0; i < n; i++) {
		if (runs[i].pid != 0)
			kill(runs[i].pid, SIGCONT);
	}
	proxies_relent();
	for (size_t i = 0; i < n; i++)
		finish(&runs[i]);
	for (size_t i = 0; i < n; i++)
		proxy_until_left(runs[i].proxy);
}

static void
at_every_statement(unsigned int rounds)
{
	static const int leaders[] = { REFILL, FRESH };

	for (unsigned int i = 0; i < 2; i++) {
		unsigned int end = race.cycles[leaders[i]] + rounds;

		for (unsigned int n = 0; race.cycles[leaders[i]] < end; n++) {
			assert_true(race.next[leaders[i]] < STATEMENTS);
			batch(leaders[i], n % 3 == 2);
		}
	}
}

/* --- and by chance -------------------------------------------------------------------------- */

static void
by_chance(bool refills)
{
	struct run runs[AT_STATEMENT + 1];
	size_t n = disposition(runs);
	const char *disposer = n > 0 ? runs[0].user : "";

	runs[n++] = run_of(draw(2) == 0 ? REFILL : FRESH, 1);
	runs[n++] = run_of(TAKE, 2);
	runs[n++] = run_of(TAKE, 3);
	runs[n++] = run_of(TAKE, 4);
	for (size_t i = 0; i < n; i++)
		start(&runs[i]);
	for (size_t i = 0; i < n; i++) {
		db_sleep_ms(draw(CHANCE_US / 1000 / (unsigned int)n));
		if (!has_ended(&runs[i])) {
			runs[i].held = true;
			kill(runs[i].pid, draw(3) == 0 ? SIGKILL : SIGSTOP);
		}
	}
	others_work(refills, disposer);
	for (size_t i = 0; i < n; i++) {
		if (runs[i].pid != 0)
			kill(runs[i].pid, SIGCONT);
	}
	for (size_t i = 0; i < n; i++)
		finish(&runs[i]);
}

int
main(int argc, char **argv)
{
	char path[4200];

	if (argc != 8) {
		fprintf(stderr, "usage: taken TASK PREFIX LOANS ROUNDS CHANCES SEED FOLDER\n");
		return 2;
	}
	if (lockq_library_init() != LOCKQ_OK)
		return 5;
	race.task = (uint32_t)strtoul(argv[1], NULL, 10);
	race.prefix = argv[2];
	race.loans = (unsigned int)strtoul(argv[3], NULL, 10);
	race.seed = race.rng.state = strtoul(argv[6], NULL, 10);
	race.folder = argv[7];
	snprintf(path, sizeof(path), "%s/runs", race.folder);
	race.runs = fopen(path, "w");
	if (race.runs == NULL)
		return 5;
	for (unsigned long i = 0; i < strtoul(argv[4], NULL, 10); i++) {
		for (size_t p = 0; p < AT_STATEMENT; p++)
			race.proxies[p] = proxy_new();
		at_every_statement(1);
		proxies_end();
	}
	for (unsigned long i = 0; i < strtoul(argv[5], NULL, 10); i++)
		by_chance(i % 3 == 2);
	fclose(race.runs);
	for (int kind = TAKE; kind <= BOTH; kind++)
		printf("%s %u %u\n", kinds[kind], race.length[kind], race.stops[kind]);
	close_connections();
	return 0;
}
