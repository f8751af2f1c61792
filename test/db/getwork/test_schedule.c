/* SPDX-License-Identifier: MIT */
/* Each counterexample of test/model/lockq.pml, as a schedule for the library. The model has it
 * where a guard is out: test/guards/algorithm.guards takes the same guard out of the library, and
 * then the test of the schedule's name must fail. With the guard it must pass.
 *
 * A requester is a thread that calls lockq_getwork() through a proxy of its own. The proxy holds
 * each statement that is a step of the model, and the test releases it where the schedule has that
 * step. Where a requester comes to a statement that it does not have in the schedule, the guard has
 * done its work: the library leaves the schedule, and all calls are let go to their ends. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "properties.h"
#include "schedule.h"
#include "support.h"

enum {
	SCHEDULES = 40, STATEMENT = 3072, LEASED_LOAN = 2, LEASE_USER = 5,
	/* A call that naps or waits for a lock for longer than this is left to itself. A call that
	 * finds its task paused naps for two seconds. */
	SETTLE_MS = 4000,
	/* Far above what the calls need for their ends, with such a nap. */
	ENDS_MS = 10000,
	PATIENT_MS = 60000
};

/* A requester. */
struct actor {
	struct worker *w;
	const struct line *due; /* its next line; the proxy's thread reads it, */
	bool locked;            /* and notes whether it has the task's lock */
	unsigned int n_held;    /* of its proxy, when a statement was last released */
	bool away;              /* its proxy lets no connection through */
	struct db *canceller;   /* has locked its request; NULL: none */
};

static struct schedule schedule;
static struct scene scene;
static struct actor actors[SCHEDULE_REQUESTERS];
static struct db *loan_user;       /* whose transaction holds the leased loan; NULL: none */

static const struct line *
next_line(const struct line *line)
{
	return schedule_next(&schedule, line->who, (size_t)(line - schedule.lines) + 1);
}

/* --- what happens to a requester -------------------------------------------------------------- */

/* The proxy's thread asks whether it holds a statement. */
static bool
is_held(const char *statement, void *data)
{
	struct actor *a = data;
	const struct line *due = a->due;

	return schedule_holds(statement, due != NULL ? due->step : NULL, &a->locked);
}

/* Waits until the call is held again, or has returned. */
static void
settle(const struct actor *a)
{
	char statement[STATEMENT];
	uint64_t start = db_clock_ms();

	while (!a->w->done && db_clock_ms() - start < SETTLE_MS &&
	    proxy_held(a->w->proxy, statement, sizeof(statement)) == a->n_held)
		db_sleep_ms(1);
}

/* Begins something from which the call comes to its next statement. */
static void
note_held(struct actor *a)
{
	char statement[STATEMENT];

	a->n_held = proxy_held(a->w->proxy, statement, sizeof(statement));
}

static void
release(struct actor *a)
{
	note_held(a);
	proxy_release(a->w->proxy);
	settle(a);
}

static void
begin(int r)
{
	struct actor *a = &actors[r];
	struct worker *w = worker_new((unsigned int)r, TASK, 1, schedule.no_wait[r] ? 0 :
	    PATIENT_MS);

	*a = (struct actor){ .w = w, .due = schedule_next(&schedule, r, 0) };
	scene.callers[r] = w;
	w->proxy = proxy_new();
	proxy_hold_each(w->proxy, is_held, a);
	worker_start(w);
	settle(a);
}

/* Lets a requester connect again whose session was ended. */
static void
come_back(struct actor *a)
{
	if (!a->away)
		return;
	a->away = false;
	proxy_accept(a->w->proxy);
	settle(a);
}

/* When this returns, the server has rolled back what the connection had open. @away: the requester
 * can't connect again yet. */
static void
cut_off(struct actor *a, bool away)
{
	struct db *onlooker = administrator() != NULL ? administrator() : owner();
	const struct db *db = inside_lock_connection(a->w->q);
	uint64_t id = db != NULL ? db_connection_id(db) : 0;

	scene.troubled = true;
	a->away = away;
	a->locked = false;
	note_held(a);
	if (away)
		proxy_refuse(a->w->proxy);
	proxy_drop(a->w->proxy);
	until_on(onlooker, "SELECT NOT EXISTS (SELECT 1 FROM information_schema.processlist"
	    " WHERE id = %" PRIu64 ")", id);
}

