/* SPDX-License-Identifier: MIT */
/* Every allocation of the library, and every call that it makes of the client library, fails once,
 * and from then on, in every public function. Whatever has failed, the function must say so, or
 * have done what it says; it must keep no memory and no lock; the handle must work again; and the
 * tables must agree.
 *
 *   test_faults [PATTERN]   a pattern of names of scenarios
 *   LOCKQ_FAULTS_STEP=N     tries about one of N calls; 1: every call
 *   LOCKQ_FAULTS_NTH=KIND:N only this one, see try_one() */
#include "verdict.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

/* OPEN_MS is less than wait_timeout, after which the server itself ends what a handle has left. */
enum { SCENARIOS_MOST = 128, SAMPLE = 97, OPEN_MS = 5000 };

/* A call and how it fails, as people read it. */
static const char *const kinds[FAULTS] = {
	[FAULT_ALLOCATION] = "no memory", [FAULT_LOST] = "lost before",
	[FAULT_ANSWER_LOST] = "lost after", [FAULT_NO_MEMORY] = "client without memory",
	[FAULT_DONE_NO_MEMORY] = "client without memory after"
};

static const struct scenario *const tables[] = {
	handle_scenarios, ask_scenarios, dispose_scenarios, look_scenarios,
	manage_scenarios
};
enum { N_TABLES = sizeof(tables) / sizeof(tables[0]) };

struct trial trial;

/* Of all scenarios. */
static struct {
	size_t scenarios;
	unsigned int allocations, on_server, tries;
} total;

void
say(struct run *run, const char *format, ...)
{
	size_t length = strlen(run->said);
	va_list args;

	va_start(args, format);
	vsnprintf(run->said + length, sizeof(run->said) - length, format, args);
	va_end(args);
}

static uint64_t
real_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void
on_crash(int number)
{
	ssize_t written = write(STDERR_FILENO, trial.text, strlen(trial.text));

	(void)written;
	signal(number, SIG_DFL);
	raise(number);
}

/* --- one call --- */

static void
connect_handle(struct run *run, const struct scenario *s)
{
	struct lockq_connection where = run->proxy != NULL ? proxy_where(run->proxy) :
	    s->group != NULL && administrator() != NULL ? where_is(s->group) :
	    s->group != NULL ? where_is(OWNER_GROUP) : worker_where();

	assert_int_equal(lockq_new(&run->q), LOCKQ_OK);
	assert_int_equal(lockq_connect(run->q, &where), LOCKQ_OK);
}

static bool
is_done(const struct scenario *s)
{
	return s->done != NULL && u64("%s", s->done) == 1;
}

/* Once nothing fails any more, the same call succeeds, unless it has before: then there may be
 * nothing left to do. */
static void
works_again(struct run *run, const struct scenario *s)
{
	bool changes = s->done != NULL || s->changes || s->left != NULL;
	bool was_done = is_done(s) || (s->done == NULL && changes);
	int code;

	fault_track(true);
	if (!s->goes_on)
		run->said[0] = '\0';
	code = s->call(run);
	fault_track(false);
	if (code == s->code && s->once && !is_done(s))
		verdict_wrong("the next call succeeds, and it is not done");
	if (code == s->code && (!changes || s->goes_on) && strcmp(run->said, trial.usual) != 0)
		verdict_wrong("the next call with the handle says \"%s\", not \"%s\"", run->said,
		    trial.usual);
	if (code == s->code || (code == LOCKQ_NOTHING && was_done) ||
	    (code == LOCKQ_EREFUSED && ((s->once && was_done) || s->ends)))
		return;
	verdict_wrong("the next call with the handle returns %d: %s", code,
	    run->q != NULL ? lockq_error(run->q) : "");
}

/* Makes the call with the fault that @trial says. False: there was no such call, since how many
 * there are differs a little from time to time. */
