/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { WORKERS = 160, JOIN_MS = 30000, FIRST_FD = 3, LAST_FD = 4095,
	/* Two calls of the progress function within this time mean that rows are read. A wait calls
	 * the function every 250 ms. */
	READING_MS = 100 };

static struct worker *workers[WORKERS];
static pthread_t threads[WORKERS];

static size_t
number_of(const struct worker *worker)
{
	size_t n = 0;

	while (workers[n] != worker)
		assert_true(++n < WORKERS);
	return n;
}

struct worker *
worker_new(unsigned int user_no, uint32_t task, uint32_t count, int64_t timeout_ms)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	size_t n = number_of(NULL);

	assert_non_null(worker);
	workers[n] = worker;
	worker->ask = (struct lockq_ask)LOCKQ_ASK_INIT;
	worker->ask.user = user(user_no);
	worker->ask.task = task;
	worker->ask.count = count;
	worker->ask.wait = timeout_ms == 0 ? LOCKQ_WAIT_NONE : LOCKQ_WAIT_BLOCKING;
	worker->ask.timeout_ms = timeout_ms == 0 ? -1 : timeout_ms;
	worker->answer = (struct lockq_answer)LOCKQ_ANSWER_INIT;
	worker->report_fd = -1;
	assert_int_equal(lockq_new(&worker->q), LOCKQ_OK);
	return worker;
}

static int
progress(const struct lockq_progress *now, void *data)
{
	struct worker *worker = data;
	uint64_t called = worker->called;

	worker->called = db_clock_ms();
	if (now->phase == LOCKQ_PHASE_RETRY)
		worker->paused = true;
	if (worker->stop_while_reading && now->phase == LOCKQ_PHASE_QUERY && called != 0 &&
	    worker->called - called < READING_MS) {
		worker->stop_while_reading = false;
		raise(SIGSTOP);
	}
	return worker->give_up;
}

static int
connect_handle(struct worker *worker)
{
	struct lockq_connection where = worker->proxy != NULL ? proxy_where(worker->proxy) :
	    worker_where();

	lockq_on_progress(worker->q, progress, worker);
	return inside_lock_connection(worker->q) != NULL ? LOCKQ_OK :
	    lockq_connect(worker->q, &where);
}

static void
call(struct worker *worker)
{
	struct lockq_refilled refilled;
	uint64_t start = db_clock_ms();

	worker->rc = connect_handle(worker);
	if (worker->rc == LOCKQ_OK && worker->refills)
		worker->rc = lockq_refill(worker->q, worker->ask.task, 0, &refilled);
	else if (worker->rc == LOCKQ_OK && worker->first != NULL)
		worker->rc = lockq_dispose_and_ask(worker->q, worker->first, &worker->disposed,
		    &worker->ask, &worker->answer);
	else if (worker->rc == LOCKQ_OK)
		worker->rc = lockq_getwork(worker->q, &worker->ask, &worker->answer);
	snprintf(worker->error, sizeof(worker->error), "%s", lockq_error(worker->q));
	worker->ms = db_clock_ms() - start;
}

static void *
work(void *data)
{
	struct worker *worker = data;

	call(worker);
	worker->done = true;
	return NULL;
}

void
worker_start(struct worker *worker)
{
	/* worker_group() makes its connection on first use, which must not happen in the thread. */
	(void)worker_group();
	worker->done = false;
	assert_int_equal(pthread_create(&threads[number_of(worker)], NULL, work, worker), 0);
	worker->started = true;
}

static bool
wait_done(const struct worker *worker, uint64_t ms)
{
	uint64_t start = db_clock_ms();

	while (!worker->done && db_clock_ms() - start < ms)
		db_sleep_ms(2);
	return worker->done;
}

void
worker_join_within(struct worker *worker, uint64_t ms)
{
	bool done = wait_done(worker, ms);

	if (!done)
		print_error("%s still waits\n", worker->ask.user);
	assert_true(done);
	pthread_join(threads[number_of(worker)], NULL);
	worker->started = false;
}

void
worker_join(struct worker *worker)
{
	worker_join_within(worker, JOIN_MS);
}

void
worker_until_paused(struct worker *worker)
{
	while (!worker->paused && !worker->done)
		db_sleep_ms(5);
}

void
worker_connect(struct worker *worker)
{
	int rc = connect_handle(worker);

	if (rc != LOCKQ_OK)
		print_error("connect: %s\n", lockq_error(worker->q));
	assert_int_equal(rc, LOCKQ_OK);
}

struct worker *
leader_after_its_query(unsigned int user_no, uint32_t count)
{
	struct worker *w = worker_new(user_no, TASK, count, 8000);

	w->proxy = proxy_new();
	proxy_hold(w->proxy, "AS r FORCE INDEX (work_requested_line)", 1);
	worker_start(w);
	proxy_until_held(w->proxy);
	return w;
}