/* In the library a cancel is one statement, which has the row for a moment only. Another session
 * has it for longer here, as where the COMMIT is slow. */
static void
lock_request(int r)
{
	actors[r].canceller = connect_as(OWNER_GROUP);
	sql_on(actors[r].canceller, "START TRANSACTION");
	/* A leader may have it: that is a guard, and then the cancel waits for the leader. */
	scene.held_request[r] = u64_on(actors[r].canceller, "SELECT COUNT(*) FROM"
	    " (SELECT request_id FROM work_requested WHERE task_id = %d AND user_id = %u"
	    " FOR UPDATE SKIP LOCKED) AS r", TASK, user_id((unsigned int)r)) == 1;
}

static void
unlock_request(int r)
{
	if (actors[r].canceller != NULL)
		sql_on(actors[r].canceller, "ROLLBACK");
	actors[r].canceller = NULL;
	scene.held_request[r] = false;
}

static void
suffer(int r, const char *fault)
{
	struct actor *a = &actors[r];

	if (strcmp(fault, "is dead") == 0) {
		scene.dead[r] = true;
		cut_off(a, true);
		a->w->give_up = true;
	} else if (strcmp(fault, "its session is ended") == 0) {
		cut_off(a, true);
	} else if (strcmp(fault, "is cut off, connects and writes") == 0) {
		cut_off(a, false);
		settle(a);
	} else if (strcmp(fault, "gives up") == 0) {
		scene.troubled = scene.troubled || a->locked;
		note_held(a);
		a->w->give_up = true;
		settle(a);
	} else if (strcmp(fault, "locks its request, to cancel it") == 0) {
		lock_request(r);
	} else {
		/* Another process may have locked the request, so seen_at can't be changed. */
		set_task(TASK, "request_ttl = 1");
		until("SELECT seen_at < NOW(6) - INTERVAL 1 SECOND FROM work_requested"
		    " WHERE task_id = %d AND user_id = %u", TASK, user_id((unsigned int)r));
	}
}

/* --- a step of a requester -------------------------------------------------------------------- */

enum followed { DONE, PASSED_OVER, LEFT };

/* Whether a call that is held at @statement, or has ended (NULL), can be at this line. A follower
 * that waits already may come to a fault. */
static bool
is_at(const struct line *line, const char *statement)
{
	if (statement == NULL)
		return line->step->kind == LAST;
	return line->step->kind == FAULT ? schedule_waits(statement) :
	    schedule_is(line->step, statement);
}

/* A call that is at a later line of its own has got there by fewer statements than the model. */
static enum followed
pass_over(struct actor *a, const struct line *line, const char *statement)
{
	const struct line *later = line;

	while (later != NULL && !is_at(later, statement))
		later = later->step->kind == FAULT ? NULL : next_line(later);
	if (later == NULL && line->step->kind == MAY_LACK)
		later = next_line(line);
	else if (later == NULL)
		return LEFT;
	a->due = later;
	return PASSED_OVER;
}

/* Whether the call is held at a statement of which the model knows nothing here. */
static bool
is_in_the_way(const struct line *line, const char *statement)
{
	const struct line *later = line;

	if (!schedule_may_come(statement) || schedule_is(line->step, statement))
		return false;
	if (schedule_reads_dirty(statement))
		return true;
	while (later != NULL && !schedule_is(later->step, statement))
		later = next_line(later);
	return later == NULL;
}

/* Releases the statement of the line, unless the requester has passed over it. */
static enum followed
make_step(const struct line *line)
{
	struct actor *a = &actors[line->who];
	char statement[STATEMENT];

	if (a->due != NULL && a->due > line)
		return PASSED_OVER;
	come_back(a);
	if (line->step->statement == NULL) {
		a->due = next_line(line);
		return DONE;
	}
	for (;;) {
		if (a->w->done)
			return pass_over(a, line, NULL);
		if (!proxy_is_holding(a->w->proxy))
			return LEFT;
		(void)proxy_held(a->w->proxy, statement, sizeof(statement));
		if (!is_in_the_way(line, statement))
			break;
		release(a);
	}
	if (!schedule_is(line->step, statement))
		return pass_over(a, line, statement);
	if (strcmp(line->step->says, "step 4: the heavy query") == 0)
		properties_query(line->who);
	a->due = next_line(line);
	unlock_request(line->who);
	release(a);
	return DONE;
}