static bool
call_with_fault(void)
{
	const struct scenario *s = trial.scenario;
	static struct run prepared;
	struct run run = { .q = NULL };
	const char *fault;
	char error[1024];
	bool hit;
	int code;

	snprintf(trial.text, sizeof(trial.text), "%s%s%s, %s %u%s", s->function, s->how[0] != '\0' ?
	    ", " : "", s->how, kinds[trial.fault], trial.nth, trial.ever ? " and later" : "");
	if (getenv("LOCKQ_FAULTS_SHOWN") != NULL)
		fprintf(stderr, "%llu %s\n", (unsigned long long)real_ms(), trial.text);
	if (trial.nth == 0 || s->done != NULL || s->left != NULL || s->changes) {
		start_again();
		if (s->prepare != NULL)
			s->prepare(&run);
		prepared = run;
	} else {
		run = prepared;
	}
	fault_track(true);
	if (!s->unconnected)
		connect_handle(&run, s);
	fault_arm(trial.fault, trial.nth, trial.ever);
	code = s->call(&run);
	trial.calls = fault_disarm();
	fault_track(false);
	hit = fault_hit();
	snprintf(error, sizeof(error), "%s", run.q != NULL ? lockq_error(run.q) : "no handle");
	if (trial.nth == 0) {
		memcpy(trial.usual, run.said, sizeof(trial.usual));
		if (code != s->code || (s->done != NULL && !is_done(s)))
			verdict_wrong("nothing fails, and it returns %d: %s", code, error);
	} else {
		verdict_open(OPEN_MS);
		fault = verdict_of_answer(s, code, run.said, error, is_done(s),
		    s->left != NULL && u64("%s", s->left) != 0);
		if (fault != NULL)
			verdict_wrong("%s: code %d, \"%s\", answer \"%s\"", fault, code, error,
			    run.said);
		works_again(&run, s);
	}
	fault_track(true);
	lockq_free(run.q);
	fault_track(false);
	verdict_open(OPEN_MS);
	verdict_kept();
	if (s->done != NULL || s->left != NULL || s->changes)
		verdict_log();
	return hit;
}

/* --- all calls of a scenario --- */

/* Lets each @step-th of about @calls calls fail like this. Which is the first differs, so that a
 * sample has many of the calls in one way or another. */
static void
exhaust(enum fault fault, bool ever, unsigned int step, unsigned int calls)
{
	static unsigned int random = 1;

	random = random * 1103515245 + 12345;
	trial.fault = fault;
	trial.ever = ever;
	if (calls == 0)
		return;
	trial.nth = 1 + random / 65536 % (calls < step ? calls : step);
	for (; trial.nth <= calls; trial.nth += step)
		trial.tries += call_with_fault();
}

/* How many calls there are that can fail like this. */
static unsigned int
count(enum fault fault)
{
	trial.fault = fault;
	trial.nth = 0;
	trial.ever = false;
	(void)call_with_fault();
	return trial.calls;
}

/* @which is KIND:N, where KIND is the number of an enum fault, and 10 more for all later calls. */
static void
try_one(const char *which)
{
	char *end;
	unsigned int kind = (unsigned int)strtoul(which, &end, 10);

	assert_int_equal(*end, ':');
	trial.fault = (enum fault)(kind % 10);
	trial.ever = kind >= 10;
	trial.nth = (unsigned int)strtoul(end + 1, NULL, 10);
	assert_true(call_with_fault());
	assert_int_equal(trial.faults, 0);
}

