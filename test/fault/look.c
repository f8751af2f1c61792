/* SPDX-License-Identifier: MIT */
/* Scenarios that only read: nothing may change, and what is told is whole or is no answer. */
#include "scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

void
some_history(struct run *run)
{
	struct lockq_disposition what = LOCKQ_DISPOSITION_INIT;
	struct lockq_disposed_result result = LOCKQ_DISPOSED_RESULT_INIT;
	struct worker *w;

	add_loans(TASK, 20);
	w = ask_now(0, TASK, 3);
	assert_int_equal(w->rc, LOCKQ_OK);
	run->loans[0].loan_id = w->answer.loans[0].loan_id;
	what.user = user(0);
	what.task = TASK;
	what.kind = LOCKQ_RETURN;
	what.return_after_s = 3600;
	what.note = "no \"answer\"";
	what.loans = run->loans;
	what.n_loans = 1;
	assert_int_equal(lockq_dispose(w->q, &what, &result), LOCKQ_OK);
	lockq_disposed_clear(&result);
	(void)add_request(TASK, 1, 2);
}

static void
some_details(struct run *run)
{
	some_history(run);
	sql("CREATE OR REPLACE VIEW test_fault_detail AS SELECT loan_id, priority AS rank_of,"
	    " 'x' AS letter FROM test_candidate WHERE task_id = %d", TASK);
	if (administrator() != NULL)
		sql_on(administrator(), "GRANT SELECT ON test_fault_detail TO lockq_worker@lockq");
	set_task(TASK, "detail_view = 'test_fault_detail', noun = 'case'");
}

static int
pipeline(struct run *run)
{
	struct lockq_pipeline found = LOCKQ_PIPELINE_INIT;
	int code = lockq_pipeline(run->q, user(0), TASK, &found);

	for (size_t i = 0; i < found.n_assignments; i++) {
		const struct lockq_assignment *a = &found.assignments[i];

		say(run, "%" PRIu64 " %s, ", a->loan_id, a->task_name);
		/* Details may be missing, and then the answer says so. */
		if (code == LOCKQ_OK && found.detail_fault == NULL && a->n_details != 2)
			say(run, " without its details");
	}
	lockq_pipeline_clear(&found);
	return code;
}

static int
requests(struct run *run)
{
	struct lockq_requests found = LOCKQ_REQUESTS_INIT;
	int code = lockq_requests(run->q, user(1), TASK, &found);

	for (size_t i = 0; i < found.n_requests; i++)
		say(run, "%u %s", found.requests[i].asked, found.requests[i].task_name);
	lockq_requests_clear(&found);
	return code;
}

static int
tasks(struct run *run)
{
	struct lockq_tasks found = LOCKQ_TASKS_INIT;
	int code = lockq_tasks(run->q, user(0), &found);

	for (size_t i = 0; i < found.n_tasks; i++)
		say(run, "%u %s %" PRIu64 ", ", found.tasks[i].task, found.tasks[i].task_name,
		    found.tasks[i].held);
	lockq_tasks_clear(&found);
	return code;
}

static int
stats(struct run *run)
{
	struct lockq_stats found = LOCKQ_STATS_INIT;
	int code = lockq_stats(run->q, TASK, &found);

	for (size_t i = 0; i < found.n_tasks; i++) {
		const struct lockq_stat *s = &found.tasks[i];

		say(run, "%u %s: %" PRIu64 " wait, %" PRIu64 " assigned, %" PRIu64 " answers",
		    s->task, s->task_name, s->waiting, s->assigned, s->answers);
	}
	lockq_stats_clear(&found);
	return code;
}

static int
runs(struct run *run)
{
	struct lockq_runs found = LOCKQ_RUNS_INIT;
	int code = lockq_runs(run->q, TASK, 5, &found);

	for (size_t i = 0; i < found.n_runs; i++)
		say(run, "%" PRIu64 " %s %s, ", found.runs[i].epoch, found.runs[i].user,
		    found.runs[i].how);
	lockq_runs_clear(&found);
	return code;
}

static int
day(struct run *run)
{
	struct lockq_day found = LOCKQ_DAY_INIT;
	int code = lockq_day(run->q, TASK, &found);

	for (size_t i = 0; i < found.n_tasks; i++)
		say(run, "%u %s %" PRIu64 " leaders %zu queries %zu, ", found.tasks[i].task,
		    found.tasks[i].task_name, found.tasks[i].whole.answers,
		    found.tasks[i].n_leaders, found.tasks[i].n_queries);
	lockq_day_clear(&found);
	return code;
}

static int
history(struct run *run)
{
	struct lockq_history found = LOCKQ_HISTORY_INIT;
	int code = lockq_history(run->q, TASK, run->loans[0].loan_id, &found);

	for (size_t i = 0; i < found.n_events; i++)
		say(run, "%s %s %s, ", found.events[i].event, found.events[i].user,
		    found.events[i].note != NULL ? found.events[i].note : "");
	lockq_history_clear(&found);
	return code;
}

static int
choices(struct run *run, enum lockq_choice_kind kind)
{
	struct lockq_choices found = LOCKQ_CHOICES_INIT;
	int code = lockq_choices(run->q, kind, kind == LOCKQ_CHOICE_LOANS ? user(0) : NULL, TASK,
	    "", &found);

	for (size_t i = 0; i < found.n_choices && i < 5; i++)
		say(run, "%s ", kind == LOCKQ_CHOICE_REQUESTS ? "one" : found.choices[i].value);
	lockq_choices_clear(&found);
	return code;
}