/* Where the model has no leader, the look must not find one. So a requester that is about to look
 * reads the holder as soon as there is none. */
static void
read_free_holders(void)
{
	struct inside_holder holder;
	char statement[STATEMENT];

	for (int r = 0; r < schedule.n_requesters; r++) {
		struct actor *a = &actors[r];

		if (a->w->done || a->away || a->due == NULL || !schedule_looks(a->due->step) ||
		    !proxy_is_holding(a->w->proxy))
			continue;
		(void)proxy_held(a->w->proxy, statement, sizeof(statement));
		assert_int_equal(inside_holder(owner(), TASK, &holder), DB_OK);
		if (!holder.held && schedule_reads_dirty(statement))
			release(a);
	}
}

/* --- the manager, time, and those who have loans ---------------------------------------------- */

static void
pause_task(bool paused)
{
	if (paused)
		scene.pause_epoch = epoch_of(TASK);
	set_task(TASK, "paused = %s", paused ? "'" PAUSE "'" : "NULL");
	scene.paused = paused;
}

static void
lock_loan(int loan_id)
{
	loan_user = connect_as(OWNER_GROUP);
	scene.held_loan = loan_id - 1;
	sql_on(loan_user, "START TRANSACTION");
	(void)u64_on(loan_user, "SELECT version FROM work WHERE task_id = %d AND loan_id = %d"
	    " FOR UPDATE", TASK, loan_id);
}

/* Ends an assignment, in the transaction that holds it, if one does. */
static void
end_assignment(int loan_id, const char *state)
{
	sql_on(loan_user != NULL ? loan_user : owner(), "UPDATE work SET state = '%s',"
	    " version = version + 1, lease_expires_at = NULL, available_at = NOW(6)"
	    " WHERE task_id = %d AND loan_id = %d", state, TASK, loan_id);
	if (loan_user != NULL)
		sql_on(loan_user, "COMMIT");
	loan_user = NULL;
	scene.held_loan = -1;
	/* The business data of a completed loan have changed, so the view shows it no more. */
	if (strcmp(state, "completed") == 0)
		sql("DELETE FROM test_candidate WHERE task_id = %d AND loan_id = %d", TASK,
		    loan_id);
}

static void
make_event(const struct line *line)
{
	const char *says = strchr(line->text, ':') + 2;
	int loan_id = line->loan + 1;

	if (strcmp(says, "pauses the task") == 0)
		pause_task(true);
	else if (strcmp(says, "lets the task go on") == 0)
		pause_task(false);
	else if (strcmp(says, "its user locks it") == 0)
		lock_loan(loan_id);
	else if (strcmp(says, "its lease runs out") == 0)
		until("SELECT lease_expires_at < NOW(6) FROM work WHERE task_id = %d"
		    " AND loan_id = %d", TASK, loan_id);
	else if (strcmp(says, "is completed") == 0)
		end_assignment(loan_id, "completed");
	else if (strcmp(says, "is returned") == 0 || strcmp(says, "cron ends its lease") == 0)
		end_assignment(loan_id, "returned");
	else
		fail_msg("not known: %s", line->text);
}

/* --- a schedule ------------------------------------------------------------------------------- */

static void
say_where(const struct line *line)
{
	const struct worker *w = actors[line->who].w;
	char statement[STATEMENT];

	(void)proxy_held(w->proxy, statement, sizeof(statement));
	print_message("# leaves the schedule at \"%s\": %s: %.60s\n", line->text, w->done ?
	    "has ended, and was held at" : "is held at", statement);
}