static void
try_faults(void **state)
{
	const char *given = getenv("LOCKQ_FAULTS_STEP"), *only = getenv("LOCKQ_FAULTS_NTH");
	unsigned int step = given != NULL ? (unsigned int)strtoul(given, NULL, 10) : SAMPLE;
	unsigned int allocations, calls, on_server;

	/* cmocka has set its own, which do not know which call it was. */
	signal(SIGSEGV, on_crash);
	signal(SIGABRT, on_crash);
	assert_true(step > 0);
	trial.scenario = *state;
	trial.faults = 0;
	trial.tries = 0;
	allocations = count(FAULT_ALLOCATION);
	calls = count(FAULT_NO_MEMORY);
	on_server = count(FAULT_LOST);
	assert_int_equal(trial.faults, 0);
	if (only != NULL) {
		try_one(only);
		return;
	}
	exhaust(FAULT_ALLOCATION, false, step, allocations);
	exhaust(FAULT_ALLOCATION, true, step, allocations);
	for (unsigned int i = FAULT_LOST; i < FAULTS; i++) {
		unsigned int most = i == FAULT_NO_MEMORY ? calls : on_server;

		exhaust(i, false, step, most);
		/* The first call makes the difference to the others, which a sample leaves out. */
		if (step < SAMPLE || i == FAULT_LOST || i == FAULT_NO_MEMORY)
			exhaust(i, true, step, most);
	}
	/* A sample may miss the few calls of a function. */
	assert_true(trial.tries > 0 || step > 1 || allocations + calls + on_server == 0);
	print_message("# %s%s%s: %u allocations, %u calls, %u failures tried\n",
	    trial.scenario->function, trial.scenario->how[0] != '\0' ? ", " : "",
	    trial.scenario->how, allocations, calls, trial.tries);
	total.scenarios++;
	total.allocations += allocations;
	total.on_server += on_server;
	total.tries += trial.tries;
	assert_int_equal(trial.faults, 0);
}

/* The failures did not pass the library by. */
static void
something_failed(void **state)
{
	(void)state;
	/* Not where a pattern has left scenarios out. */
	if (total.scenarios < 50)
		skip();
	assert_true(total.allocations > total.scenarios);
	assert_true(total.on_server > total.scenarios);
	assert_true(total.tries > total.scenarios);
}

/* --- does it notice? --- */

static void
answers_that_are_refused(void **state)
{
	static const struct scenario writes = { .done = "SELECT 1" }, reads = { .done = NULL },
	    manages = { .done = "SELECT 1", .group = MANAGER_GROUP };
	static const char error[] = "out of memory",
	    maybe[] = "lost: the request may still be pending";

	(void)state;
	snprintf(trial.usual, sizeof(trial.usual), "two loans");
	trial.ever = true;
	assert_null(verdict_of_answer(&writes, LOCKQ_OK, "two loans", "", true, false));
	assert_non_null(verdict_of_answer(&writes, LOCKQ_OK, "two loans", "", false, false));
	assert_non_null(verdict_of_answer(&writes, LOCKQ_OK, "one loan", "", true, false));
	assert_non_null(verdict_of_answer(&reads, LOCKQ_OK, "", "", false, false));
	assert_null(verdict_of_answer(&writes, LOCKQ_ENOMEM, "", error, false, false));
	assert_non_null(verdict_of_answer(&writes, LOCKQ_ENOMEM, "", "", false, false));
	assert_non_null(verdict_of_answer(&writes, LOCKQ_ENOMEM, "", "two\nlines", false, false));
	assert_non_null(verdict_of_answer(&writes, LOCKQ_ENOMEM, "", error, true, false));
	assert_non_null(verdict_of_answer(&writes, LOCKQ_ENOMEM, "", error, false, true));
	assert_null(verdict_of_answer(&writes, LOCKQ_EDATABASE, "", maybe, false, true));
	assert_null(verdict_of_answer(&writes, LOCKQ_EUNKNOWN, "", error, true, false));
	assert_non_null(verdict_of_answer(&reads, LOCKQ_EUNKNOWN, "", error, false, false));
	trial.ever = false;
	trial.fault = FAULT_NO_MEMORY;
	assert_null(verdict_of_answer(&writes, LOCKQ_EUNKNOWN, "", error, true, false));
	trial.fault = FAULT_ANSWER_LOST;
	assert_null(verdict_of_answer(&manages, LOCKQ_EUNKNOWN, "", error, true, false));
	assert_non_null(verdict_of_answer(&writes, LOCKQ_EUNKNOWN, "", error, true, false));
	assert_non_null(verdict_of_answer(&writes, LOCKQ_NOTHING, "", "", false, false));
	assert_non_null(verdict_of_answer(&writes, LOCKQ_EREFUSED, "", error, false, false));
}