struct worker *
ask_now(unsigned int user_no, uint32_t task, uint32_t count)
{
	return ask_within(user_no, task, count, JOIN_MS);
}

struct worker *
ask_within(unsigned int user_no, uint32_t task, uint32_t count, uint64_t ms)
{
	struct worker *worker = worker_new(user_no, task, count, 0);

	worker_start(worker);
	worker_join_within(worker, ms);
	return worker;
}

struct worker *
worker_connected(unsigned int user_no, uint32_t task, uint32_t count)
{
	struct worker *worker = worker_new(user_no, task, count, 0);

	worker_connect(worker);
	return worker;
}

void
workers_kill(void)
{
	for (size_t i = 0; i < WORKERS; i++) {
		int pid = workers[i] != NULL ? workers[i]->pid : 0;

		/* Once the process has been waited for, its number may belong to another
		 * process. */
		if (pid <= 0 || waitpid(pid, NULL, WNOHANG) != 0)
			continue;
		kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
}

void
workers_end(void)
{
	for (size_t i = 0; i < WORKERS; i++) {
		if (workers[i] != NULL)
			workers[i]->give_up = true;
	}
	for (size_t i = 0; i < WORKERS; i++) {
		struct worker *worker = workers[i];

		if (worker == NULL)
			continue;
		if (worker->started && !wait_done(worker, JOIN_MS)) {
			/* Some tests make a call hang. A thread that hangs can't be ended, so the
			 * program ends. */
			fprintf(stderr, "# a call of lockq_getwork() does not end\n");
			_exit(99);
		}
		if (worker->started)
			pthread_join(threads[i], NULL);
		if (worker->report_fd >= 0)
			close(worker->report_fd);
		lockq_answer_clear(&worker->answer);
		lockq_disposed_clear(&worker->disposed);
		lockq_free(worker->q);
		free(worker);
		workers[i] = NULL;
	}
}

/* A child inherits what its parent has open. A connection that the proxy cuts would stay open for
 * its other side. */
static void
close_all_but(int kept)
{
	for (int fd = FIRST_FD; fd <= LAST_FD; fd++) {
		if (fd != kept)
			close(fd);
	}
}

static void
send_report(const struct worker *worker, int fd)
{
	struct report report = {
		.rc = worker->rc, .status = worker->answer.status, .led = worker->answer.led != 0,
		.epoch = worker->answer.epoch, .retries = worker->answer.retries,
		.n_loans = worker->answer.n_loans, .ms = worker->ms
	};

	for (size_t i = 0; i < report.n_loans && i < REPORTED_LOANS; i++)
		report.loans[i] = worker->answer.loans[i].loan_id;
	snprintf(report.error, sizeof(report.error), "%.*s", (int)sizeof(report.error) - 1,
	    worker->error);
	if (write(fd, &report, sizeof(report)) != (ssize_t)sizeof(report))
		_exit(98);
}

int
worker_fork(struct worker *worker)
{
	struct worker copy = *worker;
	int ends[2], pid;

	(void)worker_group();
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid > 0) {
		close(ends[1]);
		worker->report_fd = ends[0];
		worker->pid = pid;
		return pid;
	}
	/* The child uses no handle, no cmocka and no exit handlers of its parent. The kernel kills
	 * the child, even a stopped one, when its parent ends. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		_exit(97);
	close_all_but(ends[1]);
	if (lockq_new(&copy.q) != LOCKQ_OK)
		_exit(99);
	copy.answer = (struct lockq_answer)LOCKQ_ANSWER_INIT;
	call(&copy);
	send_report(&copy, ends[1]);
	_exit(copy.rc < 0 ? 100 - copy.rc : copy.rc);
}

struct report
worker_report(const struct worker *worker)
{
	struct report report;

	assert_int_equal(read(worker->report_fd, &report, sizeof(report)), sizeof(report));
	return report;
}

bool
worker_until_stopped(int pid)
{
	uint64_t start = db_clock_ms();
	int status = 0;

	while (waitpid(pid, &status, WNOHANG | WUNTRACED) == 0) {
		assert_true(db_clock_ms() - start < JOIN_MS);
		db_sleep_ms(2);
	}
	return WIFSTOPPED(status);
}

bool
worker_has_exited(int pid)
{
	siginfo_t info = { .si_pid = 0 };

	/* WNOWAIT leaves the exit status for worker_reap(). */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	return info.si_pid != 0;
}

int
worker_reap(int pid)
{
	uint64_t start = db_clock_ms();
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (db_clock_ms() - start > JOIN_MS)
			kill(pid, SIGKILL);
		db_sleep_ms(5);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