/* Returns the line that the library does not follow, or NULL. */
static const struct line *
follow_lines(void)
{
	for (size_t n = 0; n < schedule.n; n++) {
		const struct line *line = &schedule.lines[n];
		enum followed followed = DONE;

		if (line->who < 0) {
			make_event(line);
		} else if (line->step->kind == FAULT) {
			actors[line->who].due = next_line(line);
			suffer(line->who, line->step->says);
		} else {
			followed = make_step(line);
		}
		if (followed == LEFT) {
			say_where(line);
			return line;
		}
		read_free_holders();
		properties_step(followed == DONE && line->who >= 0 &&
		    strcmp(line->step->says, "step 5: COMMIT") == 0);
	}
	return NULL;
}

static bool
all_have_ended(void)
{
	bool ended = true;

	for (int r = 0; r < schedule.n_requesters; r++)
		ended = ended && (scene.dead[r] || actors[r].w->done);
	return ended;
}

/* Lets everything go on to its end. */
static void
let_go(void)
{
	uint64_t start = db_clock_ms();

	properties_rest();
	if (loan_user != NULL)
		sql_on(loan_user, "ROLLBACK");
	scene.held_loan = -1;
	for (int r = 0; r < schedule.n_requesters; r++) {
		unlock_request(r);
		proxy_hold_each(actors[r].w->proxy, NULL, NULL);
		if (!scene.dead[r])
			proxy_accept(actors[r].w->proxy);
		proxy_release(actors[r].w->proxy);
	}
	if (scene.paused)
		pause_task(false);
	while (!all_have_ended() && db_clock_ms() - start < ENDS_MS)
		db_sleep_ms(2);
}

static void
run_schedule(void **state)
{
	const struct line *left;

	schedule = *(const struct schedule *)*state;
	scene = (struct scene){ .schedule = &schedule, .held_loan = -1 };
	loan_user = NULL;
	add_loans(TASK, schedule.loans);
	if (schedule.limit > 0)
		set_task(TASK, "max_count = 1, candidate_limit = %u", schedule.limit);
	if (schedule.lease) {
		add_work(TASK, LEASED_LOAN, LEASE_USER, "assigned", 1);
		sql("UPDATE work SET lease_expires_at = NOW(6) + INTERVAL 1 SECOND"
		    " WHERE task_id = %d AND loan_id = %d", TASK, LEASED_LOAN);
	}
	properties_begin(&scene);
	for (int r = 0; r < schedule.n_requesters; r++)
		begin(r);
	left = follow_lines();
	let_go();
	properties_end();
	/* Else it may have been left long before the guard, and has shown nothing. Without the
	 * guard the property has failed before this. */
	assert_string_equal(left != NULL ? left->text : "", schedule.left);
}

/* --- the schedules of the folder -------------------------------------------------------------- */

static struct schedule schedules[SCHEDULES];
static struct CMUnitTest tests[SCHEDULES];

static int
setup(void **state)
{
	(void)state;
	return test_setup(NULL);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct schedule *)a)->name, ((const struct schedule *)b)->name);
}

static size_t
read_folder(const char *top)
{
	char folder[1024];
	const struct dirent *entry;
	size_t n = 0;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/test/model/schedules", top);
	dir = opendir(folder);
	if (dir == NULL)
		return 0;
	for (entry = readdir(dir); entry != NULL && n < SCHEDULES; entry = readdir(dir)) {
		if (entry->d_name[0] != '.')
			schedule_read(&schedules[n++], folder, entry->d_name);
	}
	closedir(dir);
	qsort(schedules, n, sizeof(schedules[0]), by_name);
	for (size_t i = 0; i < n; i++)
		tests[i] = (struct CMUnitTest){ schedules[i].name, run_schedule, setup,
			test_teardown, &schedules[i] };
	return n;
}

int
main(int argc, char **argv)
{
	const char *top = getenv("LOCKQ_TOP");
	size_t n;

	test_begin(argc, argv);
	n = read_folder(top != NULL ? top : ".");
	if (n == 0) {
		printf("1..1\nnot ok 1 - there are no schedules\n");
		return 1;
	}
	return _cmocka_run_group_tests("schedules", tests, n, suite_setup, suite_teardown);
}