static int
choose_user(struct run *run)
{
	return choices(run, LOCKQ_CHOICE_USERS);
}

static int
choose_loan(struct run *run)
{
	return choices(run, LOCKQ_CHOICE_LOANS);
}

static int
choose_request(struct run *run)
{
	return choices(run, LOCKQ_CHOICE_REQUESTS);
}

static int
definitions(struct run *run)
{
	struct lockq_definitions found = LOCKQ_DEFINITIONS_INIT;
	int code = lockq_definitions(run->q, TASK, &found);

	for (size_t i = 0; i < found.n_tasks; i++) {
		for (size_t n = 0; n < found.tasks[i].n_settings; n++)
			say(run, "%s ", found.tasks[i].settings[n].value != NULL ?
			    found.tasks[i].settings[n].value : "-");
	}
	lockq_definitions_clear(&found);
	return code;
}

static int
people(struct run *run)
{
	struct lockq_people found = LOCKQ_PEOPLE_INIT;
	int code = lockq_people(run->q, &found);

	for (size_t i = 0; code == LOCKQ_OK && i < found.n_people; i++) {
		if (strncmp(found.people[i].user, "test_", 5) == 0)
			say(run, "%s %" PRIu64 ", ", found.people[i].user, found.people[i].held);
	}
	lockq_people_clear(&found);
	return code;
}

/* It returns no code: a noun that can't be read is "loan". */
static int
noun(struct run *run)
{
	char word[LOCKQ_NOUN_SIZE];

	lockq_noun(run->q, TASK, word);
	if (strcmp(word, "case") != 0 && strcmp(word, "loan") != 0)
		say(run, "%s", word);
	return LOCKQ_OK;
}

/* --- the feed --- */

/* What was delivered and not acknowledged comes again, and is said once. */
static int
deliver(const struct lockq_change *change, void *data)
{
	struct run *run = data;
	char text[64];

	if (change == NULL || change->task != TASK)
		return 0;
	snprintf(text, sizeof(text), "%s %" PRIu64 ", ", change->event->event, change->loan_id);
	if (strstr(run->said, text) == NULL)
		say(run, "%s", text);
	return 0;
}

static void
a_new_cursor(struct run *run)
{
	sql("DELETE FROM follow_cursor WHERE name = '" CURSOR "'");
	some_history(run);
}

/* A feed waits for a server that is gone. */
static int
gives_up(const struct lockq_progress *progress, void *data)
{
	unsigned int *calls = data;

	(void)progress;
	return ++*calls > 20;
}

static int
follow(struct run *run)
{
	struct lockq_follow what = LOCKQ_FOLLOW_INIT;
	struct lockq_followed did = LOCKQ_FOLLOWED_INIT;
	unsigned int calls = 0;
	int code;

	what.cursor = CURSOR;
	what.deliver = deliver;
	what.data = run;
	what.until_now = 1;
	what.batch = 2;
	what.gap_ms = 100;
	lockq_on_progress(run->q, gives_up, &calls);
	code = lockq_follow(run->q, &what, &did);
	lockq_on_progress(run->q, NULL, NULL);
	return code;
}

static void
a_cursor(struct run *run)
{
	sql("DELETE FROM follow_cursor WHERE name = '" CURSOR "'");
	sql("INSERT INTO follow_cursor (name, account, position, made_at) VALUES ('" CURSOR
	    "', 'lockq_feed@localhost', 0, NOW(6))");
	(void)run;
}

static int
cursors(struct run *run)
{
	struct lockq_cursors found = LOCKQ_CURSORS_INIT;
	int code = lockq_cursors(run->q, &found);

	for (size_t i = 0; i < found.n_cursors; i++)
		say(run, "%s %s, ", found.cursors[i].cursor, found.cursors[i].account);
	lockq_cursors_clear(&found);
	return code;
}

static int
drop_cursor(struct run *run)
{
	return lockq_drop_cursor(run->q, CURSOR);
}

const struct scenario look_scenarios[] = {
	{ "lockq_pipeline", "", NULL, some_details, .call = pipeline },
	{ "lockq_requests", "", NULL, some_history, .call = requests },
	{ "lockq_tasks", "", NULL, some_history, .call = tasks },
	{ "lockq_stats", "", NULL, some_history, .call = stats },
	{ "lockq_runs", "", NULL, some_history, .call = runs },
	{ "lockq_day", "", NULL, some_history, .call = day },
	{ "lockq_history", "", NULL, some_history, .call = history },
	{ "lockq_choices", "of users", NULL, some_history, .call = choose_user },
	{ "lockq_choices", "of loans", NULL, some_history, .call = choose_loan },
	{ "lockq_choices", "of requests", NULL, some_history, .call = choose_request },
	{ "lockq_definitions", "", MANAGER_GROUP, some_details, .call = definitions },
	{ "lockq_people", "", MANAGER_GROUP, some_history, .call = people },
	{ "lockq_noun", "", NULL, some_details, .call = noun },
	{ "lockq_follow", "", FOLLOWER_GROUP, a_new_cursor, .call = follow, .changes = true,
	  .gives_up = true, .goes_on = true },
	{ "lockq_cursors", "", FOLLOWER_GROUP, a_cursor, .call = cursors },
	{ "lockq_drop_cursor", "", FOLLOWER_GROUP, a_cursor, .call = drop_cursor,
	  .done = "SELECT COUNT(*) = 0 FROM follow_cursor WHERE name = '" CURSOR "'",
	  .once = true },
	{ .function = NULL }
};