/* Functions that can't fail: they allocate nothing and ask no server. handle.c calls them. */
static const char *const silent[] = {
	"lockq_error", "lockq_error_detail", "lockq_free", "lockq_look_timeout", "lockq_on_log",
	"lockq_on_overtime", "lockq_option_no_refill", "lockq_option_task", "lockq_option_user",
	"lockq_status_name", "lockq_version", "lockq_warning"
};

static bool
is_tried(const char *function)
{
	size_t length = strlen(function);

	for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++) {
		if (strcmp(function, silent[i]) == 0)
			return true;
	}
	for (size_t i = 0; i < N_TABLES; i++) {
		for (const struct scenario *s = tables[i]; s->function != NULL; s++) {
			if (strcmp(function, s->function) == 0)
				return true;
		}
	}
	/* The scenarios clear what they have got. */
	return length > 6 && strcmp(function + length - 6, "_clear") == 0;
}

static void
every_function_is_tried(void **state)
{
	FILE *map = open_file("lib/lockq.map");
	char line[256], name[128];
	size_t n = 0;

	(void)state;
	while (fgets(line, sizeof(line), map) != NULL) {
		if (strncmp(line, "\tlockq_", 7) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(line + 1, ";"), line + 1);
		if (!is_tried(name))
			print_error("%s has no scenario\n", name);
		assert_true(is_tried(name));
		n++;
	}
	fclose(map);
	assert_true(n > 60);
	assert_false(is_tried("lockq_forged"));
}

/* What has been forged must be noticed, @n times. */
static void
assert_noticed(unsigned int n)
{
	assert_int_equal(trial.faults, n);
	trial.faults = 0;
}

static void
what_is_left_is_noticed(void **state)
{
	struct lockq *q = NULL;
	struct db *db;

	(void)state;
	trial.forged = true;
	trial.faults = 0;
	verdict_open(0);
	verdict_kept();
	verdict_log();
	assert_noticed(0);
	fault_track(true);
	assert_int_equal(lockq_new(&q), LOCKQ_OK);
	fault_track(false);
	verdict_kept();
	assert_noticed(1);
	lockq_free(q);
	db = connect_as(APP_GROUP);
	assert_int_equal(db_begin(db), DB_OK);
	(void)u64_on(db, "SELECT COUNT(*) FROM task");
	verdict_open(0);
	assert_noticed(administrator() != NULL);
	db_rollback(db);
	(void)u64_on(db, "SELECT GET_LOCK('test_faults', 0)");
	verdict_open(0);
	assert_noticed(administrator() != NULL);
	(void)u64_on(db, "SELECT RELEASE_ALL_LOCKS()");
	add_work(TASK, 1, 0, "assigned", 1);
	verdict_log();
	assert_noticed(1);
	trial.forged = false;
}

static int
scenario_setup(void **state)
{
	void *scenario = *state;
	int rc = test_setup(state);

	*state = scenario;
	return rc;
}

/* Other tests look at all cursors of the server. */
static int
forget_cursor(void **state)
{
	sql("DELETE FROM follow_cursor WHERE name = '" CURSOR "'");
	return suite_teardown(state);
}

int
main(int argc, char **argv)
{
	static char names[SCENARIOS_MOST][96];
	static struct CMUnitTest tests[SCENARIOS_MOST + 1];
	size_t n = 0;

	test_begin(argc, argv);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_function_is_tried);
	tests[n++] = (struct CMUnitTest)DB_TEST(answers_that_are_refused);
	tests[n++] = (struct CMUnitTest)DB_TEST(what_is_left_is_noticed);
	for (size_t i = 0; i < N_TABLES; i++) {
		for (const struct scenario *s = tables[i]; s->function != NULL; s++, n++) {
			assert_true(n < SCENARIOS_MOST);
			snprintf(names[n], sizeof(names[n]), "%s%s%s", s->function,
			    s->how[0] != '\0' ? ", " : "", s->how);
			tests[n] = (struct CMUnitTest){ names[n], try_faults, scenario_setup,
				test_teardown, (void *)(uintptr_t)s };
		}
	}
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(something_failed);
	return cmocka_run_group_tests_name("faults", tests, suite_setup, forget_cursor);
}
